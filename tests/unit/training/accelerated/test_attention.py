"""Compiled loops are equation 1 and its gradient, for any mask, length, width and type."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from headway.errors import ConfigError
from headway.kernels.dispatch import LONGEST_SENTENCE
from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
from headway.model.probe import listen, stop_listening
from headway.training.accelerated.attention import attention_in_kernels
from headway.training.accelerated.install import accelerated

pytest.importorskip("numba")

B, H = 3, 2


def masks(t: int, s: int) -> dict[str, Tensor | None]:
    torch.manual_seed(2)
    ragged = torch.rand(B, H, t, s) < 0.6
    ragged[0, 1, 0] = ragged[2] = False  # nothing to attend to, in a row and in a sentence
    return {
        "none": None,
        "two axes": torch.ones(t, s, dtype=torch.bool).tril(),
        "padding": (torch.arange(s) < torch.tensor([s, 1, (s + 1) // 2])[:, None])[:, None, None],
        "one a sentence": ragged[:, :1],
        "one a head": ragged[:1],
        "one a query": ragged[..., :1],
        "all its own": ragged,
        "not in a row": ragged.transpose(0, 1).contiguous().transpose(0, 1),
    }


def by_loops(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    return attention_in_kernels(q, torch.cat((k, v), -1), mask, heads, q.size(-1) // heads)


def by_loops_together(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    return attention_in_kernels(torch.cat((q, k, v), -1), None, mask, heads, q.size(-1) // heads)


def by_the_equation(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2).double() for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2)


def output_and_gradients(attend: Any, inputs: list[Tensor], *rest: Any) -> list[Tensor]:
    inputs = [x.detach().requires_grad_() for x in inputs]
    output = attend(*inputs, *rest)
    torch.manual_seed(4)
    output.backward(torch.randn(output.shape).to(inputs[0].dtype).to(output.dtype))
    return [output.detach(), *(x.grad for x in inputs if x.grad is not None)]


@pytest.mark.parametrize("mask", masks(1, 1))
@pytest.mark.parametrize(
    ("t", "s", "d_k", "d_v"), [(1, 1, 16, 16), (5, 7, 32, 48), (4, 16, 48, 16), (18, 33, 64, 80)]
)
def test_loops_give_the_equation_and_its_gradient(
    t: int, s: int, d_k: int, d_v: int, mask: str
) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(B, *sizes) for sizes in ((t, H * d_k), (s, H * d_k), (s, H * d_v))]

    found = output_and_gradients(by_loops, inputs, masks(t, s)[mask], H)

    expected = output_and_gradients(by_the_equation, inputs, masks(t, s)[mask], H)
    assert len(found) == 4
    for number, exact in zip(found, expected, strict=True):
        torch.testing.assert_close(number.double(), exact.double(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mask", ["none", "two axes", "all its own"])
def test_projections_side_by_side_are_the_same_as_apart(mask: str) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(B, 6, H * d) for d in (32, 32, 48)]

    together = output_and_gradients(by_loops_together, inputs, masks(6, 6)[mask], H)

    apart = output_and_gradients(by_loops, inputs, masks(6, 6)[mask], H)
    assert all(torch.equal(a, b) for a, b in zip(together, apart, strict=True))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_in_training_a_module_computes_what_it_says(
    bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    module = MultiHeadAttention(24, 2, d_k=16, d_v=32, bias=bias)
    x, memory, values = torch.randn(3, B, 4, 24)

    mask = masks(4, 4)["one a sentence"]

    def run(*inputs: Tensor) -> list[Tensor]:
        module.zero_grad()
        with accelerated(module):
            found = output_and_gradients(lambda *given: module(*given, mask), list(inputs))
        return found + [p.grad for p in module.parameters() if p.grad is not None]

    def run_on_one(x: Tensor, *rest: Tensor) -> list[Tensor]:
        """Give the same tensor as query, key and value, or as key and value."""
        module.zero_grad()
        inputs = [each.clone().requires_grad_() for each in (x, *rest)]
        with accelerated(module):
            output = module(inputs[0], inputs[-1], inputs[-1], mask)
        output.square().sum().backward()
        both = [*inputs, *module.parameters()]
        return [output.detach(), *(each.grad for each in both if each.grad is not None)]

    found = run(x, memory, values), run_on_one(x), run_on_one(x, memory)

    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    expected = run(x, memory, values), run_on_one(x), run_on_one(x, memory)
    for some, others in zip(found, expected, strict=True):
        assert len(some) == len(others) > 5
        for number, exact in zip(some, others, strict=True):
            torch.testing.assert_close(number, exact, rtol=1e-5, atol=1e-5)


def test_bfloat16_is_rounded_at_the_ends_alone() -> None:
    inputs = [torch.randn(B, 9, H * 32).bfloat16() for _ in range(3)]
    mask = masks(9, 9)["all its own"]

    found = output_and_gradients(by_loops, inputs, mask, H)

    expected = output_and_gradients(by_the_equation, inputs, mask, H)
    for number, exact in zip(found, expected, strict=True):
        assert number.dtype == torch.bfloat16
        # 8 bits, to the nearest; the rest is float32's, beside what cancels out.
        torch.testing.assert_close(number.double(), exact.double(), rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads: int) -> None:
    inputs = [torch.randn(5, 7, H * 16) for _ in range(3)]
    mask = torch.rand(5, 1, 7, 7) < 0.7
    before = torch.get_num_threads()

    def run(number: int) -> list[Tensor]:
        torch.set_num_threads(number)
        try:
            return output_and_gradients(by_loops, inputs, mask, H)
        finally:
            torch.set_num_threads(before)

    assert all(torch.equal(a, b) for a, b in zip(run(threads), run(1), strict=True))


def test_heads_of_a_single_sentence_are_divided_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.kernels import threads

    counts, called = [], threads.divide

    def divide(loop: Callable[..., bool], *given: object, count: int) -> None:
        counts.append(count)
        called(loop, *given, count=count)

    monkeypatch.setattr(threads, "divide", divide)

    output_and_gradients(by_loops, [torch.randn(1, 5, 3 * 16) for _ in range(3)], None, 3)

    assert counts == [3, 3]


def test_a_hidden_key_gets_exactly_nothing_and_its_gradient_is_zero() -> None:
    q, k, v = (torch.randn(1, 4, 16) for _ in range(3))
    mask = torch.tensor([True, True, False, True]).expand(4, 4)
    changed = k.clone(), v.clone()
    for x in changed:
        x[:, 2] = 1e6

    first = output_and_gradients(by_loops, [q, k, v], mask, 1)
    other = output_and_gradients(by_loops, [q, *changed], mask, 1)

    assert torch.equal(first[0], other[0])
    assert not first[2][:, 2].any()
    assert not first[3][:, 2].any()


def test_a_hidden_score_is_hidden_even_if_it_is_not_finite() -> None:
    q, k, v = (torch.randn(1, 4, 16).abs() for _ in range(3))
    k[:, 2] = torch.inf
    mask = torch.tensor([True, True, False, True]).expand(4, 4)

    hidden = by_loops(q, k, v, mask, 1)

    assert torch.equal(hidden, by_loops(q, k.nan_to_num(posinf=0.0), v, mask, 1))
    assert hidden.isfinite().all()


@pytest.mark.parametrize(
    ("query", "key", "value"), [(4, 1, 1), (1, 4, 4), (3, 3, 1), (3, 1, 3)], ids=str
)
def test_batches_of_different_sizes_broadcast_as_without_training(
    query: int, key: int, value: int
) -> None:
    module = MultiHeadAttention(32, 2)
    inputs = [torch.randn(size, 5, 32) for size in (query, key, value)]

    with accelerated(module):
        torch.testing.assert_close(module.train()(*inputs), module.eval()(*inputs))


def test_batches_that_do_not_fit_are_refused() -> None:
    module = MultiHeadAttention(32, 2)
    memory = torch.randn(3, 5, 32)

    refused = pytest.raises(ConfigError, match="4 sentences of queries, 3 of keys and 3 of values")
    with refused, accelerated(module):
        module(torch.randn(4, 5, 32), memory, memory)


def test_a_gradient_that_is_spread_out_and_kept_graphs_are_right() -> None:
    inputs = [torch.randn(2, 5, 32, requires_grad=True) for _ in range(3)]

    output = by_loops(*inputs, None, 2)
    first = torch.autograd.grad(output.sum(), inputs, retain_graph=True)
    again = torch.autograd.grad(output, inputs, torch.ones_like(output))

    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused_rather_than_wrong(power: int) -> None:
    q = torch.randn(1, 4, 16, requires_grad=True)
    total = by_loops(q, q, q, None, 1).sum()
    (gradient,) = torch.autograd.grad(total**power, q, create_graph=True)

    with pytest.raises(ConfigError, match="A second derivative was requested"):
        gradient.sum().backward()


def test_transforms_of_functions_go_another_way() -> None:
    module = MultiHeadAttention(32, 2).train()
    x = torch.randn(3, 4, 32)

    def total(x: Tensor) -> Tensor:
        with accelerated(module):
            return module(x[None], x[None], x[None]).square().sum()

    alone = torch.func.vmap(torch.func.grad(total))(x)

    for each, found in zip(x, alone, strict=True):
        each = each.clone().requires_grad_()
        torch.testing.assert_close(torch.autograd.grad(total(each), each)[0], found)


@pytest.mark.parametrize("which", range(3))
def test_what_is_not_finite_shows(which: int) -> None:
    inputs = [torch.randn(1, 4, 16) for _ in range(3)]
    inputs[which][0, 1, 3] = torch.nan

    output = by_loops(*inputs, None, 1)

    assert output[0, 1].isnan().any()


class LoopsUsedError(Exception):
    """The loops are used."""


@pytest.fixture
def noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def notice(*inputs: object) -> None:
        raise LoopsUsedError

    monkeypatch.setattr("headway.training.accelerated.install.concat_in_kernels", notice)


def attend(module: MultiHeadAttention, length: int = 5, **settings: Any) -> None:
    x = torch.randn(2, length, module.d_model, **settings)
    with accelerated(module):
        module(x, x, x)


@pytest.mark.usefixtures("noticed")
def test_loops_are_for_training_what_nobody_looks_at() -> None:
    module = MultiHeadAttention(32, 2)
    with pytest.raises(LoopsUsedError):
        attend(module)
    with pytest.raises(LoopsUsedError), torch.autocast("cpu", dtype=torch.bfloat16):
        attend(module)

    attend(module.eval())
    module.train()
    with torch.no_grad():
        attend(module)
    token = listen(lambda module, name, tensor: tensor)
    try:
        attend(module)
    finally:
        stop_listening(token)


class Changed(MultiHeadAttention):
    """Attention that somebody has changed."""


@pytest.mark.usefixtures("noticed")
def test_what_loops_do_not_take_goes_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    attend(MultiHeadAttention(32, 4))  # heads of 8
    attend(MultiHeadAttention(32, 2, d_v=5))
    attend(MultiHeadAttention(32, 2, dropout=0.1))
    attend(MultiHeadAttention(32, 2).double(), dtype=torch.float64)
    attend(MultiHeadAttention(32, 2), length=LONGEST_SENTENCE + 1)
    attend(MultiHeadAttention(32, 2), length=0)
    with torch.autocast("cpu", dtype=torch.float16):
        attend(MultiHeadAttention(32, 2))
    attend(Changed(32, 2))
    with monkeypatch.context() as patch:
        patch.setattr("headway.kernels.threads.parallel_region", lambda: 0)
        patch.setattr(torch, "get_num_threads", lambda: 2)
        attend(MultiHeadAttention(32, 2))  # it would be done by one thread
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    attend(MultiHeadAttention(32, 2))


def test_a_counter_of_operations_sees_the_products_of_the_equation() -> None:
    module, x = MultiHeadAttention(32, 2), torch.randn(B, 5, 32, requires_grad=True)

    with accelerated(module), FlopCounterMode(display=False) as counter:
        module(x, x, x).sum().backward()

    projections, equation = 4 * 5 * 32 * 32, 2 * 5 * 5 * 32
    assert counter.get_total_flops() == 3 * 2 * B * (projections + equation)
