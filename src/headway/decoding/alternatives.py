"""What else could stand at a place of a translation, with the model's probabilities."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from headway.data.tokenizer import START_ID
from headway.decoding.engine import Engine
from headway.decoding.search import candidates


@torch.inference_mode()
def next_pieces(
    engine: Engine, source_ids: Sequence[int], target_ids: Sequence[int], count: int
) -> list[tuple[int, float]]:
    """Return the most probable pieces after these, with their probabilities, best first."""
    state, row = engine.start(1, 1), np.array([0])
    engine.encode(state, [0], [source_ids])
    logits = engine.step(state, row, np.array([START_ID]))
    for piece in target_ids:
        logits = engine.step(state, row, np.array([piece]))
    log_probs, ids = candidates(logits, count, [None])
    return [
        (int(piece), math.exp(log_prob))
        for piece, log_prob in zip(ids[0], log_probs[0], strict=True)
        if log_prob > -math.inf
    ]
