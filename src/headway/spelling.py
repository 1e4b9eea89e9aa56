"""Arguments that a function does not have: an error that names the nearest of those that it has."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from headway.errors import suggest

_P = ParamSpec("_P")
_R = TypeVar("_R")


def hinted(**others: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function refuse an argument that it does not have with the one that is meant.

    others: names by what they are called elsewhere, such as `beam="beam_size"`.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known = inspect.signature(function).parameters
        names = [name for name in known if name not in ("self", "cls")]

        @functools.wraps(function)
        def call(*arguments: _P.args, **named: _P.kwargs) -> _R:
            for name in named:
                if name not in known:
                    near = others.get(name)
                    hint = f"Did you mean '{near}'?" if near else suggest(name, names)
                    raise TypeError(f"{function.__name__}() has no argument '{name}'. {hint}")
            return function(*arguments, **named)

        return call

    return decorate
