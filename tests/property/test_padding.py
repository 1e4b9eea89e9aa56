"""Padding, the other sentences of a batch and their order change nothing."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.build_search import search_all
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
sentence = st.lists(st.integers(4, 22), max_size=5)
pairs = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm_position": "pre", "activation": "geglu", "positions": "learned"},
    {"sinusoid_layout": "halved", "pad_id": 1},
    {"decoder_past": "ssru"},
]
IDS = ["post", "pre, gated, learned", "halved, other padding", "ssru"]


def padded(rows: list[list[int]], pad_id: int, extra: int = 0) -> Tensor:
    width = max(map(len, rows)) + extra
    return torch.tensor([row + [pad_id] * (width - len(row)) for row in rows])


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-13), (torch.float32, 1e-6)],
    ids=["float64", "float32"],
)
@pytest.mark.parametrize("variant", VARIANTS, ids=IDS)
@settings(max_examples=15)
@given(pairs=pairs, extra=st.tuples(st.integers(0, 4), st.integers(0, 4)), data=st.data())
def test_a_sentence_alone_equals_it_in_any_batch_order_and_padding(
    build: Build,
    variant: dict[str, Any],
    dtype: torch.dtype,
    tolerance: float,
    pairs: list[tuple[list[int], list[int]]],
    extra: tuple[int, int],
    data: st.DataObject,
) -> None:
    model = build(dtype=dtype, **variant)
    order = data.draw(st.permutations(range(len(pairs))))
    sources = [[*pairs[index][0], END_ID] for index in order]
    targets = [[START_ID, *pairs[index][1]] for index in order]

    together = model(
        padded(sources, model.pad_id, extra[0]), padded(targets, model.pad_id, extra[1])
    )

    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = model(torch.tensor([source]), torch.tensor([target]))[0]
        # Another number of rows means another order of sums: the last bits may differ.
        limit = tolerance * max(1.0, alone.abs().max().item())
        torch.testing.assert_close(together[row, : len(target)], alone, rtol=0, atol=limit)


@pytest.mark.parametrize("variant", VARIANTS[:2], ids=IDS[:2])
@settings(max_examples=15)
@given(sources=st.lists(sentence, min_size=1, max_size=4), slots=st.integers(1, 4), data=st.data())
@pytest.mark.parametrize("beam_size", [1, 3], ids=["greedy", "beam"])
def test_a_translation_is_the_same_alone_and_in_any_batch(
    build: Build,
    variant: dict[str, Any],
    beam_size: int,
    sources: list[list[int]],
    slots: int,
    data: st.DataObject,
) -> None:
    engine = ReferenceEngine(build(**variant))
    order = data.draw(st.permutations(range(len(sources))))
    rows = [[*sources[index], END_ID] for index in order]

    options = SearchOptions(beam_size=beam_size, n_best=beam_size)

    def translate(rows: list[list[int]], slots: int) -> list[list[Hypothesis]]:
        requests = [Request(row, len(row) + 3) for row in rows]
        return search_all(engine, options, requests, slots=slots)

    together = translate(rows, slots)

    for row, found in zip(rows, together, strict=True):
        (alone,) = translate([row], 1)
        assert [h.ids for h in found] == [h.ids for h in alone]
        assert [h.complete for h in found] == [h.complete for h in alone]
        assert [h.score for h in found] == pytest.approx([h.score for h in alone], abs=1e-5)
