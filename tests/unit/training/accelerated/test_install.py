"""Kernels take the place of layers inside a block, and of nothing else, before or after it."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headway
from headway.errors import ConfigError
from headway.inspection.trace import trace
from headway.model.attention import MultiHeadAttention
from headway.model.customized import changed_parts
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer
from headway.training.accelerated.install import accelerated
from headway.training.loss import label_smoothed_cross_entropy

Build = Callable[..., Transformer]


def methods(model: nn.Module) -> dict[str, list[str]]:
    """Return the methods that objects have in place of those of their class, by path."""
    replaced = {
        path: [name for name, value in vars(module).items() if callable(value)]
        for path, module in model.named_modules()
    }
    return {path: names for path, names in replaced.items() if names}


def losses(model: Transformer, steps: int, block: Callable[..., Any]) -> list[float]:
    """Return the losses of a training loop that somebody could write."""
    torch.manual_seed(4)
    source, target = torch.randint(4, 23, (2, 5, 7))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    values = []
    for _ in range(steps):
        with block(model.train()):
            logits = model(source, target).flatten(0, 1)
        loss = label_smoothed_cross_entropy(logits, target.flatten()).loss / target.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(float(loss.detach()))
    return values


def test_layers_are_as_before_after_the_block_also_when_it_fails(build: Build) -> None:
    model = build()
    with accelerated(model):
        assert len(methods(model)) > 10
    assert methods(model) == {}
    with pytest.raises(ZeroDivisionError), accelerated(model):
        raise ZeroDivisionError
    assert methods(model) == {}
    assert changed_parts(model) == {}


def test_ctrl_c_while_layers_are_replaced_puts_all_of_them_back(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, bound = build(), []

    def bind(method: Callable[..., Any], module: nn.Module) -> Any:
        if len(bound) == 3:
            raise KeyboardInterrupt
        bound.append(module)
        return MethodType(method, module)

    monkeypatch.setattr("headway.training.accelerated.install.MethodType", bind)
    with pytest.raises(KeyboardInterrupt), accelerated(model):
        pass
    assert len(bound) == 3
    assert methods(model) == {}


def test_blocks_within_a_block_change_nothing(build: Build) -> None:
    model = build()
    with accelerated(model):
        outer = methods(model)
        with accelerated(model):
            assert methods(model) == outer
        assert methods(model) == outer
    assert methods(model) == {}


def test_a_loop_of_ones_own_has_the_same_losses(build: Build) -> None:
    def plain(model: nn.Module) -> Any:
        return torch.enable_grad()

    kernels = losses(build(dropout=0.0), 8, headway.accelerated)
    layers = losses(build(dropout=0.0), 8, plain)
    assert kernels[-1] < kernels[0]
    torch.testing.assert_close(kernels, layers, rtol=1e-5, atol=0)


class Own(MultiHeadAttention):
    """An attention of a user."""


def test_parts_of_ones_own_are_left_as_they_are(build: Build) -> None:
    model = build()
    layer = model.encoder.layers[0]
    own = layer.self_attention = Own(layer.self_attention.d_model, 2)
    replaced = model.decoder.layers[0].feed_forward
    replaced.forward = lambda x: x
    with accelerated(model):
        assert "forward" not in vars(own)
        assert methods(replaced) == {"": ["forward"]}
    assert replaced.forward(3) == 3


class Wrapped(nn.Module):
    """A projection of a user, which does not say how wide it is."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class Doubled(nn.Linear):
    """A linear layer of a user."""

    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


def doubled(linear: nn.Linear) -> nn.Linear:
    layer = Doubled(linear.in_features, linear.out_features)
    layer.load_state_dict(linear.state_dict())
    return layer


def replaced(linear: nn.Linear) -> nn.Linear:
    plain = linear.forward
    linear.forward = lambda input: plain(input).square()
    return linear


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("change", [Wrapped, doubled, replaced])
@pytest.mark.parametrize(
    ("layer", "name"),
    [("attention", "w_q"), ("attention", "w_o"), ("network", "w_1"), ("network", "w_2")],
)
def test_a_projection_of_ones_own_is_called(
    layer: str, name: str, change: Callable[[nn.Linear], nn.Module], precision: str
) -> None:
    torch.manual_seed(2)
    x = torch.randn(2, 5, 32)
    network = PositionwiseFeedForward(32, 48, dropout=0.0)
    part: nn.Module = MultiHeadAttention(32, 2) if layer == "attention" else network
    inputs = (x, x, x) if layer == "attention" else (x,)
    setattr(part, name, change(getattr(part, name)))

    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        expected = part.train()(*inputs)
        with accelerated(part):
            result = part(*inputs)

    tolerance = 1e-5 if precision == "float32" else 2**-6
    torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance)


def test_a_hook_that_is_registered_inside_is_called(build: Build) -> None:
    model, seen = build(dropout=0.0).train(), []
    source, target = torch.randint(4, 23, (2, 3, 6))
    w_1 = model.encoder.layers[0].feed_forward.w_1  # pyright: ignore
    with accelerated(model), torch.autocast("cpu", torch.bfloat16):
        w_1.register_forward_hook(lambda *called: seen.append(called))
        model(source, target)
    assert len(seen) == 1


def test_a_trace_that_is_opened_inside_hears_every_intermediate(build: Build) -> None:
    model = build(dropout=0.0).train()
    source, target = torch.randint(4, 23, (2, 3, 6))

    def heard() -> dict[str, Tensor]:
        with trace(model) as seen:
            model(source, target)
        return {name: seen[name].detach() for name in seen.names()}

    plain = heard()
    with accelerated(model):
        inside = heard()
    assert list(inside) == list(plain)
    for name, tensor in plain.items():
        torch.testing.assert_close(inside[name], tensor, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluating"])
@pytest.mark.parametrize(
    "wrong",
    [[[[1.0] * 32]], np.ones((1, 5, 32)), torch.ones(1), torch.ones(5, 32)],
    ids=["list", "array", "one axis", "two axes"],
)
@pytest.mark.parametrize("name", ["query", "key", "value", "mask"])
def test_inputs_that_do_not_fit_get_the_sentence_of_the_layer(
    name: str, wrong: Any, training: bool
) -> None:
    x = torch.ones(1, 5, 32)
    layer = MultiHeadAttention(32, 2).train(training)
    inputs = {"query": x, "key": x, "value": x} | {name: wrong}
    with pytest.raises(ConfigError) as plain:
        layer(**inputs)
    with accelerated(layer), pytest.raises(ConfigError) as inside:
        layer(**inputs)
    assert str(inside.value) == str(plain.value)
