"""Laws of attention over shapes, masks and values."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.model.attention import fused_attention, scaled_dot_product_attention

sizes = st.tuples(*[st.integers(1, 6)] * 5)  # batch, queries, keys, d_k, d_v
seeds = st.integers(0, 2**31)


def inputs(sizes: tuple[int, ...], seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    batch, queries, keys, d_k, d_v = sizes
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64) * 3

    q, k, v = normal(batch, queries, d_k), normal(batch, keys, d_k), normal(batch, keys, d_v)
    share = float(torch.rand((), generator=random))
    return q, k, v, torch.rand(batch, queries, keys, generator=random) < share


@given(sizes=sizes, seed=seeds)
def test_weights_sum_to_one_or_to_zero_and_masked_ones_are_exactly_zero(
    sizes: tuple[int, ...], seed: int
) -> None:
    q, k, v, mask = inputs(sizes, seed)

    output, weights = scaled_dot_product_attention(q, k, v, mask)

    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double(), rtol=0, atol=1e-12)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert (output[~mask.any(-1)] == 0).all()


@given(sizes=sizes, seed=seeds)
def test_permuting_keys_values_and_mask_together_changes_nothing(
    sizes: tuple[int, ...], seed: int
) -> None:
    q, k, v, mask = inputs(sizes, seed)
    order = torch.randperm(sizes[2], generator=torch.Generator().manual_seed(seed))

    output, weights = scaled_dot_product_attention(q, k, v, mask)
    other, other_weights = scaled_dot_product_attention(
        q, k[:, order], v[:, order], mask[:, :, order]
    )

    torch.testing.assert_close(other, output, rtol=0, atol=1e-12)
    torch.testing.assert_close(other_weights, weights[:, :, order], rtol=0, atol=1e-12)


@given(sizes=sizes, seed=seeds)
def test_permuting_queries_permutes_outputs(sizes: tuple[int, ...], seed: int) -> None:
    q, k, v, mask = inputs(sizes, seed)
    order = torch.randperm(sizes[1], generator=torch.Generator().manual_seed(seed))

    output, _ = scaled_dot_product_attention(q, k, v, mask)
    other, _ = scaled_dot_product_attention(q[:, order], k, v, mask[:, order])

    torch.testing.assert_close(other, output[:, order], rtol=0, atol=1e-12)


@given(sizes=sizes, seed=seeds)
def test_what_is_masked_cannot_be_noticed(sizes: tuple[int, ...], seed: int) -> None:
    q, k, v, mask = inputs(sizes, seed)
    hidden = ~mask.any(1)  # keys that no query may attend to

    output, _ = scaled_dot_product_attention(q, k, v, mask)
    k, v = k.clone(), v.clone()
    k[hidden], v[hidden] = 1e6, -1e6

    assert torch.equal(scaled_dot_product_attention(q, k, v, mask)[0], output)


@given(sizes=sizes, seed=seeds)
def test_an_output_lies_between_the_values_that_it_averages(
    sizes: tuple[int, ...], seed: int
) -> None:
    q, k, v, _ = inputs(sizes, seed)

    output, _ = scaled_dot_product_attention(q, k, v)

    assert (output <= v.amax(1, keepdim=True) + 1e-12).all()
    assert (output >= v.amin(1, keepdim=True) - 1e-12).all()


@settings(max_examples=50)
@given(sizes=sizes, seed=seeds, masked=st.booleans())
def test_the_fused_path_is_the_same_function(
    sizes: tuple[int, ...], seed: int, masked: bool
) -> None:
    q, k, v, mask = inputs(sizes, seed)
    mask = mask if masked else None

    output, _ = scaled_dot_product_attention(q, k, v, mask)

    torch.testing.assert_close(fused_attention(q, k, v, mask), output, rtol=0, atol=1e-12)
