"""Searches on another device find what they find on the CPU."""

from pathlib import Path

import pytest
import torch

import headway
from headway import Sampling, SearchOptions, Translation, Translator
from headway.decoding.build_engine import EngineName, PrecisionName

SENTENCES = ["one two three", "seven", "", "six six one two five four", "two three nine"]

SEARCHES = {
    "greedy": SearchOptions(1, min_length=2),
    "beam": SearchOptions(4, n_best=3, length_penalty=1.0, patience=1.5),
    "groups": SearchOptions(4, groups=2, n_best=4),
    "coverage": SearchOptions(3, coverage_penalty=0.3),
    "rules": SearchOptions(3, repetition_penalty=1.3, no_repeat_ngram=2, max_length=5),
    "sampling": SearchOptions(n_best=3, sampling=Sampling(seed=5, top_k=6, min_p=0.01)),
    "prefix bias": SearchOptions(2, prefix_bias=0.4),
}


@pytest.fixture(scope="module")
def here(runs: dict[str, Path]) -> Translator:
    return headway.load(runs["cpu"], "cpu")


@pytest.fixture(scope="module", params=["packed", "reference"])
def there(runs: dict[str, Path], device: str, request: pytest.FixtureRequest) -> Translator:
    return headway.load(runs["cpu"], device, engine=request.param)


def assert_same(ours: Translation, theirs: Translation) -> None:
    for mine, other in zip(ours.hypotheses, theirs.hypotheses, strict=True):
        assert mine.pieces == other.pieces
        assert mine.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize("search", SEARCHES)
def test_texts_and_scores(here: Translator, there: Translator, search: str) -> None:
    options = SEARCHES[search]
    prefix = "two one" if search == "prefix bias" else None
    for ours, theirs in zip(
        there.translate(SENTENCES, options=options, prefix=prefix),
        here.translate(SENTENCES, options=options, prefix=prefix),
        strict=True,
    ):
        assert_same(ours, theirs)


def test_what_must_and_must_not_occur(here: Translator, there: Translator) -> None:
    for wishes in ({"terms": ["four"]}, {"banned": ["one"]}, {"prefix": "five"}):
        for ours, theirs in zip(
            there.translate(SENTENCES, **wishes), here.translate(SENTENCES, **wishes), strict=True
        ):
            assert_same(ours, theirs)


def test_attention_and_alignment(here: Translator, there: Translator) -> None:
    ours, theirs = (t.translate(SENTENCES[3], attention=True) for t in (there, here))
    for some, others in zip(ours.attentions, theirs.attentions, strict=True):
        torch.testing.assert_close(some.weights, others.weights, rtol=0, atol=1e-4)
    assert ours.alignment == theirs.alignment


def test_a_stream_an_alternative_and_a_record(here: Translator, there: Translator) -> None:
    for text in filter(None, SENTENCES):
        assert "".join(there.stream(text)) == "".join(here.stream(text))
        ours, theirs = (t.alternatives(text, count=3) for t in (there, here))
        assert [a.piece for a in ours] == [a.piece for a in theirs]
        assert [a.probability for a in ours] == pytest.approx(
            [a.probability for a in theirs], abs=1e-4
        )
        assert_same(*(t.search(text).translation for t in (there, here)))


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_an_ensemble(runs: dict[str, Path], device: str, engine: EngineName) -> None:
    bundles = runs["cpu"] / "best", runs["there"] / "averaged"
    ours, theirs = (
        headway.load(bundles[0], where, engine=engine, ensemble=bundles[1:])
        for where in (device, "cpu")
    )
    for some, others in zip(ours.translate(SENTENCES), theirs.translate(SENTENCES), strict=True):
        assert_same(some, others)


@pytest.mark.parametrize("precision", ["bfloat16", "auto"])
def test_other_precisions_translate(
    here: Translator, runs: dict[str, Path], device: str, precision: PrecisionName
) -> None:
    rounded = headway.load(runs["cpu"], device, precision=precision)
    options = SearchOptions(1)
    for ours, theirs in zip(
        rounded.translate(SENTENCES, options=options),
        here.translate(SENTENCES, options=options),
        strict=True,
    ):
        assert ours.pieces == theirs.pieces
        assert ours.score == pytest.approx(theirs.score, abs=0.05)


def test_int8_is_refused(runs: dict[str, Path], device: str) -> None:
    with pytest.raises(headway.HeadwayError, match="int8 is for the CPU"):
        headway.load(runs["cpu"], device, precision="int8")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_models_in_other_types_translate(
    here: Translator, runs: dict[str, Path], device: str, dtype: torch.dtype
) -> None:
    bundle = headway.load_bundle(runs["cpu"], device)
    bundle.model.to(dtype)
    found = Translator(bundle).translate(SENTENCES)
    exact = here.translate(SENTENCES)
    if dtype == torch.float64:
        assert [f.pieces for f in found] == [e.pieces for e in exact]
    assert [f.score for f in found] == pytest.approx([e.score for e in exact], abs=0.1)
