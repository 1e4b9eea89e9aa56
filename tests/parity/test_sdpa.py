"""Equation 1 in four lines, the fused path and PyTorch's own function agree."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headway.model.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)

# Largest difference of outputs of order 1: a few units in the last place of each type.
TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 2e-6,
    torch.bfloat16: 2e-2,
    torch.float16: 2e-3,
}
DTYPES = list(TOLERANCE)


def inputs(dtype: torch.dtype, d_v: int = 13) -> tuple[Tensor, Tensor, Tensor]:
    shapes = ((2, 3, 5, 11), (2, 3, 7, 11), (2, 3, 7, d_v))
    q, k, v = (torch.randn(shape).to(dtype).requires_grad_() for shape in shapes)
    return q, k, v


def masks() -> dict[str, Tensor | None]:
    some = torch.rand(2, 1, 5, 7) > 0.5
    some[..., 3] = True
    with_empty_rows = some.clone()
    with_empty_rows[0, 0, 2] = False
    with_empty_rows[1] = False
    return {
        "no mask": None,
        "a mask": some,
        "a padding mask": torch.tensor([[1] * 7, [1] * 4 + [0] * 3]).bool()[:, None, None],
        "empty rows": with_empty_rows,
    }


@pytest.mark.parametrize("kind", ["no mask", "a mask", "a padding mask"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_paths_equal_pytorchs_function(dtype: torch.dtype, kind: str) -> None:
    q, k, v = inputs(dtype)
    mask = masks()[kind]

    explicit, _ = scaled_dot_product_attention(q, k, v, mask)
    fused = fused_attention(q, k, v, mask)

    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(explicit, theirs, rtol=0, atol=TOLERANCE[dtype])
    torch.testing.assert_close(fused, theirs, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["no mask", "a mask", "a padding mask", "empty rows"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("d_v", [11, 13], ids=["equal widths", "wider values"])
def test_both_paths_agree_in_output_and_gradient(dtype: torch.dtype, kind: str, d_v: int) -> None:
    q, k, v = inputs(dtype, d_v)
    mask, upstream = masks()[kind], torch.randn(2, 3, 5, d_v).to(dtype)

    results = []
    for output in (
        scaled_dot_product_attention(q, k, v, mask)[0],
        fused_attention(q, k, v, mask),
    ):
        results.append((output, *torch.autograd.grad(output, (q, k, v), upstream)))

    for explicit, fused in zip(*results, strict=True):
        assert explicit.dtype == dtype
        torch.testing.assert_close(explicit, fused, rtol=0, atol=4 * TOLERANCE[dtype])
    if kind == "empty rows":
        for output, q_gradient, *_ in results:
            assert (output[0, :, 2] == 0).all()
            assert (output[1] == 0).all()
            assert (q_gradient[1] == 0).all()


def test_a_kernel_that_gives_nan_for_empty_rows_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plain_kernel(
        q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor, dropout_p: float
    ) -> Tensor:
        scores = q @ k.mT / q.size(-1) ** 0.5
        return scores.masked_fill(~attn_mask, float("-inf")).softmax(-1) @ v

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", plain_kernel)
    q, k, v = inputs(torch.float64)
    mask = masks()["empty rows"]
    assert mask is not None
    assert plain_kernel(q, k, v, mask, 0.0).isnan().any()

    fused = fused_attention(q, k, v, mask)
    gradients = torch.autograd.grad(fused.square().sum(), (q, k, v))

    explicit, _ = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(fused, explicit, rtol=0, atol=1e-12)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][1] == 0).all()


@pytest.mark.parametrize("kind", ["no mask", "a mask", "a padding mask", "empty rows"])
def test_multi_head_attention_does_not_depend_on_the_path(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attend = MultiHeadAttention(14, 3, d_k=5, d_v=4).double()
    query, memory = torch.randn(2, 5, 14).double(), torch.randn(2, 7, 14).double()
    mask = masks()[kind]

    outputs = []
    for fused in (False, True):
        monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device, x=fused: x)
        outputs.append(attend(query, memory, memory, mask))

    torch.testing.assert_close(*outputs, rtol=0, atol=1e-12)


def test_a_half_precision_result_is_close_to_the_exact_one() -> None:
    q, k, v = (x.detach() for x in inputs(torch.float64))
    mask = masks()["empty rows"]
    exact, _ = scaled_dot_product_attention(q, k, v, mask)

    for dtype in (torch.bfloat16, torch.float16):
        rounded, _ = scaled_dot_product_attention(q.to(dtype), k.to(dtype), v.to(dtype), mask)
        torch.testing.assert_close(rounded.double(), exact, rtol=0, atol=2 * TOLERANCE[dtype])
