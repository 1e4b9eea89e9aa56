"""A small translator with random weights, and its bundle on disk; sizes all different."""

from pathlib import Path

import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.decoding.translator import TextTranslator
from headway.model.transformer import Transformer

TEXT = ["나는 너를 본다 .", "너는 나를 보고 있다 !", "I see you .", "you are seeing me !"]


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    torch.manual_seed(3)
    tokenizer = train_tokenizer(TEXT, kind="char", vocabulary_size=60)
    config = Architecture(
        d_model=14, d_ff=19, num_heads=2, num_encoder_layers=1, num_decoder_layers=2
    ).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=3, max_source_pieces=24)
    return Bundle(
        config, model.eval(), tokenizer, tokenizer, decoding,
        source_language="Korean", target_language="en",
    )  # fmt: skip


@pytest.fixture(scope="session")
def bundle_path(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "small"
    save_bundle(path, bundle)
    return path


@pytest.fixture(scope="session")
def translator(bundle: Bundle) -> TextTranslator:
    return TextTranslator(bundle, engine="reference")
