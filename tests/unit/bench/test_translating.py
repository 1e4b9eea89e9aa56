"""The same text for both sides, in turns; the best that counts; one JSON line."""

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.bench import translating
from headway.bench.cells import Figures
from headway.bench.configurations import OURS, Configuration, Entrant
from headway.bench.ctranslate2 import prepare_ctranslate2
from headway.bench.first_sentence import FirstSentence
from headway.bench.jobs import Job, Outcome, Text
from headway.bench.our_translation import _cut, prepare_ours
from headway.bench.random_model import RANDOM_MODELS, RandomModel
from headway.bench.translating import Field, compare_translation
from headway.bench.work import Size
from headway.bundle import Bundle
from headway.cli.app import main
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, MissingExtraError
from headway.interop.ctranslate2 import write

SENTENCES = ("the cat sat", "a dog ran far", "far", "the dog sat", "a cat ran", "away", "sat")
TEXT = Text(SENTENCES, 4, 100)


@pytest.fixture(scope="module")
def exported(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    write(bundle, folder)
    return folder


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_both_sides_put_out_the_same(bundle_path: Path, exported: Path, batch: int) -> None:
    ours = prepare_ours(str(bundle_path), "float32", TEXT)
    theirs = prepare_ctranslate2(str(exported), "float32", 1, 1, TEXT)
    here, there = ours(Job(1, batch)), theirs(Job(1, batch))
    assert here.texts == there.texts
    assert (here.pieces, here.cut) == (there.pieces, there.cut)
    assert here.pieces > 0
    for outcome in (here, there):
        assert len(outcome.texts) == len(SENTENCES)
        assert len(outcome.milliseconds) == (len(SENTENCES) if batch == 1 else 0)
        assert outcome.memory_mb > 10


@pytest.mark.parametrize("length_penalty", [0.0, 0.7])
def test_both_sides_rank_a_beam_with_the_same_length_penalty(
    bundle_path: Path, exported: Path, monkeypatch: pytest.MonkeyPatch, length_penalty: float
) -> None:
    text = Text(SENTENCES, 4, 100, length_penalty=length_penalty)
    asked: list[float] = []
    lengths: list[tuple[float, float]] = []

    class Peer:
        def __init__(self, *arguments: object, **settings: object) -> None:
            pass

        def translate_batch(self, sources: list[list[str]], **settings: float) -> list[Any]:
            asked.append(settings["length_penalty"])
            lengths.append((settings["min_decoding_length"], settings["max_decoding_length"]))
            return [SimpleNamespace(hypotheses=[["▁a"]]) for _ in sources]

    monkeypatch.setattr("ctranslate2.Translator", Peer)
    prepare_ctranslate2(str(exported), "float32", 1, 1, text)(Job(4, 3))
    assert asked == [length_penalty]
    forced = Text(SENTENCES, 4, 100, length=6)
    prepare_ctranslate2(str(exported), "float32", 1, 1, forced)(Job(4, 3))
    assert lengths[1:] == [(7, 7)]  # a token more, as we compute the step of the end symbol
    del asked[1:]

    def record(
        self: TextTranslator, texts: list[str], *, options: SearchOptions, **rest: Any
    ) -> Any:
        asked.append(options.score(-6.0, 9))
        return []

    monkeypatch.setattr(TextTranslator, "translate", record)
    prepare_ours(str(bundle_path), "float32", text)(Job(4, 3, as_installed=True))
    assert asked[1:] == [pytest.approx(-6.0 / 9**length_penalty)]


@pytest.mark.parametrize("batch", [1, 3])
def test_both_sides_write_as_many_tokens_as_are_forced(
    bundle_path: Path, exported: Path, batch: int
) -> None:
    text = Text(SENTENCES, 4, 100, length=6)
    ours = prepare_ours(str(bundle_path), "float32", text)
    theirs = prepare_ctranslate2(str(exported), "float32", 1, 1, text)
    outcomes = [side(Job(beam_size, batch)) for side in (ours, theirs) for beam_size in (1, 3)]
    outcomes.append(ours(Job(1, batch, as_installed=True)))
    for outcome in outcomes:
        assert (outcome.pieces, outcome.cut) == (6 * len(SENTENCES), 0)
    assert outcomes[0].texts == outcomes[2].texts == outcomes[4].texts


@pytest.mark.parametrize("beam_size", [1, 3])
def test_every_way_through_a_file_gives_the_same(bundle_path: Path, beam_size: int) -> None:
    ours = prepare_ours(str(bundle_path), "float32", TEXT)
    texts = [
        ours(Job(beam_size, 2, workers, refill=refill, longest_first=longest_first)).texts
        for workers in (1, 2)
        for refill in (True, False)
        for longest_first in (True, False)
    ]
    assert len(set(texts)) == 1
    assert ours(Job(beam_size, 2, sentences=3)).texts != texts[0]


class Pretended:
    """A process that needs no time for what it pretends to."""

    asked: ClassVar[list[tuple[Entrant, Job]]]
    seconds: Callable[[Entrant, Job], float]
    texts: Callable[[Entrant], list[str]]

    def __init__(self, prepare: Any, *arguments: Any, warm_up: int) -> None:
        assert warm_up == 0
        self.entrant: Entrant | None = None
        if prepare is prepare_ours:
            self.entrant = Entrant(OURS, arguments[1])
        elif prepare is prepare_ctranslate2:
            self.entrant = Entrant("ctranslate2", *arguments[1:4])

    def result(self, job: Job | None = None) -> Any:
        if self.entrant is None or job is None:
            return 200.0
        self.asked.append((self.entrant, job))
        texts = tuple(type(self).texts(self.entrant))[: job.sentences]
        seconds = type(self).seconds(self.entrant, job)
        single = (1000 * seconds / 4,) * 4 if job.batch == 1 else ()
        return Outcome(seconds, single, texts, 100, 0, 300.0 if self.entrant.side == OURS else 50.0)

    def __enter__(self) -> "Pretended":
        return self

    def __exit__(self, *error: object) -> None:
        pass


EXACT = ["the cat sat on the mat", "a dog ran very far away", "it rains", "yes"]
OTHER = ["the cat sat on a mat", *EXACT[1:]]


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> type[Pretended]:
    """Let ours take 2 seconds and a peer 4, in int8 half of it with another text."""

    class Fresh(Pretended):
        asked: ClassVar[list[tuple[Entrant, Job]]] = []

        @staticmethod
        def seconds(entrant: Entrant, job: Job) -> float:
            seconds = 2.0 if entrant.side == OURS else 4.0 / entrant.replicas
            return seconds / 2 if entrant.precision == "int8" else seconds

        @staticmethod
        def texts(entrant: Entrant) -> list[str]:
            return OTHER if entrant.precision == "int8" else EXACT

    monkeypatch.setattr(translating, "Contestant", Fresh)
    monkeypatch.setattr(translating, "is_imitated", lambda precision: True)
    return Fresh


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("the cat\na dog\n\nfar\naway\n", encoding="utf-8")
    return path


def test_other_texts_are_shown_and_do_not_count(
    bundle_path: Path, source: Path, pretended: type[Pretended]
) -> None:
    found = compare_translation(
        bundle_path, ["ctranslate2"], source=source, searches=["greedy"], cores=2
    )
    file, single = (cell.as_dict() for cell in found.cells)
    assert (file["search"], file["batch"], single["batch"]) == ("greedy", 64, 1)
    assert (file["ours"], file["peer"], file["ratio"]) == (50, 50, 1)
    assert file["ours_layout"] == {"precision": "float32", "workers": 2, "threads": 1, "batch": 64}
    assert file["peer_layout"] == {"precision": "float32", "workers": 2, "threads": 1, "batch": 64}
    assert file["fastest_peer"]["precision"] == "int8"
    assert file["ratio_to_fastest_peer"] == 0.5
    assert file["changed"] == {"float32": 0, "ours": 0, "peer": 0}
    assert (file["ours_memory_mb"], file["peer_memory_mb"]) == (300, 50)
    assert (file["ours_ms"], single["ours_ms"]) == (None, {"p50": 500, "p99": 500})
    assert single["peer_ms"] == {"p50": 1000, "p99": 1000}
    assert single["ratio"] == 2
    assert {c["changed"] for c in file["configurations"] if c["precision"] == "int8"} == {0.25}
    notes = " ".join(found.all_notes())
    assert "headway bfloat16 is not measured" in notes
    assert "1 blank lines were left out" in notes
    assert "greedy, file: headway int8, ctranslate2 int8 do not count" in notes
    assert "With --reference their quality would decide." in notes


@pytest.mark.parametrize(("precision", "rate"), [("float32", 25), ("int8", 50)])
def test_the_row_as_installed_is_beside_the_best(
    bundle_path: Path,
    source: Path,
    pretended: type[Pretended],
    monkeypatch: pytest.MonkeyPatch,
    precision: str,
    rate: int,
) -> None:
    def seconds(entrant: Entrant, job: Job) -> float:
        taken = 1.0 if entrant.precision == "int8" else 2.0
        if job.sentences and job.as_installed:
            return 99.0  # however slow it is at first, users have it
        return 2 * taken if job.as_installed else taken

    pretended.seconds = seconds  # type: ignore[method-assign]
    monkeypatch.setattr(translating, "automatic_precision", lambda model: precision)
    comparison = compare_translation(
        bundle_path, ["ctranslate2"], source=source, searches=["greedy"], batches=[64], cores=3
    )

    (cell,) = (cell.as_dict() for cell in comparison.cells)
    row = cell["as_installed"]
    assert (row["precision"], row["tokens_per_second"], cell["ours"]) == (precision, rate, 50)
    assert (row["workers"], row["threads"], row["batch"]) == (None, None, None)
    assert cell["as_installed_share"] == cell["as_installed_ratio"] == rate / 50
    assert [c["as_installed"] for c in cell["configurations"]].count(True) == 1
    assert {job.threads for _, job in pretended.asked if job.as_installed} == {3}
    table = [*comparison.lines()]
    assert f"{rate:,} {rate / 50:6.2f}" in next(line for line in table if "greedy, file" in line)


def test_a_precision_that_was_left_out_is_not_measured_as_installed(
    bundle_path: Path, source: Path, pretended: type[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translating, "automatic_precision", lambda model: "int8")
    comparison = compare_translation(
        bundle_path, source=source, searches=["greedy"], batches=[64], precisions=["bfloat16"]
    )
    assert comparison.cells[0].as_installed is None
    assert comparison.cells[0].as_dict()["as_installed"] is None
    notes = comparison.all_notes()
    assert "As installed, in int8, is not measured: --precision left it out." in notes


def test_a_peer_has_the_precisions_that_were_asked_for(
    bundle_path: Path, source: Path, pretended: type[Pretended]
) -> None:
    compare_translation(
        bundle_path, ["ctranslate2"], source=source, searches=["greedy"], batches=[64],
        peer_precisions=["int8"],
    )  # fmt: skip
    of_peer = {entrant.precision for entrant, _ in pretended.asked if entrant.side != OURS}
    assert of_peer == {"int8"}


def test_each_cell_is_measured_again_beside_a_busy_core(
    bundle_path: Path, source: Path, pretended: type[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_busy = False

    @contextmanager
    def pretended_core() -> Iterator[None]:
        nonlocal is_busy
        is_busy = True
        yield
        is_busy = False

    monkeypatch.setattr(translating, "one_core_busy", pretended_core)
    pretended.seconds = lambda entrant, job: 4.0 if is_busy else 2.0  # type: ignore[method-assign]
    comparison = compare_translation(bundle_path, source=source, searches=["greedy"], busy=True)

    cells = [cell.as_dict() for cell in comparison.cells]
    assert [(c["batch"], c["busy"], c["ours"]) for c in cells] == [
        (64, False, 50), (64, True, 25), (1, False, 50), (1, True, 25),
    ]  # fmt: skip
    assert cells[3]["ours_ms"] == {"p50": 1000, "p99": 1000}
    assert (cells[0]["ours_memory_mb"], cells[1]["ours_memory_mb"]) == (300, None)
    assert comparison.cells[3].title == "greedy, one sentence at a time, beside a busy core"
    assert not is_busy


def test_the_first_sentence_is_measured_with_the_model_of_the_comparison(
    bundle_path: Path, source: Path, pretended: type[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(
        bundle: Path, exported: Path, text: Text, beam_size: int, rounds: int, trust_code: bool
    ) -> FirstSentence:
        assert not trust_code
        assert bundle == bundle_path
        assert (exported / "model.bin").is_file()
        assert text.sentences[0] == "the cat"
        return FirstSentence(20.0 * rounds, beam_size, 0.25)

    monkeypatch.setattr(translating, "measure_first_sentence", measure)
    comparison = compare_translation(
        bundle_path, ["ctranslate2"], source=source, searches=["greedy"], rounds=2, first=True
    )
    assert comparison.as_dict()["first_sentence"] == {
        "after_installation": 40.0, "after_start": 4.0, "peer": 0.25,
    }  # fmt: skip
    assert "  after installation   40.00 s" in [*comparison.lines()]


def test_with_random_weights_every_precision_counts(
    source: Path, pretended: type[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = RandomModel(Size(1, 8, 12, 2), vocabulary=300)
    monkeypatch.setitem(RANDOM_MODELS, "tiny", size)
    comparison = compare_translation(
        None, ["ctranslate2"], size="tiny", source=source, searches=["greedy"], batches=[64]
    )
    (cell,) = (cell.as_dict() for cell in comparison.cells)
    assert all(row["accepted"] for row in cell["configurations"])
    assert cell["ours_layout"]["precision"] == "int8"
    assert comparison.as_dict()["model"] == "tiny"
    length = comparison.as_dict()["length"]
    assert any(f"every translation has {length} tokens" in n for n in comparison.all_notes())


def test_with_references_a_peer_may_be_better_and_we_may_not(
    bundle_path: Path, source: Path, tmp_path: Path, pretended: type[Pretended]
) -> None:
    reference = tmp_path / "reference.txt"
    lines = [*OTHER[:2], "of a blank line", *OTHER[2:]]
    reference.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = compare_translation(
        bundle_path,
        ["ctranslate2"],
        source=source,
        reference=reference,
        searches=["beam4"],
        batches=[64],
        cores=2,
    )
    (cell,) = (cell.as_dict() for cell in found.cells)
    assert found.as_dict()["scores_against"] == "reference"
    assert cell["search"] == "beam4"
    assert cell["ours_layout"]["precision"] == "float32"
    assert cell["peer_layout"]["precision"] == "int8"
    assert cell["ratio"] == cell["ratio_to_fastest_peer"] == 0.5
    assert cell["bleu"]["ours"] == cell["bleu"]["float32"] < cell["bleu"]["peer"] == 100
    assert cell["changed"] == {"float32": 0, "ours": 0, "peer": 0.25}
    (note,) = (note for note in found.all_notes() if "do not count" in note)
    assert "headway int8 do not count, because their scores differ" in note
    assert "(a peer's only if they are worse)" in note


def test_configurations_take_turns_and_the_hopeless_do_not(
    pretended: type[Pretended],
) -> None:
    speeds = {1: 2.0, 2: 1.0, 4: 4.5}
    pretended.seconds = lambda entrant, job: speeds[entrant.replicas]  # type: ignore[method-assign]
    entrants = [Entrant("ctranslate2", "float32", replicas) for replicas in speeds]
    with ExitStack() as stack:
        field = Field(stack, Path(), Path(), TEXT)
        assert field.start(entrants, [], lambda text: None) == []
        figures = field.race([Configuration(entrant, Job(1, 64)) for entrant in entrants], 3)
    asked = [(entrant.replicas, job.sentences) for entrant, job in pretended.asked]
    assert asked[:9] == [(1, 8), (2, 8), (4, 8)] * 3
    assert asked[9:] == [(1, None), (2, None)] * 3
    assert [entry.entrant.replicas for entry in figures] == [1, 2]


def test_what_was_hopeless_is_named(
    bundle_path: Path, source: Path, pretended: type[Pretended]
) -> None:
    def seconds(entrant: Entrant, job: Job) -> float:
        return 9.0 if max(entrant.threads, job.threads) > 1 else 1.0

    pretended.seconds = seconds  # type: ignore[method-assign]
    found = compare_translation(
        bundle_path, ["ctranslate2"], source=source, searches=["greedy"], batches=[1], cores=2
    )
    (note,) = (note for note in found.all_notes() if "not measured, because" in note)
    assert note.startswith("greedy, one sentence at a time: not measured, because the first ")
    assert "headway float32 1 x 2 batch 1, " in note
    assert all(c["threads"] in (1, None) for c in found.cells[0].as_dict()["configurations"])


def test_the_median_of_the_turns_counts() -> None:
    outcomes = [
        Outcome(seconds, (10.0 * seconds, 20.0 * seconds, 30.0 * seconds), ("a",), 60, 0, 1.0)
        for seconds in (1.0, 3.0, 2.0)
    ]
    figures = Figures.of(outcomes)
    assert figures.rate == 30
    assert figures.p50 == 40
    assert figures.p99 == pytest.approx(59.6)


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 7), st.integers(1, 30))
def test_batches_are_cut_where_slots_or_pieces_run_out(
    lengths: list[int], most: int, max_tokens: int
) -> None:
    requests = [(i, Request([7] * length, 9)) for i, length in enumerate(lengths)]

    batches = [*_cut(requests, most, max_tokens)]

    assert [each for batch in batches for each in batch] == requests
    sizes = [[len(request.source_ids) for _, request in batch] for batch in batches]
    for batch in sizes:
        assert 1 <= len(batch) <= most
        assert sum(batch) <= max_tokens or len(batch) == 1
    for batch, following in itertools.pairwise(sizes):
        assert len(batch) == most or sum(batch) + following[0] > max_tokens


def test_refill_is_measured_with_our_best(
    bundle_path: Path, source: Path, pretended: type[Pretended]
) -> None:
    def seconds(entrant: Entrant, job: Job) -> float:
        if job.sentences and not job.refill:
            return 99.0  # slow with a few sentences says nothing here
        return 2.0 + (not job.refill) + 2 * (not job.longest_first)

    pretended.seconds = seconds  # type: ignore[method-assign]
    found = compare_translation(
        bundle_path, source=source, searches=["greedy"], cores=2, refill=True
    )
    file, single = (cell.as_dict() for cell in found.cells)
    assert file["refill"]["with"] == 50
    assert file["refill"]["without"] == pytest.approx(33.3)
    assert file["refill"]["ratio"] == 1.5
    assert file["refill"]["as_they_come"] == {"with": 25, "without": 20, "ratio": 1.25}
    assert file["refill"]["layout"]["workers"] == 1
    assert "refill" not in single
    assert file["peer"] is None
    assert file["ratio"] is None


def test_the_command_measures_both_sides(
    bundle_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["bench", "translate", str(bundle_path), "--against", "ctranslate2", "--json"]
    arguments += ["--source", str(source), "--search", "greedy", "--batch", "1", "--rounds", "1"]
    arguments += ["--threads", "1", "--precision", "float32"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"model", "sentences", "machine", "cells", "pytorch_memory_mb"}
    (cell,) = found["cells"]
    assert cell["ratio"] == pytest.approx(cell["ours"] / cell["peer"], rel=0.05)
    # The peer's process has no PyTorch.
    assert cell["peer_memory_mb"] < found["pytorch_memory_mb"] < cell["ours_memory_mb"]
    assert 0 < cell["ours_ms"]["p50"] <= cell["ours_ms"]["p99"]


def test_the_command_prints_a_table(
    bundle_path: Path,
    source: Path,
    pretended: type[Pretended],
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["bench", "translate", str(bundle_path), "--against", "ctranslate2"]
    assert run([*arguments, "--source", str(source), "--threads", "2", "--refill"]) == 0
    out, err = capsys.readouterr()
    rows = out.splitlines()
    assert "greedy, file" in rows
    assert "beam4, one sentence at a time" in rows
    assert any(r.startswith("* headway     float32  2 x 1 batch 64 ") for r in rows)
    assert any(r.startswith("! headway     int8 ") for r in rows)
    assert "  1.00 times the peer's best (* best of its side, ! does not count)" in rows
    assert any("sentences longest first: 50 tokens/s with refill" in r for r in rows)
    assert "Note: greedy, file: headway int8" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"peers": ["ctranslate"]}, r"There is no peer 'ctranslate'\. Did you mean 'ctranslate2'"),
        ({"precisions": ["int4"]}, r"There is no precision 'int4'\. Did you mean 'int8'"),
        ({"peer_precisions": ["bfloat16"]}, r"There is no precision 'bfloat16'"),
        ({"searches": ["bean4"]}, r"There is no search 'bean4'\. Did you mean 'beam4'"),
        ({"batches": [0, 64]}, r"The batches are 0, 64; each must be 1 or more"),
        ({"batches": []}, r"The batches are none; each must be 1 or more"),
        ({"tokenize": "13b"}, r"no tokenization '13b'"),
        ({"size": "tiny"}, r"There is both a model and a size\. Give a model, or a size"),
        ({"model": None}, r"There is neither a model nor a size"),
        ({"model": None, "size": "bass"}, r"There is no size 'bass'\. Did you mean 'base'"),
        (
            {"model": None, "size": "base", "reference": "test.de"},
            r"references for a model with random weights",
        ),
        ({}, r"There is no built-in text for a model from English to German"),
    ],
    ids=str,
)
def test_errors_come_before_the_work(
    bundle_path: Path, arguments: dict[str, Any], message: str
) -> None:
    arguments = {"model": bundle_path, **arguments}
    with pytest.raises(ConfigError, match=message):
        compare_translation(**arguments)


def test_a_list_of_numbers(bundle_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "translate", str(bundle_path), "--batch", "1,x"]) == 2
    assert "'1,x' is not a list of numbers" in capsys.readouterr().err


def test_a_peer_that_is_not_installed(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[ctranslate2\]'"):
        prepare_ctranslate2(str(exported), "float32", 1, 1, TEXT)


def test_a_precision_that_cannot_be_computed_is_left_out_unless_asked_for(
    pretended: type[Pretended], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, warm_up: int) -> None:
        raise ConfigError("No product of integers.", "Use float32.")

    monkeypatch.setattr(translating, "Contestant", refuse)
    with ExitStack() as stack:
        field = Field(stack, Path(), Path(), TEXT)
        (note,) = field.start([Entrant(OURS, "int8")], ["float32"], lambda text: None)
        assert note == "headway int8 is not measured: No product of integers. Use float32."
        with pytest.raises(ConfigError, match="No product"):
            field.start([Entrant(OURS, "int8")], ["float32", "int8"], lambda text: None)


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)
