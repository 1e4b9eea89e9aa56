"""Choose where lines end in a translation, by where they end in its source."""

from bisect import bisect_left
from collections.abc import Sequence


def places_of_breaks(text: str, breaks: Sequence[int], source: tuple[int, int]) -> list[int]:
    """Return a character of the translation for each break, ascending.

    breaks: places in a passage, ascending; source: the stretch of the passage that the text
    translates. A break takes the space nearest to its place in proportion. If there are fewer
    spaces than breaks, as in languages without them, lines end between any characters, and what is
    left comes after the text.

    >>> places_of_breaks("eins zwei drei", [4, 8], (0, 14))
    [4, 9]
    """
    spaces = [place for place, character in enumerate(text) if character.isspace()]
    possible = spaces if len(spaces) >= len(breaks) else list(range(1, len(text)))
    chosen: list[int] = []
    first = 0
    for number, place in enumerate(breaks):
        wanted = (place - source[0]) / max(1, source[1] - source[0]) * len(text)
        last = len(possible) - (len(breaks) - number - 1)  # the others need a place, too
        after = min(max(bisect_left(possible, wanted), first), max(first, last - 1))
        near = [n for n in (after - 1, after) if first <= n < min(last, len(possible))]
        if not near:
            chosen.append(len(text))
            first = len(possible)
            continue
        best = min(near, key=lambda n: abs(possible[n] - wanted))
        chosen.append(possible[best])
        first = best + 1
    return chosen
