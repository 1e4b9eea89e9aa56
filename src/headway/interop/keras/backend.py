"""Imports Keras, or says in one sentence what is missing.

Keras computes with TensorFlow, JAX or PyTorch. Which one, the variable KERAS_BACKEND or
~/.keras/keras.json decides before the first import; nothing here depends on it.
"""

from contextlib import suppress

from headway.errors import MissingExtraError
from headway.plotting import import_matplotlib

with suppress(MissingExtraError):  # Keras imports it where it is there, in any environment
    import_matplotlib()

try:
    import keras
except ImportError as error:
    if error.name == "keras":
        raise MissingExtraError.of("keras", "Keras is not installed.") from error
    raise MissingExtraError(
        f"Keras has no back end: {error.name} is not installed.",
        "Install it, or set KERAS_BACKEND to tensorflow, jax or torch, whichever is installed; "
        "torch always is.",
    ) from error

except ValueError as error:
    raise MissingExtraError(
        f"Keras has no back end of this name: {error}.",
        "Set KERAS_BACKEND to tensorflow, jax or torch.",
    ) from error

__all__ = ["keras"]
