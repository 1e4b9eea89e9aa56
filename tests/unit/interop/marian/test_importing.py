"""Import: nothing is written unless the whole model was read."""

from pathlib import Path

import pytest

from headway.errors import BundleError
from headway.interop.marian import import_marian
from headway.interop.marian.importing import READERS


@pytest.fixture
def student(tmp_path: Path) -> Path:
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "model.bin").touch()
    return folder


def test_a_kind_without_a_reader_is_refused_by_name(
    student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(READERS, "student", raising=False)
    with pytest.raises(BundleError, match="of the kind 'student', which this version does not"):
        import_marian(student, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_place_is_checked_before_the_work(student: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        import_marian(student, student)
