"""A run leaves all that it promises, or, where it cannot go well, nothing at all."""

import dataclasses
import errno
import json
import math
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from headway.bundle import load_bundle, save_bundle
from headway.config.run import RunConfig, load_run_config
from headway.data.corpus import read_parallel
from headway.data.shortlist import learn_shortlist
from headway.decoding.drafts import with_drafts
from headway.decoding.translator import TextTranslator
from headway.errors import (
    BundleError,
    ConfigError,
    DataError,
    HeadwayError,
    MissingExtraError,
    RunError,
)
from headway.evaluation.metrics import score_texts
from headway.saved_bundle import find_bundle
from headway.training import begin
from headway.training.averaging import average_snapshots
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.run_folder import RunFolder
from headway.training.update import StepResult
from headway.training.validation import ValidationResult, Validator

MakeConfig = Callable[..., RunConfig]


class StoppingReporter(Reporter):
    """Press Ctrl-C after a certain update."""

    def __init__(self, at_step: int) -> None:
        super().__init__(quiet=True)
        self.at_step = at_step

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            os.kill(os.getpid(), signal.SIGINT)


def write_unknown_pieces(data_folder: Path) -> None:
    path = data_folder / "valid.target"
    path.write_text(path.read_text().replace("one", "eleven"))


def write_moved_sides(data_folder: Path) -> None:
    sizes = [random.Random(n).randint(1, 9) for n in range(400)]
    sources = ["a " * size for size in sizes]
    targets = [text.replace("a", "b") for text in [*sources[:100], *sources[101:300]]]
    lines = {"source": sources[:299], "target": targets}
    for side, texts in lines.items():
        (data_folder / f"train.{side}").write_text("".join(f"{text}\n" for text in texts))


def recorded_kinds(run: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }


