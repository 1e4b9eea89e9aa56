"""Every command says a sentence when a signal ends it; Ctrl-C exits with 130."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import SMALL, Run

from headway.cli.app import app


def interrupt(*given: Any, **named: Any) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("the cat sat\na dog ran far\nwe sat\n", encoding="utf-8")
    return path


def arguments(command: str, bundle: Path, text: Path) -> list[object]:
    """Return a call of the command that is right."""
    both = ["--source", text, "--target", text]
    valid = ["--valid-source", text, "--valid-target", text]
    return {
        "align": [bundle, *both],
        "calibrate": [bundle, *both],
        "check": [*both, *valid, *SMALL],
        "clean": [*both, "--out", text.parent / "clean.{en,de}"],
        "demo": ["--out", text.parent / "run"],
        "drafts": [bundle, *both],
        "evaluate": [bundle, "--source", text, "--reference", text],
        "export": [bundle, "--to", "ctranslate2", "--out", text.parent / "export"],
        "info": [bundle],
        "inspect": [bundle, "the cat"],
        "score": [bundle, *both],
        "serve": [bundle],
        "pull": ["kim/ko-en"],
        "push": [bundle, "kim/ko-en"],
        "shortlist": [bundle, *both],
        "train": [*both, *valid, *SMALL, "--out", text.parent / "run"],
        "translate": [bundle, text],
        "warm-up": [],
    }[command]


# What each command calls once it knows what is wanted.
WORKS = {
    "align": "headway.bundle.load_bundle",
    "calibrate": "headway.bundle.load_bundle",
    "check": "headway.training.check.check_run",
    "clean": "headway.data.mending.text.clean_text",
    "demo": "headway.demo.train",
    "drafts": "headway.bundle.load_bundle",
    "evaluate": "headway.data.corpus.read_parallel",
    "export": "headway.interop.ctranslate2.export",
    "info": "headway.saved_bundle.read_bundle",
    "inspect": "headway.inspection.translator.load",
    "pull": "headway.interop.hub.pull",
    "push": "headway.interop.hub.push",
    "score": "headway.bundle.load_bundle",
    "serve": "headway.service.running.serve",
    "shortlist": "headway.bundle.load_bundle",
    "train": "headway.training.run.begin",
    "translate": "headway.decoding.translator.load",
    "warm-up": "headway.warm_up.warm_up",
}


def test_all_commands_are_stopped_here() -> None:
    assert set(WORKS) == {command.name for command in app.registered_commands}


@pytest.mark.parametrize("command", WORKS)
def test_a_stopped_command_says_what_became_of_its_work(
    run: Run, bundle_path: Path, text: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORKS[command], interrupt)

    status, out, err = run(command, *arguments(command, bundle_path, text))

    assert (status, out) == (130, "")
    assert err.splitlines()[-1].startswith("Stopped")
    assert "Traceback" not in err


SIGNALLED = """
import signal
import sys
from importlib import import_module

from headway.cli.app import main

number = int(sys.argv.pop())
signal.signal(number, signal.SIG_DFL)  # under nohup a hang-up would be ignored

def end(*given, **named):
    signal.raise_signal(number)

module, _, name = sys.argv.pop().rpartition(".")
setattr(import_module(module), name, end)
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("command", ["train", "score"])
def test_a_command_that_is_told_to_end_says_so_and_ends_by_the_signal(
    bundle_path: Path, text: Path, command: str, name: str
) -> None:
    number = getattr(signal, name)
    call = [command, *map(str, arguments(command, bundle_path, text)), WORKS[command]]
    ended = subprocess.run(
        [sys.executable, "-c", SIGNALLED, *call, str(int(number))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout) == (-number, "")
    assert ended.stderr.splitlines()[-1].startswith("Stopped")
    assert "Traceback" not in ended.stderr


def test_a_benchmark_says_that_nothing_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.bench.training.compare_training", interrupt)

    assert run("bench", "train")[::2] == (130, "\nStopped. No measurements were kept.\n")


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        ("headway.training.begin.read_texts", "Nothing was saved yet; run it again."),
        ("headway.training.tokenizers.build_tokenizers", "Nothing was saved yet; run it again."),
        ("headway.training.prepare.encode_texts", "Nothing was saved yet; run it again."),
        (
            "headway.training.begin._write_preparation",
            "Go on with: headway train --out {out} --resume",
        ),
        ("headway.training.trainer.Trainer._validate", "from the last checkpoint with: headway"),
        (
            "headway.training.finishing.average_snapshots",
            "Finish the run with: headway train --out",
        ),
        ("headway.training.run.score_bundle", "Finish the run with: headway train --out {out}"),
        ("headway.training.run.draw_losses", "Finish the run with: headway train --out {out}"),
    ],
)
def test_a_training_says_what_is_saved_in_every_phase(
    run: Run,
    bundle_path: Path,
    text: Path,
    work: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = text.parent / "run"
    training = arguments("train", bundle_path, text)
    with monkeypatch.context() as patched:
        patched.setattr(work, interrupt)
        status, _, err = run("train", *training)

    assert status == 130
    assert sentence.format(out=out) in err.splitlines()[-1]
    again = training if "again" in sentence else ["--out", out, "--resume"]
    assert run("train", *again, "--quiet")[0] == 0  # it is as the sentence says


@pytest.mark.parametrize(
    ("work", "more"),
    [
        ("headway.training.begin._write_preparation", []),
        ("headway.training.trainer.Trainer._validate", []),
        ("headway.training.run.score_bundle", []),
        ("headway.training.run.begin", ["--seeds", 2]),
    ],
)
def test_code_that_was_trusted_is_trusted_when_the_run_goes_on(
    run: Run,
    bundle_path: Path,
    text: Path,
    work: str,
    more: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, interrupt)

    training = arguments("train", bundle_path, text)
    status, _, err = run("train", *training, *more, "--trust-code")

    assert status == 130
    assert err.endswith(" --resume --trust-code\n")


def test_seeds_are_gone_on_with_together(
    run: Run, bundle_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.training.run.begin", interrupt)

    status, _, err = run("train", *arguments("train", bundle_path, text), "--seeds", 2)

    assert status == 130
    assert err.endswith(f"headway train --out {text.parent / 'run'} --seeds 2 --resume\n")


def test_a_translation_into_a_file_says_how_far_it_was(
    run: Run, bundle_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.decoding.translator.TextTranslator.translate", interrupt)

    status, _, err = run("translate", bundle_path, text, "--out", text.parent / "out")

    assert status == 130
    assert err.endswith("Stopped after 0 of 3 lines.\n")
