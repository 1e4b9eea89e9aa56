"""Attention gives the numbers of the paper, for any shape, and says clearly what cannot work."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headway.errors import ConfigError
from headway.model.attention import (
    MultiHeadAttention,
    fused_attention,
    mask_scores,
    masked_softmax,
    scaled_dot_product_attention,
)
from headway.model.probe import listen, stop_listening

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def traced(
    attend: MultiHeadAttention, *inputs: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the output and every intermediate by name."""
    named: dict[str, Tensor] = {}

    def listener(module: torch.nn.Module, name: str, tensor: Tensor) -> Tensor:
        assert module is attend
        named[name] = tensor
        return tensor

    token = listen(listener)
    try:
        output = attend(*inputs, mask=mask)
    finally:
        stop_listening(token)
    return output, named


def queries_and_keys_with_product(product: list[list[float]], d_k: int) -> tuple[Tensor, Tensor]:
    """Return Q and K with Q K^T = product: K is the first rows of the identity."""
    q = torch.zeros(3, d_k, dtype=torch.float64)
    q[:, :3] = torch.tensor(product, dtype=torch.float64)
    return q, torch.eye(3, d_k, dtype=torch.float64)


def test_three_words_with_keys_of_width_64_give_the_worked_numbers() -> None:
    product = [[110, 90, 80], [70, 99, 70], [90, 70, 100]]
    q, k = queries_and_keys_with_product(product, d_k=64)

    _, weights = scaled_dot_product_attention(q, k, torch.eye(3, dtype=torch.float64))
    attend = MultiHeadAttention(64, 1, bias=False).double()
    with torch.no_grad():
        for projection in (attend.w_q, attend.w_k):
            projection.weight.copy_(torch.eye(64))
    _, named = traced(attend, q[None], k[None], k[None])

    scores = [[13.75, 11.25, 10], [8.75, 12.375, 8.75], [11.25, 8.75, 12.5]]
    assert named["scores"][0, 0].tolist() == scores
    printed = torch.tensor([[0.90, 0.07, 0.02], [0.025, 0.95, 0.025], [0.22, 0.02, 0.76]])
    half_a_digit = torch.tensor([[0.005] * 3, [0.0005, 0.005, 0.0005], [0.005] * 3])
    assert ((weights - printed).abs() <= half_a_digit).all()
    # exp(13.75 - 13.75) = 1, exp(11.25 - 13.75) = .082085, exp(10 - 13.75) = .023518
    by_hand = torch.tensor([1, math.exp(-2.5), math.exp(-3.75)], dtype=torch.float64)
    torch.testing.assert_close(weights[0], by_hand / by_hand.sum(), rtol=1e-12, atol=0)
    torch.testing.assert_close(named["weights"][0, 0], weights, rtol=1e-12, atol=0)


def test_three_words_with_keys_of_width_4_give_the_worked_numbers() -> None:
    q, k = queries_and_keys_with_product([[1, 0, 2], [1, 1, 1], [2, 3, 3]], d_k=4)

    _, weights = scaled_dot_product_attention(q, k, torch.eye(3, dtype=torch.float64))

    assert [[round(x, 4) for x in row] for row in weights.tolist()] == [
        [0.3072, 0.1863, 0.5065],
        [0.3333, 0.3333, 0.3333],
        [0.2327, 0.3837, 0.3837],
    ]


def test_the_worked_shapes_hold() -> None:
    q, k, v = torch.randn(3, 30, 128), torch.randn(3, 50, 128), torch.randn(3, 50, 256)

    output, weights = scaled_dot_product_attention(q, k, v)

    assert output.shape == (3, 30, 256)
    assert weights.shape == (3, 30, 50)
    torch.testing.assert_close(output, torch.einsum("bts,bsv->btv", weights, v))


