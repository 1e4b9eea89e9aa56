"""Kernels take the place of layers inside a block, and of nothing else, before or after it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headway
from headway.inspection.trace import trace
from headway.model.attention import MultiHeadAttention
from headway.model.customized import changed_parts
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


def test_a_projection_of_ones_own_is_called() -> None:
    torch.manual_seed(2)
    attend = MultiHeadAttention(32, 2).train()  # heads of 16, which kernels take
    x = torch.randn(2, 5, 32)
    with accelerated(attend):
        expected = attend(x, x, x)
    attend.w_q = Wrapped(attend.w_q)  # pyright: ignore[reportAttributeAccessIssue]
    with accelerated(attend):
        torch.testing.assert_close(attend(x, x, x), expected)


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
