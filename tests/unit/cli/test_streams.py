"""Standard streams that are closed, or of another encoding, and names that no file can have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def headway(*arguments: object, redirect: str = "", **variables: str) -> tuple[int, str, str]:
    command = " ".join(
        f"'{argument}'" for argument in (sys.executable, "-m", "headway", *arguments)
    )
    done = subprocess.run(
        f"{command} {redirect}",
        shell=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | variables,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_standard_error_the_work_is_done_and_no_message_is_output(
    bundle_path: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"the cat sat\n\xff\n")
    for quiet in ((), ("--quiet",)):
        status, out, _ = headway("translate", bundle_path, text, *quiet, redirect="2>&-")
        assert status == 1
        assert out.count("\n") == 1
        assert "Error" not in out


def test_closed_streams_are_said(bundle_path: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the cat sat\n")
    status, _, err = headway("translate", bundle_path, text, redirect=">&-")
    assert (status, err) == (1, "Error: Standard output is closed. Name a file with --out.\n")

    status, _, err = headway("translate", bundle_path, redirect="<&-")
    assert status == 1
    assert err.startswith("Error: Standard input is closed. Name a file")


def test_output_is_utf8_whatever_the_terminal_is(bundle_path: Path) -> None:
    status, out, err = headway("info", bundle_path, PYTHONIOENCODING="latin-1")
    assert (status, err) == (0, "")
    assert "→" in out


@pytest.mark.parametrize("command", [("info",), ("translate",), ("train", "--out")])
def test_a_name_that_is_too_long_is_a_wrong_call(command: tuple[str, ...]) -> None:
    name = "a whole sentence in the place of a model " * 10
    options = ("--source", "a", "--target", "b") if command[0] == "train" else ()
    status, out, err = headway(*command, name, *options)
    assert (status, out) == (2, "")
    assert err.startswith("Error: 'a whole sentence in the place of a model")
    assert err.endswith("is not a usable file name (File name too long). Check it.\n")
