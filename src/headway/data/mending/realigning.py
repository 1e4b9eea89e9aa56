"""Puts targets beside their own sources again where a stretch of them is shifted."""

from collections.abc import Sequence

from headway.data.misaligned import Stretch


def partners(lines: int, stretches: Sequence[Stretch]) -> list[int | None]:
    """Return for each source, counted from 0, the place of its target; None if it has none.

    Stretches whose targets are of no source nearby stay as they are. Where a stretch claims the
    target that stands beside a source outside of it, that source has none; of two stretches the
    first one has it. A target that no source claims has none.
    """
    partner: list[int | None] = list(range(lines))
    claimed: set[int] = set()
    for start, end, late in stretches:
        if late is None:
            continue
        for source in range(start, end):
            target = source + late
            is_free = 0 <= target < lines and target not in claimed
            partner[source] = target if is_free else None
            claimed |= {target} if is_free else set()
    moved = {n for start, end, late in stretches if late is not None for n in range(start, end)}
    return [
        None if place in claimed and source not in moved else place
        for source, place in enumerate(partner)
    ]
