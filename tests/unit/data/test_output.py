"""Files of lines: whole or not at all, as an older one was, and never in the place of a stream."""

import contextlib
import errno
import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from headway.data.lines import read_lines
from headway.data.output import OutputFile, goes_to, opened
from headway.errors import DataError

LINES = ["저는 갑니다 .", "", "the cat\x0bsat", "last"]
TEXT = "".join(line + "\n" for line in LINES)


def write(path: Path, lines: list[str] = LINES) -> None:
    file = OutputFile(path)
    with opened(file):
        for line in lines:
            file.write(line)
            file.flush()


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/{pid}/fd/{}", "link"])
@pytest.mark.parametrize("flag", [os.O_APPEND, 0])
def test_an_open_descriptor_is_written_into(tmp_path: Path, form: str, flag: int) -> None:
    log = tmp_path / "log"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | flag)
    inode = log.stat().st_ino
    try:
        os.write(descriptor, b"precious\n")
        (tmp_path / "link").symlink_to(f"/dev/fd/{descriptor}")
        path = tmp_path / "link" if form == "link" else form.format(descriptor, pid=os.getpid())
        write(Path(path))
        os.write(descriptor, b"after\n")
    finally:
        os.close(descriptor)

    assert log.read_text(encoding="utf-8") == f"precious\n{TEXT}after\n"
    assert log.stat().st_ino == inode
    assert {path.name for path in tmp_path.iterdir()} == {"log", "link"}


def test_a_descriptor_of_another_process_is_added_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("precious\n")
    descriptor = os.open(log, os.O_WRONLY)
    with subprocess.Popen(["sleep", "60"], pass_fds=[descriptor]) as child:
        os.close(descriptor)  # the child alone has it now
        write(Path(f"/proc/{child.pid}/fd/{descriptor}"))
        child.kill()
    assert log.read_text(encoding="utf-8") == f"precious\n{TEXT}"


def test_a_descriptor_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("precious\n")
    descriptor = os.open(log, os.O_RDONLY)
    try:
        with pytest.raises(DataError, match=r"cannot be written \(Bad file descriptor\)"):
            OutputFile(Path(f"/dev/fd/{descriptor}")).__enter__()
    finally:
        os.close(descriptor)
    with pytest.raises(DataError, match=r"cannot be written \(Bad file descriptor\)"):
        OutputFile(Path(f"/dev/fd/{descriptor}")).__enter__()
    with pytest.raises(DataError, match="cannot be written"):
        OutputFile(Path(f"/dev/fd/{10**30}")).__enter__()
    assert log.read_text() == "precious\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o2755])
def test_an_older_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out"
    path.write_text("old and longer than what is new " * 9)
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text(encoding="utf-8") == TEXT


def test_lines_of_a_private_file_are_private_while_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o600)
    with opened(file := OutputFile(path)):
        assert file.partial is not None
        assert stat.S_IMODE(file.partial.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    path, other = tmp_path / "out", tmp_path / "other"
    path.write_text("old " * 99)
    os.link(path, other)
    write(path)
    assert path.samefile(other)
    assert other.read_text(encoding="utf-8") == TEXT
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_until_the_lines_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    path = tmp_path / "out"
    path.write_text("old " * 99)
    os.link(path, tmp_path / "other")
    copy = shutil.copyfileobj

    def signalled(*given: Any) -> None:
        signal.raise_signal(number)
        copy(*given)

    monkeypatch.setattr(shutil, "copyfileobj", signalled)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write(path)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)

    assert (tmp_path / "other").read_text(encoding="utf-8") == TEXT
    assert len(list(tmp_path.iterdir())) == 2


def test_where_the_lines_are_is_said_if_copying_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    os.link(path, tmp_path / "other")

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "copyfileobj", stopped)
    with pytest.raises(KeyboardInterrupt):
        write(path)

    (kept,) = tmp_path.glob("*.partial")
    assert kept.read_text(encoding="utf-8") == TEXT
    assert capsys.readouterr().err == f"Note: 4 lines so far are in {kept}.\n"


