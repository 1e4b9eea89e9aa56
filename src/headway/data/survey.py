"""Looks at parallel text before anything is trained on it, and says what is suspicious.

What is found is a hint and changes nothing: whether such a pair is dropped is the business of
`headway.data.cleaning`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from headway.data.corpus import Pair
from headway.data.details import has_other_addresses, has_other_numbers
from headway.data.exchanged import on_the_wrong_side
from headway.data.finding import Finding, by_harm, on_lines
from headway.data.html_codes import has_codes
from headway.data.misaligned import Stretch, misaligned
from headway.data.mojibake import is_mojibake
from headway.data.pair_rules import is_copy
from headway.data.repeats import repeats
from headway.data.scripts import main_script, script_name
from headway.data.spaces import has_odd_spaces
from headway.data.two_languages import TwoLanguages

_OWN_SHARE = 0.1  # a script of so many of a side's lines belongs to it
_MOST = 0.7  # of lines in a script which hardly as many others have not
# A target is far from the usual length for its source if the ratio is that many times the median,
# and so many times the middle half of all ratios away from it (Tukey's "far out").
_FAR, _FAR_OUT = 2.5, 3.0
_SHORT = 10  # characters that are added to both sides, so that a word may be translated by three
_FEW = 50  # pairs, below which nothing is usual


Scripts = tuple[Counter[str], Counter[str]]
"""How many lines of each side have which script."""


def survey(pairs: Sequence[Pair], languages: TwoLanguages | None = None) -> list[Finding]:
    """Return what is suspicious about these pairs by themselves, the most harmful first.

    languages: of training text, if these pairs are no part of it; learned from them if unset.
    """
    pairs = [pair.stripped() for pair in pairs]
    numbered = list(enumerate(pairs, start=1))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    sides = {"source": sources, "target": targets}
    scripts = {side: [main_script(text) for text in texts] for side, texts in sides.items()}
    stretches = misaligned(sources, targets)
    found = [
        *_moved(stretches),
        *on_the_wrong_side(pairs, languages or TwoLanguages.of(pairs)),
        on_lines("empty-source", "empty source", (n for n, p in numbered if not p.source)),
        on_lines("empty-target", "empty target", (n for n, p in numbered if not p.target)),
        on_lines("copies", "both sides the same", (n for n, pair in numbered if _is_same(pair))),
        on_lines(
            "near-copies",
            "both sides the same but for case, spaces and punctuation",
            (n for n, pair in numbered if is_copy(*pair) and not _is_same(pair)),
        ),
        *_far_lengths(sources, targets, stretches),
        *_foreign("source", scripts["source"]),
        *_foreign("target", scripts["target"]),
        *_without_letters("source", sources, scripts["source"]),
        *_without_letters("target", targets, scripts["target"]),
        *_damaged(pairs),
        *_mismatched(pairs, stretches),
        *repeats(pairs, _inside(stretches)),
    ]
    return by_harm(found)


def misalignments(pairs: Sequence[Pair]) -> list[Finding]:
    """Return the stretches in which the targets do not seem to be those of their sources."""
    stripped = [pair.stripped() for pair in pairs]
    return list(_moved(misaligned([p.source for p in stripped], [p.target for p in stripped])))


def overlap(
    train: Sequence[Pair], held_out: Sequence[Pair], others: Sequence[Pair] = ()
) -> list[Finding]:
    """Return what held-out text has in common with training text, by lines of the held-out text.

    And what it should have in common, but has not: the scripts of its sides. others: training text
    of another kind, in which a source may well have another translation.
    """
    held_out = [pair.stripped() for pair in held_out]
    known = {pair for pair in (pair.stripped() for pair in train) if all(pair)}
    sources = {pair.source for pair in known}
    known |= {pair.stripped() for pair in others}
    lines = [(line, pair) for line, pair in enumerate(held_out, start=1) if all(pair)]
    found = [
        on_lines(
            "in-training",
            "pair is in the training text too",
            (line for line, pair in lines if pair in known),
        ),
        on_lines(
            "source-in-training",
            "source is in the training text, with another translation",
            (line for line, pair in lines if pair not in known and pair.source in sources),
        ),
        *other_scripts(main_scripts(train), held_out),
    ]
    return by_harm(found)


def _moved(stretches: Iterable[Stretch]) -> Iterator[Finding]:
    """Yield the stretches in which the targets do not seem to be those of their sources.

    A line is missing or too many on one side, say, and all that follow are trained on wrong.
    """
    for stretch in stretches:
        problem = f"targets {stretch.what_targets_do}"
        count = stretch.end - stretch.start
        yield Finding("misaligned", problem, count, (stretch.start + 1,), stretch.end)


def _inside(stretches: Iterable[Stretch]) -> set[int]:
    """Return the lines of stretches, counted from 1."""
    return {line for start, end, _ in stretches for line in range(start + 1, end + 1)}


def _far_lengths(
    sources: Sequence[str], targets: Sequence[str], stretches: Iterable[Stretch]
) -> Iterator[Finding]:
    """Yield the lines whose target is far shorter or longer than others are for such a source.

    Lines of a stretch that is misaligned are not asked about.
    """
    source, target = (np.array([len(text) for text in texts]) for texts in (sources, targets))
    whole = (source > 0) & (target > 0)
    for start, end, _ in stretches:
        whole[start:end] = False
    if whole.sum() < _FEW:
        return
    ratios = np.log(target + _SHORT) - np.log(source + _SHORT)
    low, median, high = np.quantile(ratios[whole], (0.25, 0.5, 0.75))
    reach = _FAR_OUT * (high - low)
    short = ratios < min(low - reach, median - np.log(_FAR))
    long = ratios > max(high + reach, median + np.log(_FAR))
    for word, far in (("short", short), ("long", long)):
        lines = (np.flatnonzero(whole & far) + 1).tolist()
        yield on_lines(f"length-{word}", f"target unusually {word} for its source", lines)


def _foreign(side: str, scripts: list[str]) -> Iterator[Finding]:
    """Yield the lines whose letters are mostly of a script that this side hardly has."""
    counts = Counter(filter(None, scripts))
    own = _own_scripts(counts)
    for script, _ in counts.most_common():
        if script in own:
            continue
        name = script_name(script)
        lines = (line for line, found in enumerate(scripts, start=1) if found == script)
        yield on_lines(f"foreign-script-{side}", f"{side} in {name} letters", lines)


def _own_scripts(counts: Counter[str]) -> set[str]:
    return {script for script, n in counts.items() if n >= _OWN_SHARE * counts.total()}


def _without_letters(side: str, texts: list[str], scripts: list[str]) -> Iterator[Finding]:
    """Yield the side of which most lines have none, as a column of numbers has."""
    both = enumerate(zip(texts, scripts, strict=True), start=1)
    lines = [line for line, (text, script) in both if text and not script]
    if len(lines) > len(texts) / 2:
        yield on_lines(f"no-letters-{side}", f"{side} without letters", lines)


def _damaged(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield what shows that text was read, or written, as what it is not."""
    numbered = list(enumerate(pairs, start=1))
    for side, other in (("source", "target"), ("target", "source")):
        for id, (problem, is_damaged) in _DAMAGES.items():
            lines = (
                n for n, pair in numbered if is_damaged(getattr(pair, side), getattr(pair, other))
            )
            yield on_lines(f"{id}-{side}", f"{side} {problem}", lines)


