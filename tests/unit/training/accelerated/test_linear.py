"""Projections in one product are those of the modules, one after the other."""

import contextlib
import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.model.attention import MultiHeadAttention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.training.accelerated import linear as projection_module
from headway.training.accelerated.install import accelerated
from headway.training.accelerated.linear import (
    project,
    project_apart,
    relu_,
    relu_gradient,
)

WIDTHS = 3, 8, 5


def modules(bias: bool = True) -> list[nn.Linear]:
    torch.manual_seed(2)
    return [nn.Linear(7, width, bias=bias) for width in WIDTHS]


def together(x: Tensor, projections: list[nn.Linear]) -> Tensor:
    return project(x, *projections)


def apart(x: Tensor, projections: list[nn.Linear]) -> Tensor:
    return torch.cat(project_apart(x, *projections), dim=-1)


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection_module, "_learns_on_a_gpu", lambda x: torch.is_grad_enabled())


def one_by_one(x: Tensor, projections: list[nn.Linear]) -> Tensor:
    return torch.cat([projection(x) for projection in projections], dim=-1)


def results(
    way: Callable[[Tensor, list[nn.Linear]], Tensor], x: Tensor, projections: list[nn.Linear]
) -> list[Tensor]:
    """Return the output and the gradients of x and all parameters."""
    x = x.clone().requires_grad_()
    parameters = [p for each in projections for p in each.parameters()]
    for parameter in parameters:
        parameter.grad = None
    output = way(x, projections)
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

    found, expected = (results(each, x, projections) for each in (together, one_by_one))

    assert len(found) == len(expected) == (8 if bias else 5)
    for number, exact in zip(found, expected, strict=True):
        torch.testing.assert_close(number, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("on_a_gpu")
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_projections_of_a_gpu_learn_as_the_modules_do(bias: bool) -> None:
    x, projections = torch.randn(2, 3, 7), modules(bias)
    parts = project_apart(x, *projections)
    assert [part.size(-1) for part in parts] == list(WIDTHS)

    found, expected = (results(each, x, projections) for each in (apart, one_by_one))

    for number, exact in zip(found, expected, strict=True):
        torch.testing.assert_close(number, exact)


@pytest.mark.usefixtures("on_a_gpu")
def test_on_a_gpu_there_is_one_product_of_what_nobody_has_changed() -> None:
    x = torch.randn(4, 7)

    def products(projections: list[nn.Linear]) -> int:
        counts: list[None] = []
        multiply = torch.nn.functional.linear
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                torch.nn.functional,
                "linear",
                lambda *given: counts.append(None) or multiply(*given),
            )
            torch.testing.assert_close(apart(x, projections), one_by_one(x, projections))
        return len(counts) - len(projections)  # without those of the comparison

    changed = modules()
    changed[1].register_forward_hook(lambda *given: None)
    mixed = [*modules()[:2], nn.Linear(7, 5, bias=False)]
    assert products(modules()) == 1
    assert products(changed) == products(mixed) == 3
    with torch.no_grad():  # joining weights for each step of a translation would cost more
        assert products(modules()) == 3


def test_modules_that_nobody_has_changed_are_not_called_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, projections = torch.randn(4, 7), modules()
    expected = one_by_one(x, projections)

    def refuse(self: nn.Linear, input: Tensor) -> Tensor:
        raise AssertionError("a product of its own")

    monkeypatch.setattr(nn.Linear, "forward", refuse)

    torch.testing.assert_close(together(x, projections), expected)


def test_without_rounding_no_copy_of_the_weights_is_kept() -> None:
    projections, kept = modules(), []
    own = {p.data_ptr() for each in projections for p in each.parameters()}
    x = torch.randn(4, 7, requires_grad=True)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        together(x, projections)

    assert len(kept) == 1 + len(projections)
    assert set(kept) <= own | {x.data_ptr()}


def test_autocast_rounds_inputs_and_leaves_gradients_in_float32() -> None:
    x, projections = torch.randn(2, 6, 7), modules()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = (results(each, x, projections) for each in (together, one_by_one))

    assert found[0].dtype == torch.bfloat16
    assert all(gradient.dtype == torch.float32 for gradient in found[1:])
    for number, other in zip(found, expected, strict=True):
        # Sums of three gradients are rounded once here, and each of them there.
        torch.testing.assert_close(number, other, rtol=2**-7, atol=0.02)


def test_a_frozen_parameter_gets_no_gradient() -> None:
    projections = modules()
    projections[1].weight.requires_grad_(False)

    x = torch.randn(4, 7)

    found = results(together, x, projections)

    assert projections[1].weight.grad is None
    for number, exact in zip(found, results(one_by_one, x, projections), strict=True):
        torch.testing.assert_close(number, exact)


