"""A file takes the place of another whole, with its mode, and a place is judged before the work."""

import os
import stat
from pathlib import Path

import pytest

from headway.errors import TraceError
from headway.runtime.atomic_files import check_file_place, write_atomically


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_an_older_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == b"new"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["real"]


def test_a_place_that_cannot_hold_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.png").mkdir()
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path / "no" / "x.png", r"There is no folder .*no\. Make it, or"),
        (tmp_path / "file" / "x.png", r"There is no folder .*file\. Make it, or"),
        (tmp_path / "x.png", r"x\.png is a folder\. Name a file in it, or"),
    ):
        with pytest.raises(TraceError, match=message):
            check_file_place(path, TraceError)
    check_file_place(tmp_path / "new.png", TraceError)
    check_file_place(tmp_path / "file", TraceError)

    monkeypatch.setattr(os, "access", lambda *given: False)  # root may write everywhere
    for name in ("new.png", "file"):
        with pytest.raises(TraceError, match=f"{name} may not be written by this user"):
            check_file_place(tmp_path / name, TraceError)