def _lost_characters(text: str, _: str) -> bool:
    return "\ufffd" in text


def _mojibake(text: str, _: str) -> bool:
    return is_mojibake(text)


def _odd_spaces(text: str, _: str) -> bool:
    return has_odd_spaces(text)


_DAMAGES = {
    "html-codes": ("with codes of HTML, such as &amp;", has_codes),
    "lost-characters": ("with characters that were lost in reading (\ufffd)", _lost_characters),
    "mojibake": ("with UTF-8 that was decoded as another encoding, such as Ã© for é", _mojibake),
    "spaces": ("with tabs, no-break, doubled or invisible spaces", _odd_spaces),
}


def _mismatched(pairs: Sequence[Pair], stretches: Iterable[Stretch]) -> Iterator[Finding]:
    """Yield the lines of which one side has other numbers or addresses than the other.

    Lines of a stretch that is misaligned are not asked about.
    """
    moved = _inside(stretches)
    asked = [(n, pair) for n, pair in enumerate(pairs, 1) if all(pair) and n not in moved]
    yield on_lines(
        "number-mismatch",
        "different numbers in source and target",
        (n for n, pair in asked if has_other_numbers(*pair)),
    )
    yield on_lines(
        "url-mismatch",
        "different web or email addresses in source and target",
        (n for n, pair in asked if has_other_addresses(*pair)),
    )


def main_scripts(pairs: Iterable[Pair]) -> Scripts:
    """Count the scripts in which the lines of each side mostly are; lines without one are none."""
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for pair in pairs:
        sources[main_script(pair.source)] += 1
        targets[main_script(pair.target)] += 1
    del sources[""], targets[""]
    return sources, targets


def other_scripts(
    usual: Scripts,
    pairs: Sequence[Pair],
    where: str = "in training text",
) -> list[Finding]:
    """Return the sides of text that most lines have in another script than usual text has.

    As where its sides are exchanged. usual: the scripts of its sides. where: what it is called.
    """
    findings = []
    for side, known in zip(("source", "target"), usual, strict=True):
        scripts = [main_script(getattr(pair, side)) for pair in pairs]
        own = Counter(filter(None, scripts))
        if not (known and own):
            continue
        (script, count), (expected, _) = own.most_common(1)[0], known.most_common(1)[0]
        if count > _MOST * own.total() and known[script] < (1 - _MOST) * known.total():
            problem = f"{side} in {script_name(script)} letters, {where} {script_name(expected)}"
            lines = (line for line, found in enumerate(scripts, start=1) if found == script)
            findings.append(on_lines(f"other-script-{side}", problem, lines))
    return findings


def _is_same(pair: Pair) -> bool:
    return pair.source == pair.target and any(map(str.isalpha, pair.source))
