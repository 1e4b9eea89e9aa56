"""The reference engine is the model itself."""

import numpy as np
import torch

from headway.decoding.reference import ReferenceEngine
from headway.model.transformer import Transformer

SOURCES = [[5, 9, 3], [7, 8, 22, 3]]


@torch.inference_mode()
def test_the_memory_is_projected_once_for_all_steps(tiny: Transformer) -> None:
    engine, calls = ReferenceEngine(tiny), []
    for layer in tiny.decoder.layers:
        layer.cross_attention.w_k.register_forward_hook(lambda *_: calls.append(1))
    state = engine.start(2, 1)
    engine.encode(state, [0, 1], SOURCES)

    for piece in (2, 5, 6):
        engine.step(state, np.array([0, 1]), np.array([piece, piece]))

    assert len(calls) == len(tiny.decoder.layers)
    assert [cohort.cache.length for cohort in state.cohorts] == [3]


@torch.inference_mode()
def test_sentences_that_start_together_stay_together_and_leave_nothing_behind(
    tiny: Transformer,
) -> None:
    engine = ReferenceEngine(tiny)
    state = engine.start(3, 1)
    engine.encode(state, [0, 1], SOURCES)
    engine.encode(state, [2], SOURCES[:1])
    assert [cohort.rows.tolist() for cohort in state.cohorts] == [[0, 1], [2]]

    engine.encode(state, [0, 1], SOURCES)

    assert [cohort.rows.tolist() for cohort in state.cohorts] == [[2], [0, 1]]
