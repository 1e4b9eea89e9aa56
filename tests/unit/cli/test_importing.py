"""`headway import`: what it prints, and what it refuses."""

from pathlib import Path


def test_a_folder_of_something_else_is_one_sentence(run, tmp_path: Path) -> None:
    status, out, err = run("import", "marian", tmp_path, "--out", tmp_path / "out")
    assert (status, out) == (1, "")
    assert err.startswith(f"Error: {tmp_path} holds no model of Marian. Of Hugging Face it has")
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_an_unknown_program(run, tmp_path: Path) -> None:
    status, _, err = run("import", "mariam", tmp_path)
    assert status == 2
    assert "Did you mean headway import marian?" in err
