"""Choose where lines end in a translation, by where they end in its source."""

from bisect import bisect_left
from collections.abc import Sequence


def places_of_breaks(
    text: str,
    breaks: Sequence[int],
    source: tuple[int, int],
    *,
    kept: Sequence[tuple[int, int]] = (),
    need_lines: bool = False,
) -> list[int | None]:
    """Return a character of the translation for each break, ascending.

    breaks: places in a passage, ascending; source: the stretch of the passage that the text
    translates. A break takes the space nearest to its place in proportion. If there are fewer
    spaces than breaks, as in languages without them, lines end between any characters, and what is
    left comes after the text. kept: stretches of the text within which no line
    ends. need_lines: lines end at spaces alone, and what is left has None.

    >>> places_of_breaks("eins zwei drei", [4, 8], (0, 14))
    [4, 9]
    """
    if not breaks:
        return []
    within = {place for start, end in kept for place in range(start + 1, end)}
    between = [n for n in range(1, len(text)) if not text[n - 1].isspace() and n not in within]
    spaces = [place for place in between if text[place].isspace()]
    possible = spaces if need_lines or len(spaces) >= len(breaks) else between
    chosen: list[int | None] = []
    first = 0
    for number, place in enumerate(breaks):
        wanted = (place - source[0]) / max(1, source[1] - source[0]) * len(text)
        last = len(possible) - (len(breaks) - number - 1)  # the others need a place, too
        after = min(max(bisect_left(possible, wanted), first), max(first, last - 1))
        near = [n for n in (after - 1, after) if first <= n < min(last, len(possible))]
        near = near or list(range(first, len(possible)))[:1]
        if near:
            best = min(near, key=lambda n: abs(possible[n] - wanted))
            chosen.append(possible[best])
            first = best + 1
        else:
            chosen.append(None if need_lines else len(text))
    return chosen
