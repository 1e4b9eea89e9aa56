"""A folder is seen whole or not at all."""

from pathlib import Path

import pytest

from headway.errors import BundleError
from headway.interop.folder import new_folder


def test_the_name_appears_once_the_folder_is_whole(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()  # an empty one is no obstacle
    with new_folder(tmp_path / "out") as fresh:
        (fresh / "a").write_text("a")
        assert not (tmp_path / "out" / "a").exists()
    assert (tmp_path / "out" / "a").read_text() == "a"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [ValueError, OSError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, failure: type[BaseException]) -> None:
    expected = BundleError if failure is OSError else failure

    def fail() -> None:
        with new_folder(tmp_path / "out") as fresh:
            (fresh / "a").write_text("a")
            raise failure("full")

    with pytest.raises(expected, match="full"):
        fail()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("is_file", [True, False])
def test_what_is_there_is_not_touched(tmp_path: Path, is_file: bool) -> None:
    path = tmp_path / "out"
    (path if is_file else path / "mine").parent.mkdir(exist_ok=True)
    (path if is_file else path / "mine").write_text("mine")
    with pytest.raises(BundleError, match="not empty"), new_folder(path):
        raise AssertionError("never begun")
    assert (path if is_file else path / "mine").read_text() == "mine"
