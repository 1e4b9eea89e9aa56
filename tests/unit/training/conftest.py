"""A vocabulary of six words, a model of two layers, and runs that take a fifth of a second."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.model import Architecture
from headway.config.run import RunConfig, parse_run_config
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.model.transformer import Transformer
from headway.training.compiling import CompiledLayers
from headway.training.encode import EncodedTexts, encode_texts
from headway.training.reporting import Reporter
from headway.training.texts import Texts, read_texts
from headway.training.tokenizers import find_tokenizers

WORDS = ["one", "two", "three", "four", "five", "six"]

MakeConfig = Callable[..., RunConfig]
Encoded = tuple[Texts, tuple[Tokenizer, Tokenizer], EncodedTexts]

TWO = {
    "source": "",
    "target": "",
    "tag": "<back>",
    "corpora": [
        {"source": "train.source", "target": "train.target", "tag": "<back>"},
        {"source": "valid.source", "target": "valid.target", "tag": "<same>", "weight": 2.0,
         "reverse": True},
    ],
}  # fmt: skip
CHARACTERS = {"kind": "unigram", "vocabulary_size": 22, "sampling": 0.3}


def encode(config: RunConfig) -> Encoded:
    """Return the text of a run, its tokenizers, and the text as ids."""
    texts = read_texts(config.data)
    tokenizers = find_tokenizers(config, texts).sides
    sampled = config.tokenizer.sampling is not None
    encoded = encode_texts(texts, *tokenizers, config.data, keep_texts=sampled)
    return texts, tokenizers, encoded


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer([" ".join(WORDS)], kind="word", vocabulary_size=30)


@pytest.fixture
def bundle(tokenizer: Tokenizer) -> Bundle:
    torch.manual_seed(3)
    architecture = Architecture(
        d_model=12, d_ff=20, num_heads=2, num_encoder_layers=1, num_decoder_layers=2, dropout=0.2
    )
    config = architecture.with_vocabulary(tokenizer.vocabulary_size)
    return Bundle(config, Transformer.from_config(config), tokenizer, tokenizer)


@pytest.fixture
def model(bundle: Bundle) -> Transformer:
    return bundle.model


@pytest.fixture
def pairs() -> list[EncodedPair]:
    """Return 23 pairs of 1 to 6 words; the target is the source backwards."""
    rng = random.Random(7)
    sources = [[rng.randint(4, 9) for _ in range(rng.randint(1, 6))] for _ in range(23)]
    return [EncodedPair(ids, ids[::-1], line) for line, ids in enumerate(sources, 1)]


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """Write 31 training and 7 validation pairs of words."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = random.Random(5)
    for name, count in (("train", 31), ("valid", 7)):
        lines = [[rng.choice(WORDS) for _ in range(rng.randint(1, 5))] for _ in range(count)]
        if name == "train":
            lines.append(WORDS)
        for side, order in (("source", 1), ("target", -1)):
            text = "".join(" ".join(words[::order]) + "\n" for words in lines)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")
        # Other words, and as many of them: a vocabulary of the same size.
        (folder / f"{name}.capitals").write_text(text.upper(), encoding="utf-8")
    return folder


@pytest.fixture
def make_config(data_folder: Path) -> MakeConfig:
    """Return a maker of small configurations: `make_config(training={"max_steps": 3})`."""

    def make(**changes: dict[str, Any]) -> RunConfig:
        values: dict[str, dict[str, Any]] = {
            "data": {
                "directory": str(data_folder),
                "source": "train.source",
                "target": "train.target",
                "valid_source": "valid.source",
                "valid_target": "valid.target",
            },
            "tokenizer": {"kind": "word", "vocabulary_size": 30},
            "model": {
                "d_model": 12,
                "d_ff": 20,
                "num_heads": 2,
                "num_encoder_layers": 1,
                "num_decoder_layers": 2,
            },
            "training": {
                "max_steps": 12,
                "batch_tokens": 40,
                "warmup_steps": 4,
                "validate_every_steps": 4,
                "validation_sentences": 2,
                "checkpoint_every_steps": 3,
                "average_checkpoints": 2,
                "precision": "float32",
            },
            "decoding": {"max_extra_pieces": 3, "beam_size": 2},
        }
        for section, settings in changes.items():
            values.setdefault(section, {}).update(settings)
        return parse_run_config(values)

    return make


@pytest.fixture
def quiet() -> Reporter:
    return Reporter(quiet=True)


@pytest.fixture
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the picture, which takes longer than all the rest of a small run."""
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[CompiledLayers]:
    """Return a list into which go all layers that are to be compiled; what they call is eager."""
    made: list[CompiledLayers] = []

    def recorded(model: Transformer) -> CompiledLayers:
        made.append(CompiledLayers(model, "eager"))
        return made[-1]

    monkeypatch.setattr("headway.training.objective.CompiledLayers", recorded)
    monkeypatch.setattr("headway.training.settings.require_compiler", lambda device: None)
    return made
