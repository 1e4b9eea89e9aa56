"""Every error that Headway raises on purpose, each with a remedy.

    HeadwayError
    ├── ConfigError          a setting, an argument or a size that cannot work (also a ValueError)
    ├── DataError            a text file, a corpus or a sentence that cannot be used
    ├── TokenizerError       a tokenizer that cannot be trained or read
    ├── BundleError          a trained model on disk that is damaged, incomplete or of another kind
    ├── RunError             a run folder or checkpoint that cannot be written, read or continued
    ├── TrainingError        training that cannot go on, for example for lack of memory
    │   └── NotFiniteError   an update whose loss or gradient is not finite
    ├── ServingError         a server that cannot listen at its address
    ├── TraceError           a name or edit that a trace does not know (also a KeyError)
    └── MissingExtraError    an optional dependency that is not installed (also an ImportError)

A warning, `HeadwayWarning`, says that a result is right but was reached in another way than usual.

The message says what was given and allowed; the remedy says what to do. The command line
prints both on one line and exits with `exit_status`: 1 when the work failed, 2 when the call or
the configuration was wrong.
"""

import difflib
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from headway.counted import listed

_P = ParamSpec("_P")
_R = TypeVar("_R")


class HeadwayError(Exception):
    """Base of all errors of this package; `remedy` says what to do."""

    exit_status = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        """Keep message and remedy apart, so that a page can show them separately."""
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the problem and the remedy on one line."""
        return str(self.args[0])


class ConfigError(HeadwayError, ValueError):
    """A setting, an argument or a size cannot work."""

    exit_status = 2


class DataError(HeadwayError):
    """A text file, a corpus or a sentence cannot be used."""


class TokenizerError(HeadwayError):
    """A tokenizer cannot be trained or read."""


class BundleError(HeadwayError):
    """A trained model on disk is damaged, incomplete or of another kind."""


class RunError(HeadwayError):
    """A run folder or a checkpoint cannot be written, read or continued."""


class TrainingError(HeadwayError):
    """Training cannot go on."""


class NotFiniteError(TrainingError):
    """The loss of an update, or its gradient, is not finite; no weight was changed."""


class ServingError(HeadwayError):
    """A server cannot listen at its address."""


class TraceError(HeadwayError, KeyError):
    """A trace does not know this name."""


class MissingExtraError(HeadwayError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, extra: str, problem: str) -> Self:
        """Return the error for a dependency that an extra of this package installs."""
        return cls(problem, f"Install it with: pip install 'headway[{extra}]'.")


class HeadwayWarning(UserWarning):
    """A result is right, but was reached in another way than usual."""


def warn(message: str) -> None:
    """Warn at the line outside this package that called it."""
    level, frame = 1, sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "headway":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeadwayWarning, stacklevel=level)


def suggest(given: object, known: Iterable[str], listing: str = "") -> str:
    """Return `Did you mean 'x'?` for the nearest known names, or the list of all names.

    A name with dots is also found by its last part. listing: says how to list all names, if there
    may be too many for one sentence.

    >>> suggest("warm_up", ["warmup_steps", "seed"])
    "Did you mean 'warmup_steps'?"
    """
    names, text = sorted(known), str(given)
    ends = {name.rpartition(".")[2]: name for name in reversed(names)}
    near = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
    near = near or [
        ends[end] for end in difflib.get_close_matches(text.rpartition(".")[2], ends, cutoff=0.5)
    ]
    if near:
        sentence = "Did you mean " + " or ".join(f"'{name}'" for name in near) + "?"
    else:
        sentence = f"Known: {listed(names)}." if names else ""
    return f"{sentence} {listing}".strip()


def hinted(remedy: str = "", /, **elsewhere: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function so that it refuses an unknown argument with a hint.

    elsewhere: names of arguments in other libraries with the name here, such as `beam="beam_size"`,
    or with an argument that holds it, such as `min_length="options=SearchOptions(min_length=…)"`.
    The decorated function raises TypeError with that name. For other names it gives the remedy, or
    else the nearest argument, or all of them. A class is decorated at its `__init__`.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known = inspect.signature(function).parameters
        names = [name for name in known if name not in ("self", "cls")]
        shown_name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @functools.wraps(function)
        def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
            for name in named:
                if name not in known:
                    near = elsewhere.get(name)
                    taken = near is not None and near.partition("=")[0] in names
                    hint = f"Did you mean '{near}'?" if taken else remedy
                    hint = hint or suggest(name, names)
                    raise TypeError(f"{shown_name}() has no argument '{name}'. {hint}")
            return function(*arguments, **named)

        return call

    return decorate


def shown(text: str, most: int = 40) -> str:
    r"""Return a text in quotes, with invisible characters escaped, and cut if it is long.

    >>> print(shown("no\nend", 5))
    'no\nen…'
    """
    return repr(text if len(text) <= most else text[:most] + "…")


def require_type(name: str, given: object, kind: type | tuple[type, ...], remedy: str) -> None:
    """Refuse an argument of another type, before it causes an error deep inside."""
    if not isinstance(given, kind):
        raise ConfigError(f"{name} is of type {type(given).__name__}.", remedy)


def require_path(name: str, given: object) -> None:
    """Refuse a file or folder that is named by neither text nor a path."""
    # `Path` takes no bytes.
    require_type(name, given, (str, PathLike), "Give the name of a file or folder.")


@contextmanager
def permitted(place: Path, kind: type[HeadwayError]) -> Iterator[None]:
    """Raise an error of this kind for a path that this user may not even look at.

    `Path.exists` raises in a folder that the user has no permission to search.
    """
    try:
        yield
    except PermissionError:
        raise kind(
            f"{place} may not be read by this user.",
            "Change its permissions, or those of the folders above it.",
        ) from None