@pytest.mark.parametrize(
    ("d_model", "num_heads", "batch", "length"),
    [(200, 5, 128, 32), (512, 8, 2, 7)],
    ids=["five heads of 40", "base"],
)
def test_self_attention_keeps_its_shape(
    d_model: int, num_heads: int, batch: int, length: int
) -> None:
    attend = MultiHeadAttention(d_model, num_heads)
    x = torch.randn(batch, length, d_model)

    with torch.no_grad():
        output, named = traced(attend, x, x, x)

    assert output.shape == x.shape
    assert attend.d_k == attend.d_v == d_model // num_heads
    assert named["q"].shape == (batch, num_heads, length, d_model // num_heads)


@pytest.mark.parametrize("leading", [(), (2,), (2, 4), (2, 4, 3)], ids=str)
def test_leading_dimensions_are_computed_independently(leading: tuple[int, ...]) -> None:
    q, k, v = torch.randn(*leading, 5, 7), torch.randn(*leading, 6, 7), torch.randn(*leading, 6, 9)
    mask = torch.rand(*leading, 5, 6) > 0.4

    output, weights = scaled_dot_product_attention(q, k, v, mask)

    assert output.shape == (*leading, 5, 9)
    for index in itertools.product(*map(range, leading)):
        alone = scaled_dot_product_attention(q[index], k[index], v[index], mask[index])
        torch.testing.assert_close(output[index], alone[0], rtol=0, atol=1e-6)
        torch.testing.assert_close(weights[index], alone[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_positions_get_exactly_zero_and_an_empty_row_gives_zeros(dtype: torch.dtype) -> None:
    q, k, v = (torch.randn(2, n, 11).to(dtype) for n in (5, 7, 7))
    mask = torch.rand(2, 5, 7) > 0.5
    mask[0, 2] = False
    mask[1, 4, 3] = True

    output, weights = scaled_dot_product_attention(q, k, v, mask)

    assert output.dtype == weights.dtype == dtype
    assert (weights[~mask] == 0).all()
    assert (output[0, 2] == 0).all()
    assert output.isfinite().all()
    rows = weights.float().sum(-1)[mask.any(-1)]
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=0.01)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("fused", [False, True], ids=["explicit", "fused"])
def test_an_empty_row_has_gradients_of_zero(dtype: torch.dtype, fused: bool) -> None:
    q, k, v = (torch.randn(2, n, 11).to(dtype).requires_grad_() for n in (5, 7, 7))
    mask = torch.ones(2, 5, 7, dtype=torch.bool)
    mask[0, 2] = False
    mask[1] = False

    if fused:
        output = fused_attention(q, k, v, mask)
    else:
        output, _ = scaled_dot_product_attention(q, k, v, mask)
    output.float().square().sum().backward()

    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[0, 2] == 0).all()
    assert all((x.grad[1] == 0).all() for x in (q, k, v))
    assert all((x.grad[0] != 0).any() for x in (q, k, v))


def test_the_softmax_of_an_empty_row_has_a_gradient_of_zero_too() -> None:
    scores = torch.randn(3, 5, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1, 0], [0] * 5, [1] * 5]).bool()
    masked_scores = mask_scores(scores, mask)
    masked_scores.retain_grad()

    (masked_softmax(masked_scores, mask) * torch.randn(3, 5)).sum().backward()

    # A NaN would be hidden further down, but stop whoever looks for anomalies.
    assert masked_scores.grad is not None
    assert masked_scores.grad.isfinite().all()
    assert (masked_scores.grad[1] == 0).all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_types_lose_digits_once_and_not_in_the_sum(dtype: torch.dtype, masked: bool) -> None:
    mask = torch.rand(7, 300) < 0.8 if masked else None
    if mask is not None:
        mask[3] = False
    scores = (3 * torch.randn(7, 300)).to(dtype).requires_grad_()
    wide = scores.detach().float().requires_grad_()
    gradient = torch.randn(7, 300).to(dtype)

    weights = masked_softmax(mask_scores(scores, mask), mask)
    weights.backward(gradient)
    of_wide = masked_softmax(mask_scores(wide, mask), mask)
    of_wide.backward(gradient.float())

    assert weights.dtype == dtype
    assert (weights == of_wide.to(dtype)).all()
    assert scores.grad is not None
    assert wide.grad is not None
    assert (scores.grad == wide.grad.to(dtype)).all()


def test_no_keys_at_all_give_zeros() -> None:
    q, none, v = torch.randn(2, 5, 7), torch.randn(2, 0, 7), torch.randn(2, 0, 9)

    output, weights = scaled_dot_product_attention(q, none, v)

    assert weights.shape == (2, 5, 0)
    assert output.tolist() == torch.zeros(2, 5, 9).tolist()


