"""A small bundle on disk, with random weights, and what a comparison needs of it."""

from pathlib import Path

import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.tokenizer import train_tokenizer
from headway.model.transformer import Transformer

LINES = ["the cat sat", "a dog ran far", "the dog sat", "a cat ran", "far, far away"]


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    torch.manual_seed(5)
    tokenizer = train_tokenizer(LINES, kind="char", vocabulary_size=40)
    config = ModelConfig(
        d_model=16,
        d_ff=24,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        source_vocab_size=len(tokenizer),
        target_vocab_size=len(tokenizer),
    )
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    decoding = DecodingConfig(max_extra_pieces=4, max_source_pieces=20)
    return Bundle(config, model, tokenizer, tokenizer, decoding, "English", "German")


@pytest.fixture(scope="session")
def bundle_path(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "tiny"
    save_bundle(path, bundle)
    return path
