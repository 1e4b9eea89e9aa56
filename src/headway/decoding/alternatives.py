"""What else could stand at a place of a translation, with the model's probabilities."""

import math

import numpy as np
import torch

from headway.data.tokenizer import START_ID
from headway.decoding.candidates import candidates
from headway.decoding.engine import Engine
from headway.decoding.request import Request


@torch.inference_mode()
def next_pieces(engine: Engine, request: Request, count: int) -> list[tuple[int, float]]:
    """Return the most probable pieces after a prefix, with their probabilities, best first."""
    state, row = engine.start(1, 1), np.array([0])
    lists = None if request.allowed is None else [request.allowed]
    engine.encode(state, [0], [request.source_ids], lists)
    logits = engine.step(state, row, np.array([START_ID]))
    for piece in request.by_place().prefix:
        logits = engine.step(state, row, np.array([piece]))
    log_probs, ids = candidates(logits, count, [None])
    return [
        (request.pieces([place])[0], math.exp(log_prob))
        for place, log_prob in zip(ids[0].tolist(), log_probs[0], strict=True)
        if log_prob > -math.inf
    ]
