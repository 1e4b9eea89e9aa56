"""Kernels compiled by several processes at once, for the first translation on a machine.

Kernels call each other by address, so each is compiled by itself, and its machine code is kept on
disk. This process takes one after another, and so do helpers: processes that import the kernels and
nothing else. Then this process loads from disk what it did not compile itself.
"""

import contextlib
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import IO, Any

from headway.errors import HeadwayError, warn
from headway.kernels.codegen.calls import Form
from headway.kernels.codegen.compile_notice import give_notice
from headway.kernels.codegen.numba_compiler import folder_to_keep, is_kept
from headway.runtime.locks import one_process_at_a_time
from headway.runtime.processor import num_cores

_EACH = 3  # kernels for each process; starting one takes as long as compiling a small kernel
_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from headway.kernels.codegen.together import serve; "
    "serve(sys.stdin.buffer, sys.stdout.buffer)"
)
_BY_PYTORCH = "Set the environment variable NUMBA_DISABLE_JIT=1 to let PyTorch compute instead."


def compile_together(forms: Sequence[Form]) -> None:
    """Compile the forms that are not on disk, with as many processes as this one may use cores.

    Modules whose kernels take longest should come first. Nothing is compiled if few are missing, if
    no folder can store machine code, or if the path of Python is unknown: each kernel is then
    compiled at its first call. Of several processes that call this at once, one compiles, and the
    others wait for it. If the system refuses more processes, those that have started compile all.

    Raises HeadwayError if a helper fails.
    """
    folder = folder_to_keep(forms[0].kernel)
    if not sys.executable or folder is None or _num_helpers(_missing(forms)) < 1:
        return
    give_notice()
    with one_process_at_a_time(folder / "compiling.lock"):
        missing = _missing(forms)
        with _helpers(_num_helpers(missing)) as helpers:
            _share(missing, helpers)


def _missing(forms: Sequence[Form]) -> list[Form]:
    return [form for form in forms if not is_kept(form.kernel, form.kinds)]


def _num_helpers(missing: Sequence[Form]) -> int:
    return min(num_cores(), len(missing) // _EACH) - 1


@contextlib.contextmanager
def _helpers(count: int) -> Iterator[list["_Helper"]]:
    """Start helpers; end them when the block ends, with or without an error."""
    helpers: list[_Helper] = []
    try:
        with contextlib.suppress(OSError):  # the system has no more processes or memory
            for _ in range(count):
                helpers.append(_Helper())
        yield helpers
    finally:
        for helper in helpers:
            helper.close()


class _Helper:
    """Another process, which runs `serve`."""

    def __init__(self) -> None:
        """Start the process. Raises OSError if the system refuses."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches this process alone, which ends the helper
        )

    def kill(self) -> None:
        """Kill the process; a thread that waits for its answer then gets an error."""
        self._process.kill()

    def close(self) -> None:
        """End the process and the pipes."""
        with contextlib.suppress(OSError), self._process:  # a pipe may have no reader any more
            self._process.kill()

    def is_ready(self) -> bool:
        """Wait until the process has imported the kernels; return False if it cannot."""
        try:
            self._ask(sys.path)
        except Exception:  # another program in its place may answer anything
            return False
        return True

    def compile(self, form: Form) -> None:
        """Let the process compile a form, and wait for it."""
        module, name = _place(form.kernel)
        try:
            error = self._ask((module, name, form.kinds))
        except (OSError, EOFError):
            raise HeadwayError(
                "A process that compiled kernels was ended, perhaps because memory did not "
                "suffice.",
                f"Give it more memory. {_BY_PYTORCH}",
            ) from None
        if error:
            message = f"Another process could not compile {module}.{name}: {error}"
            raise HeadwayError(message, _BY_PYTORCH)

    def _ask(self, message: Any) -> str:
        pipe, answers = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert answers is not None
        _send(message, pipe)
        return pickle.load(answers)


def _place(kernel: Any) -> tuple[str, str]:
    """Return a kernel's module, and its name there."""
    names = vars(sys.modules[kernel.__module__]).items()
    return kernel.__module__, next(name for name, value in names if value is kernel)


def _send(message: Any, pipe: IO[bytes]) -> None:
    pickle.dump(message, pipe)
    pipe.flush()


class _Remaining:
    """The forms that no process has taken."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = list(forms)
        self._lock = threading.Lock()

    def for_one_process(self) -> Iterator[Form]:
        """Take one form after another, of one module if possible: its kernels share parts."""
        module = None
        while True:
            with self._lock:
                if not self._forms:
                    return
                same = (n for n, form in enumerate(self._forms) if _module(form) == module)
                form = self._forms.pop(next(same, 0))
            module = _module(form)
            yield form


def _module(form: Form) -> str:
    return form.kernel.__module__


def _share(forms: Sequence[Form], helpers: Sequence[_Helper]) -> None:
    """Compile all forms: this process and the helpers take one after another."""
    left = _Remaining(forms)
    with ThreadPoolExecutor(len(helpers) + 1) as threads:
        ends = [threads.submit(_lead, helper, left) for helper in helpers]
        try:
            for form in left.for_one_process():
                form.kernel.compile(form.kinds)
        except BaseException:
            for helper in helpers:
                helper.kill()  # its thread waits for an answer
            raise
    if not all(end.result() for end in ends):
        warn("Kernels were compiled by fewer processes, because another Python did not start.")


def _lead(helper: _Helper, left: _Remaining) -> bool:
    """Let a helper compile forms until none is left; return False if it did not start."""
    if not helper.is_ready():
        return False
    for form in left.for_one_process():
        helper.compile(form)
    return True


def serve(pipe: IO[bytes], answers: IO[bytes]) -> None:
    """Compile the forms that come through a pipe, until it ends; answer each with its error."""
    answer = ""  # this process is ready
    with contextlib.suppress(OSError, EOFError):  # the pipe has ended
        while True:
            _send(answer, answers)
            module, name, kinds = pickle.load(pipe)
            answer = ""
            try:
                getattr(import_module(module), name).compile(kinds)
            except Exception as error:
                answer = " ".join(traceback.format_exception_only(error)).strip()
