"""docs/en/howto/changing.md is true: its code runs, and what it trains is the changed model."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import headway
from headway.bundle import load_bundle
from headway.config.run import RunConfig
from headway.errors import BundleError

PAGE = Path(__file__).parents[2] / "docs" / "en" / "howto" / "changing.md"


@pytest.mark.filterwarnings("ignore:The reference engine translates:UserWarning")
def test_the_page_runs(
    make_config: Callable[..., RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)
    prepared: list[bool] = []  # not in earnest: it holds for a whole process, as tests are
    monkeypatch.setattr("headway.runtime.memory.prepare_process", lambda: prepared.append(True))
    config = make_config(training={"max_steps": 2})
    monkeypatch.setattr(headway, "load_run_config", lambda _: config, raising=False)

    names: dict[str, Any] = {}
    for block in code:
        exec(block, names)

    assert prepared
    assert {"scores", "masked_scores", "weights", "heads", "output"} <= {*names["seen"].names()}
    rows = names["seen"]["weights"].sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows))
    model = names["translator"].bundle.model
    feed_forward = model.encoder.layers[0].feed_forward
    assert isinstance(feed_forward, names["SquaredFeedForward"])
    x = torch.randn(1, 3, feed_forward.w_1.in_features)
    with torch.no_grad():
        expected = feed_forward.w_2(feed_forward.w_1(x).clamp_min(0).square())
        torch.testing.assert_close(feed_forward(x), expected)
    seen = names["translator"].trace("one two", "two one")
    assert "encoder.layers.0.feed_forward.activated" in seen.names()
    before, after = (
        names["perplexity"](names["score_pairs"](own, *names["texts"]))
        for own in (load_bundle("runs/squared", change=names["squared"]), names["bundle"])
    )
    assert after < before
    mine = load_bundle("runs/mine", change=names["squared"])
    assert names["score_pairs"](mine, *names["texts"]) == names["score_pairs"](
        names["bundle"], *names["texts"]
    )
    assert not mine.card
    with pytest.raises(BundleError, match=r"decoder\.layers\.0\.feed_forward is SquaredFeed"):
        load_bundle("runs/squared")
