"""Groups of a beam keep away from each other, as worked out by hand."""

import math
import random
from itertools import pairwise
from typing import Any

import pytest
import torch

from headway.config.model import ModelConfig
from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search, search_all
from headway.decoding.diverse import DiverseBeamSearch
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.decoding.streaming import stream_search
from headway.model.transformer import Transformer

TABLE = {
    (7,): {4: 0.6, 5: 0.4},
    (7, 4): {4: 0.7, 5: 0.3},
    (7, 5): {4: 0.6, 5: 0.4},
    **{(7, a, b): {3: 1.0} for a in (4, 5) for b in (4, 5)},
}


@pytest.mark.parametrize(
    ("diversity", "expected"),
    [
        # Without a penalty both groups of one hypothesis do the same.
        (0.0, [(4, 4)]),
        # .6 against .4: log .6 - .3 is still better. Then log .7 - .3 against log .3.
        (0.3, [(4, 4)]),
        # log .6 - .5 = -1.01 against log .4 = -.92: the second group takes 5. Then the first takes
        # 4 again, and for the second, behind 5, the same numbers decide for 5 once more.
        (0.5, [(4, 4), (5, 5)]),
    ],
)
def test_two_groups_by_hand(find: Any, diversity: float, expected: list[tuple[int, ...]]) -> None:
    options = SearchOptions(2, 0.0, 2, groups=2, diversity=diversity)

    (found,) = find(TABLE, [7], options)

    assert [h.ids for h in found] == expected
    # The penalty is not in the log-probability.
    own = {(4, 4): 0.6 * 0.7, (5, 5): 0.4 * 0.4}
    for h in found:
        assert h.log_prob == pytest.approx(math.log(own[h.ids]), abs=1e-5)


class RandomTable(dict[tuple[int, ...], dict[int, float]]):
    """Probabilities of the end and of three pieces after any pieces, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def get(self, past: tuple[int, ...], default: Any = None) -> dict[int, float]:
        rng = random.Random(f"{self.seed} {past}")
        weights = [rng.random() ** 3 for _ in range(4)]
        return {piece: w / sum(weights) for piece, w in zip((3, 4, 5, 6), weights, strict=True)}


@pytest.mark.parametrize("seed", range(250, 260))
def test_hypotheses_without_hope_keep_their_places_in_a_group(scripted: Any, seed: int) -> None:
    """Of those that a group may choose from, the ones that it avoids rank below worse ones."""
    options = SearchOptions(6, 0.0, 4, groups=2, diversity=2.0, patience=2.0)
    engine, requests = scripted(RandomTable(seed), 7), [Request([7, 3], 6)]
    whole = DiverseBeamSearch(options)
    for group in whole.groups:
        group.drops_hopeless = False

    (found,) = search_all(engine, options, requests)
    ((_, expected),) = run_search(StepwiseBatch(engine, whole, 1), enumerate(requests), slots=1)

    assert [h.ids for h in found] == [h.ids for h in expected]


def test_without_a_penalty_each_group_is_a_beam(tiny: Transformer) -> None:
    engine = build_engine(tiny)
    requests = [Request([*ids, 3], 8) for ids in ([5, 9], [4, 7, 22, 6], [8])]
    beam = search_all(engine, SearchOptions(3, n_best=3), requests)

    grouped = search_all(engine, SearchOptions(6, n_best=3, groups=2, diversity=0.0), requests)

    for ours, theirs in zip(grouped, beam, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_groups_bring_more_different_words_and_do_not_depend_on_the_batch(
    tiny: Transformer, engine: Any
) -> None:
    made = build_engine(tiny, engine)
    requests = [Request([4 + n % 19, 4 + n * 7 % 19, 3], 7) for n in range(20)]
    options = SearchOptions(4, n_best=4, groups=4, diversity=2.0)

    found = search_all(made, options, requests)

    alone = [search_all(made, options, [request])[0] for request in requests]
    few = search_all(made, options, requests, slots=3)
    for ours, theirs, others in zip(found, alone, few, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs] == [h.ids for h in others]
    plain = search_all(made, SearchOptions(4, n_best=4), requests)

    def first_words(all_found: list) -> int:
        return sum(len({h.ids[:1] for h in hypotheses}) for hypotheses in all_found)

    assert first_words(found) > 1.5 * first_words(plain)


@pytest.mark.parametrize("seed", [32, 61])
def test_what_a_stream_has_told_is_told_for_good_also_when_a_group_is_done(seed: int) -> None:
    torch.manual_seed(seed)
    sizes = {"d_model": 8, "d_ff": 8, "num_heads": 1, "num_encoder_layers": 1}
    config = ModelConfig.parse(
        {**sizes, "num_decoder_layers": 1, "source_vocab_size": 9, "target_vocab_size": 9}
    )
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.4)
    options = SearchOptions(6, 1.0, n_best=6, groups=2, diversity=3.0)
    engine, request = build_engine(model, "reference"), Request([5, 6, 7, 3], 8)

    told = [tuple(ids) for ids in stream_search(engine, build_search(options), request)]

    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(told))
    assert told[-1] == search_all(engine, options, [request])[0][0].ids
