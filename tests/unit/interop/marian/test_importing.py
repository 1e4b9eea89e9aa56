"""Import: nothing is written unless the whole model was read."""

from pathlib import Path

import pytest

from headway.errors import BundleError
from headway.interop.marian import import_marian


@pytest.fixture
def student(tmp_path: Path) -> Path:
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "model.bin").touch()
    return folder


def test_the_place_is_checked_before_the_work(student: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        import_marian(student, student)
