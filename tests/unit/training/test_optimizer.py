"""The optimizer is the paper's Adam; decay, where wanted, spares vectors."""

import pytest
import torch

from headway.model.transformer import Transformer
from headway.training.optimizer import build_optimizer


def set_gradients(model: Transformer, step: int) -> None:
    rng = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=rng, dtype=parameter.dtype)


def test_the_defaults_are_those_of_section_5_3(model: Transformer) -> None:
    optimizer = build_optimizer(model)

    for group in optimizer.param_groups:
        assert group["betas"] == (0.9, 0.98)
        assert group["eps"] == 1e-9
        assert group["weight_decay"] == 0.0


def test_every_parameter_is_updated_once(model: Transformer) -> None:
    optimizer = build_optimizer(model)

    chosen = [id(p) for group in optimizer.param_groups for p in group["params"]]

    assert sorted(chosen) == sorted(id(p) for p in model.parameters())


def test_without_decay_it_is_adam(model: Transformer) -> None:
    model = model.double()
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    plain = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    for step in range(3):
        set_gradients(model, step)
        plain.step()
    expected = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(start[name])

    optimizer = build_optimizer(model)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    for step in range(3):
        set_gradients(model, step)
        optimizer.step()

    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, expected[name], rtol=1e-12, atol=1e-14)


def test_a_first_step_worked_by_hand() -> None:
    # After one step both averages are corrected to g and g^2, so the step is lr * sign(g).
    layer = torch.nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0], [1.0]]))
    optimizer = build_optimizer(layer)
    for group in optimizer.param_groups:
        group["lr"] = 0.25
    layer.weight.grad = torch.tensor([[0.5], [-8.0]])

    optimizer.step()

    assert layer.weight.flatten().tolist() == pytest.approx([0.75, 1.25], abs=1e-6)


def test_decay_shrinks_matrices_and_spares_vectors(model: Transformer) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(2.0)
    optimizer = build_optimizer(model, weight_decay=0.5)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)

    optimizer.step()

    for name, parameter in model.named_parameters():
        expected = 2.0 if parameter.dim() <= 1 else 2.0 * (1 - 0.1 * 0.5)
        assert parameter.unique().tolist() == pytest.approx([expected]), name