def test_large_negative_scores_keep_their_weight_beside_masked_ones() -> None:
    # A mask value such as -1e4 would take part here.
    scores = torch.tensor([[-50_000.0, -50_001.0, 3.0]])
    mask = torch.tensor([[True, True, False]])

    weights = masked_softmax(mask_scores(scores, mask), mask)

    torch.testing.assert_close(weights, torch.tensor([[0.7310586, 0.2689414, 0.0]]))


def test_two_heads_by_hand() -> None:
    # d_model 2, heads of width 1; all projections are the identity but W^O, which swaps.
    attend = MultiHeadAttention(2, 2, bias=False).double()
    with torch.no_grad():
        for projection in (attend.w_q, attend.w_k, attend.w_v):
            projection.weight.copy_(torch.eye(2))
        attend.w_o.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    key = torch.tensor([[[0.0, 0.0], [math.log(3), math.log(4)]]], dtype=torch.float64)
    value = torch.tensor([[[1.0, 10.0], [5.0, 20.0]]], dtype=torch.float64)

    output = attend(torch.ones(1, 1, 2, dtype=torch.float64), key, value)

    # Head 1: weights 1/4, 3/4 -> 4. Head 2: weights 1/5, 4/5 -> 18. Swapped by W^O.
    torch.testing.assert_close(output, torch.tensor([[[18.0, 4.0]]], dtype=torch.float64))


def test_widths_of_keys_and_values_can_be_chosen() -> None:
    attend = MultiHeadAttention(14, 3, d_k=5, d_v=4)
    query, memory = torch.randn(2, 7, 14), torch.randn(2, 6, 14)

    output, named = traced(attend, query, memory, memory)

    assert {name: tuple(tensor.shape) for name, tensor in named.items()} == {
        "projected_q": (2, 7, 15),
        "q": (2, 3, 7, 5),
        "projected_k": (2, 6, 15),
        "k": (2, 3, 6, 5),
        "projected_v": (2, 6, 12),
        "v": (2, 3, 6, 4),
        "scores": (2, 3, 7, 6),
        "masked_scores": (2, 3, 7, 6),
        "weights": (2, 3, 7, 6),
        "heads": (2, 3, 7, 4),
        "concat": (2, 7, 12),
        "output": (2, 7, 14),
    }
    assert output is named["output"]


def test_the_named_intermediates_are_the_steps_of_the_paper() -> None:
    attend = MultiHeadAttention(14, 3, d_k=5, d_v=4).double()
    query, memory = torch.randn(2, 7, 14).double(), torch.randn(2, 6, 14).double()
    mask = torch.rand(2, 1, 7, 6) > 0.3

    output, named = traced(attend, query, memory, memory, mask=mask)

    second_head = attend.w_k(memory)[:, :, 5:10]
    torch.testing.assert_close(named["k"][:, 1], second_head)
    raw = named["q"] @ named["k"].mT / math.sqrt(5)
    torch.testing.assert_close(named["scores"], raw)
    assert (named["masked_scores"].isinf() == ~mask.expand(2, 3, 7, 6)).all()
    torch.testing.assert_close(named["heads"], named["weights"] @ named["v"])
    side_by_side = torch.cat([named["heads"][:, head] for head in range(3)], dim=-1)
    assert torch.equal(named["concat"], side_by_side)
    torch.testing.assert_close(output, attend.w_o(side_by_side))


def test_asking_for_intermediates_does_not_change_the_output() -> None:
    attend = MultiHeadAttention(14, 3, d_k=5, d_v=4)
    x, mask = torch.randn(2, 7, 14), torch.rand(2, 1, 7, 7) > 0.4

    output, _ = traced(attend, x, x, x, mask=mask)

    assert torch.equal(output, attend(x, x, x, mask))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_a_bias_is_a_choice(bias: bool) -> None:
    names = {name for name, _ in MultiHeadAttention(8, 2, bias=bias).named_parameters()}

    assert names == {f"w_{x}.weight" for x in "qkvo"} | (
        {f"w_{x}.bias" for x in "qkvo"} if bias else set()
    )


