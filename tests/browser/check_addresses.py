"""What an address says wrongly, and what of it goes along when something else is chosen."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SENTENCE = "저는 학생입니다."
SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip
HEAD_OFF = json.dumps([{"name": "decoder.layers.1.cross_attention.heads", "kind": "zero"}])
WRONG = [
    "t=1.5&l=0.5&h=0.5&q=1.5&k=0.5&pos=1.5&dim=0.5&lesson=1.5&node=1.5",
    "view=nonsense&beam=2.5&max=6.5&constructor=x&toString=x&__proto__=x",
    "beam=99&lp=99&max=1e9&topp=7&seed=-3&topk=-1",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_no_screen_breaks_with_a_wrong_address(seen: Any, wrong: str) -> None:
    for screen in SCREENS:
        more = f"&edits={quote(HEAD_OFF)}" if screen == "what-if" else ""
        seen.page.goto(f"{seen.address}#/{screen}?src={SENTENCE}&lang=en&{wrong}{more}")
        seen.wait()
        assert seen.page.locator(".refusal").all_inner_texts() == [], screen
        text = seen.page.inner_text("main")
        assert not [word for word in ("NaN", "undefined", "1.5:", "⟦") if word in text], screen


def test_a_tab_begins_its_screen_anew(seen: Any) -> None:
    page = seen.open("tree", show="all,norm", tab="layers", view="cross", l=0)
    page.locator('[data-key="tab:hand"]').click()
    seen.wait()
    state = seen.state()
    assert (state["screen"], state["l"]) == ("hand", "0")
    assert "show" not in state
    assert "tab" not in state


def test_the_row_follows_whatever_the_tab(seen: Any) -> None:
    page = seen.open("attention", tab="words", view="cross", q=1, t=1)
    page.locator('[data-key="target-piece:3"]').click()
    seen.until("location.hash.includes('q=3')")


@pytest.mark.parametrize("label", ["Beam", "Length penalty α"])
def test_another_search_forgets_what_was_of_the_old_one(seen: Any, label: str) -> None:
    page = seen.open("alignment", links="0-0 1-2", gold="0-0", node=3, t=2, q=2, k=1)
    field = page.get_by_label(label, exact=True)
    field.fill("2")
    field.press("Tab")
    seen.until("/(beam|lp)=2/.test(location.hash)")
    seen.wait()
    assert not {"links", "gold", "node"} & set(seen.state())
    assert seen.state()["t"] == "2"  # the step stays
    assert page.locator('[data-key="alignment:undo"]').count() == 0


def test_heads_in_order_of_entropy_have_their_own_numbers(seen: Any) -> None:
    page = seen.open("attention", show="sharp")
    shown = page.locator(".kind-cross .head").evaluate_all(
        """(all) => all.map((own) => [own.dataset.key.split(":")[3],
             own.querySelector(".head-words").firstChild.textContent])"""
    )
    numbers = [(int(key), said) for key, said in shown if key != "-1"]
    assert numbers
    assert all(said == str(head + 1) for head, said in numbers)


def test_the_model_in_the_address_is_the_one_that_is_shown(
    see: Callable[..., Any], serve: Callable[..., str], model_path: Path
) -> None:
    seen = see(serve(model_path, model_path))
    page = seen.page
    # The other model's answer comes while the first one's trace is waited for.
    page.add_init_script("""const ask = window.fetch;
      window.fetch = async (address, options) => {
        const late = /model=.*-2/.test(address) ? 700 : /api.trace$/.test(address) ? 1500 : 0;
        await new Promise((done) => setTimeout(done, late));
        return ask(address, options);
      };""")
    name = model_path.resolve().name
    page.goto(f"{seen.address}#/attention?lang=en&src={SENTENCE}&model={name}-2")
    page.locator("#app").wait_for(state="attached")
    page.evaluate(f"location.hash = '#/attention?lang=en&src={quote(SENTENCE)}&model={name}'")
    seen.until("performance.now() > 1000 && document.querySelector('main h1') !== null")
    seen.wait()
    assert page.locator("[data-key='select:Model']").input_value() == name


def test_a_wide_picture_is_painted_at_once(seen: Any) -> None:
    page = seen.open("tensors")
    asked = page.evaluate("""async () => {
      const { heatmap } = await import("app/heatmap.js");
      const { Tensor } = await import("app/trace.js");
      let asked = 0;
      const own = window.matchMedia;
      window.matchMedia = (query) => { asked += 1; return own.call(window, query); };
      const tensor = new Tensor("x", [40, 500], ["a", "b"], new Float32Array(20000).fill(1));
      heatmap({ tensor, label: "x", rows: Array(40).fill("r"), rowAxis: "a", columnAxis: "b",
                key: "x" });
      window.matchMedia = own;
      return asked;
    }""")
    assert asked <= 2
