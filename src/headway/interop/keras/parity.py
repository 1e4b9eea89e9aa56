"""Compare a Keras model with a bundle: logits on sentences of random pieces."""

import numpy as np
import torch

from headway.bundle import Bundle
from headway.interop.keras.backend import keras

_LENGTHS = ((1, 1), (5, 3), (17, 22), (40, 31))


def largest_difference(bundle: Bundle, model: keras.Model) -> float:
    """Return the largest difference of logits at real target positions, also in padded rows."""
    config = bundle.config
    rng = np.random.default_rng(0)
    lengths = [[min(length, config.max_positions) for length in pair] for pair in _LENGTHS]
    source = np.full((len(lengths), max(s for s, _ in lengths)), config.pad_id, dtype=np.int32)
    target = np.full((len(lengths), max(t for _, t in lengths)), config.pad_id, dtype=np.int32)
    for row, (source_length, target_length) in enumerate(lengths):
        source[row, :source_length] = rng.integers(0, config.source_vocab_size, source_length)
        target[row, :target_length] = rng.integers(0, config.target_vocab_size, target_length)
    source[:, 0] = target[:, 0] = (config.pad_id + 1) % min(
        config.source_vocab_size, config.target_vocab_size
    )
    device = next(bundle.model.parameters()).device
    with torch.inference_mode():
        ids = (torch.from_numpy(array).to(device) for array in (source, target))
        ours = bundle.model(*ids).cpu().numpy()
    theirs = np.asarray(model.predict_on_batch([source, target]))
    return float(abs(ours - theirs)[target != config.pad_id].max())
