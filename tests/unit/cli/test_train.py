"""`headway train`: from files to a bundle, and what it refuses."""

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.cli.train import _how_to_go_on, _how_to_translate
from headway.training.run import RunResult

from .conftest import SMALL


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    source, target = tmp_path / "a.ko", tmp_path / "a.en"
    source.write_text("저는 간다\n너는 온다\n우리는 잔다\n" * 3, encoding="utf-8")
    target.write_text("I go\nyou come\nwe sleep\n" * 3, encoding="utf-8")
    return [
        f"--source={source}",
        f"--target={target}",
        f"--valid-source={source}",
        f"--valid-target={target}",
    ]


def test_files_on_the_command_line_give_a_bundle_that_translates(
    run, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    status, printed, err = run("train", *files, *SMALL, "--out", out)

    assert status == 0, err
    assert f"headway translate {out}" in printed
    assert "9 pairs read, 9 kept" in err
    assert run("translate", out, files[0].partition("=")[2])[1].count("\n") == 9


@pytest.mark.parametrize("validated", [True, False])
def test_languages_are_those_of_the_validation_files_or_it_says_that_they_are_unknown(
    run, files: list[str], tmp_path: Path, validated: bool
) -> None:
    table, out = tmp_path / "a.tsv", tmp_path / "run"
    table.write_text("저는 간다\tI go\n너는 온다\tyou come\n" * 4, encoding="utf-8")
    valid = files[2:] if validated else ["--set=data.hold_out=1"]
    status, _, err = run("train", f"--source={table}", *valid, *SMALL, "--out", out)

    assert status == 0, err
    assert err.count("The source language is not set") == (not validated)
    described = json.loads((out / "best" / "config.json").read_text(encoding="utf-8"))
    languages = described["source_language"], described["target_language"]
    assert languages == (("ko", "en") if validated else ("source", "target"))


@pytest.mark.parametrize(
    ("tags", "begin"),
    [
        ([], ""),
        (["<2en>"], ", whose lines begin with <2en> and a space"),
        (["<2en>", "<2ko>"], ", whose lines begin with <2en> or <2ko> and a space"),
        (["", "<back>"], ""),  # text as it is was trained on, too
    ],
)
def test_it_says_how_to_translate(
    run, files: list[str], tmp_path: Path, tags: list[str], begin: str
) -> None:
    source, target, *valid = files
    one = {side.split("=")[0][2:]: side.split("=")[1] for side in (source, target)}
    written = tmp_path / "run.toml"
    written.write_text(
        "".join(f"[[data.corpora]]\n{_lines(one | {'tag': tag})}" for tag in tags)
        + (f"[data]\n{_lines(one)}" if not tags else ""),
        encoding="utf-8",
    )
    tag = [f"--set=data.tag={tags[-1]}"] if tags else []
    status, printed, err = run("train", written, *valid, *tag, *SMALL, "--out", tmp_path / "a run")

    assert status == 0, err
    *_, last = printed.splitlines()
    assert last.replace("/best", "") == (  # where these weights do better
        f"Translate with: headway translate '{tmp_path}/a run' FILE{begin}"
    )


def _lines(settings: dict[str, str]) -> str:
    return "".join(f'{name} = "{value}"\n' for name, value in settings.items())


def test_the_process_is_set_up_before_anything_is_computed(
    run, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr("headway.runtime.memory.prepare_process", lambda: done.append("set up"))
    monkeypatch.setattr("headway.training.run.begin", lambda *_: done.append("begun") or 1 / 0)

    with contextlib.suppress(ZeroDivisionError):
        run("train", *files, *SMALL, "--out", tmp_path / "run")

    assert done == ["set up", "begun"]


def test_json_prints_the_report_alone(run, files: list[str], tmp_path: Path) -> None:
    _, printed, err = run("train", *files, *SMALL, "--out", tmp_path / "run", "--json")
    assert json.loads(printed)["steps"] == 3
    assert err == ""


def test_quiet_prints_where_the_result_is_alone(run, files: list[str], tmp_path: Path) -> None:
    _, printed, err = run("train", *files, *SMALL, "--out", tmp_path / "run", "--quiet")
    assert printed.startswith("Done in ")
    assert printed.endswith(f"{tmp_path / 'run' / 'averaged'}\n")
    assert err == ""


def test_a_folder_that_holds_a_run_is_refused(run, files: list[str], tmp_path: Path) -> None:
    run("train", *files, *SMALL, "--out", tmp_path / "run")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*")}

    status, _, err = run("train", *files, *SMALL, "--out", tmp_path / "run")

    assert status == 1
    assert "holds another run already. Choose another folder with --out" in err
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*")} == before


def test_resume_needs_the_folder_alone(run, files: list[str], tmp_path: Path) -> None:
    run("train", *files, *SMALL, "--out", tmp_path / "run")
    status, _, err = run("train", "--out", tmp_path / "run", "--resume")
    assert status == 0, err
    assert "has ended after step 3, and nothing is trained" in err
    assert "Continuing" not in err
    assert "To go on, add --set training.max_steps= a larger number. Another run can" in err


@pytest.mark.parametrize(
    ("settings", "goes_on"),
    [
        (["training.schedule=linear"], ""),
        (["training.max_epochs=1"], "training.max_epochs = 1 is reached. Raise it to go on"),
    ],
)
def test_a_finished_run_that_more_steps_do_not_continue_does_not_advise_them(
    run, files: list[str], tmp_path: Path, settings: list[str], goes_on: str
) -> None:
    chosen = [f"--set={setting}" for setting in settings]
    run("train", *files, *SMALL, "--set=training.max_steps=9", *chosen, "--out", tmp_path / "run")

    status, _, err = run("train", "--out", tmp_path / "run", "--resume")

    assert status == 0, err
    assert "nothing is trained" in err
    assert goes_on in err
    assert "--set training.max_steps=" not in err


def test_the_time_at_the_end_is_that_of_the_command(
    run, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_steps_before(config: object, out: Path, **_: object) -> RunResult:
        clock["now"] += 90.0
        return RunResult(out, finished=True, step=3, seconds=834.0, report={"tags": [""]})

    clock = {"now": 1000.0}
    monkeypatch.setattr("headway.cli.train.time", SimpleNamespace(monotonic=lambda: clock["now"]))
    monkeypatch.setattr("headway.training.run.train", of_steps_before)
    monkeypatch.setattr(RunResult, "bundle", property(lambda result: result.folder / "best"))

    for minutes, end in (([], ""), (["--minutes=2"], ", where 2 were asked for")):
        status, printed, err = run("train", *files, *minutes, "--out", tmp_path / "run")

        assert status == 0, err
        assert printed.startswith(f"Done in 1.5 minutes{end}: ")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.warm_up_steps=3", "Did you mean 'training.warmup_steps'"),
        ("training.warmup_steps=many", "'training.warmup_steps' is 'many'"),
        ("model.num_heads=3", "d_model 8 is not divisible by num_heads 3"),
        ("model.preset=tinny", "Did you mean 'tiny'"),
        ("seed", "not of the form section.key=value"),
        ("tokenizer.kind=bpe", "vocabulary_size is 60"),
    ],
)
def test_a_wrong_setting_is_a_wrong_call_and_leaves_no_folder(
    run, files: list[str], tmp_path: Path, override: str, message: str
) -> None:
    settings = [*SMALL, "--set", override]
    if override == "tokenizer.kind=bpe":
        settings += ["--set", "tokenizer.vocabulary_size=600"]
        message = "vocabulary_size is 600"
    status, _, err = run("train", *files, *settings, "--out", tmp_path / "run")
    assert status == 2
    *_, last = err.splitlines()
    assert last.startswith("Error: ")
    assert message in last
    assert not (tmp_path / "run").exists()


def test_nothing_named_says_what_to_name(run, tmp_path: Path) -> None:
    status, _, err = run("train", "--out", tmp_path / "run")
    assert status == 2
    assert "'data.source' is missing" in err


def test_a_missing_configuration_is_named(run, tmp_path: Path) -> None:
    status, _, err = run("train", tmp_path / "none.toml")
    assert status == 2
    assert f"There is no configuration file {tmp_path / 'none.toml'}" in err


def test_a_continued_run_changes_only_what_is_named(run, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    run("train", *files, *SMALL, "--set", "training.schedule=constant", "--out", out)

    status, _, err = run("train", "--resume", "--out", out, "--set", "training.max_steps=5")
    assert status == 0, err
    assert json.loads((out / "report.json").read_text())["steps"] == 5

    status, _, err = run("train", "--resume", "--out", out, "--set", "training.seed=9")
    assert status == 2
    assert "This run began with another training.seed: 1, now 9" in err


def test_a_falling_schedule_cannot_be_made_longer_afterwards(
    run, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run("train", *files, *SMALL, "--set", "training.schedule=cosine", "--out", out)
    status, _, err = run("train", "--resume", "--out", out, "--set", "training.max_steps=5")
    assert status == 2
    assert "training.max_steps: 3, now 5, and its rate falls to zero at that step." in err
    assert f"headway train {out}/config.toml --from {out} --out ANOTHER" in err

    # The command that is named works, with another schedule or length.
    more = ["--set=training.max_steps=5", "--out", tmp_path / "another"]
    status, _, err = run("train", out / "config.toml", "--from", out, *more)
    assert status == 0, err
    assert json.loads((tmp_path / "another" / "report.json").read_text())["steps"] == 5


def test_validation_text_can_be_held_out(run, files: list[str], tmp_path: Path) -> None:
    status, _, err = run(
        "train", *files[:2], *SMALL, "--set", "data.hold_out=1", "--out", tmp_path / "run"
    )
    assert status == 0, err
    assert "Validation text: 1 pair read" in err
    # Its two doubles may not stay in training.
    assert "8 pairs read, 6 kept; dropped 2: equal to a pair that is held out 2" in err


def test_without_a_configuration_the_size_and_recipe_suit_a_laptop(
    run, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run("train", *files, *SMALL, "--out", out)
    text = (out / "config.toml").read_text(encoding="utf-8")
    assert "patience = 10" in text
    assert "validate_every_steps = 500" in text
    assert 'source_language = "ko"' in text


def test_from_a_model_needs_no_preset_and_brings_its_own_short_training(
    run, files: list[str], bundle_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    few = ["--set", "training.max_steps=3", "--set", 'tokenizer.new_pieces=["<2ko>"]']

    status, _, err = run("train", *files, "--from", bundle_path, *few, "--out", out)

    assert status == 0, err
    assert f"Starts from {bundle_path} (manifest " in err
    assert "New tokens of the vocabulary: 1 (<2ko>)." in err
    text = (out / "config.toml").read_text(encoding="utf-8")
    assert "d_model = 8\n" in text
    assert "warmup_steps = 200\n" in text
    assert run("check", *files, "--from", bundle_path)[0] == 0

    status, _, err = run("train", "--out", out, "--resume", "--set", "training.max_steps=4")
    assert status == 0, err


def test_a_preset_of_another_size_is_refused(
    run, files: list[str], bundle_path: Path, tmp_path: Path
) -> None:
    status, _, err = run(
        "train", *files, "--from", bundle_path, "--preset", "tiny", "--out", tmp_path / "run"
    )
    assert status == 2
    assert "model.d_ff is 256, but the model in" in err
    assert not (tmp_path / "run").exists()


def test_several_seeds_are_runs_of_their_own_and_a_table(
    run, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    status, printed, err = run("train", *files, *SMALL, "--seeds", 2, "--out", out)

    assert status == 0, err
    assert printed.splitlines()[0].split() == ["mean", "±", "sd", "min", "max"]
    assert "valid bleu" in printed
    assert {path.name for path in out.iterdir()} == {"seed-1", "seed-2", "seeds.json"}
    assert f"Seed 2, the last is 2: {out / 'seed-2'}" in err

    status, printed, err = run("train", "--seeds", 2, "--out", out, "--resume", "--json")
    assert (status, err) == (0, "")
    assert json.loads(printed) == json.loads((out / "seeds.json").read_text())


@pytest.mark.parametrize(("size", "program"), [("1", "headway"), ("2", "torchrun … -m headway")])
def test_who_stopped_is_told_how_to_go_on_with_as_many_processes(
    monkeypatch: pytest.MonkeyPatch, size: str, program: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", size)

    told = _how_to_go_on(1234, Path("a run"))

    assert told == (
        f"Stopped after step 1,234 and saved. Go on with: {program} train --out 'a run' --resume"
    )
    assert _how_to_go_on(1234, Path("a run"), trust_code=True) == f"{told} --trust-code"


def test_a_fine_tune_that_did_not_help_names_the_starting_model(tmp_path: Path) -> None:
    report = {"tags": [""], "start_is_better": True, "started_from": {"bundle": "runs/a base"}}

    assert _how_to_translate(tmp_path, report) == (
        "Translate with the starting model: headway translate 'runs/a base' FILE"
    )
    report["start_is_better"] = False
    assert _how_to_translate(tmp_path, report) == (
        f"Translate with: headway translate {tmp_path} FILE"
    )
