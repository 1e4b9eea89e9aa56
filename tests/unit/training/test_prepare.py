"""From a configuration to text, tokenizers, ids and a model, or to one clear error."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError, DataError
from headway.training import prepare
from headway.training.encode import encode_texts
from headway.training.prepare import (
    build_bundle,
    build_tokenizers,
    check_positions,
    read_texts,
)
from headway.training.settings import check_settings

MakeConfig = Callable[..., RunConfig]
CPU = torch.device("cpu")


def test_all_files_are_read(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "test.tsv").write_text("one two\ttwo one\n")

    texts = read_texts(make_config(data={"test_source": "test.tsv"}).data)

    assert (len(texts.train), len(texts.valid)) == (32, 7)
    assert texts.test == [Pair("one two", "two one")]
    assert texts.train[-1] == Pair("one two three four five six", "six five four three two one")


@pytest.mark.parametrize("key", ["source", "valid_source"])
def test_a_missing_file_name_is_a_missing_key(make_config: MakeConfig, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"'data\.{key}' is missing\. Name "):
        read_texts(make_config(data={key: ""}).data)


@pytest.mark.parametrize("name", ["train.source", "train.target", "valid.source", "valid.target"])
def test_the_checksum_changes_with_each_file(
    make_config: MakeConfig, data_folder: Path, name: str
) -> None:
    before = read_texts(make_config().data).checksum
    text = (data_folder / name).read_text()
    (data_folder / name).write_text(text.replace("one", "two", 1))

    assert read_texts(make_config().data).checksum != before


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
    with pytest.raises(ConfigError, match=r"is 12, but 8 new pieces, .* need 13"):
        build_tokenizers(make_config(tokenizer=settings).tokenizer, [Pair("aaa", "a")] * 3, 1)

    larger = make_config(tokenizer=settings | {"vocabulary_size": 14}).tokenizer
    (joint, _) = build_tokenizers(larger, [Pair("aaa", "a")] * 3, 1)
    assert joint.vocabulary_size == 14


def test_only_the_training_text_is_cleaned_by_the_rules(make_config: MakeConfig) -> None:
    config = make_config(data={"max_pieces": 3, "drop_identical": True})
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    encoded = encode_texts(texts, *tokenizers, config.data)

    assert all(len(pair.source_ids) <= 3 for pair in encoded.train)
    assert all(pair.source_ids != pair.target_ids for pair in encoded.train)
    assert encoded.report.total == 32
    assert encoded.report.kept == len(encoded.train) < 32
    assert len(encoded.valid) == 7
    assert max(len(pair.source_ids) for pair in encoded.valid) == 3  # cut, not dropped


def test_what_the_tokenizer_makes_of_a_target_is_noted(
    make_config: MakeConfig, data_folder: Path
) -> None:
    config = make_config()
    lines = (data_folder / "train.target").read_text("utf-8").splitlines()
    lines[4] = "eins … zwei"  # nmt_nfkc learns three dots
    (data_folder / "train.target").write_text("\n".join([*lines, ""]), "utf-8")
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    encoded = encode_texts(texts, *tokenizers, config.data)

    assert encoded.report.notes == {"target rewritten by tokenizer.normalization, pair kept": 1}


def test_the_seed_decides_the_first_weights(make_config: MakeConfig, tokenizer: Tokenizer) -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        config = make_config(training={"seed": seed})
        torch.rand(seed)  # whatever was drawn before
        return list(build_bundle(config, tokenizer, tokenizer, CPU).model.parameters())

    for one, two in zip(weights(5), weights(5), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(weights(5)[0], weights(6)[0])


def test_the_seed_reaches_every_random_generator(
    make_config: MakeConfig, tokenizer: Tokenizer
) -> None:
    def draw() -> tuple[float, float, float]:
        build_bundle(make_config(), tokenizer, tokenizer, CPU)
        return random.random(), float(np.random.normal()), float(torch.rand(()))

    assert draw() == draw()


def test_a_bundle_splits_sentences_longer_than_any_in_training(
    make_config: MakeConfig, tokenizer: Tokenizer
) -> None:
    config = make_config(data={"max_pieces": 17})

    bundle = build_bundle(config, tokenizer, tokenizer, CPU)

    assert bundle.decoding.max_source_pieces == 17
    assert bundle.config.source_vocab_size == tokenizer.vocabulary_size


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"best_metric": "bleu", "validation_sentences": 0}}, "does not compute it"),
        (
            {"training": {"best_metric": "bleu"}, "evaluation": {"metrics": ["chrf"]}},
            "best_metric is 'bleu', but validation does not compute it",
        ),
        ({"evaluation": {"metrics": ["blue"]}}, "no metric 'blue'.*Did you mean 'bleu'"),
        ({"evaluation": {"bleu_tokenize": "13b"}}, "no tokenization '13b'.*'13a'"),
    ],
    ids=["no-sentences", "other-metric", "unknown-metric", "unknown-tokenization"],
)
def test_a_metric_that_cannot_be_computed_is_refused(
    make_config: MakeConfig, changes: dict[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_settings(make_config(**changes))


def test_each_file_is_hashed_once(make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    digest = prepare.file_digest

    def counted(path: Path) -> bytes:
        hashed.append(path.name)
        return digest(path)

    monkeypatch.setattr(prepare, "file_digest", counted)

    texts = read_texts(make_config().data)

    assert hashed == ["train.source", "train.target", "valid.source", "valid.target"]
    assert texts.checksum != texts.training_checksum


def test_a_recipe_without_its_text_says_where_to_get_it(make_config: MakeConfig) -> None:
    elsewhere = {"data": {"directory": "no/where"}}
    recipe = {"data_source": "https://example.org/text"}
    with pytest.raises(ConfigError, match=r"no folder no/where.* Get it from https://example.org"):
        check_settings(make_config(**elsewhere, recipe=recipe))
    check_settings(make_config(recipe=recipe))
    sides = ("source", "target", "valid_source", "valid_target")
    absolute = {"data": elsewhere["data"] | {side: f"/text/{side}" for side in sides}}
    check_settings(make_config(**absolute, recipe=recipe))
    with pytest.raises(DataError, match=r"There is no file no/where/"):
        read_texts(make_config(**elsewhere).data)


def test_text_longer_than_a_learned_table_is_refused(make_config: MakeConfig) -> None:
    config = make_config(model={"positions": "learned", "max_positions": 6})
    texts = read_texts(config.data)
    encoded = encode_texts(texts, *build_tokenizers(config.tokenizer, texts.train, 1), config.data)

    with pytest.raises(ConfigError, match=r"max_positions is 6.*takes 7.*max_pieces to 5"):
        check_positions(config.model, encoded)

    check_positions(config.model.replace({"max_positions": 7}), encoded)
    check_positions(config.model.replace({"positions": "sinusoidal"}), encoded)


def test_nothing_left_to_train_on_is_an_error(make_config: MakeConfig, data_folder: Path) -> None:
    config = make_config(data={"max_pieces": 1, "drop_identical": True})
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    with pytest.raises(DataError, match="No pair is left to use"):
        encode_texts(texts, *tokenizers, config.data)


def test_reversed_data_trains_the_other_direction(make_config: MakeConfig) -> None:
    straight = make_config()
    turned = make_config(data={"reverse": True})

    there, back = read_texts(straight.data), read_texts(turned.data)

    assert [(pair.target, pair.source) for pair in there.train] == back.train
    assert turned.data.languages == straight.data.languages[::-1]


def test_columns_of_a_tsv_file_can_be_named(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "three.tsv").write_text("1\tja\tyes\n2\tnein\tno\n", encoding="utf-8")
    names = {"source": "three.tsv", "target": "", "valid_source": "three.tsv", "valid_target": ""}

    config = make_config(data={**names, "source_column": 3, "target_column": 2})

    assert read_texts(config.data).train == [("yes", "ja"), ("no", "nein")]


def test_held_out_pairs_are_not_trained_on(make_config: MakeConfig) -> None:
    whole = read_texts(make_config().data).train
    names = {"valid_source": "", "valid_target": "", "hold_out": 5}

    texts = read_texts(make_config(data=names).data)

    assert len(texts.valid) == 5
    assert not set(texts.valid) & set(texts.train)
    assert set(texts.valid) | set(texts.train) == set(whole)
    assert read_texts(make_config(data=names).data) == texts


def test_pairs_that_equal_a_held_out_one_are_counted(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for side, own in (("source", "one"), ("target", "eins")):
        lines = [own if line % 2 else f"{own} {line}" for line in range(60)]
        (data_folder / f"train.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = make_config(data={"valid_source": "", "valid_target": "", "hold_out": 7})
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    encoded = encode_texts(texts, *tokenizers, config.data)

    assert Pair("one", "eins") in texts.valid
    once = sum(pair == Pair("one", "eins") for pair in texts.valid)
    report = encoded.report
    assert report.dropped == {"equal to a pair that is held out": 30 - once}
    assert (report.total, report.kept) == (60 - 7, 30 - (7 - once)) == (53, len(texts.train))
    assert not {*encoded.train.lines.tolist()} & {*(texts.valid_lines or [])}


def test_holding_everything_out_leaves_nothing_to_train_on(make_config: MakeConfig) -> None:
    names = {"valid_source": "", "valid_target": "", "hold_out": 5000}
    with pytest.raises(ConfigError, match=r"data\.hold_out is 5000"):
        read_texts(make_config(data=names).data)


def test_a_test_target_without_its_source_is_refused(make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=r"data\.test_target' is given.*Name both"):
        read_texts(make_config(data={"test_target": "valid.target"}).data)


def test_what_can_be_read_once_only_is_refused(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "valid.source").unlink()
    os.mkfifo(data_folder / "valid.source")
    with pytest.raises(DataError, match=r"valid\.source is a pipe .*read more than once"):
        read_texts(make_config().data)


def test_a_coverage_that_no_tokenizer_has_is_refused_where_one_is_trained(
    make_config: MakeConfig,
) -> None:
    settings = {"character_coverage": 0.9}
    with pytest.raises(ConfigError, match=r"is 0\.9, but SentencePiece takes 0\.98 to 1"):
        check_settings(make_config(tokenizer=settings))
    check_settings(make_config(tokenizer=settings | {"source_model": "pieces.model"}))


def test_new_pieces_that_cannot_be_are_refused_before_text_is_read(make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.new_pieces has '▁hi'"):
        check_settings(make_config(tokenizer={"new_pieces": ["▁hi"]}))
