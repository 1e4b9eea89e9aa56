"""Tokenizers are those that are given, or trained on the text of the run."""

from pathlib import Path
from typing import Any

import pytest

from headway.config.data import TokenizerConfig
from headway.data.corpus import Pair
from headway.data.tokenizer import Tokenizer, VocabularyTooLargeError
from headway.errors import ConfigError
from headway.training.texts import read_texts
from headway.training.tokenizers import build_tokenizers, find_tokenizers

from .conftest import MakeConfig


def test_a_joint_tokenizer_is_one_and_separate_ones_know_their_side(
    make_config: MakeConfig,
) -> None:
    train = [Pair("one two", "eins zwei"), Pair("three", "drei")]

    joint = build_tokenizers(make_config().tokenizer, train, seed=1)
    source, target = build_tokenizers(
        make_config(tokenizer={"joint": False}).tokenizer, train, seed=1
    )

    assert joint[0] is joint[1]
    assert joint[0].vocabulary_size == 4 + 6  # special ones, words
    assert source.decode(source.encode("one two three")) == "one two three"
    assert source.unknown_count(source.encode("eins")) == 1
    assert target.decode(target.encode("eins zwei drei")) == "eins zwei drei"


def test_given_tokenizers_are_used(
    make_config: MakeConfig, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    (tmp_path / "mine.model").write_bytes(tokenizer.to_bytes())
    path = str(tmp_path / "mine.model")
    joint = make_config(tokenizer={"source_model": path})
    separate = make_config(tokenizer={"source_model": path, "target_model": path, "joint": False})

    assert build_tokenizers(joint.tokenizer, [], seed=1) == (tokenizer, tokenizer)
    assert build_tokenizers(separate.tokenizer, [], seed=1) == (tokenizer, tokenizer)


@pytest.mark.parametrize("joint", [True, False])
def test_a_size_that_is_not_set_is_at_most_what_the_text_gives(
    make_config: MakeConfig, *, joint: bool
) -> None:
    config = make_config()
    unset = TokenizerConfig(kind="bpe", joint=joint)
    config = config.model_copy(update={"tokenizer": unset})
    texts = read_texts(config.data)

    found = find_tokenizers(config, texts)

    assert found.largest == found.sides[0].vocabulary_size == found.sides[1].vocabulary_size < 8000
    assert found.notes == [
        f"This text gives at most {found.largest} tokens, so the vocabulary has as many, not "
        "8,000, the default of tokenizer.vocabulary_size."
    ]
    assert found.as_found(config).tokenizer.vocabulary_size == found.largest
    again = find_tokenizers(found.as_found(config), texts)
    assert (again.sides, again.notes) == (found.sides, [])
    # A size that is set is refused, and so is one more than the largest.
    for size in (8000, found.sides[0].vocabulary_size + 1):
        with pytest.raises(VocabularyTooLargeError):
            find_tokenizers(
                config.model_copy(update={"tokenizer": unset.replace({"vocabulary_size": size})}),
                texts,
            )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_model": "a", "joint": False}, "target_model is missing"),
        ({"target_model": "a", "joint": False}, "target_model is given, but would not be used"),
        ({"source_model": "a", "target_model": "b"}, "would not be used"),
    ],
    ids=["source-alone", "target-alone", "joint"],
)
def test_half_a_pair_of_tokenizers_is_refused(
    make_config: MakeConfig, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_tokenizers(make_config(tokenizer=settings).tokenizer, [], seed=1)


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "separate"])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_new_pieces_are_in_every_tokenizer_and_in_its_size(
    make_config: MakeConfig, tmp_path: Path, kind: str, joint: bool
) -> None:
    words = "one two three four five six"
    train = [Pair(f"<2de> {words}", words), Pair(f"<2fr> {words}", "two of three")]
    new = {"new_pieces": ["<2de>", "mRNA"], "kind": kind, "joint": joint, "vocabulary_size": 24}
    config = make_config(tokenizer=new).tokenizer

    trained = build_tokenizers(config, train, seed=1)

    given = {"source_model": "source.model", "target_model": "" if joint else "target.model"}
    for side, tokenizer in zip(("source", "target"), trained, strict=True):
        (tmp_path / f"{side}.model").write_bytes(tokenizer.to_bytes())
    more = {key: str(tmp_path / name) if name else "" for key, name in given.items()}
    larger = config.replace(more | {"new_pieces": ["<2de>", "<2la>"]})

    for tokenizer in (*trained, *build_tokenizers(larger, [], seed=1)):
        cut = tokenizer.pieces(tokenizer.encode("<2de> one"))
        assert "".join(cut[:2]).startswith("▁<2de>")
        assert {"<2de>", "▁<2de>"} & set(cut)
    for tokenizer in trained:
        assert tokenizer.vocabulary_size <= 24
    assert trained[0].vocabulary_size == 24 or kind in ("word", "char")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_new_pieces_leave_room_for_text(make_config: MakeConfig, kind: str) -> None:
    pieces = [f"<{number}>" for number in range(8)]
    settings = {"kind": kind, "vocabulary_size": 12, "new_pieces": pieces}
    with pytest.raises(ConfigError, match=r"is 12, but 8 new tokens, .* need 13"):
        build_tokenizers(make_config(tokenizer=settings).tokenizer, [Pair("aaa", "a")] * 3, 1)

    larger = make_config(tokenizer=settings | {"vocabulary_size": 14}).tokenizer
    (joint, _) = build_tokenizers(larger, [Pair("aaa", "a")] * 3, 1)
    assert joint.vocabulary_size == 14


def test_a_kind_that_a_given_model_of_pieces_has_not_is_said_to_be_unused(
    make_config: MakeConfig, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    path = tmp_path / "words.model"
    path.write_bytes(tokenizer.to_bytes())

    def remarks(**settings: Any) -> list[str]:
        config = make_config(tokenizer=settings)
        found = find_tokenizers(config, read_texts(config.data))
        assert found.sides == (tokenizer, tokenizer)
        return found.remarks

    model = {"source_model": str(path), "vocabulary_size": len(tokenizer)}
    assert remarks(**model, kind="word", sampling=0.1) == []
    assert remarks(**model, kind="bpe", sampling=0.1) == [
        f"tokenizer.kind 'bpe' is not used: {path} is of kind 'word', "
        "and so is its sampling at 0.1."
    ]
    target_path = tmp_path / "target.model"
    target_path.write_bytes(tokenizer.to_bytes())
    models = model | {"target_model": str(target_path), "joint": False}
    assert remarks(**models, kind="bpe") == [
        f"tokenizer.kind 'bpe' is not used: {name} is of kind 'word'."
        for name in (path, target_path)
    ]
    unused = "tokenizer.vocabulary_size, tokenizer.byte_fallback"
    assert remarks(**(models | {"vocabulary_size": 8000}), byte_fallback=True) == [
        f"Not used, because {path} and {target_path} are given: {unused}."
    ]


def test_a_trained_tokenizer_is_summed_up(make_config: MakeConfig, data_folder: Path) -> None:
    config = make_config(tokenizer={"sample_pairs": 20})
    for side, more in (("source", "\n\n"), ("target", " \none\n")):
        with (data_folder / f"train.{side}").open("a") as file:
            file.write(more)  # a blank pair, which gives the tokenizer no text, and half a pair

    found = find_tokenizers(config, read_texts(config.data))

    assert found.remarks == [
        "Tokenizer: word, 30 tokens, trained on the text of 33 pairs, 20 of them sampled, before "
        "any is dropped."
    ]
