"""An ensemble has the mean of the probabilities at every step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.model.transformer import Transformer

SOURCE = [5, 9, 3]


@torch.inference_mode()
def test_the_probabilities_of_a_step_are_the_mean(build: Callable[..., Transformer]) -> None:
    models = [build(seed) for seed in (1, 2, 3)]
    engine = EnsembleEngine([ReferenceEngine(models[0]), *map(build_engine, models[1:])])
    state = engine.start(1, 1)
    engine.encode(state, [0], [SOURCE])

    logits = engine.step(state, np.array([0]), np.array([2]))

    own = [m(torch.tensor([SOURCE]), torch.tensor([[2]]))[0, -1].softmax(-1) for m in models]
    torch.testing.assert_close(logits[0].softmax(-1), torch.stack(own).mean(0), rtol=0, atol=1e-6)


@torch.inference_mode()
def test_models_that_are_all_alike_have_their_own_logits(tiny: Transformer) -> None:
    logits = []
    for engine in (EnsembleEngine([build_engine(tiny)] * 3), build_engine(tiny)):
        state = engine.start(1, 1)
        engine.encode(state, [0], [SOURCE])
        logits.append(engine.step(state, np.array([0]), np.array([2])))

    torch.testing.assert_close(*logits, rtol=0, atol=1e-5)


def test_a_repetition_penalty_does_to_them_what_it_does_to_one(tiny: Transformer) -> None:
    options = SearchOptions(3, repetition_penalty=1.7, n_best=3)
    requests = [Request([*ids, 3], 8) for ids in ([5, 9], [4, 7, 22, 6], [8])]

    found = search_all(EnsembleEngine([build_engine(tiny)] * 2), options, requests)

    alone = search_all(build_engine(tiny), options, requests)
    assert [[h.ids for h in each] for each in found] == [[h.ids for h in each] for each in alone]


def test_the_score_of_a_translation_is_that_of_the_mean(build: Callable[..., Transformer]) -> None:
    models = [build(seed) for seed in (1, 2)]
    engine = EnsembleEngine([build_engine(model) for model in models])

    (found,) = search_all(engine, SearchOptions(3, n_best=3), [Request(SOURCE, 6)])

    with torch.inference_mode():
        for h in found:
            target = torch.tensor([[2, *h.ids]])
            mean = sum(m(torch.tensor([SOURCE]), target)[0].softmax(-1) for m in models) / 2
            steps = mean.log().gather(1, torch.tensor([*h.ids, 3])[:, None])
            assert h.log_prob == pytest.approx(float(steps.sum()), abs=1e-4)


def test_enough_for_an_ensemble_is_what_is_enough_for_the_first_to_have_enough(
    scripted: Any,
) -> None:
    engines = [scripted({}) for _ in range(3)]
    ensemble = EnsembleEngine(engines)
    assert ensemble.max_useful_source_pieces(1) is None

    engines[1].at_ease, engines[2].at_ease = 9, 5

    assert ensemble.max_useful_source_pieces(1) == 5


def test_one_model_alone_is_itself(tiny: Transformer) -> None:
    requests = [Request([*ids, 3], 8) for ids in ([5, 9], [4, 7, 22, 6], [8])]

    found = search_all(EnsembleEngine([build_engine(tiny)] * 2), SearchOptions(3), requests)

    alone = search_all(build_engine(tiny), SearchOptions(3), requests)
    assert [f[0].ids for f in found] == [f[0].ids for f in alone]
