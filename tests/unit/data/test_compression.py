"""Files open whatever their compression, whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest
from backports import zstd

from headway.data.compression import plain_name, readable
from headway.data.lines import read_lines
from headway.errors import DataError, MissingExtraError

from .files import ENDINGS, compress, write

TEXT = b"".join(b"line %d\n" % number for number in range(5000))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_missing_file_is_named(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DataError, match=r"There is no file .*nowhere\.txt"):
        list(read_lines(tmp_path / f"nowhere.txt{ending}"))


@pytest.mark.parametrize("ending", [".bz2", ".xz"])
def test_a_missing_file_is_not_closed_as_well(tmp_path: Path, ending: str) -> None:
    """Python 3.13 prints what a finalizer raises; before, it does so when developing."""
    program = f"""
from headway.data.compression import readable
from headway.errors import DataError
try:
    with readable({str(tmp_path / "nowhere")!r} + {ending!r}):
        pass
except DataError:
    print("named")
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "named\n"
    assert "Exception ignored" not in done.stderr


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        list(read_lines(tmp_path))


def test_a_file_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test that removes the permission itself proves nothing to an administrator.
    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"secret\.txt may not be read"):
        list(read_lines(tmp_path / "secret.txt"))


def test_any_other_failure_of_the_disk_is_a_data_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, mode: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(DataError, match=r"a\.txt cannot be read: Input/output error"):
        list(read_lines(tmp_path / "a.txt"))


@pytest.mark.parametrize("ending", ENDINGS[1:])
@pytest.mark.parametrize("damage", ["plain", "cut short", "last byte", "overwritten"])
def test_a_damaged_file_is_refused_before_its_end_is_reached(
    tmp_path: Path, ending: str, damage: str
) -> None:
    whole = compress(TEXT, ending)
    middle = len(whole) // 2
    data = {
        "plain": b"not compressed\n",
        "cut short": whole[:middle],
        "last byte": whole[:-1],
        "overwritten": whole[:middle] + bytes(b ^ 0xFF for b in whole[middle:]),
    }[damage]
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"a\.txt\{ending} is not a whole \{ending} file"):
        list(read_lines(path))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_files_that_were_joined_are_read_to_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(compress(b"one\n", ending) + compress(b"two\n", ending))
    assert list(read_lines(path)) == ["one", "two"]


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_what_follows_a_stream_and_is_none_is_refused(tmp_path: Path, ending: str) -> None:
    second = bytearray(compress(TEXT, ending))
    second[:2] = b"??"
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(compress(TEXT, ending) + second)
    with pytest.raises(DataError, match="is not a whole"):
        list(read_lines(path))


def test_xz_may_be_filled_up_with_zeros(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(compress(b"one\n", ".xz") + bytes(8) + compress(b"two\n", ".xz") + bytes(4))
    assert list(read_lines(path)) == ["one", "two"]


def test_zstandard_may_look_back_as_far_as_it_can(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    # Whole text at once would be given a window of its own length.
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    path.write_bytes(compressor.compress(b"one\n") + compressor.flush())
    assert list(read_lines(path)) == ["one"]


def test_without_zstandard_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.zst", "one\n")
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[data\]'"):
        list(read_lines(path))


def test_bytes_can_be_read_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", "one\n")
    with readable(path, decompress=False) as file:
        assert file.read() == path.read_bytes()


@pytest.mark.parametrize("name", ["A.TSV", "a.tsv", "a.tsv.gz", "a.Tsv.ZST", "a.tsv.bz2"])
def test_a_plain_name_has_no_compression(name: str) -> None:
    assert plain_name(Path("x.gz") / name) == "a.tsv"


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_compressed_file_of_no_byte_is_no_whole_one(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"")

    with pytest.raises(DataError, match=f"is not a whole {ending} file"):
        list(read_lines(path))
