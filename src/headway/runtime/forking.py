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
from headway.runtime.processes import forking
from headway.runtime.signals import leave_signals_to_parent

T = TypeVar("T")
R = TypeVar("R")

_RESULTS_A_MESSAGE = 16
_OPEN_FILES = "/proc/self/fd"


def forked_workers(
    run: Callable[[Iterable[T]], Iterator[R]], items: Sequence[T], workers: int
) -> dict[Connection, BaseProcess]:
    """Start processes that share the items; fewer, or none, if the system refuses more.

    A process inherits the items when it is forked. Afterwards it needs only the number of the next
    item. Its results come through its connection, see `results_of_workers`.
    """
    processes: dict[Connection, BaseProcess] = {}
    try:
        with refusals_accepted():
            taken = shared_counter()
            for _ in range(workers):
                ours, theirs = multiprocessing.Pipe(duplex=False)
                # No worker keeps a reading end, so that writing fails once the parent is gone.
                processes[ours] = fork(_work, run, Taken(items, taken), theirs, [*processes, ours])
                theirs.close()
    except BaseException:
        _end(processes)
        raise
    return processes


def refusals_accepted() -> contextlib.suppress:
    """Accept that the system refuses a process, because of memory, a limit or no semaphores."""
    return contextlib.suppress(OSError)


def results_of_workers(processes: dict[Connection, BaseProcess]) -> Iterator[Any]:
    """Yield the results of `forked_workers`; end the processes when the generator ends.

    An error in a process is raised here. Raises HeadwayError if a process was killed.
    """
    try:
        yield from results_of(dict(processes))
    finally:
        _end(processes)


def _end(processes: dict[Connection, BaseProcess]) -> None:
    for connection, process in processes.items():
        process.kill()  # it may have inherited a handler for gentler signals
        process.join()
        connection.close()


def shared_counter() -> Any:
    """Return a `multiprocessing.Value` of 0 that forked processes share."""
    return multiprocessing.get_context("fork").Value("q", 0)


def fork(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process that does this work; it ends when this process ends normally."""
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments, daemon=True)
    with forking():
        process.start()
    return process


def results_of(running: dict[Connection, BaseProcess]) -> Iterator[Any]:
    """Yield the results that the processes send, until each has sent that it is done."""
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
    inherited: Sequence[Connection],
) -> None:
    """Compute with one thread in this process, until the parent stops reading the results."""
    for reading_end in inherited:
        reading_end.close()
    torch.set_num_threads(1)
    send_results(run, items, connection)


def send_results(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], connection: Connection
) -> None:
    """Send results, several a message, then None; or the error that ended the work."""
    with contextlib.suppress(ConnectionError):  # the parent no longer reads
        try:
            results: list[R] = []
            for result in run(items):
                results.append(result)
                if len(results) == _RESULTS_A_MESSAGE:
                    connection.send(results)
                    results = []
            connection.send(results)
            connection.send(None)
        except ConnectionError:
            raise
        except BaseException as error:  # raised again in the parent
            connection.send(_sendable(error))


def _sendable(error: BaseException) -> BaseException:
    """Return the error, or a HeadwayError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # pickling a foreign error may run any code
        return HeadwayError(f"A worker process failed: {error!r}.", "Translate with one thread.")
    return error


class Taken(Iterator[T]):
    """Items that several processes share; each item goes to one of them."""

    def __init__(self, items: Sequence[T], taken: Any) -> None:
        """Share the items; taken: the number of items taken so far, a `multiprocessing.Value`."""
        self.items = items
        self.taken = taken

    def __next__(self) -> T:
        with self.taken.get_lock():
            number = self.taken.value
            self.taken.value += 1
        if number >= len(self.items):
            raise StopIteration
        return self.items[number]


def lists_open_files() -> bool:
    """Return True if a process can list its open files.

    Forked processes that outlive the present work need the list to close the files of their parent.
    """
    return os.path.isdir(_OPEN_FILES)


def become_lasting(connection: Connection) -> None:
    """Prepare this forked process to outlive the present work, with this connection alone."""
    leave_signals_to_parent()
    _let_go_of_files(connection.fileno())
    torch.set_num_threads(1)


def _let_go_of_files(kept: int) -> None:
    """Replace all open files except `kept` and standard error by the null device.

    Otherwise a process that waits for the end of a pipe or connection of the parent would also wait
    for this process. The numbers stay in use, because inherited objects may still close them. If
    the limit of open files was lowered since, a number beyond it is closed instead.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir(_OPEN_FILES)):
        if number in (2, kept, null):
            continue
        try:
            os.dup2(null, number, inheritable=False)
        except OSError:
            os.close(number)
