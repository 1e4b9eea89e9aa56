"""Write lines of text into a file that appears once it is complete, or into an open stream."""

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self, cast

from headway.counted import counted
from headway.data.compression import COMPRESSIONS, compressing, compression, readable
from headway.errors import DataError
from headway.home import expanded
from headway.runtime.atomic_files import SIZE_LIMIT, replace
from headway.runtime.signals import deferred_signals, interrupted_by_termination

_BLOCK = 1 << 18
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(?P<process>\d+)(/task/\d+)?/fd")
_DIGITS = 10  # digits of a number that is too large for a descriptor
_MOST_LINKS = 40  # as many as Linux follows
_OTHER_FORMS = (".parquet", ".zip", ".7z", ".rar", ".tar", ".tgz", ".lz4", ".lzma", ".br", ".z")
_DOCUMENTS = (".docx", ".xlsx", ".odt", ".pdf")


class OutputFile:
    """A file of lines that appears once it is complete.

    A file whose name ends in .gz, .bz2, .xz or .zst is compressed. An existing file keeps its mode,
    owner and hard links. A pipe, a device or an open descriptor, such as /dev/stdout, gets the
    lines as they come.

    If no new file can replace an existing one, for example at a hard link, the lines are copied
    into it. Ctrl-C, SIGTERM and SIGHUP wait for that copy. After SIGKILL, a full disk or a power
    failure during the copy, the file is a mix of both, and `partial` has all lines.
    """

    def __init__(self, path: Path, option: str = "--out", *, of_lines: bool = True) -> None:
        """Prepare to write to this path, which this option named.

        of_lines: False for a document, whose content is written at once.
        """
        self.path = expanded(path)
        self.of_lines = of_lines
        self.named = self.path
        """The path as it was named; in an open file, `path` has all links resolved."""
        self.option = option
        self.partial: Path | None = None
        """The file with the lines until they are complete; None if they go to a stream."""
        self.file: io.TextIOWrapper | None = None
        self._in_place = False
        self._is_discarded = False
        self._raw: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Open the file; DataError if that is impossible, before any work."""
        if self.of_lines:
            _check_form(self.path, self.option)
        compressing(io.BytesIO(), self.path)  # raises if a library is missing
        try:
            self._raw = self._open()
        except OSError as error:
            raise self._refused(error, "Choose") from None
        coded = compressing(self._raw, self.path) or self._raw
        self.file = io.TextIOWrapper(cast(BinaryIO, coded), encoding="utf-8", newline="\n")
        return self

    def write(self, line: str) -> None:
        """Write a line and its end."""
        assert self.file is not None
        try:
            self.file.write(line + "\n")
        except OSError as error:
            raise self._refused(error) from None

    def write_content(self, content: bytes) -> None:
        """Write the whole of a document; it is the last thing that is written."""
        assert self.file is not None
        try:
            self.file.buffer.write(content)
        except OSError as error:
            raise self._refused(error) from None

    def flush(self) -> None:
        """Make all lines visible to readers, except in a compressed file."""
        assert self.file is not None
        if compression(self.path):
            return
        try:
            self.file.flush()
        except OSError as error:
            raise self._refused(error) from None

    def discard(self) -> None:
        """Have no file after an error, because the lines so far are of no use."""
        self._is_discarded = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Move the complete file to its place; after an error, print where the lines are."""
        assert self.file is not None
        assert self._raw is not None
        refused = None
        try:
            with self._raw:  # a compressor leaves it open
                self.file.close()
            if self.partial is not None and error is None:
                self._put(self.partial)
        except OSError as failure:
            refused = self._refused(failure)
        except BaseException:  # such as a KeyboardInterrupt
            if self.partial is not None:
                _tell_of(self.partial)
            raise
        if self.partial is not None and (error or refused):
            if self._is_discarded:
                self.partial.unlink(missing_ok=True)
            else:
                _tell_of(self.partial)
        if refused is not None and error is None:
            raise refused

    def _open(self) -> IO[bytes]:
        stream = _open_already(self.path)
        if stream is not None:
            return stream
        if self.path.exists() and not self.path.is_file():
            return open(self.path, "wb")
        self.path = Path(os.path.realpath(self.path))  # a link stays one
        return self._open_beside()

    def _open_beside(self) -> IO[bytes]:
        """Open a file of a new name, so that an existing file stays until this one is complete."""
        ending = compression(self.path)  # so that readers open the lines of a failed run
        name = f"{self.path.name}-{secrets.token_hex(4)}.partial{ending}"
        old = self.path.stat() if self.path.exists() else None
        if old is None:
            self.partial = self.path.with_name(name)
            return open(self.partial, "xb")
        if not os.access(self.path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.path))
        file, self.partial = _open_private(self.path.with_name(name))
        with contextlib.suppress(OSError):  # a file system without modes
            self.partial.chmod(stat.S_IMODE(old.st_mode))
        new = os.fstat(file.fileno())
        same_owner = (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid)
        beside = self.partial.parent == self.path.parent
        self._in_place = not (same_owner and beside and old.st_nlink == 1)
        return file

    def _put(self, partial: Path) -> None:
        """Replace the file; if that is impossible, as at a mount point, overwrite its content."""
        if not self._in_place:
            try:
                replace(partial, self.path)
                return
            except OSError:
                if not self.path.exists():
                    raise
        with deferred_signals():
            with open(partial, "rb") as new, open(self.path, "r+b") as old:
                shutil.copyfileobj(new, old, _BLOCK)
                old.truncate()
            partial.unlink()

    def _refused(self, error: OSError, remedy: str = "") -> DataError:
        known = {
            errno.ENOSPC: "Free some space, or choose",
            errno.EDQUOT: "Free some space, or choose",
            errno.EFBIG: f"{SIZE_LIMIT}, or choose",
        }
        remedy = remedy or known.get(error.errno or 0, "Choose")
        return DataError(
            f"The file {self.path} cannot be written ({error.strerror}).",
            f"{remedy} another one with {self.option}.",
        )


