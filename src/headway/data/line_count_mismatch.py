"""Find where two files with different numbers of lines stop matching."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from headway.data.alignment_features import PAIRED, Lengths
from headway.data.misaligned import misaligned
from headway.data.stretches import Stretch

_BLOCK = 20_000  # lines; to compare all features takes a second, their lengths alone a hundredth
_LOOKS = 3  # blocks that are examined closely
_NAMED = 3  # stretches named in the sentence
_LAST = 300  # lines that show whether the ends match

Lines = list[tuple[str, str]]


def where_they_part(sources: Iterable[str], targets: Iterable[str], name: str) -> str:
    """Return a sentence on lines that do not belong together; empty if there are none.

    name: the name of the target file. In long files only those blocks are examined closely whose
    lengths no longer match, each with the block before it; otherwise the last two blocks.
    """
    pairs = zip(sources, targets, strict=False)
    for start, lines in islice(_doubtful((s.strip(), t.strip()) for s, t in pairs), _LOOKS):
        if stretches := misaligned([s for s, _ in lines], [t for _, t in lines]):
            return _in_words(stretches, start, len(lines), name)
    return ""


def go_together_at_the_end(sources: Iterable[str], targets: Iterable[str]) -> bool:
    """Return True if the texts match where the shorter one ends, so that only an end is missing.

    False if the lines do not show it.
    """
    pairs = ((s.strip(), t.strip()) for s, t in zip(sources, targets, strict=False))
    lines = deque(pairs, maxlen=_LAST)
    if len(lines) < _LAST:
        return False
    source, target = zip(*lines, strict=True)
    return Lengths(source, target).agreement(0, _LAST) > PAIRED and not misaligned(source, target)


def _doubtful(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[int, Lines]]:
    """Yield blocks worth a closer look, each with the number of its first line, from 0."""
    before: Lines = []
    lines: Lines = []
    end = 0
    while block := list(islice(pairs, _BLOCK)):
        lines, end = before + block, end + len(block)
        if Lengths([s for s, _ in block], [t for _, t in block]).are_unrelated(0, len(block)):
            yield end - len(lines), lines
            before = []
        else:
            before = block
    if before:
        yield end - len(lines), lines


def _in_words(stretches: Sequence[Stretch], start: int, lines: int, name: str) -> str:
    """Return a sentence on the stretches; their lines are counted from `start`."""
    phrases = []
    for first, end, _ in stretches[:_NAMED]:
        line, last = start + first + 1, start + end
        if end < lines:
            where = f"in about lines {line:,} to {last:,}"
        else:
            where = f"from about line {line:,} on" if line > 1 else "from the first line on"
        phrases.append(where)
    those = [f"those of {name}", *["they"] * len(phrases)]
    words = [
        f"{where}, {who} {stretch.what_targets_do}"
        for where, who, stretch in zip(phrases, those, stretches, strict=False)
    ]
    more = "; and so on" if len(stretches) > _NAMED else ""
    text = "; ".join(words) + more
    return f" {text[0].upper()}{text[1:]}."
