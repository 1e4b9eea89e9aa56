"""What the protocol of engines promises to every search holds for each engine."""

import copy
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.data.tokenizer import START_ID
from headway.decoding.engine import Engine
from headway.decoding.packed.engine import PackedEngine, parts_of
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.reference import ReferenceEngine
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

SOURCES = [[5, 9, 3], [7, 8, 22, 3], [4, 3]]


def plain(model: Transformer) -> Engine[Any]:
    return PackedEngine(model, TorchBackend(torch.device("cpu")))


def compiled(model: Transformer) -> Engine[Any]:
    pytest.importorskip("numba")
    from headway.decoding.packed.numba_backend import NumbaBackend

    return PackedEngine(model, NumbaBackend())


each_engine = pytest.mark.parametrize("make", [ReferenceEngine, plain, compiled])
Make = Callable[[Transformer], Engine[Any]]
Build = Callable[..., Transformer]


def backend(precision: Precision) -> Iterator[Any]:
    """Yield both kinds of kernels, as far as they can be had."""
    yield TorchBackend(torch.device("cpu"), precision)
    if find_spec("numba"):
        from headway.decoding.packed.numba_backend import NumbaBackend

        yield NumbaBackend(precision)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def whole(model: Transformer, source: list[int], past: list[int]) -> torch.Tensor:
    return model(torch.tensor([source]), torch.tensor([[START_ID, *past]]))[0, -1]


@each_engine
@torch.inference_mode()
def test_a_step_gives_one_row_of_logits_for_each_row_asked_for(
    tiny: Transformer, make: Make
) -> None:
    engine = make(tiny)
    state = engine.start(3, 2)
    engine.encode(state, [0, 2], SOURCES[:2])

    logits = engine.step(state, rows(0, 4), rows(2, 2))

    assert logits.shape == (2, 23)
    torch.testing.assert_close(logits[0], whole(tiny, SOURCES[0], []), rtol=0, atol=1e-5)
    torch.testing.assert_close(logits[1], whole(tiny, SOURCES[1], []), rtol=0, atol=1e-5)


@each_engine
@torch.inference_mode()
def test_a_row_that_is_left_out_changes_nothing_for_the_others(
    tiny: Transformer, make: Make
) -> None:
    engine = make(tiny)
    state = engine.start(3, 1)
    engine.encode(state, [0, 1, 2], SOURCES)
    engine.step(state, rows(0, 1, 2), rows(2, 2, 2))

    logits = engine.step(state, rows(1, 2), rows(6, 7))

    torch.testing.assert_close(logits[0], whole(tiny, SOURCES[1], [6]), rtol=0, atol=1e-5)
    torch.testing.assert_close(logits[1], whole(tiny, SOURCES[2], [7]), rtol=0, atol=1e-5)


@each_engine
@torch.inference_mode()
def test_the_first_row_of_a_slot_becomes_many(tiny: Transformer, make: Make) -> None:
    engine = make(tiny)
    state = engine.start(2, 3)
    engine.encode(state, [0, 1], SOURCES[:2])
    engine.step(state, rows(0, 3), rows(2, 2))

    engine.reorder(state, rows(0, 1, 2, 3, 4), rows(0, 0, 0, 3, 3))
    logits = engine.step(state, rows(0, 1, 2, 3, 4), rows(4, 5, 6, 7, 8))

    for row, past in enumerate([4, 5, 6, 7, 8]):
        expected = whole(tiny, SOURCES[row // 3], [past])
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-5)


@each_engine
@torch.inference_mode()
def test_rows_can_change_places(tiny: Transformer, make: Make) -> None:
    engine = make(tiny)
    state = engine.start(1, 3)
    engine.encode(state, [0], SOURCES[:1])
    engine.step(state, rows(0), rows(2))
    engine.reorder(state, rows(0, 1, 2), rows(0, 0, 0))
    engine.step(state, rows(0, 1, 2), rows(4, 5, 6))

    engine.reorder(state, rows(0, 1, 2), rows(2, 0, 0))
    logits = engine.step(state, rows(0, 1, 2), rows(7, 8, 9))

    for row, past in enumerate([[6, 7], [4, 8], [4, 9]]):
        expected = whole(tiny, SOURCES[0], past)
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-5)