@pytest.mark.parametrize("fused", [False, True], ids=["explicit", "fused"])
def test_dropout_acts_on_the_weights_while_training_only(
    fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: fused)
    attend = MultiHeadAttention(6, 1, dropout=0.5, bias=False)
    with torch.no_grad():
        for projection in (attend.w_v, attend.w_o):
            projection.weight.copy_(torch.eye(6))
    x = torch.zeros(1, 400, 6)
    x[..., 0] = 1.0  # every value is 1, so an output is the sum of the kept weights

    trained, evaluated = attend.train()(x, x, x)[..., 0], attend.eval()(x, x, x)[..., 0]

    torch.testing.assert_close(evaluated, torch.ones_like(evaluated))
    # Of 400 equal weights about half are kept, each doubled: mean 1, deviation 1 / 20.
    assert trained.std().item() == pytest.approx(0.05, rel=0.3)
    assert trained.mean().item() == pytest.approx(1.0, abs=0.02)


def test_a_number_of_heads_that_does_not_divide_names_both_and_the_remedy() -> None:
    with pytest.raises(ConfigError) as error:
        MultiHeadAttention(500, 8)

    assert str(error.value) == (
        "d_model 500 is not divisible by num_heads 8 (remainder 4). "
        "Use d_model 504, or another number of heads, or set d_k and d_v."
    )
    assert MultiHeadAttention(500, 8, d_k=62, d_v=62).w_o.in_features == 496


@pytest.mark.parametrize("name", ["d_model", "num_heads", "d_k", "d_v"])
def test_a_size_below_one_is_refused_by_name(name: str) -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_k": 3, "d_v": 5} | {name: 0}

    with pytest.raises(ConfigError, match=rf"^{name} is 0, but must be at least 1"):
        MultiHeadAttention(**sizes)


@pytest.mark.parametrize("size", [8.0, "8"])
def test_a_size_is_a_whole_number(size: Any) -> None:
    with pytest.raises(ConfigError, match=r"^d_model is '?8(\.0)?'?, but must be a whole number"):
        MultiHeadAttention(size, 2)


def test_a_number_of_heads_that_was_set_alone_is_refused_and_with_the_widths_it_counts() -> None:
    x = torch.randn(1, 3, 8)
    attention, plain = MultiHeadAttention(8, 2, d_v=6), MultiHeadAttention(8, 4, d_v=3)
    plain.load_state_dict(attention.state_dict())

    attention.num_heads = 4
    with pytest.raises(
        ConfigError, match=r"w_q makes 8 numbers, but 4 heads of 4 are 16\. Set num"
    ):
        attention(x, x, x)
    attention.d_k = 2
    with pytest.raises(ConfigError, match=r"w_v makes 12 numbers, but 4 heads of 6 are 24"):
        attention(x, x, x)
    attention.d_v = 3

    torch.testing.assert_close(attention(x, x, x), plain(x, x, x))


def test_queries_and_keys_of_different_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="width 7 and keys 6"):
        scaled_dot_product_attention(torch.ones(5, 7), torch.ones(4, 6), torch.ones(4, 7))


def test_keys_without_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="4 keys and 3 values"):
        scaled_dot_product_attention(torch.ones(5, 7), torch.ones(4, 7), torch.ones(3, 7))
    with pytest.raises(ConfigError, match="4 keys and 3 values"):
        MultiHeadAttention(6, 2)(torch.ones(1, 5, 6), torch.ones(1, 4, 6), torch.ones(1, 3, 6))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_a_mask_that_is_not_boolean_is_refused(dtype: torch.dtype) -> None:
    x, mask = torch.ones(1, 5, 6), torch.ones(5, 5, dtype=dtype)

    with pytest.raises(ConfigError, match="must be boolean with True = may attend"):
        scaled_dot_product_attention(x, x, x, mask)
    with pytest.raises(ConfigError, match="must be boolean with True = may attend"):
        MultiHeadAttention(6, 2)(x, x, x, mask)


@pytest.mark.parametrize("shape", [(2, 4), (4, 5), (2, 1, 1, 5), (1, 1, 1, 4, 4)], ids=str)
def test_a_mask_of_the_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    x, mask = torch.ones(3, 4, 6), torch.ones(shape, dtype=torch.bool)

    with pytest.raises(ConfigError, match="does not broadcast to the scores"):
        MultiHeadAttention(6, 2)(x, x, x, mask)
    with pytest.raises(ConfigError, match="does not broadcast to the scores"):
        scaled_dot_product_attention(x, x, x, mask)