def test_nothing_is_said_of_lines_that_are_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace = os.replace

    def stopped(*given: Any) -> None:
        replace(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out")

    assert (tmp_path / "out").read_text(encoding="utf-8") == TEXT
    assert capsys.readouterr().err == ""


def _refuse(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int, when: Callable[[Path], bool]
) -> None:
    """Have a function of `os` refuse some paths, as a system does whose root user asks not."""
    original = getattr(os, name)

    def refusing(path: Any, *rest: Any, **named: Any) -> Any:
        if when(Path(path)):
            raise OSError(number, os.strerror(number), str(path))
        return original(path, *rest, **named)

    monkeypatch.setattr(os, name, refusing)


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EXDEV, errno.EPERM])
def test_a_mounted_file_gets_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "out"
    path.write_text("old " * 99)
    inode = path.stat().st_ino
    _refuse(monkeypatch, "replace", number, lambda given: True)
    write(path)
    assert path.read_text(encoding="utf-8") == TEXT
    assert path.stat().st_ino == inode
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_writable_file_in_a_folder_that_is_not_gets_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path, spare = tmp_path / "shut" / "out", tmp_path / "spare"
    path.parent.mkdir()
    spare.mkdir()
    path.write_text("old " * 99)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(spare))
    _refuse(monkeypatch, "open", number, lambda given: given.parent == path.parent)
    file = OutputFile(path)
    with opened(file):
        file.write("new")
        assert path.read_text() == "old " * 99
    assert path.read_text() == "new\n"
    assert list(spare.iterdir()) == []


def test_a_file_that_may_not_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *given, **named: False)
    with pytest.raises(DataError, match=r"cannot be written \(Permission denied\)"):
        OutputFile(path).__enter__()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".GZ"])
def test_what_a_name_says_is_compressed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.en{ending}"
    write(path)
    first = path.read_bytes()
    write(path)
    assert list(read_lines(path)) == LINES
    assert first != TEXT.encode()
    assert path.read_bytes() == first  # no time, no name in it


def test_compressed_lines_of_a_failed_run_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(KeyError), opened(file := OutputFile(tmp_path / "out.gz")):
        for line in LINES[:3]:
            file.write(line)
        raise KeyError
    (kept,) = tmp_path.iterdir()
    assert list(read_lines(kept)) == LINES[:3]
    assert capsys.readouterr().err == f"Note: 3 lines so far are in {kept}.\n"


def test_a_compressed_file_without_a_line_does_not_stay_behind(tmp_path: Path) -> None:
    with contextlib.suppress(KeyError), opened(OutputFile(tmp_path / "out.xz")):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_standard_output_goes_to_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other = tmp_path / "text", tmp_path / "other"
    text.write_text("one\n")
    other.write_text("one\n")
    (tmp_path / "link").symlink_to(text)
    with open(text, "a") as behind:
        monkeypatch.setattr(sys, "stdout", behind)
        assert goes_to(text)
        assert goes_to(tmp_path / "link")
        assert not goes_to(other)
        assert not goes_to(tmp_path / "none")
    assert not goes_to(text)  # closed
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        assert not goes_to(Path(os.devnull))
    for closed in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdout", closed)
        assert not goes_to(text)


@pytest.mark.parametrize("name", ["o.parquet", "o.zip", "o.7Z", "o.docx", "o.pdf", "o.tar"])
def test_a_name_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"would hold lines of text.*another name with --x"):
        OutputFile(tmp_path / name, "--x").__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_file_beyond_the_limit_says_so(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "out").__enter__()
    file.file = _TooLarge(file.file)
    with pytest.raises(DataError, match=r"File too large.*Raise the limit.*`ulimit -f`"):
        file.write("line")
    file.__exit__(None, None, None)


class _TooLarge:
    """A file that has reached the limit on its size."""

    def __init__(self, file: IO[str] | None) -> None:
        self.file = file

    def write(self, text: str) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    def close(self) -> None:
        assert self.file is not None
        self.file.close()
