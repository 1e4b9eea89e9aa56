"""A fine-tune begins exactly where the other model ended, and from then on stands alone."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.unit.hub_emulator import Hub, Repository

from headway.bundle import Bundle, load_bundle, model_tensors, save_bundle
from headway.config.model import Architecture
from headway.config.run import RunConfig, load_run_config
from headway.data.draft_counts import count_drafts
from headway.data.shortlist import learn_shortlist
from headway.data.tokenizer import Kind, train_tokenizer
from headway.data.trained_direction import TrainedDirection
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError
from headway.model.transformer import Transformer
from headway.saved_bundle import read_bundle
from headway.training.check import check_run
from headway.training.prepare import build_bundle
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.run_folder import RunFolder
from headway.training.start_from import Start, grow, inherit, open_start
from headway.training.tensor_file import read_tensors
from headway.training.trainer import Trainer
from headway.training.update import StepResult
from headway.training.validation import ValidationResult, Validator

MakeConfig = Callable[..., RunConfig]
MakeStart = Callable[..., Path]

SENTENCES = ["one two three", "six five four", "two two one seven", "four", "öne 19"]
CAPITALS = "ONE TWO THREE FOUR FIVE SIX"


@pytest.fixture
def make_start(tmp_path: Path) -> MakeStart:
    """Return a maker of bundles with noise in every parameter."""

    def make(joint: bool = True, kind: Kind = "word", **changes: Any) -> Path:
        sizes = {"d_model": 14, "d_ff": 19, "num_heads": 2, "num_encoder_layers": 1}
        architecture = Architecture.parse(
            sizes | {"num_decoder_layers": 2, "dropout": 0.2} | changes
        )
        tokenizer = train_tokenizer([CAPITALS.lower()], kind=kind, vocabulary_size=30)
        capitals = train_tokenizer([CAPITALS, "SEVEN?"], kind=kind, vocabulary_size=30)
        target = tokenizer if joint else capitals
        config = architecture.with_vocabulary(len(tokenizer), len(target))
        torch.manual_seed(5)
        model = Transformer.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        languages = {"source_language": "ko", "target_language": "en"}
        save_bundle(tmp_path / "old", Bundle(config, model, tokenizer, target, **languages))
        return tmp_path / "old"

    return make


@pytest.fixture
def fine_tune(make_config: MakeConfig) -> Callable[..., RunConfig]:
    """Return a maker of configurations that say nothing about the model."""

    def make(start: Path, **changes: dict[str, Any]) -> RunConfig:
        config = make_config(training={"start_from": str(start)} | changes.pop("training", {}))
        return RunConfig.parse(
            {"data": config.data.model_dump(exclude={"source_language", "target_language"})}
            | {"training": config.training.model_dump(), "decoding": config.decoding.model_dump()}
            | changes
        )

    return make


def started(config: RunConfig) -> Start:
    start = open_start(config)
    assert start is not None
    return start


def enlarged(start: Start) -> Bundle:
    bundle = build_bundle(start.config, *start.tokenizers, torch.device("cpu"))
    for name, parameter in bundle.model.named_parameters():
        parameter.data.copy_(start.tensors[name])
    bundle.model.eval()
    return bundle


def test_without_new_pieces_it_is_the_same_model(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    old = load_bundle(make_start(norm_position="pre", activation="swiglu"))

    start = started(fine_tune(make_start()))
    start = started(fine_tune(make_start(norm_position="pre", activation="swiglu")))

    new = enlarged(start)
    assert new.config == old.config
    assert start.tokenizers == (old.source_tokenizer, old.target_tokenizer)
    assert (new.source_language, new.target_language) == ("ko", "en")
    before, after = model_tensors(old.model), model_tensors(new.model)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


SHARING = [("all", True), ("target", True), ("none", True), ("target", False), ("none", False)]


@pytest.mark.parametrize(("shared", "joint"), SHARING)
def test_old_rows_stay_and_a_new_one_is_the_mean_of_its_old_pieces(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], shared: str, joint: bool
) -> None:
    path = make_start(joint, "char", shared_embeddings=shared, output_bias=True)
    old = load_bundle(path)
    texts = ["<2ko>", "fIxX", "Vee"]

    new = enlarged(started(fine_tune(path, tokenizer={"new_pieces": texts})))

    before, after = dict(old.model.named_parameters()), dict(new.model.named_parameters())
    assert before.keys() == after.keys()
    grown = {name for name in before if before[name].shape != after[name].shape}
    assert grown == {name for name in before if "tokens" in name or "output_pro" in name}
    for name in before:
        assert torch.equal(before[name], after[name][: len(before[name])])
    for name in grown:
        assert len(after[name]) == len(before[name]) + 3
        side = old.source_tokenizer if name.startswith("source") else old.target_tokenizer
        for text, row in zip(texts, after[name][-3:], strict=True):
            torch.testing.assert_close(row, before[name][side.encode(text)].mean(dim=0))


def test_the_mean_worked_out_by_hand() -> None:
    table = torch.tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    expected = torch.tensor([[4.0, 40.0], [3.0, 30.0], [10 / 3, 100 / 3]])

    grown = grow(table, [[1, 2], [0, 1, 2], [1, 2, 1]])

    assert torch.equal(grown[:3], table)
    torch.testing.assert_close(grown[3:], expected)
    torch.testing.assert_close(grow(table[:, 0], [[0, 2, 2, 2]])[3], torch.tensor(19 / 4))
    assert grow(table, []) is table


@pytest.mark.parametrize(("shared", "joint"), SHARING)
def test_before_training_old_pieces_have_the_same_logits_and_text_the_same_translation(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], shared: str, joint: bool
) -> None:
    path = make_start(joint, shared_embeddings=shared)
    old = load_bundle(path)
    new = enlarged(started(fine_tune(path, tokenizer={"new_pieces": ["one-two", "<2ko>"]})))
    source, target = (
        torch.tensor([[4, 7, 5, 3], [9, 3, 0, 0]]),
        torch.tensor([[2, 5, 8], [2, 6, 0]]),
    )

    old.model.double(), new.model.double()
    before, after = old.model(source, target), new.model(source, target)
    old.model.float(), new.model.float()

    size = old.config.target_vocab_size
    assert after.shape[-1] == size + 2
    torch.testing.assert_close(after[..., :size], before, rtol=1e-12, atol=1e-12)
    old = dataclasses.replace(old, decoding=new.decoding)
    texts = [TextTranslator(bundle).translate(SENTENCES, beam_size=1) for bundle in (old, new)]
    assert [t.text for t in texts[0]] == [t.text for t in texts[1]]


@pytest.mark.parametrize(
    ("folder", "better", "there", "said"),
    [
        ("averaged", True, ("averaged", "best"), True),
        ("averaged", False, ("averaged", "best"), False),
        ("averaged", True, ("averaged",), False),
        ("best", True, ("averaged", "best"), False),
    ],
)
def test_averaged_weights_that_do_worse_are_remarked_on(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    folder: str,
    better: bool,
    there: Sequence[str],
    said: bool,
) -> None:
    old = load_bundle(make_start())
    for name in there:
        save_bundle(
            tmp_path / "run" / name, dataclasses.replace(old, record={"best_is_better": better})
        )

    start = started(fine_tune(tmp_path / "run" / folder))

    best = str(tmp_path / "run" / "best")
    found = [message for message in start.messages if "rather start from it" in message]
    assert [best in message for message in found] == [True] * said


def test_a_model_on_the_hub_is_recorded_with_its_revision(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], hub: Hub
) -> None:
    folder = make_start()
    hub.repositories["kim/ko-en"] = repository = Repository()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    revision = repository.commit("main", files)

    start = started(fine_tune(Path("hf://kim/ko-en")))

    checksum = read_bundle(folder).checksum
    assert start.origin == {"bundle": f"hf://kim/ko-en@{revision}", "checksum": checksum}
    assert any(revision in message for message in start.messages)
    here = started(fine_tune(folder))
    assert all(torch.equal(start.tensors[name], here.tensors[name]) for name in here.tensors)


def test_a_tag_is_one_piece_of_the_source(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    start = started(fine_tune(make_start(), tokenizer={"new_pieces": ["<2ko>", "one"]}))

    (source, target) = start.tokenizers
    assert source == target
    assert source.pieces(source.encode("<2ko> one")) == ["▁<2ko>", "▁one"]
    assert start.messages[-1] == "New tokens of the vocabulary: 1 (<2ko>); there already: one."
    assert read_bundle(start.origin["bundle"]).checksum[:12] in start.messages[0]


@pytest.mark.parametrize(
    ("tag", "has"), [("<2ko>", ["<2en>", "<2ko>"]), ("<2en>", ["<2ko>", "<2en>"]), ("", None)]
)
def test_tags_of_the_model_that_the_text_lacks_are_named(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], tag: str, has: list[str] | None
) -> None:
    corpora = [{"source": "a", "tag": tag} for tag in ("<2ko>", "<2en>")]
    path = make_start()
    record = {"config": {"data": {"corpora": corpora}}}
    save_bundle(path, dataclasses.replace(load_bundle(path), record=record))
    said = started(fine_tune(path, data={"tag": tag})).messages[-1]
    lacking, own = has or ["<2ko>, <2en>", "no tags"]
    assert said == (
        f"The model was trained with {lacking} before its sources, too; this text has {own}."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"d_ff": 20}}, r"model\.d_ff is 20, but the model in .*old has 19\."),
        ({"model": {"activation": "gelu"}}, r"model\.activation is 'gelu', but .* has 'relu'"),
        ({"model": {"preset": "tiny"}}, r"model\.d_ff is 256, but the model in .*old has 19"),
        ({"tokenizer": {"kind": "bpe"}}, r"tokenizer\.kind is 'bpe', but that of .* is 'word'"),
        ({"tokenizer": {"joint": False}}, r"tokenizer\.joint is False, but that of .* is True"),
        ({"tokenizer": {"source_model": "x"}}, "A tokenizer is given, but the tokenizer of"),
    ],
)
def test_another_model_is_refused_and_the_difference_named(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    changes: dict[str, dict[str, Any]],
    message: str,
) -> None:
    config = fine_tune(make_start())
    values = config.model_dump(include={"data", "training"}) | changes
    if "preset" in changes.get("model", {}):
        from headway.config.run import parse_run_config

        config = parse_run_config(values)
    else:
        config = RunConfig.parse(values)

    with pytest.raises(ConfigError, match=message) as caught:
        open_start(config)

    assert "Leave" in caught.value.remedy


def test_what_is_said_again_and_another_dropout_are_allowed(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    model = {"d_ff": 19, "attention_dropout": 0.3}
    tokenizer = {"kind": "word", "vocabulary_size": 77}

    start = started(fine_tune(make_start(), model=model, tokenizer=tokenizer))

    assert (start.config.model.dropout, start.config.model.attention_dropout) == (0.2, 0.3)
    assert "is that of the model: tokenizer.vocabulary_size." in start.messages[1]


def test_a_table_with_rows_for_no_piece_is_refused(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    path = make_start()
    bundle = load_bundle(path)
    fewer = train_tokenizer(["one two"], kind="word", vocabulary_size=30)
    save_bundle(path, Bundle(bundle.config, bundle.model, fewer, fewer))

    with pytest.raises(BundleError, match="10 and 10 rows for vocabularies of 6 and 6 tokens"):
        open_start(fine_tune(path))


def with_learned(path: Path) -> Bundle:
    """Give the bundle a shortlist and drafts; only the shortlist has a record."""
    bundle = load_bundle(path)
    pairs = [([4, 5], [6, 7]), ([5, 6], [7, 4])]
    sides = bundle.source_tokenizer, bundle.target_tokenizer
    bundle = dataclasses.replace(
        bundle,
        shortlist=learn_shortlist(pairs, *sides, per_piece=2),
        drafts=count_drafts(pairs, len(sides[0]), len(sides[1]), least=1),
        record=bundle.record | {"shortlist": {"pairs": 2}},
    )
    save_bundle(path, bundle)
    return bundle


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("joint", [True, False])
def test_a_shortlist_and_drafts_stay_with_the_vocabulary(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    joint: bool,
) -> None:
    path = make_start(joint, shared_embeddings="target")
    old = with_learned(path)
    config = fine_tune(path, tokenizer={"new_pieces": ["one"]} if joint else {})
    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(1, crash=True))
    shutil.rmtree(path)

    train(config, tmp_path / "run", resume=True, reporter=quiet)

    for name in ("best", "averaged"):
        new = load_bundle(tmp_path / "run" / name)
        for now, before in ((new.shortlist, old.shortlist), (new.drafts, old.drafts)):
            assert now is not None
            assert before is not None
            assert now.to_bytes() == before.to_bytes()
        assert new.record["shortlist"] == {"pairs": 2}
        assert "drafts" not in new.record
    assert RunFolder(tmp_path / "run").strangers() == []


@pytest.mark.usefixtures("no_picture")
def test_a_shortlist_and_drafts_do_not_stay_when_the_vocabulary_grows(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], tmp_path: Path
) -> None:
    with_learned(path := make_start(joint=False, shared_embeddings="target"))
    kept = started(fine_tune(path)).messages[-1]
    assert kept == (
        "The model's shortlist and drafts are kept; to learn from the new text instead, use "
        "`headway shortlist` and `headway drafts` after the training."
    )

    config = fine_tune(path, tokenizer={"new_pieces": ["SEVEN?", "<2ko>"]})
    train(config, tmp_path / "run", reporter=(reporter := Silent()))

    new = load_bundle(tmp_path / "run")
    assert (new.shortlist, new.drafts) == (None, None)
    assert "shortlist" not in new.record
    assert (
        "The model's shortlist and drafts are not kept, because the vocabulary has new tokens: use "
        "`headway shortlist` and `headway drafts` after the training."
    ) in reporter.sentences


@pytest.mark.usefixtures("no_picture")
def test_a_damaged_shortlist_is_no_reason_to_lose_trained_weights(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], tmp_path: Path, quiet: Reporter
) -> None:
    with_learned(path := make_start())
    config = fine_tune(path)
    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(1, crash=True))
    damaged = tmp_path / "run" / "shortlist.safetensors"
    damaged.write_bytes(b"damaged")

    train(config, tmp_path / "run", resume=True, reporter=(reporter := Silent()))

    assert load_bundle(tmp_path / "run").shortlist is None
    assert any(f"{damaged} is damaged" in sentence for sentence in reporter.sentences)


class Silent(Reporter):
    """Keep the sentences instead of printing them."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.sentences: list[str] = []

    def say(self, message: str) -> None:
        self.sentences.append(message)


