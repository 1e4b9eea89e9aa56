"""A small bundle with random weights, and a way to call the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.cli.app import main
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.tokenizer import train_tokenizer
from headway.model.transformer import Transformer

Run = Callable[..., tuple[int, str, str]]

# A training of moments, beside text that is named; what is set later wins.
SMALL = [
    "--set", "model.d_model=8", "--set", "model.num_heads=2", "--set", "model.d_ff=12",
    "--set", "model.num_encoder_layers=1", "--set", "model.num_decoder_layers=1",
    "--set", "tokenizer.kind=char", "--set", "tokenizer.vocabulary_size=60",
    "--set", "training.max_steps=3", "--set", "training.warmup_steps=2",
    "--set", "training.batch_tokens=64", "--set", "training.average_checkpoints=1",
]  # fmt: skip

LINES = ["저는 갑니다 .", "너는 온다 !", "우리는 자요 ?", "the cat sat", "a dog ran far"]


@pytest.fixture(scope="session")
def bundle_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(3)
    tokenizer = train_tokenizer(LINES, kind="char", vocabulary_size=60)
    config = ModelConfig(
        d_model=8,
        d_ff=12,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        source_vocab_size=len(tokenizer),
        target_vocab_size=len(tokenizer),
    )
    path = tmp_path_factory.mktemp("bundle") / "tiny"
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=3, max_source_pieces=40)
    model = Transformer.from_config(config).eval()
    save_bundle(path, Bundle(config, model, tokenizer, tokenizer, decoding))
    return path


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return ended.value.code if isinstance(ended.value.code, int) else 0, out, err

    return call