def replaced(files: Iterable[OutputFile]) -> str:
    """Return a remark on the older files that these will replace; empty if there are none.

    files: must be open. A pipe, a device and an open descriptor replace nothing.
    """
    older = [str(file.named) for file in files if file.partial and file.path.exists()]
    return f"Replaced older text in {', '.join(older)}." if older else ""


@contextlib.contextmanager
def opened(*files: OutputFile) -> Iterator[None]:
    """Open files; SIGTERM and SIGHUP leave the block as Ctrl-C does, and then end the process.

    By default they would end it before the place of the lines is printed.
    """
    with contextlib.ExitStack() as stack:
        if files:
            stack.enter_context(interrupted_by_termination())
        for file in files:
            stack.enter_context(file)
        yield


def goes_to(file: Path) -> bool:
    """Return True if standard output goes to this file, as after `>> FILE`."""
    try:
        status = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, file.stat())
    except (AttributeError, OSError, ValueError):  # closed, or no file at all
        return False


def _check_form(path: Path, option: str) -> None:
    """Raise DataError for a name that promises another form than lines of text."""
    ending = path.suffix.lower()
    if ending in _OTHER_FORMS or ending in _DOCUMENTS:
        raise DataError(
            f"{path} would hold lines of text, but its name says {ending}.",
            f"Choose another name with {option}; {', '.join(COMPRESSIONS)} are compressed.",
        )


def _open_already(path: Path) -> IO[bytes] | None:
    """Open a copy of the descriptor behind a name such as /dev/stdout; None for other names.

    Opening that name itself would write from the beginning of the descriptor's file, and replacing
    it would lose the lines that are there.
    """
    name = str(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(name))
        number = os.path.basename(name)
        match = _DESCRIPTORS.fullmatch(folder)
        if match and number.isdecimal() and len(number) < _DIGITS:
            if match["process"] not in (None, str(os.getpid())):
                return open(name, "ab")
            os.write(int(number), b"")  # raises if it is closed, or open only for reading
            return os.fdopen(os.dup(int(number)), "wb")
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


def _open_private(beside: Path) -> tuple[IO[bytes], Path]:
    """Open a new file that only its user may read, here or among temporary files."""
    for path in (beside, Path(tempfile.gettempdir()) / beside.name):
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return os.fdopen(os.open(path, flags, 0o600), "wb"), path
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(beside))


def _tell_of(partial: Path) -> None:
    """Print where the written lines are; remove a file without any."""
    size = lines = 0
    with contextlib.suppress(DataError), readable(partial) as file:  # it may be compressed
        for block in iter(lambda: file.read(_BLOCK), b""):
            size += len(block)
            lines += block.count(b"\n")
    if size:
        verb = "is" if lines == 1 else "are"
        print(f"Note: {counted(lines, 'line')} so far {verb} in {partial}.", file=sys.stderr)
    else:
        partial.unlink(missing_ok=True)
