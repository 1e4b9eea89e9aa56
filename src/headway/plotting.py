"""Import matplotlib, whatever the environment says of its backend.

Headway draws on figures of its own and never through pyplot, so it needs no backend.
"""

import os
import sys
from contextlib import suppress

from headway.errors import MissingExtraError

_BACKEND = "MPLBACKEND"


def import_matplotlib() -> None:
    """Import matplotlib, whatever backend the environment asks for.

    A notebook passes its backend to the programs that it starts, and matplotlib cannot be imported
    if that backend is not installed. The choice is restored after the import if matplotlib accepts
    it. Raises MissingExtraError if matplotlib is missing or broken.
    """
    if sys.modules.get("matplotlib") is not None:
        return
    backend = os.environ.pop(_BACKEND, None)
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of(
            "plot", "Figures need matplotlib, which is not installed."
        ) from error
    except Exception as error:  # a build for another NumPy may raise anything
        raise MissingExtraError(
            f"Matplotlib is installed, but cannot be imported ({type(error).__name__}: {error}).",
            "Install it again: pip install --force-reinstall 'headway[plot]'.",
        ) from error
    finally:
        if backend is not None:
            os.environ[_BACKEND] = backend
    if backend:
        with suppress(ValueError):
            mpl.rcParams["backend"] = backend
