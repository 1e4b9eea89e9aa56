"""Translators and bundles with random weights that read Hangul, sizes all different."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture, ModelConfig
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.inspection.translator import Translator
from headway.model.transformer import Transformer

KOREAN = ["나는 학생입니다.", "너는 학교에 갑니다. 나는 집에 갑니다.", "고양이가 매트에 앉았다"]
ENGLISH = ["I am a student.", "You go to school. I go home.", "the cat sat on the mat"]
TEXT = ["나는 너를 본다 .", "너는 나를 보고 있다 !", "I see you .", "you are seeing me !"]
Make = Callable[..., Translator]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, kind="char", vocabulary_size=60)


@pytest.fixture(scope="session")
def make(tokenizer: Tokenizer) -> Make:
    """Return a function that makes a translator; names of decoding settings are settings."""

    def make_translator(
        seed: int = 3, dtype: torch.dtype = torch.float32, **settings: Any
    ) -> Translator:
        torch.manual_seed(seed)
        sizes: dict[str, Any] = {
            "d_model": 14, "d_ff": 19, "num_heads": 3, "d_k": 5, "d_v": 4,
            "num_encoder_layers": 1, "num_decoder_layers": 2,
        }  # fmt: skip
        decoding: dict[str, Any] = {
            "beam_size": 2, "max_extra_pieces": 3, "max_source_pieces": 24,
        }  # fmt: skip
        for key, value in settings.items():
            (decoding if key in DecodingConfig.model_fields else sizes)[key] = value
        config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
        model = Transformer.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        bundle = Bundle(
            config, model.to(dtype).eval(), tokenizer, tokenizer, DecodingConfig.parse(decoding)
        )
        return Translator(bundle, engine="reference")

    return make_translator


@pytest.fixture(scope="session")
def translator(make: Make) -> Translator:
    return make()


@pytest.fixture(scope="session")
def bundle(build: Any) -> Bundle:
    source = train_tokenizer(KOREAN, kind="bpe", vocabulary_size=60)
    target = train_tokenizer(ENGLISH, kind="bpe", vocabulary_size=50)
    changes = {
        "source_vocab_size": len(source), "target_vocab_size": len(target),
        "shared_embeddings": "none", "num_encoder_layers": 3,
    }  # fmt: skip
    model = build(7, **changes)
    config = ModelConfig.parse(
        {
            "d_model": 14, "d_ff": 19, "num_heads": 3, "d_k": 5, "d_v": 4, "num_decoder_layers": 2,
            **changes,
        }
    )  # fmt: skip
    return Bundle(config, model, source, target, DecodingConfig())
