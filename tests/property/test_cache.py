"""Decoding step by step with a cache equals one pass over everything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.data.tokenizer import START_ID
from headway.decoding.engine import Engine
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.reference import ReferenceEngine
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
pieces = st.integers(4, 22)
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm_position": "pre"},
    "ssru": {"decoder_past": "ssru"},
    "ssru, zeros": {"decoder_past": "ssru", "zero_id": 2},
    "halved": {"sinusoid_layout": "halved", "first_position": 2},
    "learned": {"positions": "learned", "max_positions": 9},
    "gated": {"activation": "swiglu", "attention_bias": False},
    "depths": {"num_encoder_layers": 3, "num_decoder_layers": 1, "output_bias": True},
    "apart": {"shared_embeddings": "none", "scale_embeddings": False},
}
by_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


def source_of(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


@by_variant
@settings(max_examples=12)
@given(
    sources=st.lists(st.lists(pieces, min_size=1, max_size=5), min_size=1, max_size=3),
    data=st.data(),
)
def test_step_by_step_equals_all_at_once(
    build: Build, variant: dict[str, Any], sources: list[list[int]], data: st.DataObject
) -> None:
    model = build(dtype=torch.float64, **variant)
    engine, rows = ReferenceEngine(model), np.arange(len(sources))
    length = data.draw(st.integers(1, 8))
    chosen = [data.draw(st.lists(pieces, min_size=length, max_size=length)) for _ in sources]
    target = np.array([[START_ID, *row] for row in chosen])

    with torch.inference_mode():
        state = engine.start(len(sources), 1)
        engine.encode(state, rows.tolist(), sources)
        steps = [engine.step(state, rows, target[:, t].copy()) for t in range(length + 1)]
        expected = model(source_of(sources), torch.from_numpy(target))

    torch.testing.assert_close(torch.stack(steps, dim=1), expected, rtol=0, atol=1e-12)


@dataclass
class Row:
    """What a row of a state should have seen."""

    source: list[int]
    past: list[int]


def engine_of(kind: str, model: Transformer) -> Engine[Any]:
    if kind == "reference":
        return ReferenceEngine(model)
    if kind == "plain":
        return PackedEngine(model, TorchBackend(torch.device("cpu")))
    pytest.importorskip("numba")
    from headway.decoding.packed.numba_backend import NumbaBackend

    return PackedEngine(model, NumbaBackend())


@pytest.mark.parametrize("kind", ["reference", "plain", "compiled"])
@by_variant
@settings(max_examples=6)
@given(slots=st.integers(1, 3), copies=st.integers(1, 3), data=st.data())
def test_a_row_keeps_its_own_past_through_reordering_and_refill(
    build: Build,
    kind: str,
    variant: dict[str, Any],
    slots: int,
    copies: int,
    data: st.DataObject,
) -> None:
    """Play a search: hypotheses replace each other, sentences come and go, every logit is right."""
    exact = kind == "reference"
    model = build(dtype=torch.float64 if exact else torch.float32, **variant)
    engine, limit = engine_of(kind, model), 1e-12 if exact else 2e-5
    with pytest.MonkeyPatch.context() as patch:  # room for two positions: caches grow at once
        patch.setattr("headway.decoding.packed.state._PAST_ROOM", 2)
        patch.setattr("headway.decoding.packed.state._MEMORY_ROOM", 2)
        state = engine.start(slots, copies)
    live: dict[int, Row] = {}
    with torch.inference_mode():
        for _ in range(data.draw(st.integers(1, 7))):
            free = sorted(set(range(slots)) - {row // copies for row in live})
            taken = data.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
            taken = taken or ([] if live else free[:1])
            if taken:
                sources = [data.draw(st.lists(pieces, min_size=1, max_size=5)) for _ in taken]
                engine.encode(state, taken, sources)
                fresh = zip(taken, sources, strict=True)
                live |= {slot * copies: Row(source, []) for slot, source in fresh}
            live = _step(engine, state, model, live, limit, data)
            live = _reorder(engine, state, live, copies, data)
            live = {r: row for r, row in live.items() if len(row.past) < 8}


def _step(engine, state, model, live, limit, data) -> dict[int, Row]:
    live = dict(sorted(live.items()))
    newest = [data.draw(pieces) if row.past else START_ID for row in live.values()]
    logits = engine.step(state, np.array(list(live)), np.array(newest))
    for index, (row, piece) in enumerate(zip(live.values(), newest, strict=True)):
        row.past.append(piece)
        alone = model(torch.tensor([row.source]), torch.tensor([row.past]))[0, -1]
        torch.testing.assert_close(logits[index], alone, rtol=0, atol=limit)
    return live


def _reorder(engine, state, live, copies, data) -> dict[int, Row]:
    """Let some sentences end, and the hypotheses of the others replace each other."""
    after: dict[int, Row] = {}
    parents: dict[int, int] = {}
    for slot in sorted({row // copies for row in live}):
        if data.draw(st.integers(0, 3)) == 0:
            continue
        mine = [row for row in live if row // copies == slot]
        for copy in range(copies):
            if copy == 0 or data.draw(st.booleans()):
                row, parent = slot * copies + copy, data.draw(st.sampled_from(mine))
                parents[row] = parent
                after[row] = Row(live[parent].source, list(live[parent].past))
    engine.reorder(state, np.array(list(parents), int), np.array(list(parents.values()), int))
    return after
