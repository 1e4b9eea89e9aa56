"""Turn encoded pairs into padded batches of about equal size in tokens (section 5.1).

"Sentence pairs were batched together by approximate sequence length. Each training batch
contained a set of sentence pairs containing approximately 25000 source tokens and 25000 target
tokens".

Here the budget limits the padded area of each side, because it determines memory and time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headway.data.encoded import EncodedPair
from headway.data.store import PairStore, Rows
from headway.data.tokenizer import END_ID, PAD_ID, START_ID
from headway.errors import ConfigError

Lengths = Sequence[tuple[int, int]]
IntArray = NDArray[np.int64]

# Binary digits of rounded lengths. Four digits save 4 % of the padding, but give two to three times
# as many shapes.
_DIGITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Hold the padded ids of several pairs; the decoder's shift by one is already done.

    Attributes:
        source_ids: x1 … xn END.  # (B, S)
        target_ids: START y1 … yn, the input of the decoder.  # (B, T)
        label_ids: y1 … yn END, which the decoder must predict.  # (B, T)
        num_target_tokens: Labels that are not padding, END included.
        indices: Where each row comes from.
    """

    source_ids: Tensor
    target_ids: Tensor
    label_ids: Tensor
    num_target_tokens: int
    indices: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.indices)

    def to(self, device: torch.device | str) -> "Batch":
        """Return this batch with its tensors on a device."""
        return Batch(
            source_ids=self.source_ids.to(device),
            target_ids=self.target_ids.to(device),
            label_ids=self.label_ids.to(device),
            num_target_tokens=self.num_target_tokens,
            indices=self.indices,
        )

    def padded(self, rows: int, source_length: int, target_length: int) -> "Batch":
        """Return this batch padded to these sizes, which it must not exceed."""

        def fill(ids: Tensor, length: int) -> Tensor:
            filled = ids.new_full((rows, length), PAD_ID)
            filled[: ids.size(0), : ids.size(1)] = ids
            return filled

        return Batch(
            source_ids=fill(self.source_ids, source_length),
            target_ids=fill(self.target_ids, target_length),
            label_ids=fill(self.label_ids, target_length),
            num_target_tokens=self.num_target_tokens,
            indices=self.indices,
        )

    def part(self, index: int, parts: int) -> "Batch":
        """Return every `parts`-th row from row `index` on, without padding that no row needs.

        Some parts of a batch with fewer rows than parts have no rows at all.
        """
        if parts == 1:
            return self
        source_ids, target_ids, label_ids = (
            ids[index::parts] for ids in (self.source_ids, self.target_ids, self.label_ids)
        )
        source_width, target_width = (
            int((ids != PAD_ID).sum(dim=1).max()) if len(ids) else 1
            for ids in (source_ids, label_ids)
        )
        return Batch(
            source_ids=source_ids[:, :source_width],
            target_ids=target_ids[:, :target_width],
            label_ids=label_ids[:, :target_width],
            num_target_tokens=int((label_ids != PAD_ID).sum()),
            indices=self.indices[index::parts],
        )


def collate(pairs: Sequence[EncodedPair], indices: Sequence[int] | None = None) -> Batch:
    """Return the batch of exactly these pairs, in this order.

    `indices` says where each pair comes from (its place in the corpus), and selects nothing.
    Without it the rows are numbered from 0.

    Elsewhere: Batch, patch_trg.
    """
    if not pairs:
        raise ConfigError("A batch has no pairs.", "Give at least one pair.")
    rows = tuple(range(len(pairs))) if indices is None else tuple(int(i) for i in indices)
    if len(rows) != len(pairs):
        raise ConfigError(
            f"{len(pairs)} pairs came with {len(rows)} indices.",
            "Give the pairs of this batch only, with one index each.",
        )
    return Batch(
        source_ids=_padded([[*pair.source_ids, END_ID] for pair in pairs]),
        target_ids=_padded([[START_ID, *pair.target_ids] for pair in pairs]),
        label_ids=_padded([[*pair.target_ids, END_ID] for pair in pairs]),
        num_target_tokens=sum(len(pair.target_ids) + 1 for pair in pairs),
        indices=rows,
    )


