"""The scan of an SSRU is its recurrence, and the decoder layer around it is the paper's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.cache import CellCache, DecoderCache
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.residual import Residual
from headway.model.ssru import RecurrentDecoderLayer, SimpleRecurrentUnit, scan


def one_by_one(forget: Tensor, candidate: Tensor, cell: Tensor) -> Tensor:
    cells = []
    for f, x in zip(forget.unbind(1), candidate.unbind(1), strict=True):
        cell = f * cell + (1 - f) * x
        cells.append(cell)
    return torch.stack(cells, dim=1)


def numbers(length: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    gates = (5 * torch.randn(3, length, 5, generator=draw, dtype=torch.float64)).sigmoid()
    candidates = torch.randn(3, length, 5, generator=draw, dtype=torch.float64)
    return gates, candidates, torch.randn(3, 5, generator=draw, dtype=torch.float64)


@settings(max_examples=40)
@given(length=st.integers(1, 40), seed=st.integers(0, 9), begins=st.booleans())
def test_the_scan_is_the_recurrence_with_the_same_gradients(
    length: int, seed: int, begins: bool
) -> None:
    inputs = numbers(length, seed)
    gates, candidates, before = (x.requires_grad_() for x in inputs)
    before = before if begins else torch.zeros_like(before, requires_grad=True)

    together = scan(gates, candidates, before if begins else None)
    in_turn = one_by_one(gates, candidates, before)

    torch.testing.assert_close(together, in_turn, rtol=0, atol=1e-12)
    weights = torch.randn_like(together)
    parts = (gates, candidates, before) if begins else (gates, candidates)
    ours = torch.autograd.grad((together * weights).sum(), parts)
    theirs = torch.autograd.grad((in_turn * weights).sum(), parts)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_a_long_memory_and_none_at_all_are_exact() -> None:
    x = torch.arange(1.0, 3001.0).view(1, -1, 1)

    assert torch.equal(scan(torch.zeros_like(x), x), x)
    assert (scan(torch.ones_like(x), x, torch.full((1, 1), 7.0)) == 7).all()
    halves = scan(torch.full_like(x, 0.5), torch.ones_like(x))
    torch.testing.assert_close(halves[0, :4, 0], torch.tensor([0.5, 0.75, 0.875, 0.9375]))
    assert halves[0, -1, 0] == 1


def test_sums_in_bfloat16_are_made_in_float32() -> None:
    gates, candidates, _ = (x.bfloat16() for x in numbers(64, 3))

    ours = scan(gates, candidates)

    assert ours.dtype == torch.bfloat16
    exact = scan(gates.double(), candidates.double())
    torch.testing.assert_close(ours.double(), exact, rtol=2**-8, atol=1e-6)


def test_a_step_by_hand() -> None:
    recur = SimpleRecurrentUnit(2)
    with torch.no_grad():
        recur.w_x.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        recur.w_f.weight.zero_()
        recur.w_f.bias.copy_(torch.tensor([0.0, torch.inf]))  # forget 1/2, and nothing

    output = recur(torch.tensor([[[3.0, 4.0], [1.0, 0.0]]]))

    # Candidates (11, -4) and (1, 0): the cells are (5.5, 0), then 5.5 / 2 + 1 / 2 = 3.25.
    assert output.tolist() == [[[5.5, 0.0], [3.25, 0.0]]]


@given(cuts=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_the_cache_joins_calls_of_any_lengths(cuts: list[int]) -> None:
    torch.manual_seed(1)
    recur, cache = SimpleRecurrentUnit(5).double(), CellCache()
    x = torch.randn(3, sum(cuts), 5).double()

    parts = [recur(part, cache) for part in x.split(cuts, dim=1)]

    torch.testing.assert_close(torch.cat(parts, dim=1), recur(x), rtol=0, atol=1e-12)
    assert cache.length == sum(cuts)


def test_reordered_rows_continue_the_cell_of_their_parent() -> None:
    recur, cache = SimpleRecurrentUnit(4), DecoderCache(1)
    first, second = torch.randn(3, 2, 4), torch.randn(2, 1, 4)
    layer = cache.layers[0]
    recur(first, layer.ssru)

    cache.reorder(torch.tensor([2, 2]))
    continued = recur(second, layer.ssru)

    whole = recur(torch.cat([first[[2, 2]], second], dim=1))
    torch.testing.assert_close(continued[:, 0], whole[:, -1])
    assert cache.length == 3


def test_a_layer_recurs_then_attends_to_the_memory_then_transforms() -> None:
    layer = RecurrentDecoderLayer(
        SimpleRecurrentUnit(14),
        MultiHeadAttention(14, 2, d_k=3, d_v=6),
        PositionwiseFeedForward(14, 19),
        Residual(14),
        Residual(14),
        Residual(14),
    ).eval()
    x, memory = torch.randn(2, 7, 14), torch.randn(2, 6, 14)
    source_mask = torch.rand(2, 1, 1, 6) > 0.3

    output = layer(x, memory, None, source_mask)

    own = layer.ssru_residual.norm(x + layer.ssru(x))
    read = layer.cross_attention_residual.norm(
        own + layer.cross_attention(own, memory, memory, source_mask)
    )
    expected = layer.feed_forward_residual.norm(read + layer.feed_forward(read))
    torch.testing.assert_close(output, expected)


def test_an_input_without_a_batch_is_refused_with_its_shape() -> None:
    with pytest.raises(ConfigError, match=r"x has shape \(7, 5\), but must be \(B, T, 5\)"):
        SimpleRecurrentUnit(5)(torch.randn(7, 5))
    with pytest.raises(ConfigError, match=r"x has shape \(2, 7, 6\)"):
        SimpleRecurrentUnit(5)(torch.randn(2, 7, 6))
