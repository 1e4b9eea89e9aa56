"""One loop adds what dropout leaves and normalizes, as three operations do."""

import functools

import pytest
import torch
from torch import Tensor, nn

from headway.model import compiled_residual, residual
from headway.model.probe import listen, stop_listening
from headway.model.residual import Residual

pytest.importorskip("numba")

WIDTH = 128


def frame(**settings: object) -> Residual:
    torch.manual_seed(5)
    module = Residual(**{"d_model": WIDTH, "dropout": 0.3} | settings)
    with torch.no_grad():
        for parameter in module.norm.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return module


def run(module: Residual, x: Tensor, y: Tensor) -> list[Tensor]:
    """Return output and gradients of both inputs and of LayerNorm's vectors."""
    x, y = (each.clone().requires_grad_() for each in (x, y))
    module.zero_grad()
    torch.manual_seed(7)
    output = module(x, lambda _: y)
    output.backward(torch.randn_like(output))
    found = [output.detach(), x.grad, y.grad, *(p.grad for p in module.parameters())]
    present = [each for each in found if each is not None]
    assert len(present) == len(found)
    return present


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("low", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(WIDTH,), (5, WIDTH), (2, 3, 64), (2, 0, WIDTH)], ids=str)
def test_the_loop_is_the_three_operations(
    shape: tuple[int, ...], low: torch.dtype, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, module = 3 + torch.randn(shape), torch.randn(shape).to(low), frame(d_model=shape[-1])
    used = []
    called = compiled_residual.add_norm
    monkeypatch.setattr(residual, "add_norm", lambda *given: used.append(1) or called(*given))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = run(module, x, y)
    finally:
        torch.set_num_threads(before)
    assert used

    monkeypatch.setattr(residual, "fits", lambda *given: False)
    expected = run(module, x, y)

    for number, exact in zip(found, expected, strict=True):
        assert number.dtype == exact.dtype
        assert number.shape == exact.shape
        tolerance = 1e-5 if number.dtype == torch.float32 else 2**-7
        torch.testing.assert_close(number, exact, rtol=tolerance, atol=1e-5)
    assert torch.equal(found[2] == 0, expected[2] == 0)  # one mask, forwards and backwards


def test_blocks_are_those_of_the_loops() -> None:
    from headway.loops.dropping import BLOCK

    assert compiled_residual._BLOCK == BLOCK


class LoopUsedError(Exception):
    """The loop is used."""


class Scaled(nn.LayerNorm):
    """A norm that somebody has changed."""


def test_it_is_for_training_what_nobody_looks_at_or_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def notice(*given: object) -> None:
        raise LoopUsedError

    monkeypatch.setattr(residual, "add_norm", notice)
    x = torch.randn(2, 3, WIDTH)

    def use(module: Residual, x: Tensor = x) -> None:
        module(x, lambda y: 2 * y)

    with pytest.raises(LoopUsedError):
        use(frame())

    use(frame().eval())
    use(frame(dropout=0.0))
    use(frame(norm_position="pre"))
    use(frame(d_model=48), torch.randn(2, 3, 48))
    use(frame().double(), x.double())
    with torch.no_grad():
        use(frame())
    hooked, changed, bare = frame(), frame(), frame()
    hooked.norm.register_forward_hook(lambda *given: None)
    changed.norm = Scaled(WIDTH)
    bare.norm = nn.LayerNorm(WIDTH, bias=False)
    for module in (hooked, changed, bare):
        use(module)
    token = listen(lambda module, name, tensor: tensor)
    try:
        use(frame())
    finally:
        stop_listening(token)
    monkeypatch.setattr("headway.loops.arrays._has_numba", functools.partial(bool, 0))
    use(frame())
