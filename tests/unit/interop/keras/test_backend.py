"""Without Keras, or without a back end, there is one clear sentence."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{missing!r}] = None
from headway.errors import MissingExtraError
try:
    import headway.interop.keras
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "backend", "message"),
    [
        ("keras", "torch", "Keras is not installed. Install it with: pip install 'headway[keras]'"),
        ("none", "pytorch", "Keras has no back end of this name: Unable to import backend : py"),
        ("jax", "jax", "Keras has no back end: jax is not installed. Install it, or set KERAS_BAC"),
    ],
)
def test_what_is_missing_is_said(missing: str, backend: str, message: str) -> None:
    program = PROGRAM.format(missing=missing)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"KERAS_BACKEND": backend, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(message)