def test_a_projection_with_a_hook_is_called() -> None:
    x, calls = torch.randn(4, 7), []
    hooked = modules()
    hooked[1].register_forward_hook(lambda *given: calls.append(given))

    assert torch.equal(together(x, hooked), one_by_one(x, hooked))
    assert len(calls) == 2


def test_types_that_do_not_fit_are_refused_as_they_are_one_by_one() -> None:
    with pytest.raises(RuntimeError, match="dtype"):
        together(torch.randn(4, 7), [each.double() for each in modules()])


def test_one_without_a_bias_among_others_is_projected_all_the_same() -> None:
    x, projections = torch.randn(4, 7), [*modules()[:2], nn.Linear(7, 5, bias=False)]

    assert torch.equal(together(x, projections), one_by_one(x, projections))


def rounded(
    x: Tensor, projection: nn.Linear, relu: bool, way: Callable[..., Tensor]
) -> list[Tensor]:
    """Return what `results` does for one projection under autocast."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return results(lambda x, each: way(x, *each, relu=relu), x, [projection])


def as_a_module(x: Tensor, projection: nn.Linear, relu: bool) -> Tensor:
    return projection(x).relu() if relu else projection(x)


@pytest.mark.parametrize("relu", [True, False], ids=["ReLU", "no ReLU"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(7,), (4, 7), (2, 3, 7), (2, 0, 7)], ids=str)
def test_one_projection_learns_as_the_module_does(
    shape: tuple[int, ...], bias: bool, relu: bool
) -> None:
    x, projection = torch.randn(shape), modules(bias)[1]

    found, expected = (rounded(x, projection, relu, way) for way in (project, as_a_module))

    assert found[0].dtype == torch.bfloat16
    assert len(found) == len(expected) == (4 if bias else 3)
    for number, other in zip(found, expected, strict=True):
        assert number.dtype == other.dtype
        torch.testing.assert_close(number, other, rtol=2**-7, atol=2**-9)


@pytest.mark.parametrize("sizes", [(1, 7, 8), (33, 64, 128), (70, 37, 19)], ids=str)
def test_adding_the_bias_on_the_way_out_rounds_as_pytorch_does(sizes: tuple[int, int, int]) -> None:
    if not dispatch.onednn_multiplies_bfloat16():
        pytest.skip("oneDNN has no bfloat16 here")
    rows, d_in, d_out = sizes
    x, weight, bias = torch.randn(rows, d_in), torch.randn(d_out, d_in), torch.randn(d_out)
    low = [tensor.bfloat16() for tensor in (x, weight, bias)]
    exact = nn.functional.linear(*(tensor.double() for tensor in low))

    found = projection_module._linear(*low)

    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=2**-8)


def test_a_bias_is_not_written_to_every_row_first(monkeypatch: pytest.MonkeyPatch) -> None:
    if not dispatch.onednn_multiplies_bfloat16():
        pytest.skip("oneDNN has no bfloat16 here")
    monkeypatch.setattr(projection_module.F, "linear", lambda *given: pytest.fail("F.linear"))

    rounded(torch.randn(4, 7), modules()[1], True, project)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_relu_does_not_hide_what_is_not_finite(value: float) -> None:
    x, projection = torch.randn(3, 7), modules()[1]
    with torch.no_grad():
        projection.weight[2, 4] = value

    output = rounded(x.abs(), projection, True, project)[0]

    assert not output[:, 2].isfinite().any()
    assert output[:, :2].isfinite().all()


def test_without_rounding_one_projection_is_the_module_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, projection = torch.randn(4, 7), modules()[0]
    monkeypatch.setattr(projection_module._Project, "apply", lambda *given: pytest.fail("joined"))

    found = results(lambda x, each: project(x, *each, relu=True), x, [projection])
    expected = results(lambda x, each: projection(x).relu(), x, [projection])

    assert all(map(torch.equal, found, expected))


def test_functional_transforms_take_the_plain_way() -> None:
    x, projection = torch.randn(4, 7), modules()[0]
    weight = projection.weight.detach()

    def loss(way: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        def of(weight: Tensor) -> Tensor:
            layer = Through(projection, way)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = torch.func.functional_call(layer, {"inner.weight": weight}, (x,))
            return y.float().square().sum()

        return of

    found, expected = (torch.func.grad(loss(way))(weight) for way in (project, as_a_module))

    torch.testing.assert_close(found, expected)


class Through(nn.Module):
    """A layer whose projection is computed in a way that is given."""

    def __init__(self, inner: nn.Linear, way: Callable[..., Tensor]) -> None:
        super().__init__()
        self.inner, self.way = inner, way

    def forward(self, x: Tensor) -> Tensor:
        """Project in that way."""
        return self.way(x, self.inner, relu=True)


@pytest.mark.parametrize("relu", [True, False], ids=["ReLU", "no ReLU"])
def test_the_output_may_be_changed_in_place_where_a_modules_may(relu: bool) -> None:
    x, projection = torch.randn(2, 4, 7, requires_grad=True), modules()[0]

    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = project(x, projection, relu=relu)
        y += 1.0

    if relu:  # as PyTorch's own ReLU, it needs what it gave
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    else:
        y.sum().backward()


@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused(power: int) -> None:
    x, projection = torch.randn(4, 7, requires_grad=True), modules()[0]

    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = (project(x, projection).float().sum()) ** power
    (slope,) = torch.autograd.grad(y, x, create_graph=True)

    with pytest.raises(ConfigError, match="A second derivative was requested"):
        slope.sum().backward()


def test_with_frozen_weights_biases_learn_without_their_product() -> None:
    x, projections, kept = torch.randn(4, 7), modules(), []
    for projection in projections:
        projection.weight.requires_grad_(False)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = together(x, projections)
    output.sum().backward()

    assert (4, 7) not in kept
    for projection in projections:
        torch.testing.assert_close(projection.bias.grad, torch.full((len(projection.bias),), 4.0))
        assert projection.weight.grad is None


def test_half_floats_learn_as_the_module_does() -> None:
    x, projection = torch.randn(4, 7), modules()[1]

    with torch.autocast("cpu", dtype=torch.float16):
        found = results(lambda x, each: project(x, *each), x, [projection])
        expected = results(lambda x, each: projection(x), x, [projection])

    assert found[0].dtype == torch.float16
    for number, other in zip(found, expected, strict=True):
        torch.testing.assert_close(number, other, rtol=2**-9, atol=2**-9)


def test_autocast_leaves_double_precision_as_it_is() -> None:
    x, projection = torch.randn(4, 7).double(), modules()[0].double()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = project(x, projection, relu=True), projection(x).relu()

    assert found.dtype == torch.float64
    assert torch.equal(found, expected)


def test_hooks_on_every_module_hear_of_it() -> None:
    x, projection, heard = torch.randn(4, 7), modules()[0], []
    handle = nn.modules.module.register_module_forward_hook(lambda *given: heard.append(given[0]))
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            project(x, projection)
    finally:
        handle.remove()

    assert heard == [projection]


def test_shapes_alone_are_enough() -> None:
    with torch.device("meta"):
        x, projection = torch.empty(2, 4, 7), nn.Linear(7, 3)

    assert project(x, projection, relu=True).shape == (2, 4, 3)


def test_a_counter_of_operations_sees_the_product() -> None:
    x, projection = torch.randn(4, 7), modules()[0]

    with FlopCounterMode(display=False) as counter, torch.autocast("cpu", dtype=torch.bfloat16):
        project(x, projection)

    assert counter.get_total_flops() == 2 * 4 * 7 * WIDTHS[0]


@pytest.mark.parametrize("layer", ["attention", "feed-forward"])
def test_layers_that_learn_in_autocast_call_no_module_of_their_own(
    layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")  # without it attention is computed as it is written
    x = torch.randn(2, 5, 32)
    if layer == "attention":
        attention = MultiHeadAttention(32, 2)
        memory = torch.randn(2, 7, 32)
        work = partial(attention, x, memory, memory)
    else:
        work = partial(PositionwiseFeedForward(32, 48), x)
    with torch.autocast("cpu", dtype=torch.bfloat16), accelerated(work.func):
        monkeypatch.setattr(nn.Linear, "forward", lambda *_: pytest.fail("a module was called"))
        work().sum().backward()


def every_number() -> Tensor:
    """Return all there are in bfloat16, those that are none at the end of each half."""
    return torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)


def test_relu_is_pytorchs_for_every_number() -> None:
    numbers, expected = every_number(), every_number().relu()

    relu_(numbers)

    torch.testing.assert_close(numbers, expected, rtol=0, atol=0, equal_nan=True)


def test_the_gradient_of_relu_is_pytorchs_for_every_number() -> None:
    active, grad = every_number().relu(), every_number().flip(0)
    expected = torch.ops.aten.threshold_backward(grad, active, 0)

    passed = relu_gradient(grad, active)

    torch.testing.assert_close(passed, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(grad.view(torch.int16), every_number().flip(0).view(torch.int16))


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_relu_takes_any_layout_and_type(dtype: torch.dtype, watched: bool) -> None:
    x, grad = torch.randn(5, 7, dtype=dtype).T, torch.randn(7, 5, dtype=dtype)
    expected = x.relu(), torch.where(x > 0, grad, 0)

    with FlopCounterMode(display=False) if watched else contextlib.nullcontext():
        relu_(x)
        passed = relu_gradient(grad, x)

    assert torch.equal(x, expected[0])
    assert torch.equal(passed, expected[1])
