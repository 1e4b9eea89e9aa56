"""`Translator.search`: a translation with its tree, as text and as JSON."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.shortlist import learn_shortlist
from headway.data.tokenizer import END_ID, train_tokenizer
from headway.decoding.attention import AttentionReader
from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.decoding.search_recorder import SearchRecorder
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError
from headway.model.transformer import Transformer

TEXT = ["나는 학생입니다.", "너는 집에 갑니다.", "I am a student.", "You go to school. I go home."]
SOURCE = "나는 집에 갑니다."


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    tokenizer = train_tokenizer(TEXT, kind="bpe", vocabulary_size=70)
    architecture = {
        "d_model": 12, "d_ff": 17, "num_heads": 2, "num_encoder_layers": 1,
        "num_decoder_layers": 1,
    }  # fmt: skip
    config = Architecture.parse(architecture).with_vocabulary(len(tokenizer))
    torch.manual_seed(3)
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    pairs = [(tokenizer.encode(TEXT[0]), tokenizer.encode(TEXT[2]))]
    shortlist = learn_shortlist(pairs, tokenizer, tokenizer, frequent=4, per_piece=3)
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=4, max_source_pieces=24)
    return Bundle(config, model.eval(), tokenizer, tokenizer, decoding, shortlist=shortlist)


OPTIONS = [
    SearchOptions(1),
    SearchOptions(3, n_best=2),
    SearchOptions(3, shortlist=True),
    SearchOptions(2, coverage_penalty=0.3),
    SearchOptions(2, prefix_bias=0.8),
    SearchOptions(2, repetition_penalty=1.3, no_repeat_ngram=2, min_length=3),
]


@pytest.mark.parametrize("engine", ["packed", "reference"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"beam {o.beam_size}")
@pytest.mark.parametrize(
    "wishes", [{}, {"prefix": "I am"}, {"terms": ["school"]}, {"banned": ["a"]}], ids=str
)
def test_a_recorded_search_is_the_search(
    bundle: Bundle, engine: Any, options: SearchOptions, wishes: dict[str, Any]
) -> None:
    translator = TextTranslator(bundle, engine)

    record = translator.search(SOURCE, options=options, **wishes)

    assert record.translation == translator.translate(
        SOURCE, mend_runaways=False, options=options, **wishes
    )
    best = record.best
    assert record.pieces(best.number) == record.translation.pieces
    assert (best.score, best.complete) == (record.translation.score, record.translation.complete)
    for number, hypothesis in zip(record.ranking, record.translation.hypotheses, strict=False):
        assert record.pieces(number) == hypothesis.pieces
        assert record.nodes[number].total == hypothesis.log_prob
    assert record.options == options
    assert record.source_pieces[-1] == "</s>"


def test_the_tree_can_be_walked(bundle: Bundle) -> None:
    record = TextTranslator(bundle).search(SOURCE, options=SearchOptions(3, n_best=3))

    walked = list(record.walk())
    assert sorted(node.number for node in walked) == list(range(len(record.nodes)))
    seen = {0}
    for node in walked[1:]:
        assert node.parent in seen
        seen.add(node.number)
        assert node in record.children(node.parent or 0)
        path = record.path(node.number)
        assert [n.step for n in path] == list(range(1, node.step + 1))
        assert path[-1] == node
        assert sum(n.log_prob for n in path) == pytest.approx(node.total, abs=1e-12)
    assert record.path(0) == []
    assert record.pieces(0) == ()
    for node in record.nodes:
        totals = [child.total for child in record.children(node.number)]
        assert totals == sorted(totals, reverse=True)


def test_the_outline_has_a_line_for_each_node(bundle: Bundle) -> None:
    record = TextTranslator(bundle).search(SOURCE, options=SearchOptions(2, n_best=2))

    first, *lines = record.outline().split("\n")
    assert first == " ".join(record.source_pieces)
    nodes = list(record.walk())[1:]
    assert len(lines) == len(nodes)
    for line, node in zip(lines, nodes, strict=True):
        assert line.startswith("  " * node.step + f"{node.piece}  {node.log_prob:.3f}  sum")
        ended = (
            f"#{record.ranking.index(node.number) + 1}, score {node.score:.3f}"
            if (node.score is not None)
            else ""
        )
        assert line.endswith(ended)


def test_json_has_every_number_and_only_finite_ones(bundle: Bundle) -> None:
    record = TextTranslator(bundle).search(SOURCE, candidates=3, prefix="I")

    values = json.loads(json.dumps(record.as_dict(), allow_nan=False))

    assert [node["total"] for node in values["nodes"]] == [node.total for node in record.nodes]
    assert values["steps"][0][0]["candidates"][0]["probability"] == (
        record.steps[0][0].candidates[0].probability
    )
    assert [len(step) for step in values["steps"]] == [len(step) for step in record.steps]
    assert values["ranking"] == list(record.ranking)
    assert values["translation"]["text"] == record.translation.text
    assert values["options"]["beam_size"] == 2
    fates = {c["fate"] for step in values["steps"] for e in step for c in e["candidates"]}
    assert fates == {"kept", "finished", "pruned", "forbidden"}


def test_a_shortlist_is_a_vocabulary_of_its_own(bundle: Bundle) -> None:
    translator = TextTranslator(bundle)
    whole = translator.search(SOURCE)
    short = translator.search(SOURCE, options=SearchOptions(2, shortlist=True))

    assert whole.vocabulary_size == len(bundle.target_tokenizer)
    assert short.vocabulary_size < whole.vocabulary_size
    for record in (whole, short):
        for candidate in record.steps[0][0].candidates:
            assert candidate.piece == bundle.target_tokenizer.piece(candidate.piece_id)


class CallNames:
    """An observer that writes down which of its methods are called."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **named: self.names.append(name)


