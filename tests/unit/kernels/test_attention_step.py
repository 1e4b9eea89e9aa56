"""Compiled attention is equation 1, for heads of any width, and what is not finite shows."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

attention = pytest.importorskip("headway.kernels.attention_step")

# Heads in vectors of sixteen numbers, some in several parts, and others, which go number by number.
WIDTHS = [
    (2, 16, 32), (3, 48, 16), (1, 64, 64), (2, 16, 112), (2, 32, 128),
    (2, 5, 7), (3, 16, 8), (4, 24, 16),
]  # fmt: skip
LENGTHS = [1, 3, 16, 17, 40]


def kept(numbers: torch.Tensor, dtype: type) -> np.ndarray:
    if dtype is np.float32:
        return numbers.numpy()
    return numbers.bfloat16().view(torch.int16).numpy().view(np.uint16)


def as_kept(numbers: torch.Tensor, dtype: type) -> torch.Tensor:
    return numbers if dtype is np.float32 else numbers.bfloat16().float()


def expected(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, heads: int) -> torch.Tensor:
    """Attend with one query, (H * d_k,), to keys and values, (L, H * d)."""
    q, k, v = (part.view(-1, heads, part.size(-1) // heads).transpose(0, 1).double()
               for part in (q, keys, values))  # fmt: skip
    return F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten().float()


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
@pytest.mark.parametrize(("heads", "d_k", "d_v"), WIDTHS)
def test_each_row_attends_to_the_memory_of_its_slot(
    heads: int, d_k: int, d_v: int, dtype: type
) -> None:
    keys, values = torch.randn(5, 41, heads * d_k), torch.randn(5, 41, heads * d_v)
    # Four rows of a slot are computed together, fewer one after the other.
    slots = np.array([0, 0, 2, 4, 4, 4, 4, 4, 1, 3, 3, 3, 3])
    q = 3 * torch.randn(len(slots), heads * d_k)
    lengths = np.array(LENGTHS)
    for slot, length in enumerate(lengths):  # what lies beyond a sentence never shows
        keys[slot, length:] = values[slot, length:] = torch.nan
    out = np.full((len(slots), heads * d_v), np.nan, np.float32)

    k, v = kept(keys, dtype), kept(values, dtype)
    attend = attention.attend_at(k, v, heads)
    attention.attend_to_memory(q.numpy(), slots, lengths, k, v, attend, heads, out)

    alone = np.empty_like(out)
    for row in range(len(slots)):
        part = slice(row, row + 1)
        attention.attend_to_memory(
            q[part].numpy(), slots[part], lengths, k, v, attend, heads, alone[part]
        )
    np.testing.assert_array_equal(out, alone)

    for row, slot in enumerate(slots):
        k, v = (as_kept(part[slot, : lengths[slot]], dtype) for part in (keys, values))
        torch.testing.assert_close(torch.from_numpy(out[row]), expected(q[row], k, v, heads))


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
@pytest.mark.parametrize(("heads", "d_k", "d_v"), WIDTHS)
def test_the_past_goes_through_the_rows_that_own_it_and_grows_by_one(
    heads: int, d_k: int, d_v: int, dtype: type
) -> None:
    count, room = 5, 43
    keys, values = torch.randn(count, room, heads * d_k), torch.randn(count, room, heads * d_v)
    kept_keys, kept_values = kept(keys, dtype).copy(), kept(values, dtype).copy()
    # Some positions are a row's own, others those of row 1, which does not go on.
    own = np.random.default_rng(0).random((count, room)) < 0.5
    owners = np.where(own, np.arange(count)[:, None], 1).astype(np.int32)
    lengths, rows = np.array([0, 2, 15, 16, 40]), np.array([0, 2, 3, 4])
    seen = torch.zeros(count, room, dtype=torch.bool)
    for row in rows:
        seen[owners[row, : lengths[row]], np.arange(lengths[row])] = True
    for cache, width in ((kept_keys, d_k), (kept_values, d_v)):
        cache[~seen.numpy()] = kept(torch.full((heads * width,), torch.nan), dtype)
    qkv = 2 * torch.randn(4, heads * (2 * d_k + d_v))
    out = np.full((4, heads * d_v), np.nan, np.float32)

    attend = attention.attend_at(kept_keys, kept_values, heads)
    attention.attend_to_past(
        qkv.numpy(), rows, lengths, owners, kept_keys, kept_values, attend, heads, out
    )

    for i, row in enumerate(rows):
        q, key, value = qkv[i].split([heads * d_k, heads * d_k, heads * d_v])
        length = lengths[row]
        at, owner = np.arange(length), owners[row, :length]
        k = as_kept(torch.cat([keys[owner, at], key[None]]), dtype)
        v = as_kept(torch.cat([values[owner, at], value[None]]), dtype)
        assert owners[row, length] == row
        assert (kept_keys[row, length] == kept(key, dtype)).all()
        assert (kept_values[row, length] == kept(value, dtype)).all()
        torch.testing.assert_close(torch.from_numpy(out[i]), expected(q, k, v, heads))


@pytest.mark.parametrize(("heads", "d_k", "d_v"), WIDTHS)
def test_source_pieces_attend_to_their_own_sentence(heads: int, d_k: int, d_v: int) -> None:
    starts = np.array([0, *np.cumsum(LENGTHS)])
    qkv = 2 * torch.randn(starts[-1], heads * (2 * d_k + d_v))
    out = np.full((len(qkv), heads * d_v), np.nan, np.float32)
    scratch = [np.full((40, heads * width), np.nan, np.float32) for width in (d_k, d_v)]

    attend = attention.attend_at(*scratch, heads)
    attention.attend_to_source(qkv.numpy(), starts, *scratch, attend, heads, out)

    for begin, end in itertools.pairwise(starts):
        q, k, v = qkv[begin:end].split([heads * d_k, heads * d_k, heads * d_v], dim=1)
        for row in range(end - begin):
            found = torch.from_numpy(out[begin + row])
            torch.testing.assert_close(found, expected(q[row], k, v, heads))


@pytest.mark.parametrize(("heads", "d_k", "d_v"), [(2, 16, 16), (2, 5, 7)])
@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("where", ["query", "keys", "values"])
def test_what_is_not_finite_shows_in_its_head_alone(
    where: str, odd: float, heads: int, d_k: int, d_v: int
) -> None:
    numbers = {
        "query": torch.rand(1, heads * d_k) + 0.1,
        "keys": torch.rand(1, 20, heads * d_k) + 0.1,
        "values": torch.rand(1, 20, heads * d_v) + 0.1,
    }
    numbers[where].view(-1)[0] = odd
    out = np.zeros((1, heads * d_v), np.float32)

    q, keys, values = (part.numpy() for part in numbers.values())
    attend = attention.attend_at(keys, values, heads)
    attention.attend_to_memory(q, np.array([0]), np.array([20]), keys, values, attend, heads, out)

    first, second = np.isfinite(out).reshape(2, d_v)
    # A score of minus infinity is a weight of zero, which is right where other keys are finite.
    harmless = where == "keys" and odd == -float("inf")
    assert first.all() == harmless
    assert second.all()


@pytest.mark.parametrize(("d", "scale"), [(16, 1.0), (16, 1e4), (5, 1e4)])
def test_weights_of_scores_that_lie_far_apart_stay_exact(d: int, scale: float) -> None:
    keys, values = scale * torch.randn(1, 33, d), torch.randn(1, 33, d)
    q, out = torch.randn(1, d), np.empty((1, d), np.float32)

    attend = attention.attend_at(keys.numpy(), values.numpy(), 1)
    attention.attend_to_memory(
        q.numpy(), np.array([0]), np.array([33]), keys.numpy(), values.numpy(), attend, 1, out
    )

    torch.testing.assert_close(
        torch.from_numpy(out[0]), expected(q[0], keys[0], values[0], 1), rtol=1e-4, atol=1e-5
    )
