"""The table of kernels names the implementations that run, in training and in decoding."""

from collections import defaultdict
from typing import Any

import pytest
import torch

from headway.config.model import ModelConfig
from headway.config.presets import base
from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.engine import PackedEngine
from headway.inspection.kernel_table import LENGTH, SENTENCES, kernel_table
from headway.kernels import dispatch
from headway.kernels.dispatch import By
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import projected_cross_entropy
from headway.training.accelerated.install import accelerated

OPERATIONS = {
    "attention": "attention and its gradient",
    "linear": "projection",
    "weight_gradient": "gradient of a weight",
    "input_gradient": "gradient of an input",
    "relu": "ReLU and its gradient",
    "dropout": "dropout and addition",
    "cross_entropy": "loss and its gradient",
}
PRODUCTS = {
    "Float32Product": By.NUMBA_FLOAT32,
    "Bfloat16Product": By.NUMBA_BFLOAT16,
    "Int8LoopProduct": By.NUMBA_INT8,
}


@pytest.fixture
def config() -> ModelConfig:
    return ModelConfig(
        d_model=32, num_heads=2, d_ff=96, num_encoder_layers=1, num_decoder_layers=1,
        source_vocab_size=53, target_vocab_size=53,
    )  # fmt: skip


def implementations(config: ModelConfig, phase: str, precision: str) -> dict[str, set[str]]:
    """Return the implementations by operation."""
    named: dict[str, set[str]] = defaultdict(set)
    for row in kernel_table(config):
        if (row.phase, row.precision) == (phase, precision):
            named[row.operation].add(row.implementation)
    return named


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_update_computes_what_the_table_says(
    precision: str, large: bool, config: ModelConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """large: as if the products of this small model were large enough for the kernels."""
    if large:
        for threshold in ("LEAST_PRODUCTS", "LEAST_PRODUCTS_AMX", "BLOCKS_PER_THREAD"):
            monkeypatch.setattr(dispatch, threshold, 0)
    named = implementations(config, "training", precision)
    chosen: dict[str, set[str]] = defaultdict(set)

    def record(name: str) -> None:
        choose = getattr(dispatch, name)

        def recorded(*inputs: Any) -> dispatch.Choice:
            choice = choose(*inputs)
            chosen[name].add(choice.by)
            return choice

        monkeypatch.setattr(dispatch, name, recorded)

    for name in OPERATIONS:
        record(name)
    model = Transformer.from_config(config).train()
    ids = torch.randint(1, 53, (SENTENCES, LENGTH))
    with accelerated(model), torch.autocast("cpu", torch.bfloat16, precision == "bfloat16"):
        hidden = model.hidden(ids, ids).flatten(0, 1)
        loss = projected_cross_entropy(hidden, model.output_projection.weight, None, ids.flatten())
    loss.loss.backward()

    assert {"attention", "dropout", "cross_entropy", "weight_gradient"} <= chosen.keys()
    if precision == "bfloat16":
        assert chosen.keys() == OPERATIONS.keys()
    for name, by in chosen.items():
        assert by == named[OPERATIONS[name]], name


@pytest.mark.parametrize("past", ["self_attention", "ssru"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_the_packed_engine_has_the_products_that_the_table_says(
    precision: Any, activation: str, past: str, config: ModelConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(dispatch, "INT8_WEIGHTS", 1600)  # w_qkv and others are above, w_q below
    monkeypatch.setattr(dispatch, "SMALL_WEIGHTS", 2000)
    config = config.replace({"activation": activation, "decoder_past": past})
    rows = [row for row in kernel_table(config) if row.phase == "decoding"]
    rows = [row for row in rows if row.precision == precision]
    named = {row.part: row.implementation for row in rows if row.part}
    whole = {row.operation: row.implementation for row in rows if row.operation.endswith("layers")}

    engine = PackedEngine(
        Transformer.from_config(config).eval(), choose_backend(torch.device("cpu"), precision)
    )

    source, _ = engine.encoder.sublayers
    first, memory, network = engine.decoder.sublayers
    parts: dict[str, Any] = {
        "w_qkv": source.w_qkv, "w_q": memory.w_q, "w_o": memory.w_o, "w_1": network.w_1,  # pyright: ignore
        "w_2": network.w_2, "memory": engine.memory_projection,  # pyright: ignore
        "w_o of the encoder": source.w_o,  # pyright: ignore
    }  # fmt: skip
    if past == "ssru":
        parts["w_xf"] = first.w_xf  # pyright: ignore
    assert named.keys() == {*parts, "output"}
    for part, product in parts.items():
        by = PRODUCTS.get(type(product).__name__)
        assert named[part] == by or (by is None and named[part].startswith("PyTorch")), part
    assert (engine.whole_encoder is not None) == (whole["encoder layers"] == By.NUMBA_WHOLE)
    assert (engine.whole_decoder is not None) == (whole["decoder layers"] == By.NUMBA_WHOLE)


def test_every_row_has_a_reason_and_the_base_model_takes_no_memory() -> None:
    rows = kernel_table(base())

    assert all(row.reason and row.implementation for row in rows)
    assert {row.precision for row in rows} == {"float32", "bfloat16", "int8"}
    assert {row.phase for row in rows} == {"training", "decoding"}
