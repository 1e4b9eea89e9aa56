"""Updates whose loss is not finite: their text, and when leaving them out must end."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor

from headway.counted import counted
from headway.data.batching import Batch
from headway.data.store import PairStore
from headway.data.tokenizer import PAD_ID
from headway.errors import NotFiniteError, TrainingError
from headway.training.diagnosis import gentler

MOST_IN_A_ROW = 10
_LINES_NAMED = 10


class TextPlace(NamedTuple):
    """The place of a pair in the training text: corpus and line, counted from 1."""

    corpus: int
    line: int


def places_of(batches: Sequence[Batch], pairs: PairStore) -> list[TextPlace]:
    """Return the places of the pairs in these batches, in order."""
    rows = [index for batch in batches for index in batch.indices]
    corpora = pairs.corpora(rows) + 1
    return sorted(map(TextPlace, corpora.tolist(), pairs.lines[rows].tolist()))


def describe(batches: Sequence[Batch], pairs: PairStore) -> str:
    """Return sentences on the pairs of an update."""
    places = places_of(batches, pairs)
    named = "; ".join(
        ", ".join(f"{place.line}" for place in group)
        + (f" of corpus {corpus}" if len(pairs.sizes) > 1 else "")
        for corpus, group in groupby(places[:_LINES_NAMED], lambda place: place.corpus)
    )
    unnamed = len(places) - _LINES_NAMED
    more = f" and {unnamed:,} more" if unnamed > 0 else ""
    # In the pieces of this update, without the end symbol.
    source = max(_longest(batch.source_ids) for batch in batches) - 1
    target = max(_longest(batch.label_ids) for batch in batches) - 1
    return (
        f"It was made from {counted(len(places), 'pair')}, of up to {source} source and {target} "
        f"target tokens, on these lines of the training text: {named}{more}."
    )


def _longest(ids: Int[Tensor, "B L"]) -> int:
    return int((ids != PAD_ID).sum(dim=1).max())


def stopping_error(error: NotFiniteError, described: str) -> NotFiniteError:
    """Return the error that ends a run at its first update that is not finite."""
    return NotFiniteError(
        f"{error.message} {described}",
        f"{error.remedy} If those lines are to blame, continue with --resume --set "
        "training.not_finite=skip.",
    )


def check_in_a_row(skipped: int, error: NotFiniteError, clip_norm: float | None) -> None:
    """Raise TrainingError after ten updates in a row, which cannot be the fault of their text."""
    if skipped >= MOST_IN_A_ROW:
        raise TrainingError(
            f"{error.message} The {skipped - 1} updates before it were skipped for the same "
            "reason, so a single bad batch is not the cause.",
            f"Start another run with {gentler(clip_norm)}; the last checkpoint from before is "
            "good.",
        )
