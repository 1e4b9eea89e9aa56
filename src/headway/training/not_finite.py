"""Updates whose loss is not finite: which text was in them, and when leaving them out must end."""

from collections.abc import Sequence

from headway.data.batching import Batch
from headway.data.cleaning import EncodedPair
from headway.errors import NotFiniteError, TrainingError

MOST_IN_A_ROW = 10
_LINES_NAMED = 10


def lines_of(batches: Sequence[Batch], pairs: Sequence[EncodedPair]) -> list[int]:
    """Return where the pairs of these batches stand in the training text, in order."""
    return sorted(pairs[index].line for batch in batches for index in batch.indices)


def describe(batches: Sequence[Batch], pairs: Sequence[EncodedPair]) -> str:
    """Say which pairs an update was made from."""
    lines = lines_of(batches, pairs)
    named = ", ".join(f"{line}" for line in lines[:_LINES_NAMED])
    rest = len(lines) - _LINES_NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    chosen = [pairs[index] for batch in batches for index in batch.indices]
    source = max(len(pair.source_ids) for pair in chosen)
    target = max(len(pair.target_ids) for pair in chosen)
    return (
        f"It was made from {len(lines):,} pairs, of up to {source} source and {target} target "
        f"pieces, on these lines of the training text: {named}{more}."
    )


def stopping_error(error: NotFiniteError, described: str) -> NotFiniteError:
    """Return the error that ends a run at its first update that is not finite."""
    return NotFiniteError(
        f"{error.message} {described}",
        f"{error.remedy} If those lines are to blame, continue with --resume --set "
        "training.not_finite=skip.",
    )


def check_in_a_row(skipped: int, error: NotFiniteError) -> None:
    """Raise TrainingError when so many updates in a row cannot be the fault of their text."""
    if skipped >= MOST_IN_A_ROW:
        raise TrainingError(
            f"{error.message} Nor was that of the {skipped - 1} updates before it, all left out: "
            "one bad batch is not the reason.",
            "Start another run with a lower learning_rate or with clip_norm; the last checkpoint "
            "from before is good.",
        )
