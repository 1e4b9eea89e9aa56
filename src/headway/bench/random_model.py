"""Models of known sizes with random weights, for a comparison of speed without a trained model.

An untrained model does not end its translations, so both sides are to write as many tokens as a
sentence has on average. The vocabulary is that of the sentences, and of invented words.
"""

import random
import string
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from headway.bench.material import Material, material_of
from headway.bench.work import SIZES, Size
from headway.bundle import Bundle
from headway.config.model import Activation, Architecture
from headway.data.corpus import Pair
from headway.data.lines import read_lines
from headway.data.tokenizer import train_tokenizer
from headway.errors import ConfigError, suggest
from headway.model.transformer import Transformer
from headway.sample_corpus import build_sample_corpus

_SEED = 1
_INVENTED = 70_000  # words of seven letters, more than any of these vocabularies has


@dataclass(frozen=True, slots=True)
class RandomModel:
    """The sizes of a model with random weights."""

    size: Size
    vocabulary: int
    activation: Activation = "relu"
    output_bias: bool = False

    def build(self, sentences: Sequence[str]) -> Bundle:
        """Return a bundle whose vocabulary has all characters of these sentences."""
        draw = random.Random(_SEED)
        invented = ("".join(draw.choices(string.ascii_lowercase, k=7)) for _ in range(_INVENTED))
        tokenizer = train_tokenizer(
            [*sentences, *invented], kind="bpe", vocabulary_size=self.vocabulary
        )
        sizes = asdict(self.size)
        layers = sizes.pop("num_layers")
        config = Architecture.parse(
            sizes
            | {"num_encoder_layers": layers, "num_decoder_layers": layers}
            | {"activation": self.activation, "output_bias": self.output_bias}
        ).with_vocabulary(len(tokenizer))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_SEED)
            model = Transformer.from_config(config).eval()
        return Bundle(config, model, tokenizer, tokenizer)


RANDOM_MODELS = {
    "tiny": RandomModel(SIZES["tiny"], 8000),
    "base": RandomModel(SIZES["base"], 8000),
    "opus-mt": RandomModel(SIZES["base"], 58_000, "silu", output_bias=True),
}


def random_bundle(
    name: str, source: str | Path | None, count: int | None = None
) -> tuple[Bundle, Material]:
    """Return a bundle of this size, and the first `count` sentences for it to translate.

    Without a file, the sentences are the English ones of the built-in corpus. Raises ConfigError
    for an unknown size.
    """
    if name not in RANDOM_MODELS:
        raise ConfigError(f"There is no size '{name}'.", suggest(name, RANDOM_MODELS))
    lines = _sample() if source is None else [*read_lines(source)]
    bundle = RANDOM_MODELS[name].build(lines[:count])
    pairs = [Pair(line, "") for line in lines[:count]]
    material = material_of(bundle, pairs, has_references=False)
    sentences = material.text.sentences
    lengths = [len(ids) for ids in bundle.source_tokenizer.encode_batch(sentences)]
    mean = max(round(sum(lengths) / len(lengths)), 1)
    return bundle, replace(material, text=replace(material.text, length=mean))


def _sample() -> list[str]:
    corpus = build_sample_corpus()
    return [pair.english for pair in (*corpus.test_unseen, *corpus.test_compositional)]
