"""Models with random weights: the sizes asked for, the same weights each time, and all the text."""

from pathlib import Path

import pytest
import torch

from headway.bench import random_model
from headway.bench.random_model import RANDOM_MODELS, RandomModel, random_bundle
from headway.bench.work import Size
from headway.errors import DataError
from headway.sample_corpus.corpus import SampleCorpus, SamplePair

LINES = ["the cat sat", "", "a dög ran far away"]
SMALL = RandomModel(Size(2, 12, 20, 3), vocabulary=150, activation="silu", output_bias=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RANDOM_MODELS, "tiny", SMALL)
    monkeypatch.setattr(random_model, "_INVENTED", 500)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_the_model_has_the_sizes_and_the_text_no_unknown_token(source: Path) -> None:
    bundle, material = random_bundle("tiny", source)
    config = bundle.config
    assert (config.d_model, config.d_ff, config.num_heads) == (12, 20, 3)
    assert (config.num_encoder_layers, config.num_decoder_layers) == (2, 2)
    assert (config.activation, config.target_vocab_size) == ("silu", 150)
    assert bundle.model.output_projection.bias is not None
    assert material.text.sentences == (LINES[0], LINES[2])
    assert (material.blank, material.references) == (1, None)
    ids = [bundle.source_tokenizer.encode(line) for line in material.text.sentences]
    assert [bundle.source_tokenizer.unknown_count(each) for each in ids] == [0, 0]
    assert material.text.length == round(sum(map(len, ids)) / 2)


def test_the_same_name_gives_the_same_weights_and_draws_nothing_elsewhere(source: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, _ = random_bundle("tiny", source)
    assert torch.equal(torch.rand(2), expected)
    second, _ = random_bundle("tiny", source)
    assert first.source_tokenizer.to_bytes() == second.source_tokenizer.to_bytes()
    weights = second.model.state_dict()
    assert all(torch.equal(value, weights[k]) for k, value in first.model.state_dict().items())


def test_without_a_file_the_sentences_are_those_of_the_built_in_corpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences = [SamplePair(*pair, "") for pair in (("나", "I"), ("너", "you"), ("우리", "we"))]
    corpus = SampleCorpus((), (), tuple(sentences[:1]), tuple(sentences[1:]))
    monkeypatch.setattr(random_model, "build_sample_corpus", lambda: corpus)
    _, material = random_bundle("tiny", None, count=2)
    assert material.text.sentences == ("I", "you")
    assert material.references is None


def test_only_the_first_sentences_count(source: Path) -> None:
    assert random_bundle("tiny", source, count=1)[1].text.sentences == (LINES[0],)


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="There is no text to translate"):
        random_bundle("tiny", path)


def test_the_model_of_opus_mt_has_its_sizes() -> None:
    model = RANDOM_MODELS["opus-mt"]
    assert (model.size, model.vocabulary, model.activation) == (
        Size(6, 512, 2048, 8),
        58_000,
        "silu",
    )