def collate_rows(store: PairStore, rows: Rows, indices: Rows | None = None) -> Batch:
    """Return the batch of these rows of a store; the same as `collate` of its pairs.

    `indices` says where each pair comes from, if that is not its row.
    """
    source = store.source.matrix(rows, PAD_ID)  # (B, S), its last column padding
    labels = store.target.matrix(rows, PAD_ID)  # (B, T)
    lengths = store.lengths(rows)
    every = np.arange(len(rows))
    source[every, lengths[:, 0]] = END_ID
    target = np.concatenate([np.full((len(rows), 1), START_ID), labels[:, :-1]], axis=1)
    labels[every, lengths[:, 1]] = END_ID
    return Batch(
        source_ids=torch.from_numpy(source),
        target_ids=torch.from_numpy(target),
        label_ids=torch.from_numpy(labels),
        num_target_tokens=int((lengths[:, 1] + 1).sum()),
        indices=tuple(int(row) for row in (rows if indices is None else indices)),
    )


def token_batches(
    lengths: Lengths | IntArray,
    *,
    max_tokens: int,
    seed: int,
    epoch: int,
    block: int = 0,
    round_up_to: int | None = None,
) -> list[list[int]]:
    """Return the batches of one block of an epoch as lists of indices, each index exactly once.

    `lengths` holds the pieces of source and target, without start and end symbols. In each batch,
    rows times longest row, symbols included, is at most `max_tokens` on either side. The result
    depends on the arguments alone, so "epoch, block, batch" is all that resuming needs. Each epoch
    has another order of batches, and of pairs of equal length. round_up_to: batches are sized as
    if each side had its length after `round_up`, but at most this one, so that few shapes occur.
    No side is longer, symbols included.
    """
    if seed < 0 or epoch < 0:
        raise ConfigError(f"seed is {seed} and epoch is {epoch}.", "Both must be at least 0.")
    if not len(lengths):
        return []
    sizes = np.asarray(lengths, dtype=np.int64).reshape(len(lengths), 2) + 1  # (N, 2)
    _check_budget(sizes, max_tokens=max_tokens)
    if round_up_to is not None:
        sizes = np.minimum(_rounded_up(sizes), round_up_to)
    rng = np.random.default_rng([seed, epoch, block] if block else [seed, epoch])
    shuffled = rng.permutation(len(sizes))  # every sort below is stable, so this settles ties
    candidates = [
        _pack(shuffled[order], sizes, max_tokens=max_tokens)
        for order in (
            _order_by_longer_side(sizes[shuffled]),
            _order_in_stripes(sizes[shuffled], max_tokens=max_tokens),
        )
    ]
    # Few batches pad less when the longer side sorts them, many when both sides do.
    batches = min(candidates, key=lambda batches: _padded_area(batches, sizes))
    return [batches[i] for i in rng.permutation(len(batches))]


def round_up(length: int) -> int:
    """Return the next length that has at most three binary digits before its zeros.

    It is longer by a quarter at most. There are four such lengths between a length and its double.

    >>> [round_up(length) for length in (1, 7, 8, 9, 17, 20, 100, 129)]
    [1, 7, 8, 10, 20, 20, 112, 160]
    """
    return int(_rounded_up(np.asarray(length)))


def _rounded_up(lengths: IntArray) -> IntArray:
    digits = np.frexp(lengths - 1)[1]  # frexp(7) is (0.875, 3)
    step = 1 << np.maximum(digits - _DIGITS, 0).astype(np.int64)
    return (lengths + step - 1) // step * step


