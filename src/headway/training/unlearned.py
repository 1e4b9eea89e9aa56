"""Translations at the end of a run from which scores tell nothing: none at all, or one for all."""

from collections import Counter
from collections.abc import Sequence

from headway.counted import counted
from headway.errors import shown

_FEWEST = 5  # different sources
_MOST = 0.5  # of the lines


def unlearned_remark(
    text: str, sources: Sequence[str], outputs: Sequence[str], steps: int
) -> str | None:
    """Return a remark if more than half of the translations are empty, or the same.

    text: the name of the text. sources, outputs: its lines and their translations. steps: of the
    run. There is no remark on fewer than five different sources.
    """
    if len(set(sources)) < _FEWEST:
        return None
    most, count = Counter(outputs).most_common(1)[0]
    if count <= _MOST * len(outputs):
        return None
    what = "the same, " + shown(most) if most.strip() else "empty"
    return (
        f"{text}: {count:,} of {counted(len(outputs), 'translation')} are {what}. The model has "
        f"learned too little in {counted(steps, 'step')}: train for more steps or minutes. If the "
        "validation loss no longer falls, look at the lines of both files with headway check."
    )
