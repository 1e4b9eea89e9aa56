"""A bundle's own code runs in every command that builds its model, if asked for, and in no other.

The code leaves a mark when it runs.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from headway.bundle import load_bundle, save_bundle
from headway.cli.app import app
from headway.saved_bundle import read_bundle

from .conftest import LINES

Run = Callable[..., tuple[int, str, str]]

PARTS = """\
import pathlib

from headway.model.feed_forward import PositionwiseFeedForward

pathlib.Path({mark!r}).touch()


class Squared(PositionwiseFeedForward):
    def forward(self, x):
        return super().forward(x) ** 2


def change(model):
    part = model.encoder.layers[0].feed_forward
    model.encoder.layers[0].feed_forward = Squared(part.w_1.in_features, part.w_1.out_features)
"""
EPSILON = """\
import pathlib

from torch import nn

pathlib.Path({mark!r}).touch()


def change(model):
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 1e-5
"""

TEXT = ["--source", "SOURCE", "--target", "TARGET"]
VALID = ["--valid-source", "SOURCE", "--valid-target", "TARGET"]
TRAINING = [
    *TEXT, *VALID, "--from", "MODEL", "--device", "cpu", "--set", "training.max_steps=2",
    "--set", "training.warmup_steps=1", "--set", "training.average_checkpoints=1",
]  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "check": ["check", *TRAINING],
    "train": ["train", *TRAINING, "--out", "OUT"],
    "train --seeds": ["train", *TRAINING, "--out", "OUT", "--seeds", "2"],
    "translate": ["translate", "MODEL", "SOURCE", "--device", "cpu"],
    "inspect": ["inspect", "MODEL", "a dog", "--device", "cpu"],
    "serve": ["serve", "MODEL", "--port", "0", "--device", "cpu"],
    "evaluate": ["evaluate", "MODEL", "--source", "SOURCE", "--reference", "TARGET"],
    "score": ["score", "MODEL", *TEXT, "--device", "cpu"],
    "align": ["align", "MODEL", *TEXT, "--device", "cpu"],
    "shortlist": ["shortlist", "MODEL", *TEXT, *VALID],
    "drafts": ["drafts", "MODEL", *TEXT],
    "calibrate": ["calibrate", "MODEL", *TEXT, "--device", "cpu"],
    "bulk plan": ["bulk", "plan", "MODEL", "SOURCE", "--out", "OUT", "--device", "cpu"],
    "bulk work": ["bulk", "work", "OUT"],
    "bulk run": ["bulk", "run", "MODEL", "SOURCE", "--out", "OUT", "--device", "cpu"],
    **{
        f"export --to {form}": ["export", "MODEL", "--to", form, "--out", "OUT"]
        for form in ("argos", "ctranslate2", "firefox", "keras", "marian")
    },
    "bench translate": [
        "bench", "translate", "MODEL", "--source", "SOURCE", "--sentences", "1", "--rounds", "1",
        "--precision", "float32", "--search", "greedy", "--batch", "1", "--threads", "1",
    ],
}  # fmt: skip
FIRST = {"bulk work": [*COMMANDS["bulk plan"], "--trust-code"]}
"""By name: a command that has to be called before."""
WITHOUT_A_MODEL = {
    "bench train", "bulk merge", "bulk status", "bulk verify", "clean", "demo", "info", "pull",
    "push", "warm-up",
}  # fmt: skip
"""They build no model of a bundle, or run only code that is named: `push --code`."""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return the file that is there once the code has run."""
    return tmp_path / "ran"


@pytest.fixture
def save(bundle_path: Path, mark: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that saves a bundle which needs this code."""

    def written(text: str) -> Path:
        code = text.format(mark=str(mark))
        names: dict[str, Any] = {}
        exec(code, names)
        bundle = load_bundle(bundle_path)
        if text == EPSILON:
            config = bundle.config.replace({"norm_epsilon": 1e-6})
            bundle = replace(bundle, config=config)
        names["change"](bundle.model)
        save_bundle(tmp_path / "model", replace(bundle, code=code.encode()))
        mark.unlink()
        return tmp_path / "model"

    return written


@pytest.fixture
def call(run: Run, tmp_path: Path) -> Run:
    """Return a function that calls a command on a model and some text."""
    source, target = tmp_path / "a.ko", tmp_path / "a.en"
    source.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    target.write_text("".join(f"{line}\n" for line in reversed(LINES)), encoding="utf-8")
    files = {"SOURCE": source, "TARGET": target, "MODEL": tmp_path / "model"}
    files["OUT"] = tmp_path / "out.argosmodel"
    return lambda words, *more: run(*[files.get(word, word) for word in words], *more)


def test_all_commands_are_here() -> None:
    table: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    commands: dict[str, Any] = {
        " ".join([name, *below]): table[name].commands[below[0]] if below else table[name]
        for name in table
        if name != "import"  # which makes a bundle of other files
        for below in ([[name] for name in getattr(table[name], "commands", [])] or [[]])
    }
    with_option = {
        name
        for name, command in commands.items()
        if "--trust-code" in [option for p in command.params for option in p.opts]
    }
    assert commands.keys() - with_option == WITHOUT_A_MODEL
    assert with_option == {name.partition(" --")[0] for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_code_runs_only_if_asked_for(
    name: str,
    save: Callable[[str], Path],
    call: Run,
    mark: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *arguments, **options: None)
    monkeypatch.setattr("headway.evaluation.confidence.FEWEST", 1)
    model = save(PARTS)
    if name in FIRST:
        assert call(FIRST[name])[0] == 0
        mark.unlink()

    status, out, err = call(COMMANDS[name])
    assert (status, out) == (1, "")
    code = model / "parts.py"
    assert f"needs the code in {code}, which was not run. Read that file." in err
    assert "add --trust-code" in err
    assert not mark.exists()

    status, _, err = call(COMMANDS[name], "--trust-code")
    assert mark.exists()
    if name.startswith("export"):  # other programs lack such parts, and this is said of them
        assert status == 2
        assert "layers.0.feed_forward is of class Squared" in err
    else:
        assert status == 0, err
    assert read_bundle(model).code == code.read_bytes()


def test_what_can_be_expressed_is_exported(
    save: Callable[[str], Path], call: Run, mark: Path
) -> None:
    save(EPSILON)
    command = COMMANDS["export --to marian"]
    assert "which was not run" in call(command)[2]
    assert not mark.exists()
    assert call(command, "--trust-code")[0] == 0


def test_a_fine_tune_keeps_the_code(
    save: Callable[[str], Path], call: Run, mark: Path, tmp_path: Path
) -> None:
    model = save(PARTS)
    assert call(COMMANDS["train"], "--trust-code", "--quiet")[0] == 0
    run = tmp_path / "out.argosmodel"
    for folder in (run, run / "best", run / "averaged"):
        assert (folder / "parts.py").read_bytes() == read_bundle(model).code
    assert load_bundle(run, trust_code=True).checksum

    mark.unlink()
    (tmp_path / "model").rename(tmp_path / "elsewhere")  # it is not needed to go on
    again = ["train", "--resume", "--out", "OUT", "--device", "cpu"]
    status, _, err = call(again)
    assert (status, mark.exists()) == (1, False)
    assert f"needs the code in {run / 'parts.py'}, which was not run" in err
    status, _, err = call(again, "--trust-code")
    assert (status, mark.exists()) == (0, True), err


def test_commands_that_build_no_model_run_no_code(
    save: Callable[[str], Path], call: Run, mark: Path
) -> None:
    save(PARTS)
    assert call(["info", "MODEL"])[0] == 0
    assert not mark.exists()
