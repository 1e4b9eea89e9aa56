"""Everybody whom `headway bench train` compares takes a step there."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from headway.bench import peers, work
from headway.bench.work import Size, Task, Work


@pytest.fixture
def task(device: str, monkeypatch: pytest.MonkeyPatch) -> Task:
    """Return work that takes milliseconds."""
    monkeypatch.setitem(work.SIZES, "small", Size(num_layers=2, d_model=12, d_ff=20, num_heads=2))
    monkeypatch.setattr(work, "_width", lambda task: 30)
    return Task("small", device, sentences=5, length=7)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("peer", [None, "marian", "torch"])
def test_a_step_changes_weights_that_are_there(
    task: Task, peer: str | None, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: list[nn.Module] = []

    def watched(build: Callable[..., nn.Module], model_of: Callable = lambda built: built):
        def call(*arguments: object) -> object:
            built = build(*arguments)
            models.append(model_of(built))
            return built

        return call

    if peer is None:
        monkeypatch.setattr(work, "our_model", watched(work.our_model))
        step: Work = work.our_step(None, task, precision)
    else:
        monkeypatch.setitem(peers.PEERS, peer, watched(peers.PEERS[peer], lambda built: built[0]))
        step = peers.peer_step(None, task, peer, precision)
    weights = list(models[0].parameters())
    before = [weight.detach().cpu().clone() for weight in weights]

    step()

    assert {weight.device.type for weight in weights} == {torch.device(task.device).type}
    after = [weight.detach().cpu() for weight in weights]
    changed = [not torch.equal(old, new) for old, new in zip(before, after, strict=True)]
    assert sum(changed) > 0.7 * len(changed)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_rate_of_products_is_measured_there(
    task: Task, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    products = []
    multiply = torch.mm

    def watched(*factors: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        products.append(multiply(*factors, out=out))
        return out

    monkeypatch.setattr(torch, "mm", watched)

    work.matrix_product(None, task, precision)()

    kinds = {(product.device.type, product.dtype) for product in products}
    assert kinds == {(torch.device(task.device).type, getattr(torch, precision))}
