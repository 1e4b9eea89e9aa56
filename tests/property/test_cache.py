"""Decoding step by step with a cache equals one pass over everything."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.data.tokenizer import START_ID
from headway.decoding.reference import ReferenceEngine
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
pieces = st.integers(4, 22)
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm_position": "pre"},
    "halved": {"sinusoid_layout": "halved"},
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
    engine, source = ReferenceEngine(model), source_of(sources)
    length = data.draw(st.integers(1, 8))
    chosen = [data.draw(st.lists(pieces, min_size=length, max_size=length)) for _ in sources]
    target = torch.tensor([[START_ID, *row] for row in chosen])

    with torch.inference_mode():
        state = engine.encode(source)
        steps = [engine.step(state, target[:, t]) for t in range(length + 1)]
        expected = model(source, target)

    torch.testing.assert_close(torch.stack(steps, dim=1), expected, rtol=0, atol=1e-12)


@by_variant
@settings(max_examples=12)
@given(
    sources=st.lists(st.lists(pieces, min_size=1, max_size=5), min_size=1, max_size=3),
    copies=st.integers(1, 3),
    data=st.data(),
)
def test_a_row_keeps_its_own_past_through_reordering_and_compacting(
    build: Build,
    variant: dict[str, Any],
    sources: list[list[int]],
    copies: int,
    data: st.DataObject,
) -> None:
    """Play a search: hypotheses replace each other, sentences finish, and every logit is right."""
    model = build(dtype=torch.float64, **variant)
    engine = ReferenceEngine(model)
    owners = [index for index in range(len(sources)) for _ in range(copies)]
    pasts: list[list[int]] = [[] for _ in owners]
    previous = [START_ID] * len(owners)

    with torch.inference_mode():
        state = engine.encode(source_of(sources), copies)
        for _ in range(data.draw(st.integers(1, 6))):
            logits = engine.step(state, torch.tensor(previous))
            pasts = [[*past, piece] for past, piece in zip(pasts, previous, strict=True)]
            for row, (owner, past) in enumerate(zip(owners, pasts, strict=True)):
                alone = model(torch.tensor([sources[owner]]), torch.tensor([past]))[0, -1]
                torch.testing.assert_close(logits[row], alone, rtol=0, atol=1e-12)
            parents = [
                data.draw(st.sampled_from([r for r, other in enumerate(owners) if other == owner]))
                for owner in owners
            ]
            engine.reorder(state, torch.tensor(parents))
            pasts = [pasts[parent] for parent in parents]
            alive = data.draw(st.sets(st.sampled_from(sorted(set(owners))), min_size=1))
            keep = [row for row, owner in enumerate(owners) if owner in alive]
            if len(keep) < len(owners):
                engine.compact(state, torch.tensor(keep))
            owners, pasts = [owners[row] for row in keep], [pasts[row] for row in keep]
            previous = [data.draw(pieces) for _ in owners]
