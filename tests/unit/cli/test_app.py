"""The command table: what it answers, how it fails, what it does not import."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from headway.cli.app import app
from headway.errors import DataError, warn

COMMANDS = [
    "demo",
    "check",
    "clean",
    "train",
    "translate",
    "inspect",
    "serve",
    "evaluate",
    "score",
    "align",
    "shortlist",
    "drafts",
    "calibrate",
    "info",
    "export",
    "push",
    "pull",
    "warm-up",
]


def test_help_lists_the_commands_without_importing_torch() -> None:
    program = (
        "import sys; from headway.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'keras', 'numpy', 'pydantic', 'sentencepiece', 'sacrebleu'}\n"
        "heavy |= {'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(command in done.stdout for command in COMMANDS)


def test_the_table_is_frozen() -> None:
    assert [command.name for command in app.registered_commands] == COMMANDS
    assert [group.name for group in app.registered_groups] == ["import", "bulk", "bench"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "--quiet" in out
    assert "--debug" in out


def test_no_command_shows_the_help(run) -> None:
    status, out, err = run()
    assert status in (0, 2)
    assert "translate" in out + err


def test_an_unknown_command_is_a_wrong_call(run) -> None:
    status, _, err = run("trian")
    assert status == 2
    assert "train" in err


def test_the_version_is_that_of_the_package(run) -> None:
    import headway

    assert run("--version")[:2] == (0, f"headway {headway.__version__}\n")


def test_an_error_is_one_line_without_a_traceback(run, tmp_path) -> None:
    status, out, err = run("info", tmp_path / "none")
    assert status == 1
    assert out == ""
    assert err == f"Error: There is no bundle {tmp_path / 'none'}. Check the name of the folder.\n"


def test_debug_shows_where_an_error_came_from(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headway", "info", str(tmp_path / "none"), "--debug"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_warning_of_ours_is_one_note(
    run, bundle_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn_and_fail(*arguments: object, **options: object) -> None:
        warn("Numba cannot be used.")
        raise DataError("Enough.")

    monkeypatch.setattr("headway.decoding.translator.load", warn_and_fail)
    before = warnings.showwarning

    assert run("translate", bundle_path)[2] == "Note: Numba cannot be used.\nError: Enough.\n"
    assert run("translate", bundle_path, "--quiet")[2] == "Error: Enough.\n"
    assert warnings.showwarning is before
