"""Forked processes, which share all that is in memory, and the results they send back."""

import contextlib
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

import torch

from headway.errors import HeadwayError
from headway.runtime.processes import forking, may_fork
from headway.runtime.signals import leave_signals_to_parent

T = TypeVar("T")
R = TypeVar("R")

_TOGETHER = 16  # results that a process sends at once
_OPEN_FILES = "/proc/self/fd"


def forked_workers(
    run: Callable[[Iterable[T]], Iterator[R]], items: Sequence[T], workers: int
) -> dict[Connection, BaseProcess]:
    """Start processes that share the items; fewer, or none, where the system refuses more.

    A process has everything from the moment in which it was forked: all that it is told is the
    number of the next item. Its results come by its connection: `results_of_workers`.
    """
    context = multiprocessing.get_context("fork")
    processes: dict[Connection, BaseProcess] = {}
    try:
        with refusals_accepted():
            taken = context.Value("q", 0)
            for _ in range(workers):
                ours, theirs = context.Pipe(duplex=False)
                # Whoever writes for nobody is to notice it: no worker keeps an end to read from.
                processes[ours] = fork(_work, run, Taken(items, taken), theirs, [*processes, ours])
                theirs.close()
    except BaseException:
        _end(processes)
        raise
    return processes


def refusals_accepted() -> contextlib.suppress:
    """Accept that the system gives no more processes: for memory, a limit, or no semaphores."""
    return contextlib.suppress(OSError)


def results_of_workers(processes: dict[Connection, BaseProcess]) -> Iterator[Any]:
    """Yield what `forked_workers` find, and end them, at the latest when nobody wants more.

    An error in one is raised here; so is the end of one by force.
    """
    try:
        yield from results_of(dict(processes))
    finally:
        _end(processes)


def _end(processes: dict[Connection, BaseProcess]) -> None:
    for connection, process in processes.items():
        process.kill()  # it may have a handler of this process's own for gentler signals
        process.join()
        connection.close()


def fork(work: Callable[..., None], *given: Any) -> BaseProcess:
    """Start a process that does this work; it does not outlive a proper end of this one."""
    process = multiprocessing.get_context("fork").Process(target=work, args=given, daemon=True)
    with forking():
        process.start()
    return process


def results_of(running: dict[Connection, BaseProcess]) -> Iterator[Any]:
    """Yield what the processes send until each has said that it is done."""
    while running:
        for ready in wait(list(running)):
            connection = cast("Connection", ready)
            try:
                message = connection.recv()
            except (EOFError, ConnectionError):
                running[connection].join()
                raise HeadwayError(
                    f"A worker process ended (exit status {running[connection].exitcode}) before "
                    "its work was done, perhaps because memory did not suffice.",
                    "Give less work at once (batch_tokens), or fewer threads.",
                ) from None
            if message is None:
                del running[connection]
            elif isinstance(message, BaseException):
                raise message
            else:
                yield from message


def _work(
    run: Callable[[Iterable[T]], Iterator[R]],
    items: Iterable[T],
    connection: Connection,
    of_the_parent: Sequence[Connection],
) -> None:
    """Compute with one thread in this process, as long as somebody reads the results."""
    for other in of_the_parent:
        other.close()
    torch.set_num_threads(1)
    send_results(run, items, connection)


def send_results(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], connection: Connection
) -> None:
    """Send results some at a time, then None; or the error that there was."""
    with contextlib.suppress(ConnectionError):  # nobody waits for it any more
        try:
            together: list[R] = []
            for result in run(items):
                together.append(result)
                if len(together) == _TOGETHER:
                    connection.send(together)
                    together = []
            connection.send(together)
            connection.send(None)
        except ConnectionError:
            raise
        except BaseException as error:  # raised where the results are awaited
            connection.send(_sendable(error))


def _sendable(error: BaseException) -> BaseException:
    """Return the error, or what is to be known of one that cannot leave its process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an error of somebody else's does when it is pickled
        return HeadwayError(f"A worker process failed: {error!r}.", "Translate with one thread.")
    return error


class Taken(Iterator[T]):
    """Items of which each is taken by one process."""

    def __init__(self, items: Sequence[T], taken: Any) -> None:
        """Share the number of those that are taken, a `multiprocessing.Value`."""
        self.items = items
        self.taken = taken

    def __next__(self) -> T:
        with self.taken.get_lock():
            number = self.taken.value
            self.taken.value += 1
        if number >= len(self.items):
            raise StopIteration
        return self.items[number]


def may_keep_forks() -> bool:
    """Return True if processes can be forked here and now that outlive the work at hand.

    They have to let go of the files of their parent, which needs a list of open files.
    """
    return may_fork() and os.path.isdir(_OPEN_FILES)


def become_lasting(connection: Connection) -> None:
    """Make this forked process one that outlives the work at hand: with this connection alone."""
    leave_signals_to_parent()
    _let_go_of_files(connection.fileno())
    torch.set_num_threads(1)


def _let_go_of_files(kept: int) -> None:
    """Put nothing in the place of all open files but this one and standard error.

    Whoever waits for the end of a pipe or a connection of the parent is not to wait for a worker.
    Their numbers stay taken: objects that came along with the fork may still close them. A number
    beyond the limit of open files, which was lowered since, cannot be taken again: it is closed.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir(_OPEN_FILES)):
        if number in (2, kept, nothing):
            continue
        try:
            os.dup2(nothing, number, inheritable=False)
        except OSError:
            os.close(number)