@pytest.mark.usefixtures("no_picture")
class TestFinishedRun:
    """One run, looked at from several sides."""

    @pytest.fixture
    def run(self, make_config: MakeConfig, tmp_path: Path, quiet: Reporter) -> Path:
        data = make_config().data
        config = make_config(
            data={"test_source": data.valid_source, "test_target": data.valid_target},
            evaluation={"metrics": ["chrf", "exact"]},
        )
        result = train(config, tmp_path / "run", reporter=quiet)
        assert result.finished
        assert result.step == 12
        return result.folder

    def test_the_folder_holds_what_it_promises(self, run: Path) -> None:
        assert {path.name for path in run.iterdir()} == {
            ".lock",
            "averaged",
            "best",
            "checkpoints",
            "config.toml",
            "data.json",
            "metrics.jsonl",
            "report.json",
            "source.model",
            "target.model",
        }
        assert find_bundle(run) == run / "averaged"
        scored_with = json.loads((run / "report.json").read_text())["scored_with"]
        assert set(scored_with) == {"validation", "valid", "test"}
        assert scored_with["validation"]["search"] == "greedy"
        assert scored_with["valid"] == scored_with["test"]
        assert load_run_config(run / "config.toml").training.max_steps == 12
        assert json.loads((run / "data.json").read_text())["training"]["total"] == 32

    def test_the_averaged_bundle_is_the_mean_of_the_last_weights(self, run: Path) -> None:
        report = json.loads((run / "report.json").read_text())

        mean = average_snapshots(run / "checkpoints", report["averaged_steps"])

        assert report["averaged_steps"] == [8, 12]
        for name, parameter in load_bundle(run / "averaged").model.named_parameters():
            assert torch.equal(parameter, mean[name])

    def test_the_reported_scores_are_those_of_the_bundle(self, run: Path) -> None:
        bundle = load_bundle(run)
        config = load_run_config(run / "config.toml")
        folder = Path(config.data.directory)
        pairs = read_parallel(folder / "valid.source", folder / "valid.target")
        found = TextTranslator(bundle).translate(
            [pair.source for pair in pairs], mend_runaways=False
        )
        expected = score_texts(
            [translation.text for translation in found],
            [pair.target for pair in pairs],
            ["chrf", "exact"],
        )

        report = json.loads((run / "report.json").read_text())

        assert report["test"] == report["valid"] == [score.as_dict() for score in expected]
        assert bundle.record["valid"] == report["valid"]
        assert bundle.record["machine"] == report["machine"]
        assert report["machine"]["threads"] == torch.get_num_threads()
        assert report["machine"]["versions"]["torch"] == torch.__version__
        assert bundle.record["config"]["training"]["max_steps"] == 12
        assert bundle.record["several_sentences"] == 0.0
        assert bundle.record["usual_sentences"] == 1
        assert bundle.source_script == bundle.record["source_script"] == "LATIN"
        assert bundle.target_script == bundle.record["target_script"] == "LATIN"
        assert f"| {expected[0].value:.2f} |" in bundle.card

    def test_finishing_again_changes_no_weight(self, run: Path, quiet: Reporter) -> None:
        before = contents(run)

        result = train(None, run, resume=True, reporter=quiet)

        assert result.finished
        after = contents(run)
        assert after.keys() == before.keys()
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= {"averaged/config.json", "averaged/manifest.json", "report.json"}

    def test_the_report_of_a_run_that_cannot_go_on_is_not_lost(
        self, run: Path, quiet: Reporter
    ) -> None:
        whole = (run / "checkpoints" / "last.safetensors").read_bytes()
        (run / "checkpoints" / "last.safetensors").write_bytes(whole[: len(whole) // 2])
        before = contents(run)
        longer = load_run_config(run / "config.toml", ["training.max_steps=13"])

        with pytest.raises(HeadwayError):
            train(longer, run, resume=True, reporter=quiet)

        assert contents(run) == before
        (run / "checkpoints" / "last.safetensors").write_bytes(whole)

    def test_steps_that_are_made_cannot_be_unmade(self, run: Path, quiet: Reporter) -> None:
        before = contents(run)
        shorter = load_run_config(run / "config.toml", ["training.max_steps=11"])

        with pytest.raises(ConfigError, match=r"is 11, but the run in .* has made 12 steps"):
            train(shorter, run, resume=True, reporter=quiet)

        assert contents(run) == before

    def test_the_best_weights_know_their_configuration(self, run: Path) -> None:
        record = load_bundle(run / "best").record
        assert record["config"]["training"]["max_steps"] == 12
        assert "source" in record["config"]["data"]

    def test_another_run_does_not_go_into_its_folder(
        self, run: Path, make_config: MakeConfig, quiet: Reporter
    ) -> None:
        before = contents(run)

        with pytest.raises(RunError, match="holds another run already"):
            train(make_config(), run, reporter=quiet)

        assert contents(run) == before

    def test_another_configuration_does_not_continue_it(self, run: Path, quiet: Reporter) -> None:
        before = contents(run)

        with pytest.raises(ConfigError, match=r"began with another model\.d_ff"):
            train(
                load_run_config(run / "config.toml", ["model.d_ff=99"]),
                run,
                resume=True,
                reporter=quiet,
            )

        assert contents(run) == before

    def test_its_languages_can_be_corrected(self, run: Path, quiet: Reporter) -> None:
        before = contents(run)
        corrected = ["data.source_language=de", "data.target_language=en"]
        config = load_run_config(run / "config.toml", corrected)

        train(config, run, resume=True, reporter=quiet)

        assert load_run_config(run / "config.toml").data.languages == ("de", "en")
        after = contents(run)
        assert all(after[name] == before[name] for name in before if name.endswith("tensors"))
        for name in ("best", "averaged"):
            bundle = load_bundle(run / name)
            assert (bundle.source_language, bundle.target_language) == ("de", "en")
            assert "| languages | de → en |" in bundle.card

    def test_changed_text_does_not_continue_it(
        self, run: Path, data_folder: Path, quiet: Reporter
    ) -> None:
        with (data_folder / "train.source").open("a") as source:
            source.write("one\n")
        with (data_folder / "train.target").open("a") as target:
            target.write("two\n")
        before = contents(run)

        with pytest.raises(RunError, match=r"changed since .*: .*train\.source is another\."):
            train(None, run, resume=True, reporter=quiet)

        assert contents(run) == before

    @pytest.mark.parametrize("recorded", ["each file", "all together"])
    def test_the_file_that_changed_is_named(
        self, run: Path, data_folder: Path, tmp_path: Path, quiet: Reporter, recorded: str
    ) -> None:
        copied = Path(shutil.copytree(run, tmp_path / "copied"))
        if recorded == "all together":  # as earlier versions did
            known = json.loads((copied / "data.json").read_text())
            del known["files"]
            (copied / "data.json").write_text(json.dumps(known))
        with (data_folder / "valid.target").open("r+b") as target:
            target.write(b"X")

        which = r": .*valid\.target is another" if recorded == "each file" else ""
        with pytest.raises(RunError, match=rf"has changed since this run began{which}\. Restore"):
            train(None, copied, resume=True, reporter=quiet)

    def test_moved_text_continues_it(
        self, run: Path, data_folder: Path, tmp_path: Path, quiet: Reporter
    ) -> None:
        config = load_run_config(run / "config.toml")
        data_folder.rename(tmp_path / "moved")
        moved = config.replace(
            {"data": config.data.model_dump() | {"directory": str(tmp_path / "moved")}}
        )

        assert train(moved, run, resume=True, reporter=quiet).finished

    def test_a_damaged_checkpoint_is_refused(self, run: Path, quiet: Reporter) -> None:
        path = run / "checkpoints" / "last.safetensors"
        path.write_bytes(path.read_bytes()[:-7])

        with pytest.raises(RunError, match=r"last\.safetensors cannot be read"):
            train(None, run, resume=True, reporter=quiet)

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda run: (run / "checkpoints/last.safetensors").unlink(),
             r"last\.safetensors is missing, although the run has made steps"),
            (lambda run: shutil.rmtree(run / "checkpoints"), r"last\.safetensors is missing"),
            (lambda run: (run / "data.json").unlink(),
             r"data\.json is missing, although the run has a checkpoint"),
            (lambda run: (run / "data.json").write_text("{"), r"data\.json is damaged"),
            (lambda run: (run / "data.json").write_text("[]"), r"data\.json is damaged"),
            (lambda run: (run / "best/manifest.json").unlink(), "best exists and is not a bundle"),
            (lambda run: (run / "metrics.jsonl").write_text('{"step": 1, "kind": "step"}\n7\n'),
             r"Line 2 of .*metrics\.jsonl is no record of a training: '7'"),
        ],
    )  # fmt: skip
    def test_what_is_missing_is_said_before_anything_is_trained_or_lost(
        self, run: Path, quiet: Reporter, damage: Callable[[Path], object], message: str
    ) -> None:
        damage(run)
        before = contents(run)

        with pytest.raises(HeadwayError, match=message):
            train(None, run, resume=True, reporter=quiet)

        assert contents(run) == before

    def test_a_second_process_is_refused(self, run: Path, quiet: Reporter) -> None:
        with (
            RunFolder(run).locked(),
            pytest.raises(RunError, match="Another process is training"),
        ):
            train(None, run, resume=True, reporter=quiet)


