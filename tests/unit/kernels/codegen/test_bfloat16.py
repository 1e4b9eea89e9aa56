"""What a cache keeps in bfloat16 is what PyTorch makes of it; in float32 nothing is changed."""

import numpy as np
import pytest
import torch

attention = pytest.importorskip("headway.kernels.attention_step")


def kept(rows: torch.Tensor, dtype: type) -> np.ndarray:
    cache = np.zeros((3, len(rows), rows.shape[1]), dtype)
    one = np.array([1])
    attention.keep_memory(rows.numpy(), 0, one, np.array([0, len(rows)]), cache)
    assert not cache[[0, 2]].any()
    return cache[1]


def test_numbers_are_rounded_as_pytorch_rounds_them() -> None:
    bits = torch.randint(-(2**31), 2**31, (40, 30), dtype=torch.int64).to(torch.int32)
    bits[:, ::3] &= ~0xFFFF  # some that have no more than 8 bits, and some half way between these
    bits[:, 1::3] = bits[:, 1::3] & ~0xFFFF | 0x8000
    rows = bits.view(torch.float32)

    upper = torch.from_numpy(kept(rows, np.uint16).view(np.int16)).view(torch.bfloat16)

    expected = rows.bfloat16().reshape(upper.shape)
    assert torch.equal(upper.isnan(), expected.isnan())
    assert torch.equal(upper[~upper.isnan()], expected[~expected.isnan()])


def test_what_is_not_finite_stays_so() -> None:
    rows = torch.tensor([[float("inf"), -float("inf"), float("nan")]])
    odd = torch.tensor([[0x7FFFFFFF, -1, 0x7F800001]], dtype=torch.int32).view(torch.float32)

    for given in (rows, odd):
        upper = torch.from_numpy(kept(given, np.uint16).view(np.int16)).view(torch.bfloat16)
        assert torch.equal(upper.isnan().flatten(), given.isnan().flatten())
        assert torch.equal(upper.isinf().flatten(), given.isinf().flatten())


def test_float32_is_kept_as_it_is() -> None:
    rows = torch.randn(5, 12)

    assert np.array_equal(kept(rows, np.float32).reshape(5, 12), rows.numpy())


def test_attention_reads_what_was_kept() -> None:
    """The same sums, of numbers that have 8 bits already: nothing else is rounded."""
    rows = torch.randn(7, 12).bfloat16().float()
    q = torch.randn(2, 12).numpy()
    found = []
    for dtype in (np.float32, np.uint16):
        cache, out = kept(rows, dtype)[None], np.empty((2, 12), np.float32)
        slots, lengths = np.zeros(2, np.int64), np.array([7])
        attend = attention.attend_at(cache, cache, 3)
        attention.attend_to_memory(q, slots, lengths, cache, cache, attend, 3, out)
        found.append(out)

    assert np.abs(found[0] - found[1]).max() < 1e-6
