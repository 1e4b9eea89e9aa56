"""One search for a sentence, none that nobody waits for, and numbers of the last traces only."""

import json
from typing import Any

# The first search waits, until it is told that it may end.
_SLOW = """const ask = window.fetch;
window.ended = 0;
window.fetch = async (address, options) => {
  if (/api.translate$/.test(address) && options.body.includes("의사")) {
    await new Promise((done, fail) => options.signal.addEventListener("abort", () => {
      window.ended += 1;
      fail(options.signal.reason);
    }));
  }
  return ask(address, options);
};"""


def test_a_new_sentence_is_searched_once(seen: Any) -> None:
    page = seen.open("translate")
    pieces = page.locator('[data-key^="target-piece:"]').all_inner_texts()
    assert len(seen.paths("/api/translate")) == 1
    assert seen.paths("/api/search") == []
    bodies = [json.loads(body) for body in seen.paths("/api/trace")]
    assert [body["target"] for body in bodies] == [pieces[:-1]]


def test_a_trace_is_the_same_however_it_was_found(seen: Any) -> None:
    ids = []
    for screen in ("translate", "attention", "what-if"):
        page = seen.open(screen)
        page.reload()
        seen.wait()
        ids.append(page.locator('[data-key="export:json"]').get_attribute("href"))
    assert len(set(ids)) == 1


def test_a_search_that_nobody_waits_for_ends(seen: Any) -> None:
    seen.page.add_init_script(_SLOW)
    page = seen.page
    page.goto(f"{seen.address}#/translate?src=저는 의사입니다.&lang=en")
    page.locator(".live-blocks").wait_for()
    # Away and back: the second search of this sentence ends, too.
    for src in ("저는 학생입니다.", "저는 의사입니다.", "저는 학생입니다."):
        page.evaluate("(src) => { location.hash = `#/translate?src=${src}&lang=en`; }", src)
        page.wait_for_timeout(200)
    seen.wait()
    seen.until("window.ended === 2")
    assert page.locator(".refusal").count() == 0
    assert "student" in page.inner_text("main")


def test_numbers_of_the_last_traces_are_kept(seen: Any) -> None:
    page = seen.open("attention")
    kept = page.evaluate("""async () => {
      const { Explorer } = await import("app/explorer.js");
      const backend = { trace: async (body) => ({ id: body.source, tensors: [] }) };
      const explorer = new Explorer(backend, { models: [] });
      const traces = [];
      for (let one = 0; one < 12; one += 1) {
        traces.push(await explorer.traceOf({ source: String(one) }));
        traces[one].held.set("x", Promise.resolve());
      }
      return traces.map((trace) => trace.held.size);
    }""")
    assert kept == [0] * 4 + [1] * 8


def test_every_matrix_has_a_table_of_its_numbers(seen: Any) -> None:
    for screen, state in (
        ("hand", {"l": 0, "h": 0}),
        ("attention", {"view": "cross", "show": "vs1"}),
        ("position", {}),
    ):
        page = seen.open(screen, **state)
        figures = page.locator("figure.matrix, figure.heat")
        assert figures.count() >= 1, screen
        tables = figures.locator("details.matrix-numbers")
        assert tables.count() == figures.count(), screen
        tables.first.locator("summary").click()
        tables.first.locator("td").first.wait_for()
        assert float(tables.first.locator("td").first.inner_text().replace("−", "-")) <= 1
