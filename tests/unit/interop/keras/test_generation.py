"""Greedy generation in Keras chooses the pieces that our greedy search chooses."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID
from headway.decoding.build_search import search_all
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.errors import ConfigError
from headway.interop.keras import from_bundle, greedy_decode

MakeBundle = Callable[..., Bundle]


def sources(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ids = np.zeros((6, 7), dtype=np.int32)
    for row, length in enumerate((1, 2, 3, 4, 5, 6)):
        ids[row, :length] = rng.integers(4, 23, length)
        ids[row, length] = END_ID
    return ids


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_is_our_greedy_search(seed: int, make_bundle: MakeBundle) -> None:
    bundle, ids = make_bundle(seed), sources(seed)
    limits = [40, 17, 3, 0, 16, 9]  # beyond the first frame, at its end, within it

    found = greedy_decode(from_bundle(bundle), ids, limits)

    requests = [
        Request(row[row > 0].tolist(), limit) for row, limit in zip(ids, limits, strict=True)
    ]
    ours = search_all(ReferenceEngine(bundle.model), SearchOptions(beam_size=1), requests)
    assert found == [list(hypotheses[0].ids) for hypotheses in ours]
    assert max(map(len, found)) > 16


def test_rows_of_the_table_without_a_piece_are_not_chosen(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(1, shared_embeddings="none", target_vocab_size=31, output_bias=True)
    with torch.no_grad():  # the best of all at every step, if it counted
        bundle.model.output_projection.bias[23:] = 50.0  # type: ignore[index]
    model = from_bundle(bundle)

    assert min(min(ids) for ids in greedy_decode(model, sources(1), [5] * 6)) >= 23
    found = greedy_decode(model, sources(1), [5] * 6, num_pieces=23)
    assert max(max(ids, default=0) for ids in found) < 23
    assert any(found)


def test_the_frame_stays_within_the_table_of_positions(make_bundle: MakeBundle) -> None:
    model = from_bundle(make_bundle(1, max_positions=21))
    found = greedy_decode(model, sources(1), [20] * 6)
    assert max(map(len, found)) == 20


def test_each_row_needs_its_limit(make_bundle: MakeBundle) -> None:
    with pytest.raises(ConfigError, match=r"shape \(6, 7\), and there are 2 max_lengths"):
        greedy_decode(from_bundle(make_bundle()), sources(0), [1, 2])