def inference_batches(
    lengths: Sequence[int] | Lengths, *, max_tokens: int, max_sentences: int
) -> list[list[int]]:
    """Return batches of indices for translating or scoring, longest sentences first.

    `lengths` holds source lengths, or (source, target) lengths where both are known. Nothing is
    random and nothing is refused: a sentence beyond `max_tokens` gets a batch of its own.
    """
    if max_tokens < 1 or max_sentences < 1:
        raise ConfigError(
            f"max_tokens is {max_tokens} and max_sentences is {max_sentences}.",
            "Both must be at least 1.",
        )
    if not len(lengths):
        return []
    sizes = np.asarray(lengths, dtype=np.int64).reshape(len(lengths), -1) + 1
    order = np.argsort(-sizes.max(axis=1), kind="stable")
    return _pack(order, sizes, max_tokens=max_tokens, max_sentences=max_sentences)


def _padded(rows: list[list[int]]) -> Tensor:
    """Return rows of ids as one matrix, padded at the end."""
    width = max(map(len, rows))
    matrix = np.full((len(rows), width), PAD_ID, dtype=np.int64)
    for filled, row in zip(matrix, rows, strict=True):
        filled[: len(row)] = row
    return torch.from_numpy(matrix)


def _check_budget(sizes: IntArray, *, max_tokens: int) -> None:
    """Refuse a budget that the longest pair alone exceeds."""
    longest = sizes.max(axis=1)
    index = int(longest.argmax())
    if longest[index] > max_tokens:
        too_long = int((longest > max_tokens).sum())
        raise ConfigError(
            f"max_tokens is {max_tokens}, but pair {index} (counted from 0) alone takes "
            f"{int(longest[index])} with its added symbol ({too_long} such pairs in all).",
            f"Raise max_tokens to {int(longest[index])} or more, or lower max_pieces in cleaning.",
        )


def _order_by_longer_side(sizes: IntArray) -> IntArray:
    """Return positions sorted by the longer side, then by the total."""
    return np.lexsort((sizes.sum(axis=1), sizes.max(axis=1)))


def _order_in_stripes(sizes: IntArray, *, max_tokens: int) -> IntArray:
    """Return positions sorted into stripes of similar target, and by source inside a stripe.

    With about as many stripes as batches in a stripe, both sides of a batch have similar lengths.
    Every second stripe runs backwards, so that a batch across two stripes stays even.
    """
    by_target = np.argsort(sizes[:, 1], kind="stable")
    source, target = sizes[by_target].T
    num_stripes = max(1, round(float(np.sqrt(sizes.max(axis=1).sum() / max_tokens))))
    filled = np.cumsum(target)
    stripe = (filled - 1) * num_stripes // filled[-1]
    direction = np.where(stripe % 2, -1, 1)
    return by_target[np.lexsort((target * direction, source * direction, stripe))]


def _pack(
    order: IntArray, sizes: IntArray, *, max_tokens: int, max_sentences: int | None = None
) -> list[list[int]]:
    """Cut an order into batches, each as full as the budget allows."""
    limit = len(order) if max_sentences is None else max_sentences
    batches: list[list[int]] = []
    batch: list[int] = []
    width = 0
    widest = sizes.max(axis=1)[order].tolist()
    for index, size in zip(order.tolist(), widest, strict=True):
        width = max(width, size)
        if batch and ((len(batch) + 1) * width > max_tokens or len(batch) == limit):
            batches.append(batch)
            batch, width = [], size
        batch.append(index)
    batches.append(batch)
    return batches


def _padded_area(batches: list[list[int]], sizes: IntArray) -> int:
    """Return the padded area of both sides over all batches."""
    starts = np.cumsum([0] + [len(batch) for batch in batches[:-1]])
    in_order = sizes[np.concatenate([np.asarray(batch) for batch in batches])]
    widths = np.maximum.reduceat(in_order, starts, axis=0)  # (batches, 2)
    counts = np.asarray([len(batch) for batch in batches])
    return int((widths.sum(axis=1) * counts).sum())
