"""What an edit changes, in numbers and in a sentence."""

import math

import pytest
import torch

from headway.errors import TraceError
from headway.inspection.comparing import compare
from headway.inspection.edit import forbid, replace, zero

SOURCE, TARGET = "나는 너를 본다 .", "I see you ."
HEADS = "decoder.layers.1.cross_attention.heads"


def test_the_same_trace_twice_has_not_moved(translator) -> None:
    found = compare(translator.trace(SOURCE, TARGET), translator.trace(SOURCE, TARGET))
    assert found.moved == ()
    assert found.before == found.after
    assert found.sentence("en").startswith("Every row")
    assert found.sentence("ko").startswith("모든 행")


def test_what_moved_most_comes_first(translator) -> None:
    before = translator.trace(SOURCE, TARGET)
    after = translator.trace(SOURCE, TARGET, edit={HEADS: zero()})
    found = compare(before, after, 9)
    values = dict(found.moved)
    assert list(values.values()) == sorted(values.values(), reverse=True)
    assert values[HEADS] == 1.0
    name = "decoder.layers.1.output"
    if name in values:
        gap = torch.linalg.norm(after[name] - before[name])
        assert values[name] == pytest.approx(float(gap / torch.linalg.norm(before[name])))
    assert not any(name.startswith("encoder") for name in values)
    places = [abs(b.probability - a.probability) for a, b in
              zip(found.before, found.after, strict=True)]  # fmt: skip
    row = places.index(max(places))
    # Steps are counted from 1, as the page does and the table of a search.
    assert f"of step {row + 1} " in found.sentence()
    assert f"{row + 1}번째 스텝의" in found.sentence("ko")
    assert f"{found.after[row].probability:.4f}" in found.sentence("ko")


def test_a_tensor_of_zeros_moves_without_bound(translator) -> None:
    before = translator.trace(SOURCE, TARGET, edit={HEADS: zero()})
    after = translator.trace(SOURCE, TARGET, edit={HEADS: replace(1.0)})
    assert dict(compare(before, after).moved)[HEADS] == math.inf


@pytest.mark.parametrize("edit", [{HEADS: zero()}, {"source_mask": forbid(key=0)}])
def test_masks_are_no_movement(translator, edit) -> None:
    before = translator.trace(SOURCE, TARGET)
    after = translator.trace(SOURCE, TARGET, edit=edit)
    assert all(math.isfinite(value) for _, value in compare(before, after, 999).moved)


def test_other_pieces_cannot_be_compared(translator) -> None:
    with pytest.raises(TraceError, match="different tokens"):
        compare(translator.trace(SOURCE, TARGET), translator.trace(SOURCE, "I see"))
