"""Open files of bytes, compressed or not, and explain failures in one sentence."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from headway.errors import DataError, MissingExtraError
from headway.home import expanded

StrPath = str | os.PathLike[str]

_BLOCK = 1 << 18
# The first bytes of a file, and the ending that its name should have.
_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PAR1": ".parquet",
}
# Files of other programs, which may have the name of a text file.
_DOCUMENTS = {
    b"PK\x03\x04": "a ZIP archive, as .docx, .xlsx and .odt are",
    b"PK\x05\x06": "an empty ZIP archive",
    b"\xd0\xcf\x11\xe0": "a document of an old Office, as .doc and .xls are",
    b"%PDF-": "a PDF",
    b"{\\rtf": "a document in RTF",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
}


def _zstandard(path: StrPath) -> Any:
    """Return the module for Zstandard."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise MissingExtraError.of(
            "data", f"{path} needs Zstandard, which this Python does not have."
        ) from error
    return zstd


def _open_zstandard(path: StrPath) -> IO[bytes]:
    zstd = _zstandard(path)
    # By default, windows of `zstd --long` from 256 MiB on count as damage.
    window = zstd.DecompressionParameter.window_log_max
    return _buffered(zstd.open(path, "rb", options={window: window.bounds()[1]}))


class _Streams(io.RawIOBase):
    """Decompresses one stream after the other, and refuses anything else that follows.

    Python's own files end silently at bytes that do not begin a stream. If two files are joined and
    the second one's first bytes are damaged, all of it would be lost.
    """

    def __init__(self, file: IO[bytes], decompressor: Callable[[], Any], filler: bytes) -> None:
        self._file = file  # closed by close()
        self._decompressor = decompressor
        self._filler = filler  # bytes that are allowed between streams
        self._stream = decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._stream.eof:
                remainder = self._stream.unused_data.lstrip(self._filler)
                while not remainder and (block := self._file.read(_BLOCK)):
                    remainder = block.lstrip(self._filler)
                if not remainder:
                    return 0
                self._stream = self._decompressor()
                data = self._stream.decompress(remainder, len(buffer))
            elif self._stream.needs_input:
                block = self._file.read(_BLOCK)
                if not block:
                    raise EOFError("it ends before its stream does")
                data = self._stream.decompress(block, len(buffer))
            else:
                data = self._stream.decompress(b"", len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_bzip2(path: StrPath) -> IO[bytes]:
    return _buffered(_Streams(Path(path).open("rb"), bz2.BZ2Decompressor, b""))


def _open_gzip(path: StrPath) -> IO[bytes]:
    file = gzip.open(path)  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and not status.st_size:  # an empty text for gzip
        file.close()
        raise EOFError("it ends before its stream does")
    return _buffered(file)


def _open_xz(path: StrPath) -> IO[bytes]:
    return _buffered(_Streams(Path(path).open("rb"), lzma.LZMADecompressor, b"\0"))


def _buffered(file: Any) -> IO[bytes]:
    """Return a file that splits lines in compiled code; most of these files do it in Python."""
    return io.BufferedReader(file, _BLOCK)


_OPENERS: dict[str, Callable[[StrPath], IO[bytes]]] = {
    ".gz": _open_gzip,
    ".bz2": _open_bzip2,
    ".xz": _open_xz,
    ".zst": _open_zstandard,
}
COMPRESSIONS = tuple(_OPENERS)


def compressing(file: IO[bytes], path: StrPath) -> IO[bytes] | None:
    """Return a file that compresses into this one as the name says; None for a plain name.

    Closing it ends the stream, and leaves the file itself open.
    """
    # Without name and time, the same lines give the same bytes.
    ending = compression(path)
    if ending == ".gz":
        return cast(IO[bytes], gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0))
    if ending == ".bz2":
        return bz2.BZ2File(file, "wb")
    if ending == ".xz":
        return lzma.LZMAFile(file, "wb")
    return _zstandard(path).ZstdFile(file, "wb") if ending else None


def plain_name(path: StrPath) -> str:
    """Return the name of a file in lower case, without the ending of its compression."""
    name = Path(path).name.lower()
    return name.removesuffix(compression(path))


def compression(path: StrPath) -> str:
    """Return `.gz`, `.bz2`, `.xz` or `.zst` if the name ends so, else an empty text."""
    ending = Path(path).suffix.lower()
    return ending if ending in _OPENERS else ""


@contextmanager
def readable(path: StrPath, *, decompress: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes and turn each failure into a DataError.

    This includes failures that a compressed file shows only at its end: a file is whole or refused.
    """
    path = expanded(path)
    ending = compression(path) if decompress else ""
    try:
        with _OPENERS[ending](path) if ending else Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        where = "" if Path(path).is_absolute() else f", which is {Path(path).absolute().parent}"
        raise DataError(
            f"There is no file {path}.", f"Check the name and the folder{where}."
        ) from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file.", "Name a file inside it.") from None
    except PermissionError:
        raise DataError(
            f"{path} may not be read by this user.", "Change its permissions or copy it."
        ) from None
    except Exception as error:
        if ending and _damaged(error):
            raise DataError(
                f"{path} is not a whole {ending} file: {error}.",
                f"Copy or download it again; a file that is not compressed must not end in "
                f"{ending}.",
            ) from error
        if isinstance(error, OSError):
            raise DataError(
                f"{path} cannot be read: {error.strerror or error}.", "Check the disk and the path."
            ) from error
        raise


def signature(start: bytes) -> str:
    """Return the ending that a file with these first bytes should have, or an empty text."""
    return next((e for magic, e in _SIGNATURES.items() if start.startswith(magic)), "")


def document(start: bytes) -> str:
    """Return the kind of another program's file with these first bytes, or an empty text."""
    return next((kind for magic, kind in _DOCUMENTS.items() if start.startswith(magic)), "")


def _damaged(error: Exception) -> bool:
    """Return True if an error means that compressed bytes are wrong or end too early."""
    # bz2 raises OSError without a number; the operating system's errors have one.
    is_of_bz2 = isinstance(error, OSError) and error.errno is None
    known = gzip.BadGzipFile | EOFError | zlib.error | lzma.LZMAError
    return is_of_bz2 or isinstance(error, known) or type(error).__name__ == "ZstdError"
