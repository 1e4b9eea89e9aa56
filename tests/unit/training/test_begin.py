"""What each process of a run makes sure of before its first step."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.config.run import RunConfig
from headway.data.tokenizer import train_tokenizer
from headway.errors import ConfigError, RunError
from headway.training import prepare as prepare_module
from headway.training.begin import BegunRun, RunContext, begin, was_restarted
from headway.training.check import check_run
from headway.training.distributed import World
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder

MakeConfig = Callable[..., RunConfig]


class Alone(World):
    """One of two processes, whose other one is only told of."""

    def __init__(self, rank: int, agreed: str = "float32") -> None:
        super().__init__(rank, size=2)
        self.agreed = agreed

    def wait(self) -> None:
        pass

    def agree(self, value: Any) -> Any:
        return self.agreed


def begin_as(
    world: World, config: RunConfig | None, folder: Path, *, resume: bool = False
) -> BegunRun:
    context = RunContext(RunFolder(folder), torch.device("cpu"), world, Reporter(quiet=True))
    with contextlib.ExitStack() as stack:
        return begin(config, context, resume, stack)


def test_another_text_in_another_process_is_refused(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path
) -> None:
    config = make_config()
    begin_as(Alone(rank=0), config, tmp_path / "run")
    same = begin_as(Alone(rank=1), config, tmp_path / "run")
    assert len(same.trainer.stream.pairs) == 32

    for side in ("source", "target"):
        path = data_folder / f"train.{side}"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:20]))

    with pytest.raises(RunError, match="text has changed since this run began"):
        begin_as(Alone(rank=1), config, tmp_path / "run")


@pytest.mark.parametrize("sampling", [None, 0.2])
def test_process_0_encodes_the_text_for_all(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampling: float | None
) -> None:
    corpora = [{"source": "train.source", "target": "train.target", "tag": tag} for tag in "xy"]
    config = make_config(
        data={"source": "", "target": "", "tag": "x", "corpora": corpora},
        tokenizer={"kind": "bpe", "vocabulary_size": 50, "sampling": sampling},
    )
    first = begin_as(Alone(rank=0), config, tmp_path / "run").trainer.stream

    monkeypatch.setattr("headway.training.encode._encode", None)
    other = begin_as(Alone(rank=1), config, tmp_path / "run").trainer.stream

    assert isinstance(other.pairs.source.values, np.memmap)
    assert list(other.pairs) == list(first.pairs)
    assert other.pairs.sizes == first.pairs.sizes
    ours, theirs = (stream.groups() for stream in (other, first))
    for _ in range(5):
        for one, two in zip(next(ours).batches, next(theirs).batches, strict=True):
            assert torch.equal(one.source_ids, two.source_ids)


def test_text_that_is_kept_elsewhere_is_not_kept_in_the_folder_of_the_run(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    begin_as(World(), make_config(), tmp_path / "alone")
    begin_as(Alone(rank=0), make_config(data={"shards": "kept"}), tmp_path / "kept")

    for run in ("alone", "kept"):
        assert not (tmp_path / run / "encoded").exists()


def test_a_run_continues_with_the_text_that_it_has_encoded(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_as(Alone(rank=0), make_config(), tmp_path / "run")
    encode = "headway.training.encode._encode"
    monkeypatch.setattr(encode, None)

    for world in (World(), Alone(rank=0)):
        ready = begin_as(world, None, tmp_path / "run", resume=True)
        assert len(ready.trainer.stream.pairs) == 32


def test_a_run_that_is_refused_once_its_text_is_encoded_leaves_no_folder(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(model={"positions": "learned", "max_positions": 3})

    with pytest.raises(ConfigError, match="max_positions is 3"):
        begin_as(Alone(rank=0), config, tmp_path / "above" / "run")

    assert not (tmp_path / "above").exists()


def test_all_train_in_the_precision_of_process_0(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(training={"precision": "float32"})

    ready = begin_as(Alone(rank=0, agreed="bfloat16"), config, tmp_path / "run")

    assert ready.trainer.progress.precision == "bfloat16"


def test_a_folder_that_is_not_shared_is_named(make_config: MakeConfig, tmp_path: Path) -> None:
    begin_as(Alone(rank=0), make_config(), tmp_path / "run")
    (tmp_path / "run" / "source.model").unlink()

    with pytest.raises(RunError, match="Process 1 does not see what process 0 has written"):
        begin_as(Alone(rank=1), make_config(), tmp_path / "run")


def test_a_run_continues_by_itself_only_where_this_torchrun_began_it(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

    folder, own = RunFolder(tmp_path / "run"), World(store=HashStore())
    assert not was_restarted(folder, own)
    begin_as(own, make_config(), folder.path)
    assert was_restarted(folder, own)  # also where the restart is not counted
    assert not was_restarted(RunFolder(tmp_path / "other"), own)

    later = World(store=HashStore())
    assert not was_restarted(folder, later)
    with pytest.raises(RunError, match="holds another run already"):
        begin_as(later, make_config(), folder.path)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert not was_restarted(folder, later)
    assert was_restarted(folder, own)
    assert was_restarted(folder, World(store=HashStore()))  # the leader is on another machine now


@pytest.mark.parametrize("how", ["two", "given", "trained"])
def test_what_tokenizers_cannot_do_is_said_before_text_is_encoded(
    make_config: MakeConfig,
    bundle: Bundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    one, other, trained = (tmp_path / name for name in ("one.model", "other.model", "trained"))
    one.write_bytes(bundle.source_tokenizer.to_bytes())
    capitals = train_tokenizer(["ONE TWO SIX"], kind="word", vocabulary_size=30)
    other.write_bytes(capitals.to_bytes())
    save_bundle(trained, bundle)
    models = {"source_model": str(one), "target_model": str(other)}
    config = {
        "two": make_config(tokenizer={"joint": False, **models}),
        "given": make_config(tokenizer={"source_model": str(one), "sampling": 0.1}),
        "trained": make_config(tokenizer={"sampling": 0.1}, training={"start_from": str(trained)}),
    }[how]
    if how == "trained":
        config = config.model_copy(update={"model": type(config.model)()})
    monkeypatch.setattr(prepare_module, "encode_texts", None)
    problem = "separate vocabularies" if how == "two" else "A word tokenizer has only one way"

    with pytest.raises(ConfigError, match=problem):
        begin_as(World(), config, tmp_path / "run")
    with pytest.raises(ConfigError, match=problem):
        check_run(config, "cpu")
