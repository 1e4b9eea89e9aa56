"""A run folder protects what it holds, and forgets what will be repeated."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.config.data import TokenizerConfig
from headway.config.run import RunConfig, load_run_config
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError, RunError
from headway.runtime.atomic_files import PARTIAL
from headway.training.run_folder import RunFolder, writing_run

MakeConfig = Callable[..., RunConfig]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(RunConfig())
    return folder


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()
    }


def test_the_configuration_comes_back(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(training={"clip_norm": 0.5}, evaluation={"metrics": ["exact", "wer"]})
    folder = RunFolder(tmp_path / "run")

    with folder.locked():
        folder.begin(config)

    assert load_run_config(folder.config) == config
    assert folder.resume(None) == config
    assert folder.resume(config) == config


@pytest.mark.parametrize(
    ("name", "what"), [("config.toml", "another run"), ("notes.txt", "something else")]
)
def test_a_folder_that_holds_anything_is_refused_and_untouched(
    tmp_path: Path, name: str, what: str
) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / f".mine{PARTIAL}").write_text("mine too")
    before = contents(tmp_path)
    folder = RunFolder(tmp_path)

    with pytest.raises(RunError, match=f"holds {what} already.*--out"):
        folder.check_free()
    with pytest.raises(RunError, match=f"holds {what} already.*--out"):
        folder.begin(RunConfig())

    assert contents(tmp_path) == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")

    with pytest.raises(RunError, match="run is a file"):
        RunFolder(tmp_path / "run").check_free()


def test_a_folder_that_cannot_be_made_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.en").write_text("mine")
    with pytest.raises(RunError, match=r"cannot be made: .*text\.en is a file\..*--out"):
        RunFolder(tmp_path / "text.en" / "deep" / "run").check_free()

    # Root may write anywhere, so the system's answer is put in its place.
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(RunError, match=r"may not be written to by this user\..*--out"):
        RunFolder(tmp_path / "new" / "run").check_free()


def test_a_name_that_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"udce9.* is not UTF-8\..*--out"):
        RunFolder(tmp_path / "caf\udce9").check_free()


def test_what_a_process_left_that_was_killed_at_its_start_is_no_obstacle(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        pass
    (folder.path / f".config.toml-0a1b2c3d{PARTIAL}").write_text("half")

    with folder.locked():
        folder.begin(RunConfig())

    assert {path.name for path in folder.path.iterdir()} == {".lock", "checkpoints", "config.toml"}


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    RunFolder(tmp_path).check_free()
    RunFolder(tmp_path / "new").check_free()


def test_a_run_that_is_not_there_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run to continue"):
        RunFolder(tmp_path / "gone").resume(None)

    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"model": {"d_ff": 24}}, "model.d_ff: 20, now 24"),
        ({"training": {"seed": 2}}, "training.seed: 1, now 2"),
        ({"data": {"source": "x"}}, "data.source: 'train.source', now 'x'"),
        ({"training": {"clip_norm": 1.0}}, "training.clip_norm: None, now 1.0"),
    ],
    ids=["model", "seed", "data", "clip"],
)
def test_another_configuration_is_refused_by_its_key(
    make_config: MakeConfig, tmp_path: Path, changes: dict[str, dict[str, object]], key: str
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(make_config())

    with pytest.raises(ConfigError, match=f"began with another {key}"):
        folder.resume(make_config(**changes))


def test_languages_may_be_corrected_unless_other_columns_would_be_read(
    make_config: MakeConfig, tmp_path: Path, data_folder: Path
) -> None:
    begun = {"source_language": "de", "target_language": "en"}
    folder = RunFolder(tmp_path / "run")
    (data_folder / "t.csv").write_text("de,en,ko\nja,yes,네\n", encoding="utf-8")
    with folder.locked():
        folder.begin(make_config(data=begun | {"test_source": "t.csv"}))

    assert folder.resume(make_config(data={"test_source": "t.csv"})).data.languages == ("de", "en")
    corrected = make_config(data=begun | {"source_language": "German", "test_source": "t.csv"})
    assert folder.resume(corrected).data.languages == ("German", "en")
    changed = make_config(data=begun | {"source_language": "ko", "test_source": "t.csv"})
    with pytest.raises(ConfigError, match=r"another data\.source_language: 'de', now 'ko'"):
        folder.resume(changed)


def test_a_schedule_that_is_another_is_named_before_the_number_of_steps_that_may_be(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(make_config(training={"schedule": "inverse_sqrt"}))

    changed = make_config(training={"schedule": "cosine", "max_steps": 90})
    with pytest.raises(ConfigError, match=r"another training\.schedule: 'inverse_sqrt'"):
        folder.resume(changed)


def test_a_run_whose_text_gave_its_vocabulary_continues_with_the_file_that_began_it(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    def config(**settings: Any) -> RunConfig:
        tokenizer = TokenizerConfig.parse({"kind": "bpe", **settings})
        return make_config().model_copy(update={"tokenizer": tokenizer})

    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(config(vocabulary_size=37))

    assert folder.resume(config()) == config(vocabulary_size=37)
    with pytest.raises(ConfigError, match=r"another tokenizer\.vocabulary_size: 37, now 8000"):
        folder.resume(config(vocabulary_size=8000))


def test_a_run_may_be_made_longer_and_its_data_moved(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.begin(make_config())
    longer = make_config(
        training={"max_steps": 90, "max_epochs": 7, "patience": 3, "checkpoint_every_steps": 9},
        data={"directory": "elsewhere"},
        recipe={"name": "another name"},
    )

    assert folder.resume(longer) == longer


def test_a_folder_that_cannot_be_locked_is_said_to_be_that(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with (
        pytest.raises(RunError, match=r"cannot be locked \(No locks available\)"),
        folder.locked(),
    ):
        pass


def test_a_second_process_is_refused_while_the_first_trains(folder: RunFolder) -> None:
    with (
        folder.locked(),
        pytest.raises(RunError, match="Another process is training"),
        RunFolder(folder.path).locked(),
    ):
        pass

    with folder.locked():
        pass


def test_tokenizers_come_back_and_a_missing_one_means_none(
    folder: RunFolder, tokenizer: Tokenizer
) -> None:
    assert folder.read_tokenizers() is None

    folder.write_tokenizers(tokenizer, tokenizer)

    assert folder.read_tokenizers() == (tokenizer, tokenizer)
    (folder.path / "source.model").unlink()  # it is written last
    assert folder.read_tokenizers() is None


def test_a_tokenizer_that_is_gone_is_not_trained_anew_beside_a_checkpoint(
    folder: RunFolder,
) -> None:
    folder.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    folder.checkpoint.touch()

    with pytest.raises(
        RunError, match=r"source\.model is missing, although the run has a checkpoint"
    ):
        folder.read_tokenizers()


def test_only_our_own_leftovers_are_removed(folder: RunFolder) -> None:
    for name in (f".best-01{PARTIAL}", "checkpoints", "best", ".cache-x"):
        (folder.path / name).mkdir(exist_ok=True)
        (folder.path / name / "file").touch()
    (folder.checkpoints / f".last.safetensors-01{PARTIAL}").touch()
    (folder.path / f".metrics.jsonl-01{PARTIAL}").touch()

    folder.remove_leftovers()

    assert set(contents(folder.path)) == {
        ".lock", "config.toml", "checkpoints/file", "best/file", ".cache-x/file"
    }  # fmt: skip


def test_metrics_after_the_resumed_step_are_dropped(folder: RunFolder) -> None:
    lines = [json.dumps({"kind": "step", "step": step}) + "\n" for step in (2, 4, 5, 6)]
    cut_off = '{"kind": "diagnosis", "step": 6, "message": "번역'.encode()[:-1]
    folder.metrics.write_bytes("".join(lines).encode() + cut_off)

    folder.forget_metrics_after(5)

    assert folder.metrics.read_text() == "".join(lines[:3])
    folder.forget_metrics_after(0)
    assert folder.metrics.read_text() == ""


def test_without_metrics_there_is_nothing_to_drop(folder: RunFolder) -> None:
    folder.forget_metrics_after(3)

    assert not folder.metrics.exists()


def test_records_keep_korean_readable(folder: RunFolder) -> None:
    folder.write_json(folder.report, {"문장": "나는 학생입니다"})

    assert "나는 학생입니다" in folder.report.read_text(encoding="utf-8")
    assert json.loads(folder.report.read_text(encoding="utf-8")) == {"문장": "나는 학생입니다"}


def test_a_full_disk_is_one_clear_sentence(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = contents(folder.path)
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(RunError, match=r"config\.toml cannot be written \(No space left"):
        folder.write_config(RunConfig())

    assert contents(folder.path) == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(RunError, match=r"file/run cannot be written"),
        RunFolder(tmp_path / "file" / "run").locked(),
    ):
        pass


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), writing_run(Path("x")):
        raise KeyError("mine")


def test_runs_of_several_seeds_are_not_said_to_be_none(tmp_path: Path) -> None:
    config = tmp_path / "seed-3" / "config.toml"
    config.parent.mkdir()
    config.touch()
    with pytest.raises(RunError, match=r"holds runs of several seeds.*--seeds N"):
        RunFolder(tmp_path).resume(None)


def test_a_run_in_a_folder_that_may_not_be_searched_is_named(
    folder: RunFolder, shut: Callable[[Path], None]
) -> None:
    shut(folder.path.parent)
    for look in (folder.check_free, folder.has_begun, lambda: folder.resume(None)):
        with pytest.raises(RunError, match=r"run may not be read by this user\. Change its perm"):
            look()
