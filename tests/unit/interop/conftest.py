"""Small bundles with random weights, for every other form of the model."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.model.transformer import Transformer

MakeBundle = Callable[..., Bundle]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """Return a tokenizer of 23 pieces, as many as the small model has."""
    return train_tokenizer(["abcdefghijklmnopqr"], kind="char", vocabulary_size=23)


@pytest.fixture(scope="session")
def make_bundle(
    build: Callable[..., Transformer], sizes: dict[str, Any], tokenizer: Tokenizer
) -> MakeBundle:
    """Return a function that makes a bundle of a small model with noise in every weight."""

    def make(seed: int = 0, **changes: Any) -> Bundle:
        config = ModelConfig.parse(sizes | changes)
        return Bundle(config, build(seed, **changes), tokenizer, tokenizer)

    return make
