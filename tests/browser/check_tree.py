"""The tree of the beam is the record of the search, and a click forces its prefix."""

import json
from typing import Any

import pytest

from headway.decoding.options import SearchOptions
from headway.inspection.translator import Translator

SENTENCE = "지민이는 도서관에서 책을 읽습니다."


def _record(translator: Translator, beam: int) -> Any:
    options = SearchOptions(beam, translator.options.length_penalty)
    return translator.search(SENTENCE, options=options)


@pytest.mark.parametrize("beam", [1, 3, 4])
def test_nodes_sums_and_fates_are_those_of_the_record(
    seen: Any, translator: Translator, beam: int
) -> None:
    record = _record(translator, beam)
    page = seen.open("tree", src=SENTENCE, beam=beam, show="all")
    drawn = page.locator(".tree-picture [data-node]").evaluate_all(
        "(all) => all.map((own) => [own.dataset.node, own.dataset.fate, Number(own.dataset.total)])"
    )
    kept = {int(name): (fate, total) for name, fate, total in drawn if ":" not in name}
    assert sorted(kept) == [node.number for node in record.nodes]
    for node in record.nodes:
        fate, total = kept[node.number]
        assert fate == node.fate
        assert total == pytest.approx(node.total, abs=1e-6)
    ghosts = {name for name, *_ in drawn if ":" in name}
    pruned = {
        f"{expansion.node}:{candidate.piece_id}"
        for expansions in record.steps
        for expansion in expansions
        for candidate in expansion.candidates
        if candidate.fate == "pruned"
    }
    assert ghosts <= pruned
    assert bool(ghosts) == (beam > 1)


def test_the_finals_have_the_scores_of_the_ranking(seen: Any, translator: Translator) -> None:
    record = _record(translator, 4)
    page = seen.open("tree", src=SENTENCE, beam=4)
    rows = page.locator("table.finals tbody tr").evaluate_all(
        "(all) => all.map((own) => [Number(own.dataset.leaf), Number(own.dataset.score)])"
    )
    assert [leaf for leaf, _ in rows] == list(record.ranking)
    scores = [record.nodes[leaf].score for leaf in record.ranking]
    assert [score for _, score in rows] == pytest.approx(scores, abs=1e-6)


def test_a_click_forces_the_prefix(seen: Any, translator: Translator) -> None:
    record = _record(translator, 4)
    page = seen.open("tree", src=SENTENCE, beam=4, show="all")
    other = next(
        node for node in record.nodes
        if node.fate == "kept" and node.step == 1 and node.number not in _best(record)
    )  # fmt: skip
    page.locator(f'.tree-picture [data-node="{other.number}"]').click()
    seen.wait()
    page.locator('[data-key="force"]').click()
    seen.wait()
    prefix = (other.piece or "").replace("▁", " ").strip()
    state = seen.state()
    assert (state["screen"], state["prefix"]) == ("what-if", prefix)
    bodies = [json.loads(body) for body in seen.paths("/api/search") + seen.paths("/api/translate")]
    assert prefix in [body.get("prefix") for body in bodies]
    forced = translator.search(SENTENCE, prefix=prefix, options=SearchOptions(4, 0.6))
    assert forced.translation.text in page.inner_text("main")


def _best(record: Any) -> set[int]:
    path, node = set(), record.ranking[0]
    while node is not None:
        path.add(node)
        node = record.nodes[node].parent
    return path