class StoppingReporter(Reporter):
    """Press Ctrl-C, or break, after a certain update."""

    def __init__(self, at_step: int, *, crash: bool = False) -> None:
        super().__init__(quiet=True)
        self.at_step = at_step
        self.crash = crash

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            if self.crash:
                raise InterruptedError
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("crash_at", [1, 5])
def test_it_is_resumed_without_the_model_that_it_started_from(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    crash_at: int,
) -> None:
    path = make_start()
    config = fine_tune(path, tokenizer={"new_pieces": ["<2ko>"]}, training={"ema_decay": 0.7})
    whole = train(config, tmp_path / "whole", reporter=quiet)
    with pytest.raises(InterruptedError):  # once before the first checkpoint of a new run
        train(config, tmp_path / "run", reporter=StoppingReporter(crash_at, crash=True))
    shutil.rmtree(path)

    train(None, tmp_path / "run", resume=True, reporter=StoppingReporter(7))
    finished = train(config, tmp_path / "run", resume=True, reporter=quiet)

    assert finished.step == 12
    for name in ("averaged/model.safetensors", "best/model.safetensors", "data.json"):
        assert (tmp_path / "run" / name).read_bytes() == (whole.folder / name).read_bytes()
    assert load_bundle(tmp_path / "run").source_tokenizer.id("▁<2ko>") == 10


