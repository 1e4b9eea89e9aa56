"""Two small models with random weights behind the server, sizes all different."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.inspection.translator import Translator
from headway.model.transformer import Transformer
from headway.serving.app import create_app
from headway.serving.models import Served

TEXT = ["나는 너를 본다 .", "너는 나를 보고 있다 !", "I see you .", "you are seeing me !"]
OWN = "http://127.0.0.1:8080"


def _translator(seed: int, **changes: Any) -> Translator:
    tokenizer = train_tokenizer(TEXT, kind="char", vocabulary_size=60)
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {
        "d_model": 14, "d_ff": 19, "num_heads": 3, "d_k": 5, "d_v": 4,
        "num_encoder_layers": 1, "num_decoder_layers": 2, **changes,
    }  # fmt: skip
    config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=3, max_source_pieces=24)
    record = {"config": {"recipe": {"examples": ["나는 너를 본다 ."]}}}
    bundle = Bundle(config, model.eval(), tokenizer, tokenizer, decoding, record=record)
    return Translator(bundle, engine="reference")


@pytest.fixture(scope="session")
def served() -> Served:
    return Served("small", _translator(3), "a" * 64)


@pytest.fixture(scope="session")
def pre_norm() -> Served:
    return Served("pre", _translator(5, norm_position="pre"), "b" * 64)


@pytest.fixture(scope="session")
def learned() -> Served:
    """Return a model whose two tables of positions are learned, and so are not the same."""
    return Served("learned", _translator(7, positions="learned", max_positions=32), "c" * 64)


@pytest.fixture(scope="session")
def translator(served: Served) -> Translator:
    return served.translator


@pytest.fixture
def client(served: Served, pre_norm: Served) -> Iterator[TestClient]:
    with TestClient(create_app([served, pre_norm]), base_url=OWN) as own:
        yield own


@pytest.fixture
def traced(client: TestClient) -> dict[str, Any]:
    """Return the manifest of a trace that the server has made."""
    answer = client.post("/api/trace", json={"source": "나는 너를 본다 ."})
    assert answer.status_code == 200
    return answer.json()
