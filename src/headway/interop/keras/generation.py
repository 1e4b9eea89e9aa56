"""Greedy generation: start symbol in, the most probable piece at every step, until the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.data.tokenizer import END_ID, PAD_ID, START_ID
from headway.decoding.candidates import NEVER_CHOSEN
from headway.errors import ConfigError
from headway.interop.keras.backend import keras

_FRAME = 16


def greedy_decode(
    model: keras.Model,
    source_ids: Any,
    max_lengths: Sequence[int],
    *,
    num_pieces: int | None = None,
) -> list[list[int]]:
    """Return the ids of one translation for each row of source_ids (B, S), without end symbols.

    source_ids: END at the end, padding after it. max_lengths: most pieces, a number for each row.
    num_pieces: size of the vocabulary, if the model's table has more rows; these are not text. The
    whole prefix goes through the model at every step, plain and slow. It is padded to a length that
    doubles when it is full, because JAX compiles the model for every new length.
    """
    source = np.asarray(source_ids, dtype=np.int32)
    if source.ndim != 2 or len(max_lengths) != len(source):
        raise ConfigError(
            f"source_ids have shape {source.shape}, and there are {len(max_lengths)} max_lengths.",
            "Give ids of shape (B, S) and one limit for each row.",
        )
    chosen: list[list[int]] = [[] for _ in source]
    running = list(range(len(source)))
    longest = max(max_lengths, default=0) + 1  # START, then as many pieces
    prefix = np.full((len(source), min(_FRAME, longest)), PAD_ID, dtype=np.int32)
    prefix[:, 0] = START_ID
    step = 0
    while running:
        logits = np.array(model.predict_on_batch([source, prefix])[:, step])  # (B, V)
        logits[:, NEVER_CHOSEN] = -np.inf
        if num_pieces is not None:
            logits[:, num_pieces:] = -np.inf
        best = logits.argmax(axis=-1)
        running = [row for row in running if best[row] != END_ID and step < max_lengths[row]]
        for row in running:
            chosen[row].append(int(best[row]))
        step += 1
        if not running:
            break
        if step == prefix.shape[1]:
            more = min(step, longest - step)
            prefix = np.pad(prefix, ((0, 0), (0, more)), constant_values=PAD_ID)
        prefix[running, step] = best[running]
    return chosen
