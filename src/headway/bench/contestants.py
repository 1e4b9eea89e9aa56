"""Processes that take turns: each does its work, one at a time, and reports the time.

They are processes, because libraries disturb one another (threads, memory, autotuning). They take
turns, because a machine's speed drifts by more than the differences to be measured.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from headway.errors import HeadwayError, RunError

# A function that prepares the work and returns it as a function, usually of no arguments. Both run
# in the process of the contestant, so the first must be importable.
Prepare = Callable[..., Callable[..., Any]]


@runtime_checkable
class Resting(Protocol):
    """Work that releases resources after its turn."""

    def __call__(self, *arguments: Any) -> Any:
        """Do the work."""
        ...

    def rest(self) -> None:
        """Release resources; before the next turn the work is done once, unmeasured."""
        ...


Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")

_WARM_UP = 2
_PATIENCE = 5.0  # seconds; ending PyTorch takes one or two


class Contestant:
    """One process, started at once, that does its work on request.

    A block, `with Contestant(…) as contestant`, waits for it first.
    """

    def __init__(self, prepare: Prepare, *arguments: Any, warm_up: int = _WARM_UP) -> None:
        """Start the process, which then prepares its work.

        warm_up: the number of unmeasured runs in `wait`; 0 for work that takes arguments.
        """
        self._warm_up = warm_up
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Not a daemon: it ends with the connection.
        self._process = context.Process(target=_serve, args=(theirs, prepare, arguments))
        self._process.start()
        theirs.close()

    def wait(self) -> None:
        """Wait until it is prepared and has done its work, unmeasured.

        Raises the HeadwayError of `prepare`, or RunError if the process has died; it is then ended.
        """
        try:
            self._ask(self._warm_up)
        except BaseException:
            self.close()
            raise

    def seconds(self) -> float:
        """Let it do its work once; return the seconds."""
        return self._ask(1)[0]

    def result(self, *arguments: Any) -> Any:
        """Let it do its work once, with these arguments; return the result."""
        return self._ask(1, *arguments, wanted=True)[1]

    def close(self) -> None:
        """End the process, by force if it is at work."""
        self._connection.close()
        # By itself, if possible, so that it gives back resources such as semaphores of tqdm.
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
    """Return the median seconds of each contestant over this many turns."""
    calls = {name: contestant.seconds for name, contestant in contestants.items()}
    seconds = in_turns(calls, rounds)
    return {name: statistics.median(times) for name, times in seconds.items()}


def in_turns(calls: Mapping[Key, Callable[[], T]], rounds: int) -> dict[Key, list[T]]:
    """Call each function once per round, in turns; return their results."""
    results: dict[Key, list[T]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            results[key].append(call())
    return results


def _serve(connection: Connection, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    """Prepare the work; then do it as often as requested and send the seconds of the last time.

    The result is sent only if it is wanted; that of a training step stays here.
    """
    try:
        work = prepare(*arguments)
        release = work.rest if isinstance(work, Resting) else None
        while True:
            times, values, wanted = connection.recv()
            took, result = 0.0, None
            if release is not None:
                work(*values)
            for _ in range(times):
                start = time.perf_counter()
                result = work(*values)
                took = time.perf_counter() - start
            if release is not None:
                release()
            connection.send((took, result if wanted else None))
    except HeadwayError as error:
        connection.send(error)
    except (EOFError, KeyboardInterrupt):
        pass  # the parent has gone
