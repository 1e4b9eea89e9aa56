"""A part is changed when calling it is not calling this package's own class."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from headway.config.model import Architecture
from headway.model.attention import MultiHeadAttention
from headway.model.customized import changed_parts, hooked_parts, lost_buffers, other_settings
from headway.model.transformer import Transformer

ATTENTION = "encoder.layers.1.self_attention"


def make(**changes: Any) -> Transformer:
    sizes = {"d_model": 12, "d_ff": 20, "num_heads": 3, "num_encoder_layers": 2}
    architecture = Architecture.parse({**sizes, "num_decoder_layers": 1, **changes}, "model")
    return Transformer.from_config(architecture.with_vocabulary(17))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_position": "pre", "activation": "swiglu", "output_bias": True},
        {"positions": "learned", "shared_embeddings": "none", "attention_bias": False},
    ],
)
def test_no_variant_of_the_configuration_is_a_change(changes: dict[str, Any]) -> None:
    model = make(**changes)

    model.train()(torch.tensor([[4, 5]]), torch.tensor([[1, 6, 7]]))

    assert changed_parts(model) == {}
    assert hooked_parts(model) == []


class Own(MultiHeadAttention):
    """Changes nothing, which only reading it can tell."""


def subclass(model: Transformer) -> None:
    model.encoder.layers[1].self_attention = Own(12, 3)


def other_class(model: Transformer) -> None:
    model.encoder.layers[1].self_attention_residual.norm = nn.RMSNorm(12)


def own_forward(model: Transformer) -> None:
    attention = model.encoder.layers[1].self_attention
    attention.forward = lambda query, *_, **__: query


def own_split(model: Transformer) -> None:
    attention = model.encoder.layers[1].self_attention
    attention.split = lambda _, x: x.unflatten(-1, (3, -1)).transpose(1, 2) / 2


@pytest.mark.parametrize(
    ("change", "path", "name"),
    [
        (subclass, ATTENTION, "Own"),
        (other_class, f"{ATTENTION}_residual.norm", "RMSNorm"),
        (own_forward, ATTENTION, "MultiHeadAttention with another forward"),
        (own_split, ATTENTION, "MultiHeadAttention with another split"),
    ],
)
def test_a_part_with_another_class_or_forward_is_found(
    change: Callable[[Transformer], None], path: str, name: str
) -> None:
    model = make()

    change(model)

    assert changed_parts(model) == {path: name}


def test_a_forward_replaced_in_the_class_changes_every_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make()
    monkeypatch.setattr(MultiHeadAttention, "forward", lambda self, query, *_: query)

    assert set(changed_parts(model).values()) == {"MultiHeadAttention"}
    assert len(changed_parts(model)) == 2 + 1 + 1  # encoder's, and both of the decoder's layer


@pytest.mark.parametrize("kind", ["forward_hook", "forward_pre_hook"])
def test_hooks_are_found_as_long_as_they_are_there(kind: str) -> None:
    model = make()
    hook = getattr(model.decoder.layers[0].feed_forward, f"register_{kind}")(lambda *_: None)

    assert hooked_parts(model) == ["decoder.layers.0.feed_forward"]
    hook.remove()
    assert hooked_parts(model) == []


def test_hooks_of_all_modules_are_hooks_of_each() -> None:
    model = make()
    hook = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert len(hooked_parts(model)) == len(list(model.modules()))
    finally:
        hook.remove()


def test_own_classes_with_other_settings_are_told_from_those_of_the_configuration() -> None:
    model, plain = make(), make()
    assert other_settings(model, plain) == {}

    model.encoder.layers[1].feed_forward.activation = "gelu"
    model.decoder.layers[0].self_attention.num_heads = 4
    model.decoder.layers[0].self_attention.dropout = 0.7  # nothing that a trained model would have
    model.eval()

    assert changed_parts(model) == {}
    assert other_settings(model, plain) == {
        "encoder.layers.1.feed_forward": "PositionwiseFeedForward with activation gelu",
        "decoder.layers.0.self_attention": "MultiHeadAttention with num_heads 4",
    }


def test_buffers_that_would_be_saved_are_named() -> None:
    model = make(shared_embeddings="all")
    assert lost_buffers(model) == []

    model.encoder.register_buffer("seen", torch.zeros(3))
    model.encoder.register_buffer("table", torch.zeros(3), persistent=False)

    assert lost_buffers(model) == ["encoder.seen"]
