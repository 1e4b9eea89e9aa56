"""A public call does what it says or raises a HeadwayError, whatever it is given."""

import pathlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headway
from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.config.presets import architecture
from headway.data.tokenizer import train_tokenizer
from headway.errors import ConfigError, DataError, HeadwayError
from headway.evaluation.aligning import align_by, align_pairs
from headway.evaluation.alignment_error import alignment_error, best_of, parse_gold, read_gold
from headway.evaluation.scoring import perplexity, score_pairs
from headway.evaluation.shortlists import coverage, effect, with_shortlist
from headway.inspection.ablation import head_importance
from headway.inspection.attribution import attribute
from headway.model.transformer import Transformer

TEXT = "one two"
JUNK: list[Any] = [
    None, 3, 2.5, b"x", pathlib.PurePath("x"), ["a"], [None], [["a b"]], {"a": 1}, {"a"},
    np.array(["a"]), np.array([["a"]]), object(), "nope",
]  # fmt: skip


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    tokenizer = train_tokenizer(["one two three four five a b"], kind="word", vocabulary_size=30)
    config = ModelConfig.parse(
        {
            "d_model": 8,
            "d_ff": 9,
            "num_heads": 2,
            "num_encoder_layers": 1,
            "num_decoder_layers": 2,
            "source_vocab_size": tokenizer.vocabulary_size,
            "target_vocab_size": tokenizer.vocabulary_size,
        }
    )
    torch.manual_seed(3)
    return Bundle(config, Transformer.from_config(config).eval(), tokenizer, tokenizer)


