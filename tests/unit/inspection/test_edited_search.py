"""A search under edits decides what the edited model gives."""

import pytest
import torch

from headway.decoding.options import SearchOptions
from headway.errors import TraceError
from headway.inspection.edit import forbid, replace, then, zero
from headway.inspection.edited_search import search_edited

SOURCE = "나는 너를 본다 ."
HEADS = "decoder.layers.*.cross_attention.heads"


@pytest.mark.parametrize(
    "edit",
    [
        {HEADS: zero(head=1)},
        {"source_mask": forbid(key="너")},
        {"logits": replace(-1e9, vocabulary="I")},
        {"encoder.output": replace(0.5, source=2), HEADS: then(zero(head=0), zero(head=2))},
    ],
    ids=lambda edit: " ".join(edit),
)
def test_every_step_is_a_row_of_the_edited_trace(translator, edit) -> None:
    record = search_edited(translator, SOURCE, edit, options=SearchOptions(1))
    pieces = [node.piece for node in record.path(record.ranking[0])][:-1]
    seen = translator.trace(SOURCE, pieces, edit=edit)
    for step, row in zip(record.steps, seen["probabilities"], strict=True):
        for candidate in step[0].candidates:
            own = float(row[candidate.piece_id])
            assert candidate.probability == pytest.approx(own, rel=1e-4, abs=1e-9)


def test_coverage_is_that_of_the_edited_model(translator) -> None:
    weights = {"decoder.layers.*.cross_attention.weights": replace(1e-3, key=0)}
    options = SearchOptions(1, coverage_penalty=0.2)
    without = SearchOptions(1)

    edited = search_edited(translator, SOURCE, weights, options=options)
    plain = search_edited(translator, SOURCE, weights, options=without)

    pieces = [node.piece for node in edited.path(edited.ranking[0])][:-1]
    seen = translator.trace(SOURCE, pieces, edit=weights)
    last = len(translator.bundle.model.decoder.layers) - 1
    attended = seen[f"decoder.layers.{last}.cross_attention.weights"].mean(0).sum(0)
    coverage = 0.2 * float(attended[:-1].clamp(max=1).log().sum())
    assert plain.best.score is not None
    assert edited.best.score == pytest.approx(plain.best.score + coverage, rel=1e-4)


def test_nothing_is_left_of_an_edit(translator) -> None:
    before = translator.search(SOURCE)
    with pytest.raises(TraceError):
        search_edited(translator, SOURCE, {HEADS: zero(head=7)})
    search_edited(translator, SOURCE, {HEADS: zero()})
    assert translator.search(SOURCE) == before


def test_no_edit_changes_nothing(translator) -> None:
    edit = {HEADS: zero(head=[])}
    assert search_edited(translator, SOURCE, edit).ranking == translator.search(SOURCE).ranking


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"decoder.output": zero(target=0)}, "along 'target'"),
        ({"decoder.layers.0.self_attention.weights": zero(key=0)}, "along 'key'"),
        ({"decoder.output": replace(torch.ones(2, 14))}, "one row of the target"),
        ({"target_mask": forbid()}, "no 'target_mask'"),
        ({HEADS: then(zero(head=0), zero(query=0))}, "along 'query'"),
    ],
)
def test_edits_of_rows_are_refused(translator, edit, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        search_edited(translator, SOURCE, edit)
