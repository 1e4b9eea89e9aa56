"""The commands of the README, run as they stand: `make test-readme`.

Each block runs in a copy of the files under version control, without an active environment. The
first block needs `make`; the second has pip alone.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SENTENCE = "I am a student."


def _blocks() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the tracked files, as a clone has them."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    folder = tmp_path / "headway"
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    return folder


def _run(commands: str, folder: Path, path: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_both_ways_print_the_translation(copy: Path, tmp_path: Path) -> None:
    with_make, with_pip = _blocks()
    # Without the environment that runs this test.
    path = os.pathsep.join(
        part
        for part in os.environ["PATH"].split(os.pathsep)
        if Path(part) != Path(sys.executable).parent
    )

    assert _run(with_make, copy, path).splitlines()[-1] == SENTENCE

    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    output = _run(f"rm -r runs .venv\n{with_pip}", copy, f"{environment / 'bin'}{os.pathsep}{path}")
    assert output.splitlines()[-1] == SENTENCE
