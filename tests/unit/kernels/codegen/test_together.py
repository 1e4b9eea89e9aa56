"""Several processes compile kernels, and whatever ends one of them is told."""

import importlib
import io
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numba")

from headway.errors import HeadwayError, HeadwayWarning
from headway.kernels.codegen import together
from headway.kernels.codegen.calls import Form, form
from headway.kernels.codegen.compile_notice import tell_of_compiling
from headway.kernels.codegen.numba_compiler import is_kept
from headway.kernels.codegen.together import compile_together, serve

KERNELS = """
from headway.kernels.codegen.numba_compiler import compiled


@compiled
def add(x):
    return x + 1


@compiled
def negate(x):
    return -x


@compiled
def refuse(x):
    return x.no_such_part
"""
_numbers = count()


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of two small kernels, and one that cannot be compiled, on a machine of two cores.

    Its name is new, because a process keeps what it has imported.
    """
    name = f"kernels_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(together, "num_cores", lambda: 2)
    monkeypatch.setattr(together, "_EACH", 1)
    yield importlib.import_module(name)
    del sys.modules[name]


def two(kernels: Any) -> list[Form]:
    return [form(kernels.add, 1), form(kernels.negate, 2.0)]


def are_kept(forms: list[Form]) -> bool:
    return all(is_kept(form.kernel, form.kinds) for form in forms)


def test_another_process_compiles_and_this_one_loads_from_disk(kernels: Any) -> None:
    first, other = two(kernels)
    first.kernel.compile(first.kinds)

    def wait(kinds: Any) -> None:  # this process takes this form, long before the other is ready
        end = time.monotonic() + 30
        while not are_kept([other]):
            assert time.monotonic() < end, "no other process compiles"
            time.sleep(0.01)

    waiting = Form(SimpleNamespace(compile=wait, _cache=None, __module__=""), ())
    compile_together([first, waiting, other])

    assert are_kept([first, other])
    assert (len(kernels.add.overloads), len(kernels.negate.overloads)) == (1, 0)
    assert (kernels.add(2), kernels.negate(2.5)) == (3, -2.5)
    assert sum(kernels.negate.stats.cache_hits.values()) == 1


def refuse_process(*_: object, **__: object) -> Any:
    raise OSError(11, "no more processes")


def test_no_process_starts_for_a_few_kernels_or_where_nothing_keeps_code(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "_Helper", lambda: pytest.fail("a process starts"))
    compile_together(two(kernels)[:1])
    with monkeypatch.context() as embedded:
        embedded.setattr(sys, "executable", None)
        compile_together(two(kernels))
    monkeypatch.setattr(together, "folder_to_keep", lambda kernel: None)
    compile_together(two(kernels))

    assert not kernels.add.overloads


def test_no_process_starts_if_all_is_on_disk(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "_Helper", lambda: pytest.fail("a process starts"))
    for needed in two(kernels):
        needed.kernel.compile(needed.kinds)
    compile_together(two(kernels))


def test_where_no_more_processes_are_allowed_this_one_compiles_all(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", refuse_process)
    notices: list[str] = []
    tell_of_compiling(notices.append)
    compile_together(two(kernels))
    assert are_kept(two(kernels))
    assert len(notices) == 1


def test_of_two_at_once_one_compiles(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started, share = [], together._share

    def share_slowly(forms: Any, helpers: Any) -> None:
        started.append(len(forms))
        time.sleep(0.1)  # long enough for the second to begin, if it did not wait
        share(forms, [])

    monkeypatch.setattr(subprocess, "Popen", refuse_process)
    monkeypatch.setattr(together, "_share", share_slowly)
    callers = [threading.Thread(target=compile_together, args=[two(kernels)]) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert started == [2, 0]


class Helper:
    """Stands in for a helper that is ready or not, and that ends with this error."""

    def __init__(self, ready: bool = True, error: Exception | None = None) -> None:
        self.ready, self.error = ready, error
        self.asked, self.killed = threading.Event(), threading.Event()

    def is_ready(self) -> bool:
        return self.ready

    def compile(self, form: Form) -> None:
        self.asked.set()
        if self.error is not None:
            raise self.error
        assert self.killed.wait(30), "it is not ended"

    def kill(self) -> None:
        self.killed.set()


def test_an_error_of_a_helper_is_an_error_here() -> None:
    helper = Helper(error=HeadwayError("It failed."))

    def wait(kinds: Any) -> None:
        helper.asked.wait(30)

    waiting = Form(SimpleNamespace(compile=wait, __module__=""), ())
    with pytest.raises(HeadwayError, match="It failed"):
        together._share([waiting, waiting], [helper])  # type: ignore[list-item]


def test_an_interrupt_of_this_process_ends_the_helpers() -> None:
    helper = Helper()

    def interrupt(kinds: Any) -> None:
        helper.asked.wait(30)
        raise KeyboardInterrupt

    interrupted = Form(SimpleNamespace(compile=interrupt, __module__=""), ())
    with pytest.raises(KeyboardInterrupt):
        together._share([interrupted, interrupted], [helper])  # type: ignore[list-item]
    assert helper.killed.is_set()


def test_a_helper_that_does_not_start_is_told(kernels: Any) -> None:
    forms = two(kernels)[:1]
    with pytest.warns(HeadwayWarning, match="another Python did not start"):
        together._share(forms, [Helper(ready=False)])  # type: ignore[list-item]
    assert are_kept(forms)


def test_a_process_takes_kernels_of_one_module_where_it_can() -> None:
    kernels = [SimpleNamespace(__module__=name, place=n) for n, name in enumerate("abcba")]
    left = together._Remaining([Form(kernel, ()) for kernel in kernels])
    one, other = left.for_one_process(), left.for_one_process()

    in_turns = [next(process).kernel.place for process in (one, other, one, other)]
    assert in_turns == [0, 1, 4, 3]
    assert [form.kernel.place for form in one] == [2]
    assert list(other) == []


class Inside:
    """Stands in for a process: a thread that does what a helper's program does."""

    def __init__(self, arguments: list[str], **_: Any) -> None:
        (read, write), (read_answers, write_answers) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(write, "wb"), os.fdopen(read_answers, "rb")
        self.ends = os.fdopen(read, "rb"), os.fdopen(write_answers, "wb")
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        pipe, answers = self.ends
        with pipe, answers:
            assert pickle.load(pipe) == sys.path
            self.serve(pipe, answers)

    def serve(self, pipe: Any, answers: Any) -> None:
        serve(pipe, answers)

    def kill(self) -> None:
        pass

    def __enter__(self) -> "Inside":
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.thread.join()
        self.stdout.close()


