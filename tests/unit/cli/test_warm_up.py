"""`headway warm-up` says how long it compiled, and where the machine code is."""

import json
from pathlib import Path

import pytest

from headway.warm_up import WarmUp


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (WarmUp(12.3, Path("code")), "Compiled in 12 seconds. The machine code is kept in code.\n"),
        (WarmUp(0.0, Path("code")), "Compiled before. The machine code is kept in code.\n"),
        (WarmUp(12.3, None), "No folder can keep the machine code, so each process compiles"),
        (None, "Numba is not installed, or cannot be used, so PyTorch computes: nothing to"),
    ],
)
def test_what_it_says(
    result: WarmUp | None, words: str, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.warm_up.warm_up", lambda: result)

    code, out, err = run("warm-up")

    assert code == 0
    assert out.startswith(words)
    assert err.startswith("Compiling kernels")
    assert run("warm-up", "--quiet")[2] == ""
    report = json.loads(run("warm-up", "--json")[1])
    assert report["folder"] == (None if result is None or result.folder is None else "code")
    assert report["compiling_seconds"] == (None if result is None else result.compiling)