def test_a_run_draws_its_losses(make_config: MakeConfig, tmp_path: Path, quiet: Reporter) -> None:
    config = make_config(training={"max_steps": 2, "validation_sentences": 0})

    train(config, tmp_path / "run", reporter=quiet)

    assert (tmp_path / "run" / "loss.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("no_picture")
def test_event_files_are_written_where_asked_for_also_when_the_run_goes_on(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    pytest.importorskip("tensorboard")
    config = make_config(training={"max_steps": 5, "validation_sentences": 0})
    train(config, tmp_path / "run", reporter=quiet)
    assert not (tmp_path / "run" / "tensorboard").exists()

    again = load_run_config(
        tmp_path / "run" / "config.toml", ["training.tensorboard=true", "training.max_steps=9"]
    )
    train(again, tmp_path / "run", resume=True, reporter=quiet)

    assert len(list((tmp_path / "run" / "tensorboard").iterdir())) == 1


def test_without_tensorboard_a_run_that_wants_it_does_not_begin(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)

    with pytest.raises(MissingExtraError, match="TensorBoard is not installed"):
        train(make_config(training={"tensorboard": True}), tmp_path / "run", reporter=quiet)

    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("hold_out", [0, 3])
def test_a_setting_that_another_one_makes_idle_is_said(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, hold_out: int
) -> None:
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]
    config = make_config(data={"hold_out": hold_out}, training={"max_steps": 1})

    train(config, tmp_path / "run", reporter=quiet)

    assert any("hold_out is not used" in message for message in said) == bool(hold_out)


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("ends", [{"max_steps": 2}, {"max_steps": 90, "max_epochs": 1}])
@pytest.mark.parametrize("later", [0, 1])
def test_a_run_that_ends_in_its_warm_up_is_remarked_on(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, ends: dict[str, int], later: int
) -> None:
    said: list[str] = []
    quiet.say = said.append  # type: ignore[method-assign]
    training = {"batch_tokens": 200, "accumulate": 100, "validation_sentences": 0} | ends
    steps = train(make_config(training=training), tmp_path / "before", reporter=quiet).step
    said.clear()

    config = make_config(training=training | {"warmup_steps": steps + later})
    assert train(config, tmp_path / "run", reporter=quiet).step == steps

    remark = f"the rate ends at {steps / (steps + later):.0%} of its peak"
    assert any(remark in message for message in said) == bool(later)


@pytest.mark.usefixtures("no_picture")
def test_memory_that_validation_takes_is_not_that_of_the_steps(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peak = {"now": 100, "validated": 0}

    class Hungry(Validator):
        def __call__(self, *given: Any) -> Any:
            peak["validated"] += 1
            peak["now"] = 900
            return super().__call__(*given)

    for module in ("estimate", "trainer"):
        name = f"headway.training.{module}.forget_peak"
        monkeypatch.setattr(name, lambda device: peak.update(now=100))
    monkeypatch.setattr("headway.training.estimate.peak_memory", lambda device: peak["now"])
    monkeypatch.setattr("headway.training.begin.Validator", Hungry)
    config = make_config(training={"max_steps": 29, "validate_every_steps": 3})

    report = train(config, tmp_path / "run", reporter=quiet).report

    assert peak["validated"] > 9
    assert report["estimate"]["memory"] == report["estimate"]["took_memory"] == 100


@pytest.mark.usefixtures("no_picture")
def test_text_that_the_vocabulary_does_not_know_is_said_and_reported(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter
) -> None:
    write_unknown_pieces(data_folder)
    config = make_config(training={"max_steps": 2, "validation_sentences": 0})

    report = train(config, tmp_path / "run", reporter=quiet).report

    (finding,) = report["diagnoses"]
    assert finding["problem"] == "unknown pieces, validation target"
    first = (tmp_path / "run" / "metrics.jsonl").read_text().split("\n")[0]
    assert json.loads(first) == {"kind": "diagnosis"} | finding
    assert json.loads((tmp_path / "run" / "report.json").read_text())["diagnoses"] == [finding]


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("hold_out", [0, 60])
def test_sides_that_are_moved_are_said_and_reported(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter, hold_out: int
) -> None:
    write_moved_sides(data_folder)
    data = {"hold_out": hold_out} | ({"valid_source": "", "valid_target": ""} if hold_out else {})
    config = make_config(data=data, training={"max_steps": 1, "validation_sentences": 0})

    report = train(config, tmp_path / "run", reporter=quiet).report

    (finding,) = [f for f in report["diagnoses"] if "misaligned" in f["problem"]]
    assert finding["problem"] == "misaligned text, training"
    assert "targets seem to stand 1 line too early: " in finding["message"]
    assert "to 299)" in finding["message"]


@pytest.mark.usefixtures("no_picture")
def test_validation_text_that_is_tokenized_already_is_said(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter
) -> None:
    for side in ("source", "target"):
        (data_folder / f"valid.{side}").write_text("a .\n" * 100)
    training = {"max_steps": 1, "validation_sentences": 2}

    report = train(make_config(training=training), tmp_path / "run", reporter=quiet).report
    assert "tokenized text" in [finding["problem"] for finding in report["diagnoses"]]

    config = make_config(training=training, evaluation={"bleu_tokenize": "none"})
    report = train(config, tmp_path / "other", reporter=quiet).report
    assert "tokenized text" not in [finding["problem"] for finding in report["diagnoses"]]


@pytest.mark.usefixtures("no_picture")
def test_what_is_said_of_the_text_is_recorded_once_when_a_run_begins_again(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter
) -> None:
    write_unknown_pieces(data_folder)
    train(make_config(), tmp_path / "run", reporter=StoppingReporter(3))
    (tmp_path / "run" / "checkpoints" / "last.safetensors").unlink()

    train(None, tmp_path / "run", resume=True, reporter=quiet)

    assert recorded_kinds(tmp_path / "run").count("diagnosis") == 1


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (write_unknown_pieces, "unknown pieces, validation target"),
        (write_moved_sides, "misaligned text, training"),
    ],
    ids=["unknown", "moved"],
)
def test_what_is_said_of_the_text_is_recorded_once_when_a_tuned_run_begins_again(
    make_config: MakeConfig,
    data_folder: Path,
    tmp_path: Path,
    quiet: Reporter,
    write: Callable[[Path], None],
    problem: str,
) -> None:
    write(data_folder)
    training: dict[str, Any] = {"max_steps": 3, "validation_sentences": 0}
    train(make_config(training=training), tmp_path / "base", reporter=quiet)
    tuned = make_config(training=training | {"start_from": str(tmp_path / "base")})

    class Fails(Reporter):
        def step(self, step: int, result: StepResult) -> None:
            raise InterruptedError

    with pytest.raises(InterruptedError):  # it has only the checkpoint that it started from
        train(tuned, tmp_path / "run", reporter=Fails(quiet=True))
    report = train(None, tmp_path / "run", resume=True, reporter=quiet).report

    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    recorded = [json.loads(line) for line in lines]
    for records in (recorded, report["diagnoses"]):
        assert [record.get("problem") for record in records].count(problem) == 1


