"""A small batch with padding on both sides, and what a model makes of one."""

from typing import Any

import numpy as np

SOURCE = np.array([[5, 9, 3, 0, 0], [7, 8, 22, 6, 3]], dtype=np.int32)
TARGET = np.array([[2, 11, 4, 0, 0, 0, 0], [2, 6, 6, 13, 21, 5, 4]], dtype=np.int32)


def logits(model: Any, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_on_batch([source, target]))