class Ended(Inside):
    """A process that ends when it is asked to compile something."""

    def serve(self, pipe: Any, answers: Any) -> None:
        pickle.dump("", answers)
        answers.flush()
        pickle.load(pipe)


class NoPython(Inside):
    """A program that ends without an answer."""

    def serve(self, pipe: Any, answers: Any) -> None:
        pass


class Talker(Inside):
    """A program that answers with a line of text."""

    def serve(self, pipe: Any, answers: Any) -> None:
        answers.write(b"-c is no option\n")


@pytest.mark.parametrize(
    ("program", "message"),
    [(Inside, "could not compile .*refuse: .*no_such_part"), (Ended, "memory did not suffice")],
)
def test_what_a_process_cannot_compile_is_named(
    kernels: Any, program: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", program)
    with together._helpers(1) as [helper]:
        assert helper.is_ready()
        if program is Inside:
            helper.compile(form(kernels.add, 1))
            assert are_kept([form(kernels.add, 1)])
        with pytest.raises(HeadwayError, match=f"(?s){message}") as raised:
            helper.compile(form(kernels.refuse, 1))
    assert "NUMBA_DISABLE_JIT=1" in raised.value.remedy


@pytest.mark.parametrize("program", [NoPython, Talker])
def test_a_program_that_is_no_python_is_not_ready(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", program)
    with together._helpers(1) as [helper]:
        assert not helper.is_ready()


def test_a_helper_ends_with_its_caller() -> None:
    answers = io.BytesIO()
    serve(io.BytesIO(), answers)
    assert pickle.loads(answers.getvalue()) == ""


def test_a_helper_imports_no_pytorch() -> None:
    program = (
        "import sys, headway.kernels.codegen.together, headway.kernels.search_loop, "
        "headway.kernels.encoder_pass; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
