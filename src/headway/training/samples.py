"""A few held-out sentences with their translations, as examples of a model's quality."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from headway.data.corpus import Pair

_COUNT = 3
_EXAMPLES = 5
_SHORT = 120  # characters of an example


class Sample(NamedTuple):
    """A held-out sentence, its reference, and the model's translation."""

    source: str
    reference: str
    translation: str


def choose_samples(pairs: Sequence[Pair]) -> list[Pair]:
    """Return three different pairs of medium length, or all of fewer pairs.

    They depend on the text alone, so that every validation of a run shows the same pairs: those
    around the median number of source characters, in the order of the text.
    """
    different = list(dict.fromkeys(pair for pair in pairs if pair.source.strip()))
    order = sorted(range(len(different)), key=lambda place: len(different[place].source))
    # One from each tenth around the median, so that their lengths differ a little.
    middle, distance = len(order) // 2, len(order) // 10 or 1
    first = max(min(middle - distance, len(order) - 1 - 2 * distance), 0)
    chosen = order[first : first + (_COUNT - 1) * distance + 1 : distance]
    return [different[place] for place in sorted(chosen)]


def choose_examples(pairs: Iterable[Pair]) -> list[str]:
    """Return the first five different short sources, which the explorer offers as examples.

    The bundle contains them, so that it does not need the text itself.
    """
    short = (pair.source.strip() for pair in pairs if len(pair.source) <= _SHORT)
    return list(islice(dict.fromkeys(filter(None, short)), _EXAMPLES))