@each_engine
@torch.inference_mode()
def test_a_refilled_slot_remembers_nothing(tiny: Transformer, make: Make) -> None:
    engine = make(tiny)
    state = engine.start(2, 1)
    engine.encode(state, [0, 1], SOURCES[:2])
    for piece in (2, 9, 10):
        engine.step(state, rows(0, 1), rows(piece, piece))

    engine.encode(state, [0], [SOURCES[2]])
    logits = engine.step(state, rows(0, 1), rows(2, 11))

    torch.testing.assert_close(logits[0], whole(tiny, SOURCES[2], []), rtol=0, atol=1e-5)
    expected = whole(tiny, SOURCES[1], [9, 10, 11])
    torch.testing.assert_close(logits[1], expected, rtol=0, atol=1e-5)


@each_engine
@torch.inference_mode()
def test_caches_grow_as_far_as_a_sentence_goes(
    tiny: Transformer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.decoding.packed.state._PAST_ROOM", 33)
    engine = make(tiny)
    state = engine.start(2, 2)
    source = [4 + i % 19 for i in range(75)] + [3]
    engine.encode(state, [0, 1], [SOURCES[0], source])
    pasts: list[list[int]] = [[], []]
    engine.step(state, rows(0, 2), rows(START_ID, START_ID))

    for step in range(70):  # the better row comes from the other one again and again
        engine.reorder(
            state, rows(0, 1, 2, 3), rows(*([0, 0, 2, 2] if step == 0 else [1, 0, 3, 2]))
        )
        newest = [4 + (step + row) % 19 for row in range(4)]
        logits = engine.step(state, rows(0, 1, 2, 3), rows(*newest))
        pasts = pasts if step == 0 else pasts[::-1]
        pasts = [[*past, piece] for past, piece in zip(pasts, newest[:2], strict=True)]

    torch.testing.assert_close(logits[0], whole(tiny, SOURCES[0], pasts[0]), rtol=0, atol=2e-5)
    pasts = [[(piece - 4 + 2) % 19 + 4 for piece in past] for past in pasts]
    torch.testing.assert_close(logits[2], whole(tiny, source, pasts[0]), rtol=0, atol=2e-5)
    torch.testing.assert_close(logits[3], whole(tiny, source, pasts[1]), rtol=0, atol=2e-5)


@each_engine
@torch.inference_mode()
def test_a_longer_sentence_that_comes_later_leaves_the_memory_of_others(
    tiny: Transformer, make: Make
) -> None:
    engine = make(tiny)
    state = engine.start(3, 1)
    engine.encode(state, [0, 2], SOURCES[:2])
    engine.step(state, rows(0, 2), rows(START_ID, START_ID))
    source = [4 + i % 19 for i in range(75)] + [3]

    engine.encode(state, [1, 2], [source, SOURCES[2]])
    logits = engine.step(state, rows(0, 1, 2), rows(9, START_ID, START_ID))

    torch.testing.assert_close(logits[0], whole(tiny, SOURCES[0], [9]), rtol=0, atol=1e-5)
    torch.testing.assert_close(logits[1], whole(tiny, source, []), rtol=0, atol=1e-5)
    torch.testing.assert_close(logits[2], whole(tiny, SOURCES[2], []), rtol=0, atol=1e-5)


@torch.inference_mode()
def test_of_caches_that_grow_for_new_sentences_only_what_others_wrote_is_copied(
    tiny: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = plain(tiny)
    copied = []
    grow = engine.backend.grow
    monkeypatch.setattr(
        engine.backend,
        "grow",
        lambda cache, room, lengths: copied.append(lengths.tolist()) or grow(cache, room, lengths),
    )
    state = engine.start(3, 1)
    engine.encode(state, [0, 2], SOURCES[:2])

    engine.encode(state, [1, 2], [[4] * 75 + [3], SOURCES[2]])

    assert copied == [[len(SOURCES[0]), 0, 0]] * 4  # keys and values of two layers


@pytest.mark.parametrize("precision", ["float32", "int8"])
@torch.inference_mode()
def test_sentences_that_are_read_a_few_at_a_time_are_the_same_bits(
    tiny: Transformer, precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    from headway.decoding.packed.numba_backend import NumbaBackend

    at_once = PackedEngine(tiny, NumbaBackend(precision))
    monkeypatch.setattr("headway.decoding.packed.engine._READ_TOGETHER", 7 * at_once.memory_width)
    in_parts = PackedEngine(tiny, NumbaBackend(precision))
    assert in_parts.pieces_together == 7
    read: list[int] = []
    encode = in_parts.whole_encoder
    in_parts.whole_encoder = lambda ids, starts: read.append(len(ids)) or encode(ids, starts)  # type: ignore

    logits = []
    for engine in (at_once, in_parts):
        state = engine.start(3, 1)
        engine.encode(state, [2, 0, 1], SOURCES)
        logits.append(engine.step(state, rows(0, 1, 2), rows(2, 2, 2)))

    assert torch.equal(*logits)
    assert read == [7, 2]


@given(lengths=st.lists(st.integers(1, 9), min_size=1), most=st.integers(1, 12))
def test_parts_are_all_sentences_and_as_full_as_they_may_be(lengths: list[int], most: int) -> None:
    parts = [lengths[part] for part in parts_of(np.array(lengths), most)]

    assert [length for part in parts for length in part] == lengths
    assert all(sum(part) <= most or len(part) == 1 for part in parts)
    assert all(sum(part) + after[0] > most for part, after in pairwise(parts))


def test_how_many_are_enough_is_known_of_compiled_loops(build: Build) -> None:
    assert plain(build()).max_useful_source_pieces(1) is None
    module = pytest.importorskip("headway.decoding.packed.numba_backend")

    for precision in ("float32", "bfloat16", "int8"):
        engine = PackedEngine(build(), module.NumbaBackend(precision))
        assert engine.max_useful_source_pieces(1) is not None


@pytest.mark.parametrize("make", [plain, compiled])
@pytest.mark.parametrize("copies", [1, 3])
def test_enough_is_at_work_when_caches_hold_as_many_numbers_as_the_decoder_has_weights(
    build: Build, make: Make, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build()
    engine: Any = make(model)
    engine.backend.by_memory = True
    state = engine.start(1, copies)
    memory, past = (
        sum(part.shape[2] for cache in caches for part in (cache.keys, cache.values))
        for caches in (state.memory, state.past)
    )
    each = memory + copies * past / 2  # numbers for a source piece, hypotheses half written
    parts = model.decoder, model.output_projection
    weights = sum(p.numel() for part in parts for p in part.parameters())

    of_so_small_a_model = engine.max_useful_source_pieces(copies)
    monkeypatch.setattr("headway.decoding.packed.engine._ALWAYS", 0)

    assert abs(engine.max_useful_source_pieces(copies) * each - weights) <= each / 2
    assert abs(of_so_small_a_model * each - 2**20) <= each / 2
    engine.backend.by_memory = False
    assert engine.max_useful_source_pieces(copies) is None


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@torch.inference_mode()
def test_caches_are_of_bfloat16_where_products_are_not_of_float32(
    build: Build, precision: Precision
) -> None:
    """In int8 the products of so small a model stay in float32: what differs comes of the caches.

    A key or value is off by 1 part in 512 at most; so is a score, of products with these, and an
    output, of both, some parts in 512. In bfloat16 the products are rounded as often again.
    """
    model = build()
    found = []
    for kind in backend(precision):
        engine = PackedEngine(model, kind)
        state = engine.start(2, 2)
        engine.encode(state, [0, 1], SOURCES[:2])
        for piece in (START_ID, 9, 10, 11):
            logits = engine.step(state, rows(0, 2), rows(piece, piece))
        parts = [part for c in (*state.past, *state.memory) for part in (c.keys, c.values)]
        assert {part.dtype.itemsize for part in parts} == {4 if precision == "float32" else 2}
        found.append(logits)

    exact = torch.stack([whole(model, source, [9, 10, 11]) for source in SOURCES[:2]])
    spread = float(exact.max() - exact.min())
    least, most = {"float32": (0, 1e-5), "int8": (1e-5, 0.01), "bfloat16": (1e-4, 0.04)}[precision]
    for logits in found:
        assert least * spread <= float((logits - exact).abs().max()) <= most * spread
    if precision == "int8":  # the same rounding in both; sums differ in their last bits
        assert float((found[0] - found[-1]).abs().max()) <= 0.002 * spread


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@torch.inference_mode()
def test_a_model_in_another_type_computes_as_if_its_numbers_were_in_float32(
    build: Build, dtype: torch.dtype, precision: Precision
) -> None:
    other = build(positions="learned").to(dtype)  # a table of sinusoids is as fine as its type
    same = copy.deepcopy(other).float()
    for kind in backend(precision):
        found = []
        for model in (other, same):
            engine = PackedEngine(model, kind)
            state = engine.start(1, 1)
            engine.encode(state, [0], SOURCES[:1])
            found.append(engine.step(state, rows(0), rows(2)))
        torch.testing.assert_close(*found, rtol=0, atol=0)
