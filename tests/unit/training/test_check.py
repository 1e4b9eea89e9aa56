"""What `check` says beforehand is what training then does."""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from headway.bundle import Bundle, load_bundle, save_bundle
from headway.config.run import RunConfig
from headway.data.batching import Batch
from headway.data.corpus import Corpus, Pair
from headway.data.epoch_order import Deck
from headway.data.finding import Finding
from headway.data.tokenizer import train_tokenizer
from headway.errors import ConfigError, DataError, HeadwayError
from headway.model.accounting import count_parameters
from headway.training import check as check_module
from headway.training import objective as objective_module
from headway.training import text_check
from headway.training.check import check_run
from headway.training.cuda_graphs import Limits, RecordedPasses
from headway.training.estimate import peak_memory
from headway.training.reporting import Reporter, Show
from headway.training.run import train
from headway.training.stream import BatchStream
from headway.training.text_check import Unknown
from headway.training.texts import read_texts
from headway.training.update import StepResult, TrainingStep

from ..data.made_languages import exchanged, translations

MakeConfig = Callable[..., RunConfig]
PARALLEL = ("source", "target")


def test_it_says_what_training_does(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(training={"accumulate": 2})

    found = check_run(config, "cpu")

    result = train(config, tmp_path / "run", device="cpu", reporter=Reporter(quiet=True))
    bundle = load_bundle(tmp_path / "run")
    assert found.steps == result.step
    assert found.parameters == count_parameters(bundle.model)
    assert found.vocabulary == bundle.config.target_vocab_size
    assert found.precision == bundle.record["precision"]
    assert int(found.epochs) in (result.report["epochs"], result.report["epochs"] - 1)


def test_epochs_may_end_it_earlier(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(training={"max_epochs": 2, "max_steps": 1000, "accumulate": 2})
    found = check_run(config, "cpu")
    result = train(config, tmp_path / "run", device="cpu", reporter=Reporter(quiet=True))
    assert (found.steps, found.epochs) == (result.step, 2.0)


def test_no_update_takes_batches_of_two_blocks(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.training.run_stream.Deck", functools.partial(Deck, block=7))
    config = make_config(training={"max_epochs": 1, "max_steps": 1000, "accumulate": 8})
    found = check_run(config, "cpu")
    result = train(config, tmp_path / "run", device="cpu", reporter=Reporter(quiet=True))
    assert found.steps == result.step > 1


def test_lines_are_those_of_the_file_also_when_some_are_held_out(
    make_config: MakeConfig, data_folder: Path
) -> None:
    path = data_folder / "train.target"
    lines = path.read_text().splitlines()
    lines[17] = lines[29] = ""
    path.write_text("\n".join([*lines, ""]))
    names = {"valid_source": "", "valid_target": "", "hold_out": 9}

    found = check_run(make_config(data=names), "cpu")

    (empty,) = [f for f in found.findings["training"] if f.problem == "empty target"]
    assert empty.lines == (18, 30)
    assert "validation" not in found.findings
    dropped = found.cleaning.examples.get("empty target", [])
    assert set(dropped) <= {18, 30}
    texts = read_texts(make_config(data=names).data)
    assert texts.valid_lines is not None
    train_lines = [line for line, _ in texts.corpora[0].numbered()]
    for pairs, numbers in ((texts.train, train_lines), (texts.valid, texts.valid_lines)):
        assert [pair.target for pair in pairs] == [lines[number - 1] for number in numbers]


def test_held_out_sources_that_training_text_translates_otherwise_are_counted(
    make_config: MakeConfig, data_folder: Path
) -> None:
    source = data_folder / "train.source"
    lines = source.read_text().splitlines()
    lines[: len(lines) // 2 * 2] = lines[: len(lines) // 2] * 2  # each has two translations
    source.write_text("\n".join([*lines, ""]))
    config = make_config(data={"valid_source": "", "valid_target": "", "hold_out": 4})
    texts = read_texts(config.data)
    known = {pair.source for pair in texts.train}

    (shared,) = check_run(config, "cpu").findings["validation"]

    assert shared.id == "source-in-training"
    lines_shared = [n for n, pair in enumerate(texts.valid, start=1) if pair.source in known]
    assert list(shared.lines) == lines_shared != []


def test_it_writes_nothing(make_config: MakeConfig, data_folder: Path) -> None:
    before = sorted(data_folder.rglob("*"))
    check_run(make_config(), "cpu")
    assert sorted(data_folder.rglob("*")) == before


def test_text_is_surveyed_and_compared(make_config: MakeConfig, data_folder: Path) -> None:
    train_source = (data_folder / "train.source").read_text().splitlines()
    train_target = (data_folder / "train.target").read_text().splitlines()
    (data_folder / "test.tsv").write_text(f"{train_source[3]}\t{train_target[3]}\nzwölf\tzwei\n")

    found = check_run(make_config(data={"test_source": "test.tsv"}), "cpu")

    assert list(found.findings) == ["training", "validation", "test"]
    overlapping = [f for f in found.findings["test"] if f.problem.endswith("training text too")]
    assert [(f.count, f.lines) for f in overlapping] == [(1, (1,))]
    assert found.unknown["training"].unknown == 0
    assert found.unknown["test"].unknown > 0
    assert found.cleaning.total == len(train_source)


def test_what_is_wrong_with_the_text_is_said_also_where_no_vocabulary_fits_it(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for side, line in (("source", "zwei\n"), ("target", "\n")):
        with open(data_folder / f"train.{side}", "a") as file:
            file.write(line)

    too_small = {"kind": "bpe", "vocabulary_size": 9}
    heard: list[tuple[dict[str, list[Finding]], HeadwayError]] = []

    def tell(
        found: dict[str, list[Finding]], corpora: Sequence[Corpus], error: HeadwayError
    ) -> None:
        assert [Path(name).name for name in corpora[0].files] == ["train.source", "train.target"]
        heard.append((found, error))

    with pytest.raises(ConfigError, match="vocabulary_size is 9") as raised:
        check_run(make_config(tokenizer=too_small), "cpu", tell=tell)

    part = {"valid_source": "", "valid_target": "", "hold_out": 5}
    with pytest.raises(ConfigError, match="vocabulary_size is 9"):
        check_run(make_config(tokenizer=too_small, data=part), "cpu", tell=tell)

    (found, error), (held_out, _) = heard
    assert error is raised.value
    assert list(held_out) == ["training"]  # of which the other text is a part
    assert list(found) == ["training", "validation"]
    assert "empty target" in [finding.problem for finding in found["training"]]
    assert "both sides the same" in [finding.problem for finding in found["validation"]]
    assert found == check_run(make_config(), "cpu", tell=tell).findings
    assert len(heard) == 2


def test_slow_steps_are_fewer(make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    monkeypatch.setattr(check_module, "_ENOUGH", 0.0)
    steps: list[int] = []
    update = check_module.update_within_memory

    def counted(step: TrainingStep, number: int, batches: Sequence[Batch]) -> StepResult:
        steps.append(number)
        return update(step, number, batches)

    monkeypatch.setattr(check_module, "update_within_memory", counted)
    monkeypatch.setattr(Reporter, "preparing", lambda *_: nullcontext(shown.append))

    found = check_run(make_config(), "cpu", Reporter(quiet=True))

    assert len(steps) == 3  # the largest batch twice, and one more
    assert found.estimate.seconds > 0
    assert 0 < shown[-3] < shown[-2] < shown[-1]  # pairs so far


def test_unknown_pieces_of_both_sides_are_counted_and_named() -> None:
    letters = train_tokenizer(["abc"], kind="char", vocabulary_size=9, normalization="identity")
    words = train_tokenizer(["a b c"], kind="word", vocabulary_size=9)
    pairs = [("ab??", "c"), ("a\rb\r?", "one c"), ("", "one two"), ("b", "b"), ("\r", "a")]

    found = text_check.unknown(pairs, letters, words)

    pieces = sum(len(letters.encode(one)) + len(words.encode(other)) for one, other in pairs)
    named = {"?": 3, "\r": 3, "one": 2, "two": 1}
    assert found == Unknown(6, pieces, 4, named)  # "??" is one piece, as is "one two"
    assert str(found) == f"6 of {pieces} tokens unknown: '?' 3, '\\r' 3, 'one' 2, 'two' 1"


def test_of_many_unknown_pieces_the_most_frequent_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_check, "_CHUNK", 2)
    words = train_tokenizer(["a b c"], kind="word", vocabulary_size=9)
    pairs = [(f"word{n}", "last") for n in range(11)]

    found = text_check.unknown(pairs, words, words)

    assert found.different == 12
    assert found.most == {"last": 11, **{f"word{n}": 1 for n in range(9)}}
    assert str(found).startswith("22 of 22 tokens unknown: 'last' 11, 'word0' 1, ")
    assert str(found).endswith("'word8' 1, …")
    assert str(Unknown(0, 1200, 0, {})) == "0 of 1,200 tokens unknown"
    assert str(Unknown(1, 2, 1, {"x" * 99: 1})) == f"1 of 2 tokens unknown: '{'x' * 40}…' 1"


def test_what_training_refuses_is_refused(make_config: MakeConfig, data_folder: Path) -> None:
    with pytest.raises(ConfigError, match="best_metric"):
        check_run(make_config(training={"best_metric": "chrf", "validation_sentences": 0}))
    (data_folder / "train.target").write_text("one\n")
    with pytest.raises(DataError, match="same number"):
        check_run(make_config())


def test_time_is_that_of_all_steps_and_memory_that_of_the_largest_batch(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(check_module.time, "perf_counter", lambda: float(next(clock)))
    tried: list[tuple[int, int]] = []
    update = check_module.update_within_memory

    def watched(step: TrainingStep, number: int, batches: Sequence[Batch]) -> StepResult:
        tried.append(tuple(batches[0].target_ids.shape))
        return update(step, number, batches)

    monkeypatch.setattr(check_module, "update_within_memory", watched)
    config = make_config(training={"accumulate": 3, "max_steps": 40})
    check_run(config, "cpu")  # modules and compiled loops are loaded once
    tried.clear()
    held = np.ones(40_000_000)  # as a tokenizer in training may; it is not part of what steps take
    before = peak_memory(torch.device("cpu"))
    del held

    found = check_run(config, "cpu").estimate

    assert found.seconds == 1.0 * 2 * 40  # an epoch is one update of its two batches
    assert tried[0] == tried[1]
    assert tried[0][0] * tried[0][1] == max(rows * width for rows, width in tried)
    assert 0 < found.memory <= peak_memory(torch.device("cpu"))
    if sys.platform == "linux":
        assert found.memory < before - 200e6


def test_between_the_steps_it_looks_how_threads_are_to_wait(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    update = check_module.update_within_memory

    def watched(step: TrainingStep, number: int, batches: Sequence[Batch]) -> StepResult:
        calls.append("step")
        return update(step, number, batches)

    class Threads:
        def look(self) -> None:
            calls.append("look")

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setattr(check_module, "update_within_memory", watched)
    monkeypatch.setattr(check_module, "WaitingThreads", Threads)

    check_run(make_config(), "cpu")

    assert len(calls) > 5
    assert calls == ["step", "look"] * (len(calls) // 2) + ["close"]


def test_a_moving_average_is_part_of_every_step_that_is_tried(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    updated: list[str] = []
    watched = (
        ("step", check_module, "update_within_memory"),
        ("average", check_module.WeightAverage, "update"),
    )
    for name, owner, function in watched:
        real = getattr(owner, function)

        def call(*args: object, name: str = name, real=real) -> object:
            updated.append(name)
            return real(*args)

        monkeypatch.setattr(owner, function, call)

    check_run(make_config(training={"ema_decay": 0.9}), "cpu")

    assert len(updated) > 4
    assert updated == ["step", "average"] * (len(updated) // 2)


def test_text_with_a_tag_is_looked_at_without_it(
    make_config: MakeConfig, data_folder: Path
) -> None:
    source, target = data_folder / "train.source", data_folder / "train.target"
    pairs = list(zip(source.read_text().splitlines(), target.read_text().splitlines(), strict=True))
    (data_folder / "other.tsv").write_text("drei vier\teins\n")
    valid = [*pairs[3:5], ("", "two"), (pairs[7][0], "another one"), ("drei vier", "one more")]
    for side, name in enumerate(("valid.source", "valid.target")):
        (data_folder / name).write_text("".join(f"{pair[side]}\n" for pair in valid))
    corpora = [
        {"source": "train.source", "target": "train.target", "tag": "<on>"},
        {"source": "other.tsv", "tag": "<back>"},
    ]
    data = {"source": "", "target": "", "corpora": corpora, "tag": "<on>"}

    plain = check_run(make_config(), "cpu").findings["validation"]
    tagged = check_run(make_config(data=data), "cpu").findings["validation"]

    assert tagged == plain
    found = {finding.problem: finding.lines for finding in tagged}
    expected = {
        "empty source": (3,),
        "pair is in the training text too": (1, 2),
        "source is in the training text, with another translation": (4,),
    }
    assert expected.items() <= found.items()


def test_what_does_not_fit_is_tried_in_parts(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.cli.check import report_lines

    loss = objective_module.batch_loss

    def limited(model: Any, batch: Batch, *rest: Any) -> Any:
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return loss(model, batch, *rest)

    assert check_run(make_config(training={"parts": 2}), "cpu").estimate.parts == 2
    monkeypatch.setattr(objective_module, "batch_loss", limited)

    found = check_run(make_config(), "cpu")

    assert found.estimate.parts > 1
    assert found.as_dict()["batch_parts"] == found.estimate.parts
    assert f"Batches are computed in {found.estimate.parts} parts each" in report_lines(found)


def test_looking_at_the_text_takes_no_memory_of_training(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    for module, name in ((check_module, "estimate"), (text_check, "survey")):
        real = getattr(module, name)

        def call(*given: Any, name: str = name, real: Any = real) -> Any:
            order.append(name)
            return real(*given)

        monkeypatch.setattr(module, name, call)

    check_run(make_config(), "cpu")

    assert order[0] == "estimate"
    assert "survey" in order


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "linear", "max_steps": 4, "warmup_steps": 4}, "linear schedule cannot fall"),
        ({"tensorboard": True}, "TensorBoard is not installed"),
    ],
)
def test_settings_that_training_refuses_are_refused(
    make_config: MakeConfig,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(HeadwayError, match=message):
        check_run(make_config(training=settings), "cpu")


def test_each_of_several_corpora_is_looked_at(make_config: MakeConfig) -> None:
    from headway.cli.check import report_lines

    corpora = [
        {"source": "train.source", "target": "train.target"},
        {"source": "valid.source", "target": "valid.target", "weight": 2.0},
    ]
    found = check_run(make_config(data={"source": "", "target": "", "corpora": corpora}), "cpu")

    assert set(found.findings) == {"training, corpus 1", "training, corpus 2", "validation"}
    assert set(found.unknown) == set(found.findings)
    lines = report_lines(found)
    (head,) = (line for line in lines if line.startswith("Training, corpus 2 text"))
    assert head.startswith("Training, corpus 2 text (valid.source, valid.target): 0 of")
    (told,) = [n for n, line in enumerate(lines) if line.startswith("In training: 39 pairs read")]
    sizes = [corpus.pairs for corpus in found.corpora]
    deck = Deck(sizes, [1.0, 2.0])
    dealt = [row >= sizes[0] for epoch in range(3) for row in deck.rows(epoch, 0)]
    assert found.corpora[1].share == pytest.approx(np.mean(dealt))
    assert lines[told + 1].startswith("  corpus 1: train.source, train.target; weight 1; ")
    assert lines[told + 2] == (
        f"  corpus 2: valid.source, valid.target; weight 2; {sizes[1]} pairs; "
        f"{np.mean(dealt):.1%} of an epoch"
    )


def test_a_pair_of_two_corpora_is_found(make_config: MakeConfig, data_folder: Path) -> None:
    pairs = [(data_folder / f"train.{side}").read_text().splitlines() for side in PARALLEL]
    lines = ["\t".join(pair) for pair in zip(*pairs, strict=True)]
    (data_folder / "again.tsv").write_text(f"zwei\tzwölf\n{lines[4]}\n")
    corpora = [
        {"source": "train.source", "target": "train.target", "tag": "<2b>"},
        {"source": "again.tsv", "tag": "<2a>"},
    ]
    names = {"source": "", "target": "", "corpora": corpora, "tag": "<2b>"}

    found = check_run(make_config(data=names), "cpu").findings["training, corpus 2"]

    assert [(finding.problem, finding.lines) for finding in found] == [
        ("pair is in corpus 1 too, there with the tag <2b>", (2,))
    ]


def test_one_text_is_looked_at_before_the_next_is_read(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "short.target").write_text("one line\n")
    corpora = [
        {"source": "train.source", "target": "train.target"},
        {"source": "train.source", "target": "short.target"},
    ]
    data = make_config(data={"source": "", "target": "", "corpora": corpora}).data
    looks = text_check.findings(data, read_texts(data))

    name, pairs, found = next(looks)

    assert (name, len(pairs)) == ("training, corpus 1", 32)
    assert found
    with pytest.raises(DataError, match="must have the same number"):
        next(looks)


def test_a_corpus_whose_sides_are_exchanged_is_found(
    make_config: MakeConfig, data_folder: Path
) -> None:
    lines = (data_folder / "train.source").read_text().splitlines()
    korean = "".join("하나 " * len(line.split()) + "\n" for line in lines)
    (data_folder / "train.ko").write_text(korean, encoding="utf-8")
    right = {"source": "train.ko", "target": "train.target"}
    wrong = {"source": "train.target", "target": "train.ko"}

    def problems(*tags: str) -> set[str]:
        *first, last = tags
        corpora = [*(right | {"tag": tag} for tag in first), wrong | {"tag": last}]
        names = {"source": "", "target": "", "corpora": corpora, "tag": tags[0]}
        found = check_run(make_config(data=names), "cpu").findings
        return {finding.problem for finding in found[f"training, corpus {len(tags)}"]}

    def exchanged(corpus: int) -> set[str]:
        return {
            f"source in Latin letters, in corpus {corpus} Hangul",
            f"target in Hangul letters, in corpus {corpus} Latin",
        }

    assert exchanged(1) <= problems("", "")
    assert exchanged(1) <= problems("<2b>", "<2b>")
    assert exchanged(2) <= problems("<2a>", "<2b>", "<2b>")
    assert not exchanged(1) & problems("<2b>", "<2a>")  # of another tag sides may be others


def test_names_that_contradict_the_languages_of_their_content_are_found(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for side, language in (("source", "ko"), ("target", "en")):
        text = (data_folder / f"train.{side}").read_text()
        (data_folder / f"train.{language}").write_text(text)
    names = {"source": "train.ko", "target": "train.en"}
    (finding,) = (
        finding
        for finding in check_run(make_config(data=names), "cpu").findings["training"]
        if finding.id.startswith("other-language")
    )
    assert (finding.id, finding.count) == ("other-language-source", 32)
    assert finding.remedy.startswith("exchange the names of the two files, or set data.source_")


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("tags", [[], ["<2a>"], ["<2a>", "<2b>"]])
def test_text_can_be_looked_at_before_there_is_validation_text(
    make_config: MakeConfig, tags: list[str], positions: str
) -> None:
    corpora = [{"source": "train.source", "target": "train.target", "tag": tag} for tag in tags]
    data: dict[str, Any] = {"valid_source": "", "valid_target": ""}
    if corpora:
        data |= {"source": "", "target": "", "corpora": corpora}
    config = make_config(data=data, model={"positions": positions})
    found = check_run(config, "cpu")
    names = ["training, corpus 1", "training, corpus 2"] if len(tags) == 2 else ["training"]
    assert list(found.findings) == list(found.unknown) == names
    assert sum(corpus.pairs for corpus in found.corpora) == found.cleaning.total
    assert found.remarks[0].startswith("To train, name validation text")
    assert ("data.hold_out" in found.remarks[0]) == (len(tags) < 2)  # see _hold_out
    with pytest.raises(ConfigError, match=r"'data\.valid_source' is missing") as caught:
        read_texts(config.data)
    of_training = caught.value.remedy.replace("hold_out=500", "hold_out=3")  # of these 32 pairs
    assert of_training.lower() == found.remarks[0].removeprefix("To train, ").lower()


def test_what_is_held_out_has_its_unknown_pieces_counted(make_config: MakeConfig) -> None:
    from headway.cli.check import report_lines

    names = {"valid_source": "", "valid_target": "", "hold_out": 9}
    found = check_run(make_config(data=names), "cpu")
    unknown = found.unknown["validation"]
    assert f"Validation text, held out of it: {unknown}" in report_lines(found)


@pytest.mark.parametrize(
    ("training", "reached"),
    [
        ({"max_steps": 3, "warmup_steps": 12}, "25%"),
        ({"max_steps": 900, "max_epochs": 1, "warmup_steps": 200}, "2%"),
        ({"max_steps": 12, "warmup_steps": 12}, None),
    ],
)
def test_a_warm_up_that_is_longer_than_the_run_is_remarked_on(
    make_config: MakeConfig, training: dict[str, Any], reached: str | None
) -> None:
    from headway.cli.check import report_lines

    found = check_run(make_config(training=training), "cpu")
    remarks = [remark for remark in found.remarks if "warmup_steps" in remark]
    if reached is None:
        assert remarks == []
        return
    (remark,) = remarks
    assert f"the rate ends at {reached} of its peak" in remark
    assert f"Note: {remark}" in report_lines(found)
    assert found.as_dict()["remarks"] == found.remarks


@pytest.mark.parametrize(
    ("steps", "could_record", "advised"),
    [(1_000_000, True, True), (1_000_000, False, False), (10, True, False)],
)
def test_a_long_run_that_a_gpu_could_record_is_remarked_on(
    make_config: MakeConfig,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
    could_record: bool,
    advised: bool,
) -> None:
    monkeypatch.setattr(TrainingStep, "could_record", lambda _: could_record)
    training = {"max_steps": steps, "warmup_steps": 1}

    remarks = check_run(make_config(training=training), "cpu").remarks

    assert any("training.compile=true" in remark for remark in remarks) == advised


@pytest.mark.parametrize("refused", [False, True])
def test_the_estimate_is_of_passes_that_are_recorded(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    steps: list[list[str]] = []
    limits: list[Limits] = []
    streams: list[BatchStream] = []

    def record(run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        if refused:
            raise RuntimeError("a part has waited")
        loss = torch.zeros((), dtype=torch.float64)

        def replay() -> None:
            steps[-1].append("replayed")
            loss.copy_(run())

        return replay, loss

    class Recording(TrainingStep):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            limits.append(options["limits"])
            run = self._forward_backward
            self.recorded = RecordedPasses(run, torch.device("cpu"), limits[0], record)

        def add_gradients(self, *args: Any) -> Tensor | float:
            steps.append([])
            return super().add_gradients(*args)

    def spying(*given: Any) -> check_module.Estimate:
        streams.append(given[1])
        return estimate(*given)

    estimate = check_module.estimate
    monkeypatch.setattr(check_module, "estimate", spying)
    monkeypatch.setattr(check_module, "TrainingStep", Recording)
    check_run(make_config(training={"batch_tokens": 31}), "cpu")

    (stream,) = streams
    assert limits == [Limits(31, 1 + stream.pairs.longest()[1])]
    timed = len(stream.block(0, 0))
    if refused:  # after the first of all and two that would prepare
        assert len(steps) == 1 + 2 + 1 + timed
    else:
        assert steps[3::3] == [["replayed"]] * (1 + timed)


def test_that_it_looked_at_the_first_of_many_is_said(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_check, "LOOKED_AT", 7)

    found = check_run(make_config(), "cpu")

    assert set(found.findings) == {"training, first 7 pairs", "validation"}
    assert found.cleaning.total == 32


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("command", ["check", "train"])
def test_a_reporter_hears_what_is_prepared(
    make_config: MakeConfig, tmp_path: Path, command: str
) -> None:
    class Hearing(Reporter):
        heard: ClassVar[list[str]] = []

        @contextmanager
        def preparing(self, what: str) -> Iterator[Show]:
            self.heard.append(what)
            with super().preparing(what) as show:
                yield show

    reporter = Hearing(quiet=True)
    Hearing.heard.clear()

    if command == "check":
        check_run(make_config(), "cpu", reporter)
    else:
        train(make_config(training={"max_steps": 13}), tmp_path / "run", reporter=reporter)

    tried = ["Trying the model"] if command == "check" else []
    assert Hearing.heard == ["Training a tokenizer", "Encoding text", *tried]


def test_texts_whose_sides_are_exchanged_are_named_beside_training_text(
    make_config: MakeConfig, data_folder: Path
) -> None:
    train = translations(120)
    texts = {"train": train, "right": translations(30, seed=1), "moved": translations(30, seed=2)}
    texts["wrong"] = [exchanged(pair) for pair in texts["right"]]
    texts["corpus"] = [exchanged(pair) for pair in translations(60, seed=3)]
    texts["moved"][4] = exchanged(texts["moved"][4])
    others = [pair.target for pair in translations(40, seed=4)]
    others = others[7:] + others[:7]
    texts["others"] = [
        Pair(pair.source, other)
        for pair, other in zip(translations(40, seed=4), others, strict=True)
    ]
    for name, pairs in texts.items():
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
        (data_folder / f"{name}.tsv").write_text(lines, encoding="utf-8")

    def found(valid: str, *corpora: str) -> dict[str, dict[str, tuple[int, ...]]]:
        data = {"source": "", "target": "", "valid_source": valid, "valid_target": ""}
        data |= {"corpora": [{"source": name} for name in corpora]}
        config = make_config(data=data)
        some = text_check.findings(config.data, read_texts(config.data))
        return {
            text: {problem.id: problem.lines for problem in problems or ()}
            for text, _, problems in some
        }

    whole = tuple(range(1, 31))
    assert found("right.tsv", "train.tsv") == {"training": {}, "validation": {}}
    assert found("wrong.tsv", "train.tsv")["validation"] == {"exchanged-files": whole}
    assert found("moved.tsv", "train.tsv")["validation"] == {"exchanged": (5,)}
    assert found("others.tsv", "train.tsv")["validation"]["unrelated"] == (1,)
    several = found("right.tsv", "train.tsv", "corpus.tsv")
    assert several == {
        "training, corpus 1": {},
        "training, corpus 2": {"exchanged-files": tuple(range(1, 61))},
        "validation": {},
    }


def test_that_patience_may_end_it_earlier_is_said(make_config: MakeConfig) -> None:
    def said(patience: int | None) -> list[str]:
        training = {"patience": patience} if patience else {}
        remarks = check_run(make_config(training=training), "cpu").remarks
        return [remark for remark in remarks if "This is an upper limit" in remark]

    assert said(None) == []
    (remark,) = said(3)
    assert "after 3 validations without a new best (training.patience)" in remark


def test_the_minutes_after_which_a_new_model_is_usable_are_those_of_the_estimate(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 10,000 steps in 3,000 seconds are 2,000 in 10 minutes.
    estimated = check_module.Estimate(seconds=3000.0, memory=0)
    monkeypatch.setattr(check_module, "estimate", lambda *_: estimated)
    monkeypatch.setattr(check_module, "USABLE_PAIRS", 32)  # those of the text

    remarks = check_run(make_config(training={"max_steps": 10_000}), "cpu").remarks

    usable = (
        "A new model begins to be usable after 500 (short, simple sentences) to 2,000 steps: here "
        "about 3 to 10 minutes without validations."
    )
    # It comes before the remark on the steps of the estimate, which are too many.
    (too_many,) = [remark for remark in remarks if "read each pair" in remark]
    assert remarks.index(usable) < remarks.index(too_many)


def test_a_text_that_is_too_small_is_promised_no_usable_model(make_config: MakeConfig) -> None:
    config = make_config(data={"valid_source": "", "valid_target": ""}, training={"max_steps": 40})

    ways, small, _ = check_run(config, "cpu").remarks

    assert ways.endswith("or hold some training text out with --set data.hold_out=3.")
    assert small == (
        "32 training pairs: too little text for a usable model, which learns it by heart. Give "
        "some thousand pairs of one kind, or fine-tune a trained model with --from."
    )


def test_more_than_a_thousand_epochs_are_advised_against(make_config: MakeConfig) -> None:
    def advised(steps: int) -> list[str]:
        remarks = check_run(make_config(training={"max_steps": steps}), "cpu").remarks
        return [remark for remark in remarks if "read each pair" in remark]

    check = check_run(make_config(), "cpu")
    of_an_epoch = round(check.steps / check.epochs)

    assert advised(1000 * of_an_epoch) == []
    assert advised(2000 * of_an_epoch) == [
        f"In {2000 * of_an_epoch:,} steps the run would read each pair 2,000 times: train with "
        "--minutes, or set training.max_steps lower."
    ]


def test_a_vocabulary_for_the_whole_text_is_told_to_be_less_with_hold_out(
    make_config: MakeConfig,
) -> None:
    def remedy(**data: Any) -> str:
        tokenizer = {"kind": "bpe", "vocabulary_size": 3000}
        problem = check_run(make_config(data=data, tokenizer=tokenizer), "cpu").problem
        assert problem is not None
        return problem.remedy

    whole = remedy(valid_source="", valid_target="")
    assert whole.endswith("With data.hold_out the limit is lower: set that first.")
    assert "hold_out" not in remedy()


def test_a_fine_tune_is_not_told_when_a_new_model_is_usable(
    make_config: MakeConfig, bundle: Bundle, tmp_path: Path
) -> None:
    save_bundle(tmp_path / "trained", bundle)
    config = make_config(training={"start_from": str(tmp_path / "trained")})

    assert not [remark for remark in check_run(config, "cpu").remarks if "usable" in remark]