def test_a_mask_of_three_axes_is_refused_by_several_heads_since_it_could_mean_either() -> None:
    x, mask = torch.ones(2, 4, 6), torch.ones(2, 4, 4, dtype=torch.bool)
    attend = MultiHeadAttention(6, 2)

    with pytest.raises(ConfigError, match=r"mask\[:, None\]"):
        attend(x, x, x, mask)

    assert torch.equal(attend(x, x, x, mask[:, None]), attend(x, x, x))


@pytest.mark.parametrize("shape", [(4, 6), (2, 4, 7), (2, 3, 4, 6)], ids=str)
def test_an_input_that_is_no_batch_of_the_right_width_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"^query has shape .* must be \(B, L, 6\)"):
        MultiHeadAttention(6, 2)(torch.ones(shape), torch.ones(2, 4, 6), torch.ones(2, 4, 6))


def test_what_is_no_tensor_is_said_to_be_none() -> None:
    attend, x = MultiHeadAttention(8, 2), torch.ones(2, 3, 8)
    array = np.ones((3, 3), dtype=bool)

    with pytest.raises(ConfigError, match=r"mask is a numpy\.ndarray, not a tensor\. Convert it"):
        attend(x, x, x, array)
    with pytest.raises(ConfigError, match=r"mask is a numpy\.ndarray, not a tensor"):
        scaled_dot_product_attention(x, x, x, array)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"key is a builtins\.list, not a tensor"):
        attend(x, x.tolist(), x)


def test_batches_of_two_sizes_do_not_go_together_but_one_goes_with_all() -> None:
    attend = MultiHeadAttention(8, 2).eval()
    two, three, one = torch.ones(2, 5, 8), torch.ones(3, 5, 8), torch.ones(1, 5, 8)
    with pytest.raises(ConfigError, match="2 sentences of queries, 3 of keys and 3 of values"):
        attend(two, three, three)
    with pytest.raises(ConfigError, match="1 sentences of queries, 2 of keys and 3 of values"):
        attend(one, two, three)
    with pytest.raises(ConfigError, match=r"\(2, 5, 8\), \(1, 5, 8\) and \(3, 5, 8\); the axes"):
        scaled_dot_product_attention(two, one, three)
    query, memory = torch.randn(3, 4, 8), torch.randn(1, 5, 8)
    torch.testing.assert_close(
        attend(query, memory, memory),
        attend(query, memory.expand(3, -1, -1), memory.expand(3, -1, -1)),
    )


@pytest.mark.parametrize("single", ["query", "memory"])
@pytest.mark.parametrize("fused", [False, True], ids=["explicit", "fused"])
def test_a_mask_for_each_sentence_goes_with_a_single_query_or_memory(
    fused: bool, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: fused)
    attend = MultiHeadAttention(8, 2)
    query = torch.randn(1 if single == "query" else 3, 4, 8)
    memory = torch.randn(1 if single == "memory" else 3, 5, 8)
    mask = (torch.arange(5) < torch.tensor([5, 2, 3])[:, None])[:, None, None]

    output = attend(query, memory, memory, mask)

    queries, memories = query.expand(3, -1, -1), memory.expand(3, -1, -1)
    torch.testing.assert_close(output, attend(queries, memories, memories, mask))
    with pytest.raises(ConfigError, match=r"\(2, 1, 1, 5\).* broadcast to the scores \(3, 2, 4, 5"):
        attend(query, memory, memory, mask[:2])


def test_a_mask_for_each_memory_goes_with_queries_of_fewer_axes() -> None:
    q, k, v = torch.randn(4, 7), torch.randn(3, 5, 7), torch.randn(3, 5, 6)
    mask = torch.rand(3, 4, 5) < 0.6

    output, weights = scaled_dot_product_attention(q, k, v, mask)

    expected = scaled_dot_product_attention(q.expand(3, -1, -1), k, v, mask)
    torch.testing.assert_close((output, weights), expected)


def test_width_and_heads_in_the_order_of_other_code_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^d_model 8 is less than num_heads 512\. The width com"):
        MultiHeadAttention(8, 512)


def test_a_rate_in_place_of_a_width_is_told_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^d_k is 0\.1, .* Write dropout=0\.1 if it is a"):
        MultiHeadAttention(512, 8, 0.1)  # type: ignore[arg-type]
