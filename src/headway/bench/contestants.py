"""Processes that take turns: each does its own work, one at a time, and says how long it took.

A process each, because libraries disturb one another (threads, memory, autotuning); in turns,
because a machine's speed drifts by more than the differences that are to be measured.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from headway.errors import HeadwayError, RunError

# A function that prepares the work, which then is a function, usually of no arguments. Both run in
# the process of the contestant, so the first must be importable.
Prepare = Callable[..., Callable[..., Any]]


@runtime_checkable
class Resting(Protocol):
    """Work with something to do when its turn is over."""

    def __call__(self, *arguments: Any) -> Any:
        """Do it."""
        ...

    def rest(self) -> None:
        """Make room for the others; before the next turn the work is done once, unmeasured."""
        ...


Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

_WARM_UP = 2
_PATIENCE = 5.0  # seconds; ending PyTorch takes one or two


class Contestant:
    """One process, started at once, that does its work whenever it is asked to.

    A block, `with Contestant(…) as one`, waits for it first.
    """

    def __init__(self, prepare: Prepare, *arguments: Any, warm_up: int = _WARM_UP) -> None:
        """Start the process, which goes on to prepare its work.

        warm_up: how often `wait` lets it do that; 0 for work that takes arguments.
        """
        self._warm_up = warm_up
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Not a daemon, for those may not have the worker processes that a translator starts; it
        # ends with the connection.
        self._process = context.Process(target=_serve, args=(theirs, prepare, arguments))
        self._process.start()
        theirs.close()

    def wait(self) -> None:
        """Wait until it is prepared and has done its work, unmeasured.

        Raises what `prepare` raises, if that is an error of ours, and RunError if it has died; then
        the process is ended.
        """
        try:
            self._ask(self._warm_up)
        except BaseException:
            self.close()
            raise

    def seconds(self) -> float:
        """Let it do its work once; return how long that took."""
        return self._ask(1)[0]

    def result(self, *arguments: Any) -> Any:
        """Let it do its work once, with these arguments; return what came of it."""
        return self._ask(1, *arguments, wanted=True)[1]

    def close(self) -> None:
        """End the process: it does so by itself unless it is at work."""
        self._connection.close()
        # What it has from the system, such as semaphores of tqdm, it gives back only by itself.
        self._process.join(timeout=_PATIENCE)
        self._process.terminate()
        self._process.join()

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, times: int, *arguments: Any, wanted: bool = False) -> tuple[float, Any]:
        try:
            self._connection.send((times, arguments, wanted))
            answer = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise RunError(
                "A process that was being measured has died.",
                "If memory ran out, measure a smaller size or fewer peers.",
            ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer


def take_turns(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, float]:
    """Return each one's median of so many turns, in seconds."""
    seconds = in_turns({name: one.seconds for name, one in contestants.items()}, rounds)
    return {name: statistics.median(times) for name, times in seconds.items()}


def in_turns(calls: Mapping[Key, Callable[[], T]], rounds: int) -> dict[Key, list[T]]:
    """Call each once, then each once more, and so on; return what each returned."""
    found: dict[Key, list[T]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            found[key].append(call())
    return found


def _serve(connection: Connection, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    """Prepare the work; then do it as often as asked and answer with the seconds of the last.

    What comes of it goes along if it is wanted: the result of a training step stays here.
    """
    try:
        work = prepare(*arguments)
        rest = work.rest if isinstance(work, Resting) else None
        while True:
            times, given, wanted = connection.recv()
            took, result = 0.0, None
            if rest is not None:
                work(*given)
            for _ in range(times):
                start = time.perf_counter()
                result = work(*given)
                took = time.perf_counter() - start
            if rest is not None:
                rest()
            connection.send((took, result if wanted else None))
    except HeadwayError as error:
        connection.send(error)
    except (EOFError, KeyboardInterrupt):
        pass  # whoever asked has gone
