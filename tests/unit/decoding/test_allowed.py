"""Lists of allowed pieces: where what stands, and the same logits from every engine."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.packed import torch_backend
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

LISTS = [np.array([0, 1, 2, 3, 9, 20, 22]), np.array([0, 1, 2, 3, 5, 6, 7, 8, 11])]
SOURCES = [[5, 9, 3], [7, 8, 22, 3]]


def plain(model: Transformer, precision: Precision = "float32") -> Engine[Any]:
    return PackedEngine(model, TorchBackend(torch.device("cpu"), precision))


def compiled(model: Transformer, precision: Precision = "float32") -> Engine[Any]:
    pytest.importorskip("numba")
    from headway.decoding.packed.numba_backend import NumbaBackend

    return PackedEngine(model, NumbaBackend(precision))


def twice(model: Transformer) -> Engine[Any]:
    return EnsembleEngine([plain(model), ReferenceEngine(model)])


def gathered(model: Transformer) -> Engine[Any]:
    """Take the way of large vocabularies: the union of the lists alone."""
    return plain(model)


each_engine = pytest.mark.parametrize("make", [ReferenceEngine, plain, gathered, compiled, twice])


@pytest.fixture(autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.name.endswith("[gathered]"):
        monkeypatch.setattr(torch_backend, "_NEARLY_ALL", 1.0)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_places_and_pieces_turn_into_each_other() -> None:
    allowed = AllowedPieces(3)
    assert not allowed
    assert allowed.pieces(rows(0, 2), rows(7, 8)).tolist() == [7, 8]

    allowed.begin([2, 0], LISTS)

    assert allowed
    assert allowed.pieces(rows(0, 2, 2), rows(8, 4, 6)).tolist() == [11, 9, 22]
    assert allowed.width(rows(0)) == allowed.width(rows(0, 2)) == 64
    logits = torch.arange(23.0).expand(2, 23)
    own = allowed.of_all(logits, rows(0, 2))
    assert own[0, :9].tolist() == LISTS[1].tolist()
    assert own[1, :7].tolist() == LISTS[0].tolist()
    assert (own[0, 9:] == -math.inf).all()
    assert (own[1, 7:] == -math.inf).all()


def test_a_longer_list_makes_room_and_a_shorter_one_leaves_nothing_behind() -> None:
    allowed = AllowedPieces(2)
    allowed.begin([0, 1], LISTS)
    allowed.prepared = "something"
    allowed.begin([1], [np.arange(100)])
    assert allowed.prepared is None
    assert allowed.width(rows(0)) == 64
    assert allowed.width(rows(0, 1)) == 128
    assert allowed.pieces(rows(0, 1), rows(5, 99)).tolist() == [20, 99]
    allowed.begin([1], [LISTS[0]])
    assert allowed.sizes.tolist() == [7, 7]


def test_lists_are_for_all_sentences_or_for_none() -> None:
    allowed = AllowedPieces(2)
    allowed.begin([0], LISTS[:1])
    with pytest.raises(AssertionError, match="or none has"):
        allowed.begin([1], None)


@each_engine
@torch.inference_mode()
def test_columns_are_the_pieces_of_each_rows_own_list(
    tiny: Transformer, make: Callable[[Transformer], Engine[Any]]
) -> None:
    engine = make(tiny)
    state = engine.start(3, 3)
    engine.encode(state, [0, 2], SOURCES, LISTS)
    first = engine.step(state, rows(0, 6), rows(2, 2))
    engine.reorder(state, rows(0, 1, 2, 6), rows(0, 0, 0, 6))

    # By their places, these are 20, 22, 9 and 6.
    second = engine.step(state, rows(0, 1, 2, 6), rows(5, 6, 4, 5))

    for logits, pasts in ((first, [[], []]), (second, [[20], [22], [9], [6]])):
        for row, past in enumerate(pasts):
            which = int(row == len(pasts) - 1)
            target = torch.tensor([[2, *past]])
            expected = tiny(torch.tensor([SOURCES[which]]), target)[0, -1]
            own = expected[torch.from_numpy(LISTS[which])]
            torch.testing.assert_close(logits[row, : len(own)], own, rtol=0, atol=1e-5)
            assert (logits[row, len(own) :] == -math.inf).all()


@each_engine
@torch.inference_mode()
def test_a_refilled_slot_has_the_list_of_its_new_sentence(
    tiny: Transformer, make: Callable[[Transformer], Engine[Any]]
) -> None:
    engine = make(tiny)
    state = engine.start(2, 1)
    engine.encode(state, [0, 1], SOURCES, LISTS)
    engine.step(state, rows(0, 1), rows(2, 2))
    engine.encode(state, [0], SOURCES[1:], [np.array([0, 1, 2, 3, 17])])

    logits = engine.step(state, rows(0, 1), rows(2, 4))

    alone = tiny(torch.tensor([SOURCES[1]]), torch.tensor([[2]]))[0, -1]
    torch.testing.assert_close(logits[0, 4], alone[17], rtol=0, atol=1e-5)
    assert (logits[0, 5:] == -math.inf).all()
    assert logits[1].isfinite().sum() == len(LISTS[1])


@pytest.mark.parametrize("make", [plain, compiled])
@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
@torch.inference_mode()
def test_the_projection_is_in_float32_whatever_the_rest_is_in(
    build: Callable[..., Transformer], make: Callable[..., Engine[Any]], precision: Precision
) -> None:
    # Without layers that would round, only the projection is left.
    model = build(d_model=128, d_ff=160)
    engine, exact = make(model, precision), make(model)
    hidden = torch.randn(2, 128)
    allowed = AllowedPieces(2)
    allowed.begin([0, 1], LISTS)
    found, expected = (
        e.backend.tensor(e.listed_projection(e.backend.array(hidden), rows(0, 1), allowed))  # type: ignore[attr-defined]
        for e in (engine, exact)
    )
    assert torch.equal(found, expected)


def test_what_a_request_asks_for_is_allowed_and_numbered_by_its_place() -> None:
    request = Request([5, 3], 9, prefix=[20], favoured=[11], terms=[[7, 21], [4]])
    assert request.by_place() is request
    assert request.pieces([4, 5]) == (4, 5)
    assert request.places([4, 5]).tolist() == [4, 5]

    own = request.restricted(np.array([8, 11]))

    assert own.allowed is not None
    assert own.allowed.tolist() == [0, 1, 2, 3, 4, 7, 8, 11, 20, 21]
    placed = own.by_place()
    assert (placed.prefix, placed.favoured, placed.terms) == ([8], [7], [[5, 9], [4]])
    assert own.pieces([8, 7, 4, 3]) == (20, 11, 4, 3)
    assert own.places([3, 9, 22, 11]).tolist() == [3, 7]  # 9 and 22 are not allowed
    assert own.source_ids == request.source_ids