@pytest.fixture(scope="module")
def folder(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    headway.save_bundle(path, bundle)
    return path


@pytest.fixture(scope="module")
def translator(bundle: Bundle) -> headway.Translator:
    return headway.Translator(bundle, "reference")


def refuses_junk(call: Callable[[Any], object]) -> int:
    """Call with each piece of junk; return how many were refused with a HeadwayError."""
    refused = 0
    for junk in JUNK:
        try:
            call(junk)
        except HeadwayError:
            refused += 1
    return refused


TEXTS: dict[str, Callable[[headway.Translator, Any], object]] = {
    "score_texts": lambda t, given: headway.score_texts(given, ["a"]),
    "score_texts references": lambda t, given: headway.score_texts(["a"], given),
    "compare_texts": lambda t, given: headway.compare_texts({"a": given, "b": given}, ["a", "b"]),
    "score_pairs": lambda t, given: score_pairs(t, given, ["a"]),
    "score_pairs targets": lambda t, given: score_pairs(t, ["a"], given),
    "align_pairs": lambda t, given: align_pairs(t, given, ["a"]),
    "align_pairs targets": lambda t, given: align_pairs(t, ["a"], given),
    "head_importance": lambda t, given: head_importance(t, given, ["a"]),
    "with_shortlist": lambda t, given: with_shortlist(t.bundle, given, ["a"]),
    "coverage": lambda t, given: coverage(t.bundle, given, ["a"]),
    "effect": lambda t, given: effect(t, given, ["a"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_a_list_of_them(name: str, translator: headway.Translator) -> None:
    """The list and the array of one text are taken, and nothing else."""
    assert refuses_junk(lambda given: TEXTS[name](translator, given)) >= len(JUNK) - 2


def test_a_translation_of_several_texts_needs_their_order(
    translator: headway.Translator,
) -> None:
    """The list and the array of one text are taken, and a text itself."""
    assert refuses_junk(translator.translate) == len(JUNK) - 3


OTHERS: dict[str, Callable[[headway.Translator, Any], object]] = {
    "metrics": lambda t, given: headway.score_texts(["a"], ["a"], given),
    "tokenize": lambda t, given: headway.score_texts(["a"], ["a"], ["bleu"], given),
    "systems": lambda t, given: headway.compare_texts(given, ["a"]),
    "model": lambda t, given: score_pairs(given, ["a"], ["a"]),
    "perplexity": lambda t, given: perplexity(given),
    "layer": lambda t, given: align_pairs(t, ["a"], ["a"], layer=given),
    "moment": lambda t, given: align_pairs(t, ["a"], ["a"], moment=given),
    "readings": lambda t, given: align_by(t, ["a"], ["a"], given),
    "read_gold": lambda t, given: read_gold(given),
    "parse_gold": lambda t, given: parse_gold(given),
    "alignment_error": lambda t, given: alignment_error(given, given),
    "best_of": lambda t, given: best_of(given),
    "attribute": lambda t, given: attribute(t, given, ["▁one"], place=0),
    "attribute place": lambda t, given: attribute(t, TEXT, TEXT, place=given),
    "Translator": lambda t, given: headway.Translator(given),
    "Translator ensemble": lambda t, given: headway.Translator(t.bundle, ensemble=given),
    "save_bundle": lambda t, given: headway.save_bundle("never", given),
    "train config": lambda t, given: headway.train(given, "never"),
    "load_run_config": lambda t, given: headway.load_run_config(given),
    "overrides": lambda t, given: headway.load_run_config(None, given),
    "trace target": lambda t, given: t.trace(TEXT, given),
    "trace record": lambda t, given: t.trace(TEXT, record=given),
    "pieces": lambda t, given: t.alternatives(TEXT, given),
    "watcher": lambda t, given: t.search(TEXT, watcher=given),
    "explain": lambda t, given: t.trace(TEXT, TEXT).explain(given),
    "load_bundle device": lambda t, given: headway.load_bundle("never", given),
    "Trace.load": lambda t, given: headway.Trace.load(given),
    "architecture": lambda t, given: architecture(given),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments_are_looked_at(
    name: str,
    translator: headway.Translator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refuses_junk(lambda given: OTHERS[name](translator, given)) >= len(JUNK) - 6
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("argument", ["device", "engine", "precision", "ensemble", "change"])
def test_load_looks_at_its_arguments(argument: str, folder: Path) -> None:
    assert refuses_junk(lambda given: headway.load(folder, **{argument: given})) >= len(JUNK) - 1


def test_names_of_files_are_text_or_paths(
    bundle: Bundle, translator: headway.Translator, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = translator.trace(TEXT, TEXT)
    names = [junk for junk in JUNK if not isinstance(junk, (str, pathlib.PurePath))]
    for name in names:
        for call in (
            lambda name: headway.save_bundle(name, bundle),
            lambda name: headway.train(headway.RunConfig(), name),
            headway.load,
            headway.load_bundle,
            trace.save,
            trace.__getitem__,
        ):
            with pytest.raises(HeadwayError):
                call(name)


def test_the_cases_of_the_reports_say_what_was_given(folder: Path, bundle: Bundle) -> None:
    with pytest.raises(DataError, match="hypotheses is a single text"):
        headway.score_texts("I am.", "I am.")
    with pytest.raises(DataError, match=r"references .* is of type list, not text.*list of lists"):
        headway.score_texts(["a b"], [["a b"]])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match=r"ensemble is one path.*ensemble=\['runs/other'\]"):
        headway.load(folder, ensemble=str(folder))
    with pytest.raises(ConfigError, match="out is of type NoneType"):
        headway.train(headway.RunConfig(), None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="folder of a bundle is of type NoneType"):
        headway.save_bundle(None, bundle)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="metrics is the single text 'bleu'"):
        headway.score_texts(["a"], ["a"], "bleu")


def test_arrays_series_and_generators_score_as_lists_do() -> None:
    expected = headway.score_texts(["a b", "c"], ["a b", "d"])

    assert headway.score_texts(np.array(["a b", "c"]), ("a b", "d")) == expected
    assert headway.score_texts((t for t in ["a b", "c"]), iter(["a b", "d"])) == expected
