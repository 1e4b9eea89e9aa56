"""The page on what commands print names what their JSON has, command by command."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.hub_emulator import Hub

from headway.bundle import load_bundle, save_bundle
from headway.cli.app import app
from headway.config.presets import student
from headway.model.transformer import Transformer

from .conftest import SMALL

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "en" / "reference" / "command-line.md").read_text(encoding="utf-8")
SOURCES = ["저는 갑니다 .", "너는 온다 !", "우리는 자요 ?"]
TARGETS = ["the cat sat", "a dog", "ran far"]
# After 25 steps a run says what it will take.
ENOUGH = [*SMALL, "--set", "training.max_steps=30"]


def _named() -> dict[str, set[str]]:
    """Return the names of each row; those that only explain another stand in brackets."""
    rows = re.findall(
        r"^\| `((?:\w[\w-]*)(?: --[\w-]+(?: \w+)?)?)` \| (.*) \|$", TEXT, flags=re.MULTILINE
    )
    found: dict[str, set[str]] = {}
    for command, text in rows:
        outer = re.sub(r"\([^)]*\)", "", text).partition(":")[0]
        own = set(re.findall(r"`(\w+)`", outer.partition(", each with")[0]))
        base = command.split()[0]
        found[command] = own | found[base] if text.startswith("and ") else own
    return found


NAMED = _named()


@pytest.fixture
def place(bundle_path: Path, tmp_path: Path) -> Path:
    shutil.copytree(bundle_path, tmp_path / "model")
    bundle = load_bundle(bundle_path)
    small = {"d_model": 8, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1}
    config = student(bundle.config.source_vocab_size).replace(small)
    model = Transformer.from_config(config)
    save_bundle(tmp_path / "student", replace(bundle, config=config, model=model))
    for name, lines in {"a.ko": SOURCES, "a.en": TARGETS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "gold").write_text("0-0\n0-0\n0-0\n")
    return tmp_path


def _calls(place: Path) -> Iterator[tuple[str, list[object]]]:
    model, source, target = place / "model", place / "a.ko", place / "a.en"
    both = ["--source", source, "--target", target]
    valid = ["--valid-source", source, "--valid-target", target]
    text = [*both, *valid]
    tested = ["--set", f"data.test_source={source}", "--set", f"data.test_target={target}"]
    training = [*text, *ENOUGH, *tested]
    inspect = ["inspect", model, SOURCES[0]]
    weights = "decoder.layers.0.cross_attention.weights"
    at = [pair for axis in ("head", "query", "key") for pair in ("--at", f"{axis}=0")]
    translate = ["translate", model, source]
    yield "translate", translate
    yield "translate --alignments", [*translate, "--alignments", place / "alignments"]
    yield "translate --nbest", [*translate, "--nbest", 2]
    yield "evaluate", ["evaluate", model, "--source", source, "--reference", target]
    compared = ["--hypothesis", target, "--source", source, "--reference", target]
    yield "evaluate --hypothesis", ["evaluate", model, *compared]
    yield "score", ["score", model, *both]
    yield "check", ["check", *training]
    yield "clean", ["clean", *both, "--out", place / "clean.tsv"]
    yield "train", ["train", *training, "--out", place / "run"]
    yield "train", ["train", *text, *ENOUGH, "--out", place / "untested"]
    fine = ["--set", "training.max_steps=30", "--set", "training.batch_tokens=64"]
    tuned = ["--from", place / "run", "--out", place / "tuned", *fine, *tested]
    yield "train --from", ["train", *text, *tuned]
    yield "train --seeds", ["train", *training, "--out", place / "seeds", "--seeds", 2]
    yield "info --kernels", ["info", model, "--kernels"]
    yield "inspect", inspect
    yield "inspect --explain", [*inspect, "--explain", weights, *at]
    yield "align", ["align", model, *both, "--gold", place / "gold"]
    yield "shortlist", ["shortlist", model, *both]
    yield "shortlist --valid-source", ["shortlist", model, *text]
    yield "shortlist --translate", ["shortlist", model, *text, "--translate"]
    yield "drafts", ["drafts", model, *both]
    yield "calibrate", ["calibrate", model, *both]
    yield "info", ["info", model]
    keras = ["export", model, "--to", "keras", "--out", place / "keras"]
    yield "export --to keras", keras
    firefox = ["export", place / "student", "--to", "firefox", "--out", place / "firefox"]
    yield "export --to firefox", firefox
    marian = ["export", model, "--to", "marian", "--out", place / "marian"]
    yield "export --to marian", marian
    yield "warm-up", ["warm-up"]
    ctranslate2 = ["export", model, "--to", "ctranslate2", "--out", place / "ctranslate2"]
    yield "export --to ctranslate2", ctranslate2
    bundle = replace(load_bundle(model), source_language="Korean", target_language="English")
    save_bundle(place / "named", bundle)
    argos = ["export", place / "named", "--to", "argos", "--out", place]
    yield "export --to argos", argos
    yield "push", ["push", model, "kim/ko-en"]
    yield "pull", ["pull", "kim/ko-en"]


def test_each_command_prints_what_the_page_names(
    run, place: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for command, arguments in _calls(place):
        fewest = 1 if command == "calibrate" else 100
        monkeypatch.setattr("headway.evaluation.confidence.FEWEST", fewest)
        status, out, err = run(*arguments, "--json", "--quiet")
        assert status == 0, (command, err)
        objects = [json.loads(line) for line in out.splitlines()]
        assert len(objects) == (len(SOURCES) if command.startswith("translate") else 1)
        for found in objects:
            tested = "data.test_source" in str(arguments) or not command.startswith("train")
            assert found.keys() == NAMED[command] - (set() if tested else {"test"}), command
        seen.add(command)
    assert seen == NAMED.keys()


def test_no_command_is_left_out() -> None:
    import typer

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name in commands:
        assert name in {row.split()[0] for row in NAMED} or f"`{name}`" in TEXT
