"""Which products precision int8 leaves in floats, and that the decoder stays one call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from headway.config.presets import architecture
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.weights import Projection
from headway.kernels import dispatch
from headway.model.transformer import Transformer

module = pytest.importorskip("headway.decoding.packed.numba_backend")


@pytest.fixture
def with_pairs() -> None:
    """Skip where loops do not multiply bfloat16."""
    if not dispatch.multiplies_bfloat16():
        pytest.skip("a processor without AVX512_BF16")


@pytest.mark.parametrize("instructions", ["none", "bfloat16"])
def test_in_int8_what_is_fine_or_small_is_in_bfloat16_where_loops_multiply_it(
    instructions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if instructions == "bfloat16" and not dispatch.multiplies_bfloat16():
        pytest.skip("a processor without AVX512_BF16")
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: instructions != "none")
    backend = module.NumbaBackend("int8")
    weights, x = Projection(torch.randn(1100, 130), torch.randn(1100)), torch.randn(6, 130)
    exact = x @ weights.weight.T + weights.bias

    def error(*, sensitive: bool) -> float:
        y = torch.from_numpy(backend.linear(weights, sensitive=sensitive)(x.numpy()))
        return float((y - exact).square().mean().sqrt())

    less = error(sensitive=True) / error(sensitive=False)
    assert less < 0.5 if instructions == "bfloat16" else less == 1.0
    kinds = [
        type(backend.linear(Projection(torch.randn(outputs, 130), torch.randn(outputs))))
        for outputs in (20, 300)
    ]
    few_bits = dispatch.multiplies_bytes() and module.LARGEST_BYTE < 255
    least = module.Float32Product if few_bits else type(backend.linear(weights))
    least = module.Bfloat16Product if instructions == "bfloat16" else least
    assert kinds == [module.Float32Product, least]


@pytest.mark.parametrize("largest", [159, 255])
def test_what_is_small_is_not_in_fewer_than_eight_bits(
    largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "multiplies_bfloat16", lambda: False)
    monkeypatch.setattr(dispatch, "multiplies_bytes", lambda: True)
    monkeypatch.setattr(dispatch, "has_vnni", lambda: largest == 255)
    backend = module.NumbaBackend("int8")

    def exact(outputs: int, *, sensitive: bool) -> bool:
        weights = Projection(torch.randn(outputs, 128), torch.randn(outputs))
        return type(backend.linear(weights, sensitive=sensitive)) is module.Float32Product

    for sensitive in (True, False):
        assert exact(1024, sensitive=sensitive) == (largest < 255)
        assert not exact(1025, sensitive=sensitive)


@pytest.mark.usefixtures("with_pairs")
def test_outputs_of_the_decoders_attention_and_its_memory_stay_in_bfloat16(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "INT8_WEIGHTS", 0)
    monkeypatch.setattr(dispatch, "SMALL_WEIGHTS", 0)
    engine = PackedEngine(build(activation="relu"), module.NumbaBackend("int8"))

    def kinds(sublayer: Any) -> dict[str, bool]:
        """Tell of each product whether it is in bfloat16."""
        names = [name for name in vars(sublayer) if name.startswith("w_")]
        return {n: type(getattr(sublayer, n)) is module.Bfloat16Product for n in names}

    assert kinds(engine.encoder.sublayers[0]) == {"w_qkv": False, "w_o": False}
    past, memory, feed_forward = engine.decoder.sublayers[:3]
    assert kinds(past) == {"w_qkv": False, "w_o": True}
    assert kinds(memory) == {"w_q": False, "w_o": True}
    assert kinds(feed_forward) == {"w_1": False, "w_2": False}
    assert type(engine.memory_projection) is module.Bfloat16Product
    assert engine.whole_decoder is not None


@pytest.mark.parametrize("name", ["tiny", "small", "C-d_model-256", "B-d_k-16"])
def test_a_decoder_of_small_and_large_products_is_one_call(name: str) -> None:
    if not dispatch.multiplies_bytes():
        pytest.skip("a processor without sums of bytes")
    config = (
        architecture(name)
        .with_vocabulary(50)
        .model_copy(update={"num_encoder_layers": 1, "num_decoder_layers": 2})
    )
    engine = PackedEngine(Transformer.from_config(config), module.NumbaBackend("int8"))

    assert engine.whole_decoder is not None
