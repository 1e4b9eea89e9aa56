"""Projections in one product are those of the modules, one after the other."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headway.model.joint_projection import project_together

WIDTHS = 3, 8, 5


def modules(bias: bool = True) -> list[nn.Linear]:
    torch.manual_seed(2)
    return [nn.Linear(7, width, bias=bias) for width in WIDTHS]


def one_by_one(x: Tensor, projections: list[nn.Linear]) -> Tensor:
    return torch.cat([projection(x) for projection in projections], dim=-1)


def results(
    project: Callable[[Tensor, list[nn.Linear]], Tensor], x: Tensor, projections: list[nn.Linear]
) -> list[Tensor]:
    """Return the output and the gradients of x and all parameters."""
    x = x.clone().requires_grad_()
    parameters = [p for each in projections for p in each.parameters()]
    for parameter in parameters:
        parameter.grad = None
    output = project(x, projections)
    torch.manual_seed(3)
    output.backward(torch.randn(output.shape).to(output.dtype))
    found = [output.detach(), x.grad, *(p.grad for p in parameters if p.requires_grad)]
    present = [each for each in found if each is not None]
    assert len(present) == len(found)
    return present


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(7,), (4, 7), (2, 3, 7), (2, 0, 7)], ids=str)
def test_output_and_gradients_are_those_of_the_modules(shape: tuple[int, ...], bias: bool) -> None:
    x, projections = torch.randn(shape, dtype=torch.float64), modules(bias)
    for projection in projections:
        projection.double()

    found, expected = (results(way, x, projections) for way in (project_together, one_by_one))

    assert len(found) == len(expected) == (8 if bias else 5)
    for number, exact in zip(found, expected, strict=True):
        torch.testing.assert_close(number, exact, rtol=1e-12, atol=1e-12)


def test_modules_that_nobody_has_changed_are_not_called_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, projections = torch.randn(4, 7), modules()
    expected = one_by_one(x, projections)

    def refuse(self: nn.Linear, input: Tensor) -> Tensor:
        raise AssertionError("a product of its own")

    monkeypatch.setattr(nn.Linear, "forward", refuse)

    torch.testing.assert_close(project_together(x, projections), expected)


def test_without_rounding_no_copy_of_the_weights_is_kept() -> None:
    projections, kept = modules(), []
    own = {p.data_ptr() for each in projections for p in each.parameters()}
    x = torch.randn(4, 7, requires_grad=True)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        project_together(x, projections)

    assert len(kept) == 1 + len(projections)
    assert set(kept) <= own | {x.data_ptr()}


def test_autocast_rounds_inputs_and_leaves_gradients_in_float32() -> None:
    x, projections = torch.randn(2, 6, 7), modules()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = (results(way, x, projections) for way in (project_together, one_by_one))

    assert found[0].dtype == torch.bfloat16
    assert all(gradient.dtype == torch.float32 for gradient in found[1:])
    for number, other in zip(found, expected, strict=True):
        # Sums of three gradients are rounded once here, and each of them there.
        torch.testing.assert_close(number, other, rtol=2**-7, atol=0.02)


def test_a_frozen_parameter_gets_no_gradient() -> None:
    projections = modules()
    projections[1].weight.requires_grad_(False)

    x = torch.randn(4, 7)

    found = results(project_together, x, projections)

    assert projections[1].weight.grad is None
    for number, exact in zip(found, results(one_by_one, x, projections), strict=True):
        torch.testing.assert_close(number, exact)


class Doubled(nn.Linear):
    """A layer that somebody has changed."""

    def forward(self, input: Tensor) -> Tensor:
        """Project twice as far."""
        return 2 * super().forward(input)


def test_what_somebody_has_changed_is_called() -> None:
    x, calls = torch.randn(4, 7), []
    changed = [*modules()[:2], Doubled(7, 5)]
    hooked = modules()
    hooked[1].register_forward_hook(lambda *given: calls.append(given))

    assert torch.equal(project_together(x, changed), one_by_one(x, changed))
    assert torch.equal(project_together(x, hooked), one_by_one(x, hooked))
    assert len(calls) == 2


class Wrapped(nn.Module):
    """A layer in another one, which has no weights of its own."""

    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """Call it."""
        return self.inner(x)


def test_what_is_no_linear_layer_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    x, projections = torch.randn(4, 7), modules()
    expected = one_by_one(x, projections)
    wrapped: Any = [*projections[:2], Wrapped(projections[2])]

    assert torch.equal(project_together(x, wrapped), expected)
    monkeypatch.setattr(projections[0], "forward", lambda x: torch.zeros(len(x), 3))
    assert not project_together(x, projections)[:, :3].any()


def test_types_that_do_not_fit_are_refused_as_they_are_one_by_one() -> None:
    with pytest.raises(RuntimeError, match="dtype"):
        project_together(torch.randn(4, 7), [each.double() for each in modules()])


def test_one_without_a_bias_among_others_is_projected_all_the_same() -> None:
    x, projections = torch.randn(4, 7), [*modules()[:2], nn.Linear(7, 5, bias=False)]

    assert torch.equal(project_together(x, projections), one_by_one(x, projections))
