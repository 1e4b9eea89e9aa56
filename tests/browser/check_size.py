"""A long sentence on a model of the paper's size is there at once, and memory has a bound."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.config.decoding import DecodingConfig
from headway.config.presets import ARCHITECTURES
from headway.inspection.translator import Translator
from headway.model.transformer import Transformer

PIECES = 100
SOON = 1000  # milliseconds from the answer of the trace to the first pictures of its heads
HEAP = 60_000_000  # bytes that 50 sentences may leave in the page
NAMES = ["지민", "수진", "민준", "유진", "하은"]
THINGS = ["책을", "사과를", "물을", "편지를", "신문을", "문을", "옷을", "밥을", "차를", "공을"]

# The moment when the manifest has arrived, and the one when the first heads are in the page.
_WATCH = """
addEventListener("DOMContentLoaded", () => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector("canvas.thumbnail")) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.firstPictures = performance.now(); });
  }).observe(document.body, {childList: true, subtree: true});
});
"""


@pytest.fixture(scope="module")
def large(
    translator: Translator, serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Return the address of a server with a model of base size and random weights."""
    own = translator.bundle
    torch.manual_seed(0)
    sizes = len(own.source_tokenizer), len(own.target_tokenizer)
    config = ARCHITECTURES["base"].with_vocabulary(*sizes)
    model = Transformer.from_config(config).eval()
    bundle = Bundle(config, model, own.source_tokenizer, own.target_tokenizer, DecodingConfig())
    path = tmp_path_factory.mktemp("large") / "base"
    save_bundle(path, bundle)
    return serve(path)


def test_the_heads_of_a_hundred_pieces_are_soon_there(
    see: Callable[..., Any], large: str, translator: Translator
) -> None:
    tokenizer = translator.bundle.source_tokenizer
    source = target = ""
    # No full stops: the explorer would show the first of several sentences alone.
    while len(tokenizer.encode(source)) < PIECES - 1:
        source += "저는 학생입니다 "
    while len(translator.bundle.target_tokenizer.encode(target)) < PIECES - 1:
        target += "I am a student "
    # The least of several, each in a page that knows nothing of the others: what else the machine
    # does at the moment is not the page's.
    took = float("inf")
    for _ in range(3):
        seen = see(large)
        seen.page.add_init_script(_WATCH)
        page = seen.open("attention", src=source.strip(), target=target.strip())
        seen.until("window.firstPictures !== undefined")
        again = page.evaluate(
            "window.firstPictures - performance.getEntriesByType('resource')"
            ".findLast((own) => own.name.endsWith('/api/trace')).responseEnd"
        )
        took = min(took, again)
    print(f"first pictures of the heads after {took:.0f} ms")
    assert page.locator("canvas.thumbnail").count() >= 3 * 6 * 8
    assert page.locator(".strips .piece").count() >= 2 * PIECES - 4
    assert took < SOON


def test_fifty_sentences_leave_little_behind(seen: Any) -> None:
    page = seen.open("attention")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    sizes = []
    for number in range(50):
        source = f"{NAMES[number % 5]}이는 {THINGS[number // 5]} 좋아합니다."
        page.evaluate("(hash) => { location.hash = hash; }", f"#/attention?src={source}")
        page.wait_for_timeout(10)
        seen.wait()
        if number % 10 == 9:
            session.send("HeapProfiler.collectGarbage")
            metrics = session.send("Performance.getMetrics")["metrics"]
            sizes.append({own["name"]: own["value"] for own in metrics})
    heap = [own["JSHeapUsedSize"] for own in sizes]
    print([round(size / 1e6, 1) for size in heap], [own["Nodes"] for own in sizes])
    assert heap[-1] < HEAP
    assert sizes[-1]["Nodes"] < 3 * sizes[0]["Nodes"] + 5000