@pytest.mark.usefixtures("no_picture")
def test_the_time_of_a_run_counts_its_last_validation(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate, clock = Validator.__call__, SimpleNamespace(now=0.0)

    def slowly(self: Validator, *given: Any) -> Any:
        clock.now += 60
        return validate(self, *given)

    monkeypatch.setattr(Validator, "__call__", slowly)
    monkeypatch.setattr(
        "headway.training.trainer.time", SimpleNamespace(perf_counter=lambda: clock.now)
    )
    once = {"max_steps": 2, "validate_every_steps": 2}
    train(make_config(training=once), tmp_path / "run", reporter=quiet)

    assert json.loads((tmp_path / "run" / "report.json").read_text())["seconds"] == 60
    last = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["seconds"] == 60


@pytest.mark.parametrize(
    "wrong",
    [
        {"training": {"best_metric": "bleu", "validation_sentences": 0}},
        {"training": {"schedule": "linear", "warmup_steps": 12}},
        {"tokenizer": {"kind": "word", "sampling": 0.1}},
        {"tokenizer": {"joint": False}, "model": {"shared_embeddings": "all"}},
        {"data": {"source_script": "korean"}},
        {"data": {"source": "caf\udce9.en"}},
    ],
    ids=["metric", "schedule", "sampling", "sharing", "script", "name"],
)
def test_settings_are_refused_before_the_text_is_read(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    wrong: dict[str, dict[str, object]],
) -> None:
    monkeypatch.setattr(begin, "read_texts", None)
    with pytest.raises(ConfigError):
        train(make_config(**wrong), tmp_path / "run", reporter=quiet)


@pytest.mark.usefixtures("no_picture")
def test_separate_tokenizers_make_a_bundle_of_two(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    config = make_config(
        data={"target": "train.capitals", "valid_target": "valid.capitals"},
        tokenizer={"joint": False},
        model={"shared_embeddings": "target"},
        training={"max_steps": 2, "best_metric": "chrf"},
    )

    train(config, tmp_path / "run", reporter=quiet)

    names = {path.name for path in (tmp_path / "run" / "averaged").iterdir()}
    assert {"source.model", "target.model"} <= names


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"data": {"source": ""}}, ConfigError, r"'data\.source' is missing"),
        ({"data": {"source": "gone"}}, DataError, "There is no file .*gone"),
        ({"data": {"target": "valid.target"}}, DataError, "has 32 lines and .* has 7"),
        ({"data": {"source": "empty", "target": "empty"}}, DataError, "are empty"),
        ({"data": {"source": "latin"}}, DataError, r"latin, line 3, byte 2 .*0xe9.* not UTF-8"),
        ({"data": {"max_ratio": 1.5, "max_pieces": 1, "drop_identical": True}}, DataError, "left"),
        (
            {"tokenizer": {"kind": "bpe", "vocabulary_size": 5000}},
            ConfigError,
            "vocabulary_size is 5000, but this text gives a bpe tokenizer at most",
        ),
        ({"training": {"batch_tokens": 6}}, ConfigError, "on line 32 alone takes 7"),
        ({"training": {"best_metric": "bleu", "validation_sentences": 0}}, ConfigError, "compute"),
        ({"evaluation": {"metrics": ["blue"]}}, ConfigError, "no metric 'blue'"),
        (
            {"tokenizer": {"joint": False}, "data": {"target": "train.capitals"}},
            ConfigError,
            "separate vocabularies",
        ),
        (
            {"training": {"schedule": "linear", "warmup_steps": 12}},
            ConfigError,
            "schedule cannot fall",
        ),
        (
            {"model": {"positions": "learned", "max_positions": 6}},
            ConfigError,
            "max_positions is 6",
        ),
        ({"model": {"activation": "rely"}}, ConfigError, "relu"),
    ],
    ids=[
        "no-source",
        "no-file",
        "different-lengths",
        "empty",
        "not-utf-8",
        "nothing-left",
        "vocabulary-too-large",
        "pair-beyond-budget",
        "best-metric",
        "unknown-metric",
        "sharing",
        "schedule",
        "positions",
        "activation",
    ],
)
def test_what_cannot_go_well_is_said_before_anything_is_written(
    make_config: MakeConfig,
    data_folder: Path,
    tmp_path: Path,
    quiet: Reporter,
    changes: dict[str, dict[str, object]],
    error: type[HeadwayError],
    message: str,
) -> None:
    (data_folder / "empty").touch()
    (data_folder / "latin").write_bytes(b"one\ntwo\nh\xe9\n" + b"four\n" * 29)

    with pytest.raises(error, match=message) as caught:
        train(make_config(**changes), tmp_path / "run", reporter=quiet)

    assert caught.value.remedy
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_things_is_refused_and_untouched(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")

    with pytest.raises(RunError, match="holds something else already"):
        train(make_config(), tmp_path / "run", reporter=quiet)

    assert contents(tmp_path / "run") == {"thesis.txt": b"mine"}


def test_no_configuration_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no configuration"):
        train(None, tmp_path / "run")


def test_no_run_to_resume_is_an_error(make_config: MakeConfig, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run to continue"):
        train(make_config(), tmp_path / "run", resume=True)

    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("at_file", range(4, 20, 3))
def test_a_disk_that_fills_up_is_a_clear_error_and_the_run_goes_on_from_there(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    at_file: int,
) -> None:
    config = make_config(training={"max_steps": 5, "validation_sentences": 0})
    whole = train(config, tmp_path / "whole", reporter=quiet)
    real, count = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count >= at_file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises((RunError, BundleError), match="No space left on device"):
            train(config, tmp_path / "run", reporter=quiet)
    assert not list((tmp_path / "run").rglob("*.partial"))

    train(None, tmp_path / "run", resume=True, reporter=quiet)

    for name in ("averaged", "best"):
        file = f"{name}/model.safetensors"
        assert (tmp_path / "run" / file).read_bytes() == (whole.folder / file).read_bytes()


@pytest.mark.usefixtures("no_picture")
def test_ctrl_c_returns_an_unfinished_run_that_can_be_resumed(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    result = train(make_config(), tmp_path / "run", reporter=StoppingReporter(5))

    assert not result.finished
    assert result.step == 5
    assert result.report == {}
    assert find_bundle(tmp_path / "run").name == "best"

    result = train(None, tmp_path / "run", resume=True, reporter=Reporter(quiet=True))
    assert result.finished
    assert result.step == 12


@pytest.mark.usefixtures("no_picture")
def test_a_run_killed_before_its_first_checkpoint_records_nothing_twice(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter
) -> None:
    train(make_config(), tmp_path / "run", reporter=StoppingReporter(5))
    (tmp_path / "run" / "checkpoints" / "last.safetensors").unlink()

    train(None, tmp_path / "run", resume=True, reporter=quiet)

    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [4, 4, 8, 8, 12, 12]


@pytest.mark.usefixtures("no_picture")
def test_averaged_weights_whose_loss_is_no_number_are_not_recommended(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = ValidationResult(math.nan, {})
    monkeypatch.setattr(Validator, "alone", lambda _: lambda bundle, precision: nothing)
    config = make_config(training={"max_steps": 2, "validation_sentences": 0})

    assert train(config, tmp_path / "run", reporter=quiet).report["best_is_better"]


def test_a_file_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config is of type str.*load_run_config reads one"):
        train("recipe.toml", tmp_path / "run")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_a_shortlist_and_drafts_stay_when_the_run_goes_on(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    quiet = Reporter(quiet=True)
    train(make_config(training={"max_steps": 2}), tmp_path / "run", reporter=quiet)
    bundle = load_bundle(tmp_path / "run")
    pairs = [([4, 5], [6, 7]), ([5, 6], [7, 4])]
    found = learn_shortlist(pairs, bundle.source_tokenizer, bundle.target_tokenizer)
    record = bundle.record | {"shortlist": {"pairs": 2}}
    own = with_drafts(
        dataclasses.replace(bundle, shortlist=found, record=record), [("저는 갑니다 .", "a dog")]
    )
    assert own.drafts is not None
    save_bundle(tmp_path / "run" / "averaged", own)

    longer = make_config(training={"max_steps": 4})
    train(longer, tmp_path / "run", resume=True, reporter=quiet)

    after = load_bundle(tmp_path / "run")
    assert after.shortlist is not None
    assert after.shortlist.to_bytes() == found.to_bytes()
    assert (after.record["steps"], after.record["shortlist"]) == (4, {"pairs": 2})
    assert after.drafts is not None
    assert after.drafts.to_bytes() == own.drafts.to_bytes()
    assert after.record["drafts"] == own.record["drafts"]

    for name in ("best", "averaged"):
        (tmp_path / "run" / name / "shortlist.safetensors").write_bytes(b"damaged")
    longer = make_config(training={"max_steps": 6})
    listening = Reporter(quiet=True)
    said: list[str] = []
    listening.say = said.append  # type: ignore[method-assign]
    train(longer, tmp_path / "run", resume=True, reporter=listening)
    assert load_bundle(tmp_path / "run").shortlist is None
    assert any("averaged are not kept" in message for message in said)


def test_scores_at_the_end_say_how_they_differ_from_those_of_validations(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = Reporter(quiet=True)
    said: list[str] = []
    monkeypatch.setattr(reporter, "say", said.append)
    config = make_config(training={"max_steps": 2, "validation_sentences": 3})

    train(config, tmp_path / "run", reporter=reporter)

    (place,) = (n for n, line in enumerate(said) if line.endswith("were greedy, on 3 lines."))
    assert said[place].startswith("The scores below are of all lines, with the search of")
    assert any(line.startswith("valid ") for line in said[place:])
