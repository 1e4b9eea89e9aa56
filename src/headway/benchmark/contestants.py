"""Processes that take turns: each does its own work, one at a time, and says how long it took.

A process each, because libraries disturb one another (threads, memory, autotuning); in turns,
because a machine's speed drifts by more than the differences that are to be measured.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from headway.errors import HeadwayError, RunError

# A function that prepares the work, which then is a function of no arguments. Both run in the
# process of the contestant, so the first must be importable.
Prepare = Callable[..., Callable[[], object]]

_WARM_UP = 2


class Contestant:
    """One process, started at once, that does its work whenever it is asked to."""

    def __init__(self, prepare: Prepare, *arguments: Any) -> None:
        """Start the process and wait until it has done its work a first time, unmeasured.

        Raises what `prepare` raises, if that is an error of ours, and RunError if the process dies.
        """
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, prepare, arguments), daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            self._ask(_WARM_UP)
        except BaseException:
            self.close()
            raise

    def seconds(self) -> float:
        """Let it do its work once; return how long that took."""
        return self._ask(1)

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.terminate()
        self._process.join()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, times: int) -> float:
        try:
            self._connection.send(times)
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
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            seconds[name].append(contestant.seconds())
    return {name: statistics.median(times) for name, times in seconds.items()}


def _serve(connection: Connection, prepare: Prepare, arguments: tuple[Any, ...]) -> None:
    """Prepare the work; then do it as often as asked and answer with the seconds of the last."""
    try:
        work = prepare(*arguments)
        while True:
            took = 0.0
            for _ in range(connection.recv()):
                start = time.perf_counter()
                work()
                took = time.perf_counter() - start
            connection.send(took)
    except HeadwayError as error:
        connection.send(error)
    except (EOFError, KeyboardInterrupt):
        pass  # whoever asked has gone
