"""Builds the site: one page of the explorer, then both languages side by side. `make docs`."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from code_state import ROOT, state
from explorer_frame import PAGE, export

LANGUAGES = ("en", "ko")


def main() -> int:
    """Build, and print where the pages are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "runs" / "demo")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs")
    arguments = parser.parse_args()
    began = time.monotonic()
    model, out = arguments.model.resolve(), arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    mark = state(model)
    _write_explorer(model, out, mark)
    _forget_older_cells(out, mark)
    environment = {
        **os.environ,
        "HEADWAY_CODE_STATE": mark,
        "HEADWAY_DEMONSTRATION": str(model),
        "OMP_NUM_THREADS": "1",  # both languages are built at once
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    builds = [_start(language, out, environment) for language in LANGUAGES]
    failed = [
        language for language, build in zip(LANGUAGES, builds, strict=True) if build.wait() != 0
    ]
    for language in failed:  # or the next build would not read again what has failed
        shutil.rmtree(out / "trees" / language, ignore_errors=True)
    if failed:
        print(f"The site was not built: see the warnings of {', '.join(failed)} above.")
        return 1
    shutil.copy(ROOT / "docs" / "site" / "front.html", out / "index.html")
    print(f"Built in {time.monotonic() - began:.0f} seconds: {out / 'index.html'}")
    return 0


def _write_explorer(model: Path, out: Path, mark: str) -> None:
    """Write the explorer's page unless it is there, made by the same code of the same model."""
    made_by = out / f"{PAGE}.state"
    if not (out / PAGE).is_file() or not made_by.is_file() or made_by.read_text() != mark:
        export(str(model), str(out / PAGE))
        made_by.write_text(mark)


def _forget_older_cells(out: Path, mark: str) -> None:
    """Remove outputs that were kept for another state of the package."""
    for folder in (out / "cells").glob("*/*"):
        if folder.name != mark:
            shutil.rmtree(folder)


def _start(language: str, out: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    docs = ROOT / "docs"
    arguments = ["-b", "html", "-c", docs, "-D", f"language={language}"]
    arguments += ["-W", "-n", "--keep-going", "-q", "-d", out / "trees" / language]
    command = [sys.executable, "-m", "sphinx", *arguments, docs / language, out / language]
    return subprocess.Popen([str(part) for part in command], env=environment)


if __name__ == "__main__":
    sys.exit(main())