@pytest.mark.usefixtures("no_picture")
def test_a_stop_before_the_first_checkpoint_still_needs_the_model(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = make_start()
    config = fine_tune(path, training={"max_steps": 2, "validation_sentences": 0})
    whole = train(config, tmp_path / "whole", reporter=quiet)

    def stop(_: Trainer) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", stop)
        with pytest.raises(InterruptedError):
            train(config, tmp_path / "run", reporter=quiet)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(BundleError, match="There is no bundle"):
        train(None, tmp_path / "run", resume=True, reporter=quiet)
    (tmp_path / "elsewhere").rename(path)

    train(None, tmp_path / "run", resume=True, reporter=quiet)

    file = "averaged/model.safetensors"
    assert (tmp_path / "run" / file).read_bytes() == (whole.folder / file).read_bytes()


@pytest.mark.usefixtures("no_picture")
def test_a_run_begins_with_the_weights_and_says_where_it_came_from(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = make_start()
    checksum = read_bundle(path).checksum
    monkeypatch.setattr("headway.training.trainer.Trainer.run", lambda *_: False)
    train(fine_tune(path), tmp_path / "begun", reporter=quiet)
    monkeypatch.undo()
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)

    result = train(fine_tune(path, training={"max_steps": 2}), tmp_path / "run", reporter=quiet)

    begun, values = read_tensors(tmp_path / "begun" / "checkpoints" / "last.safetensors")
    assert values["progress"]["step"] == 0
    assert not any(name.startswith("optimizer") for name in begun)
    for name, tensor in model_tensors(load_bundle(path).model).items():
        assert torch.equal(begun[f"model/{name}"], tensor)
    assert result.report["started_from"] == {"bundle": str(path), "checksum": checksum}
    card = (result.folder / "averaged" / "card.md").read_text()
    assert f"| continued from | {path} (manifest SHA-256 {checksum}) |" in card
    kept = load_run_config(result.folder / "config.toml")
    assert (kept.model.d_model, kept.model.dropout) == (14, 0.2)
    assert json.loads((result.folder / "data.json").read_text())["started_from"]["checksum"]


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize(
    ("metric", "rate", "helps"),
    [("loss", 0.02, True), ("loss", 30.0, False), ("chrf", 30.0, False)],
)
def test_a_fine_tune_that_gets_worse_says_so_and_names_its_start(
    make_config: MakeConfig,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    metric: str,
    rate: float,
    helps: bool,
) -> None:
    training = {"best_metric": metric, "learning_rate": 0.02, "max_steps": 4, "warmup_steps": 1}
    base = train(make_config(training=training), tmp_path / "base", reporter=Silent())
    said = Silent()
    config = fine_tune(tmp_path / "base", training=training | {"learning_rate": rate})

    tuned = train(config, tmp_path / "tuned", reporter=said)

    start = tuned.report["validation"]["start"]
    before = base.report["validation"][base.report["weights"]]
    assert start["loss"] == before["loss"]  # the same pairs, and the same weights
    assert start["scores"] == before["scores"]
    assert start["scores"].keys() == tuned.report["validation"]["best"]["scores"].keys() != set()
    first = RunFolder(tuned.folder).records()[0]
    assert (first["kind"], first["step"], first["loss"]) == ("validation", 0, start["loss"])
    remarks = _of_no_help(said.sentences)
    assert remarks == _of_no_help(tuned.report.get("remarks", []))
    assert bool(remarks) is not helps
    assert tuned.report["start_is_better"] is not helps
    assert any("best loss so far" in sentence for sentence in said.sentences) is helps
    for remark in remarks:
        figures = [
            f"{of['loss']:.4f}" if metric == "loss" else f"{of['scores']['chrf']:.2f} %"
            for of in (start, tuned.report["validation"]["best"])
        ]
        assert remark == (
            f"The fine-tune did not help on validation text: the {metric} of the starting model, "
            f"{base.bundle}, is {figures[0]}, and that of the best step, 4, is {figures[1]}. Use "
            "the starting model."
        )


def _of_no_help(sentences: Sequence[str]) -> list[str]:
    return [sentence for sentence in sentences if "did not help" in sentence]


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize(("averaged", "figure"), [(2.0, None), (3.5, "3.5000")])
def test_averaged_weights_that_do_better_than_the_start_need_no_remark(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    averaged: float,
    figure: str | None,
) -> None:
    for name, loss in {"figures": 3.0, "__call__": 4.0}.items():
        result = ValidationResult(loss, {})
        monkeypatch.setattr(Validator, name, lambda *_, result=result: result)
    of_average = ValidationResult(averaged, {})
    monkeypatch.setattr(Validator, "alone", lambda _: lambda *_: of_average)
    said, config = (
        Silent(),
        fine_tune(make_start(), training={"max_steps": 2, "validate_every_steps": 1}),
    )

    train(config, tmp_path / "run", reporter=said)

    remarks = _of_no_help(said.sentences)
    assert len(remarks) == bool(figure)
    assert all(f"that of the averaged weights is {figure}." in remark for remark in remarks)


@pytest.mark.usefixtures("no_picture")
def test_resuming_a_fine_tune_does_not_validate_its_start_again(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    validated: list[str] = []
    figures = Validator.figures

    def counted(self: Validator, *options: Any) -> ValidationResult:
        validated.append("start")
        return figures(self, *options)

    monkeypatch.setattr(Validator, "figures", counted)
    config = fine_tune(make_start(), training={"max_steps": 2, "validation_sentences": 0})
    whole = train(config, tmp_path / "whole", reporter=quiet)
    assert len(validated) == 1
    # After a crash before its first step is saved, a run makes everything again.
    for crash, times in ((False, 1), (True, 2)):
        validated.clear()
        folder = tmp_path / f"crash-{crash}"
        with contextlib.suppress(InterruptedError):
            train(config, folder, reporter=StoppingReporter(1, crash=crash))
        resumed = train(None, folder, resume=True, reporter=quiet)
        assert len(validated) == times
        records = RunFolder(folder).records()
        steps = [record["step"] for record in records if record["kind"] == "validation"]
        assert steps.count(0) == 1
        assert resumed.report["validation"] == whole.report["validation"]


@pytest.mark.usefixtures("no_picture")
def test_a_start_that_is_validated_again_is_one_point_in_tensorboard(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig], tmp_path: Path, quiet: Reporter
) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    training = {"max_steps": 2, "tensorboard": True, "validation_sentences": 0}
    config = fine_tune(make_start(), training=training)
    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(1, crash=True))
    train(None, tmp_path / "run", resume=True, reporter=quiet)

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("validation/loss")] == [0, 2]


