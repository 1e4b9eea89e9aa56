"""Keras computes with the back end that KERAS_BACKEND names; without it, with PyTorch."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