ONE_HYPOTHESIS = "begin( look decide)+"
BEAM = "begin( look( offer){1,3} rank( end){0,3} go_on)+ finish"


@pytest.mark.parametrize(
    ("options", "terms", "calls"),
    [
        (SearchOptions(1), [], ONE_HYPOTHESIS),
        (SearchOptions(1, sampling=Sampling(seed=1)), [], ONE_HYPOTHESIS),
        (SearchOptions(3, n_best=3), [], BEAM),
        # Without an observer this beam drops hypotheses that cannot win.
        (SearchOptions(3, length_penalty=0), [], BEAM),
        (SearchOptions(3, coverage_penalty=0.3), [], BEAM),
        (SearchOptions(1), [[8]], BEAM),
        (SearchOptions(3), [[8], [12, 9]], BEAM),
    ],
    ids=["greedy", "sampling", "beam", "dropping", "coverage", "term", "terms"],
)
@torch.inference_mode()
def test_an_observer_changes_nothing_and_is_called_in_order(
    bundle: Bundle, options: SearchOptions, terms: list[list[int]], calls: str
) -> None:
    attend = AttentionReader([bundle.model])
    observer = CallNames()
    searches = [
        build_search(options, attend=attend, terms=bool(terms), observer=observer),
        build_search(options, attend=attend, terms=bool(terms)),
    ]

    observed, plain = (
        list(
            run_search(
                StepwiseBatch(build_engine(bundle.model, "reference"), search, 1),
                [(0, Request([6, 9, 11, END_ID], 7, terms=terms))],
                slots=1,
            )
        )
        for search in searches
    )

    assert observed == plain
    assert re.fullmatch(calls, " ".join(observer.names)), observer.names


def test_a_translation_keeps_no_record(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("only an observer needs this")

    for name in ("_ranks", "_live"):
        monkeypatch.setattr(f"headway.decoding.beam.{name}", refuse)
    monkeypatch.setattr(SearchRecorder, "look", refuse)
    translator = TextTranslator(bundle, "reference")
    for options in (*OPTIONS, SearchOptions(1, sampling=Sampling())):
        assert translator.translate(SOURCE, options=options).pieces
        with pytest.raises(AssertionError, match="only an observer"):
            translator.search(SOURCE, options=options)


@pytest.mark.parametrize(
    ("text", "wishes", "message"),
    [
        (
            SOURCE,
            {"options": SearchOptions(n_best=2, sampling=Sampling())},
            "several samples are drawn",
        ),
        (SOURCE, {"options": SearchOptions(4, groups=2)}, "Leave out groups and terms"),
        (SOURCE, {"candidates": 0}, "candidates is 0, but must be at least 1"),
        ("", {}, "has 0 parts, but a record of a search is for one"),
        ("나는 집에 갑니다. " * 9, {}, r"has \d parts, but a record of a search is for one"),
    ],
)
def test_what_cannot_be_recorded_is_said(
    bundle: Bundle, text: str, wishes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        TextTranslator(bundle).search(text, **wishes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prefix", [None, "I am"])
def test_a_sample_is_recorded(bundle: Bundle, seed: int, prefix: str | None) -> None:
    translator = TextTranslator(bundle, engine="reference")
    sampling = Sampling(temperature=3.0, seed=seed)
    options = SearchOptions(1, sampling=sampling, no_repeat_ngram=2)
    record = translator.search(SOURCE, options=options, prefix=prefix, candidates=3)
    assert record.translation == translator.translate(SOURCE, options=options, prefix=prefix)
    path = record.path(record.ranking[0])
    assert len(path) == len(record.steps) == len(record.nodes) - 1
    for node, (expansion,) in zip(path, record.steps, strict=True):
        (taken,) = [c for c in expansion.candidates if c.node == node.number]
        assert (taken.rank, taken.fate, taken.piece) == (1, node.fate, node.piece)
        assert taken.log_prob == node.log_prob
        shares = [candidate.probability for candidate in expansion.candidates]
        assert sum(shares) + expansion.other_probability == pytest.approx(1)
    assert record.best.total == pytest.approx(sum(node.log_prob for node in path))


@pytest.mark.parametrize(
    "options",
    [SearchOptions(1), SearchOptions(3), SearchOptions(1, sampling=Sampling(seed=1))],
    ids=["greedy", "beam", "sampling"],
)
def test_a_watcher_hears_all_of_the_record_in_order(bundle: Bundle, options: SearchOptions) -> None:
    heard: list[Any] = []

    class Ear:
        def read(self, request: Request, /) -> None:
            heard.append(request.source_ids)

        def step(self, expansions: Any, nodes: Any, /) -> None:
            heard.append((expansions, nodes))

    translator = TextTranslator(bundle, engine="reference")
    record = translator.search(SOURCE, options=options, watcher=Ear())
    assert record == translator.search(SOURCE, options=options)
    source_ids, *steps = heard
    assert tuple(bundle.source_tokenizer.pieces(source_ids)) == record.source_pieces
    assert tuple(expansions for expansions, _ in steps) == record.steps
    nodes = [node for _, made in steps for node in made]
    assert [(n.number, n.parent, n.piece) for n in nodes] == [
        (n.number, n.parent, n.piece) for n in record.nodes[1:]
    ]