def test_a_model_that_is_not_there_leaves_no_folder(
    fine_tune: Callable[..., RunConfig], tmp_path: Path, quiet: Reporter
) -> None:
    with pytest.raises(BundleError, match=r"There is no bundle .*gone"):
        train(fine_tune(tmp_path / "gone"), tmp_path / "run", reporter=quiet)
    assert not (tmp_path / "run").exists()


def test_check_counts_the_parameters_of_the_larger_model(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    path = make_start()
    plain, larger = (
        check_run(fine_tune(path, tokenizer={"new_pieces": pieces}), "cpu")
        for pieces in ([], ["<2ko>", "<2en>", "<2de>"])
    )
    assert larger.vocabulary - plain.vocabulary == 3
    assert larger.parameters - plain.parameters == 3 * 14


def test_text_the_other_way_round_is_named_before_the_first_step(
    make_start: MakeStart,
    fine_tune: Callable[..., RunConfig],
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = make_start()
    bundle = load_bundle(path)
    save_bundle(path, dataclasses.replace(bundle, source_language="en", target_language="German"))
    config = fine_tune(path)
    languages = {"source_language": "de", "target_language": "en"}
    turned = config.model_copy(update={"data": config.data.model_copy(update=languages)})
    assert started(config).direction == TrainedDirection(("en", "German"), ("LATIN", "LATIN"))
    problems: list[str] = []

    def keep(trainer: Trainer, *_: object) -> bool:
        problems.extend(finding.problem for finding in trainer.text_findings)
        return False

    monkeypatch.setattr(Trainer, "run", keep)
    checked = check_run(turned, "cpu").findings["training"]
    assert "other-direction" in [finding.id for finding in checked]
    train(turned, tmp_path / "run", reporter=quiet)
    assert "exchanged sides, training" in problems


def test_a_search_that_nobody_sets_is_that_of_the_model(
    make_start: MakeStart, make_config: MakeConfig
) -> None:
    path = make_start()
    bundle = load_bundle(path)
    own = {"beam_size": 7, "length_penalty": 1.5, "max_source_pieces": 9}
    save_bundle(path, dataclasses.replace(bundle, decoding=bundle.decoding.replace(own)))
    config = make_config()
    data = config.data.model_dump(exclude={"source_language", "target_language"})
    given = {"data": data, "training": {"start_from": str(path)}}

    found = started(RunConfig.parse(given)).config.decoding
    chosen = started(RunConfig.parse(given | {"decoding": {"beam_size": 2}})).config.decoding

    assert (found.beam_size, found.length_penalty) == (7, 1.5)
    assert (chosen.beam_size, chosen.length_penalty) == (2, 1.5)
    assert found.max_source_pieces == RunConfig().decoding.max_source_pieces  # the text decides


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize(
    ("known", "text", "chosen", "expected"),
    [(41, 17, None, 41), (11, 17, None, 17), (41, 17, 29, 29), (900, 17, None, 900)],
)
def test_a_fine_tune_takes_no_shorter_sentences_than_its_model(
    make_start: MakeStart,
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    known: int,
    text: int,
    chosen: int | None,
    expected: int,
) -> None:
    path = make_start()
    bundle = load_bundle(path)
    own = bundle.decoding.replace({"max_source_pieces": known})
    save_bundle(path, dataclasses.replace(bundle, decoding=own))
    config = make_config(training={"start_from": str(path)})
    data = config.data.model_dump(exclude={"source_language", "target_language"})
    decoding = {} if chosen is None else {"max_source_pieces": chosen}
    given = {"data": data | {"max_pieces": text}, "training": config.training.model_dump()}
    config = RunConfig.parse(given | {"decoding": decoding})
    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(1, crash=True))
    shutil.rmtree(path)

    train(config, tmp_path / "run", resume=True, reporter=quiet)

    for name in ("best", "averaged"):
        assert load_bundle(tmp_path / "run" / name).decoding.max_source_pieces == expected


@pytest.mark.parametrize(
    ("record", "chosen", "expected"),
    [
        ({"imported": {"kind": "student", "label_smoothing": 0.0}}, None, 0.0),
        ({"config": {"training": {"label_smoothing": 0.3}}}, None, 0.3),
        ({"config": {"training": {"label_smoothing": 0.3}}}, 0.2, 0.2),
        ({"imported": {"kind": "joeynmt"}}, None, 0.1),
        ({"imported": {"label_smoothing": "much"}}, None, 0.1),
    ],
)
def test_labels_are_smoothed_as_in_the_training_of_the_model(
    make_start: MakeStart,
    make_config: MakeConfig,
    record: dict[str, Any],
    chosen: float | None,
    expected: float,
) -> None:
    path = make_start()
    save_bundle(path, dataclasses.replace(load_bundle(path), record=record))
    training = {"start_from": str(path)}
    training |= {} if chosen is None else {"label_smoothing": chosen}
    config = make_config()
    data = config.data.model_dump(exclude={"source_language", "target_language"})
    config = RunConfig.parse({"data": data, "training": training})

    start = started(config)

    assert start.config.training.label_smoothing == expected
    said = f"training.label_smoothing is {expected:g}, as in the training of that model."
    assert (said in start.messages) == (chosen is None and expected != 0.1)
    assert inherit(config, start.config).training == start.config.training


def test_the_configuration_says_how_the_tokenizer_of_the_model_was_made(
    make_start: MakeStart, fine_tune: Callable[..., RunConfig]
) -> None:
    path = make_start()
    made = {"normalization": "identity", "byte_fallback": True, "vocabulary_size": 99}
    record = {"config": {"tokenizer": made}}
    save_bundle(path, dataclasses.replace(load_bundle(path), record=record))

    config = started(fine_tune(path)).config
    assert config.tokenizer.normalization == "identity"
    assert config.tokenizer.byte_fallback
    assert config.tokenizer.vocabulary_size == len(load_bundle(path).source_tokenizer)
    assert inherit(fine_tune(path), config).tokenizer == config.tokenizer

    usual = started(fine_tune(path, tokenizer={"normalization": "nmt_nfkc"}))
    assert "is that of the model: tokenizer.normalization." in usual.messages[1]
