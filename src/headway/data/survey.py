"""Search parallel text for suspicious lines before anything is trained on it.

A finding is a hint and changes nothing: `headway.data.cleaning` decides which pairs are dropped.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from headway.data.composition import is_decomposed
from headway.data.corpus import Pair
from headway.data.details import has_other_addresses, has_other_markup, has_other_numbers
from headway.data.exchanged import on_the_wrong_side
from headway.data.finding import Finding, by_harm, on_lines
from headway.data.headers import USUAL_FIELDS
from headway.data.html_codes import has_broken_codes, has_codes
from headway.data.misaligned import misaligned
from headway.data.mojibake import is_broken_mojibake, is_mojibake, undone
from headway.data.pair_rules import has_control_characters, is_copy
from headway.data.repeats import repeats
from headway.data.scripts import main_script, script_name, script_of_language
from headway.data.spaces import has_odd_spaces, with_plain_spaces
from headway.data.stretches import Stretch
from headway.data.two_languages import TwoLanguages

_USUAL_SHARE = 0.1  # a script is usual on a side if it has this share of the lines
_MOST = 0.7  # share of lines in one script, which as many lines of other text do not have
# A target is far from the usual length for its source if the ratio is 2.5 times the median, and
# three times the middle half of all ratios away from it (Tukey's "far out").
_FAR, _FAR_OUT = 2.5, 3.0
_SHORT = 10  # characters that are added to both sides, so that a word may be translated by three
_FEW = 50  # pairs, below which nothing is usual


Scripts = tuple[Counter[str], Counter[str]]
"""The number of lines in each script, for each side."""


def survey(pairs: Sequence[Pair], languages: TwoLanguages | None = None) -> list[Finding]:
    """Return findings on these pairs by themselves, the most harmful first.

    languages: those of the training text if the pairs are not part of it; learned from the pairs if
    unset. All tests but that for decomposed text compare form NFC.
    """
    stripped = [pair.stripped() for pair in pairs]
    pairs = [pair.comparable() for pair in stripped]
    numbered = list(enumerate(pairs, start=1))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    sides = {"source": sources, "target": targets}
    scripts = {side: [main_script(text) for text in texts] for side, texts in sides.items()}
    stretches = misaligned(sources, targets)
    findings = [
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
        *_decomposed(stripped),
        *_mismatched(pairs, stretches),
        *repeats(pairs, _inside(stretches)),
    ]
    return by_harm(findings)


def misalignments(pairs: Sequence[Pair]) -> list[Finding]:
    """Return the stretches whose targets do not seem to belong to their sources."""
    compared = [pair.comparable() for pair in pairs]
    return list(_moved(misaligned([p.source for p in compared], [p.target for p in compared])))


def overlap(
    train: Sequence[Pair], held_out: Sequence[Pair], others: Sequence[Pair] = ()
) -> list[Finding]:
    """Return findings on held-out text that is in training text, by lines of the held-out text.

    Also finds sides that should be in the script of the training text, but are not. others:
    training text of another kind, where a source may well have another translation.
    """
    held_out = [pair.comparable() for pair in held_out]
    training_pairs = {pair for pair in (pair.comparable() for pair in train) if all(pair)}
    sources = {pair.source for pair in training_pairs}
    training_pairs |= {pair.comparable() for pair in others}
    lines = [(line, pair) for line, pair in enumerate(held_out, start=1) if all(pair)]
    findings = [
        on_lines(
            "in-training",
            "pair is in the training text too",
            (line for line, pair in lines if pair in training_pairs),
        ),
        on_lines(
            "source-in-training",
            "source is in the training text, with another translation",
            (line for line, pair in lines if pair not in training_pairs and pair.source in sources),
        ),
        *other_scripts(main_scripts(train), held_out),
    ]
    return by_harm(findings)


def unrelated(lines: int) -> Finding:
    """Return the finding that all targets of a text of so many lines are of other sources."""
    return next(_moved([Stretch(0, lines, None)]))


def _moved(stretches: Iterable[Stretch]) -> Iterator[Finding]:
    """Yield a finding for each stretch.

    For instance, one side lacks a line, and all pairs after it would be trained on wrongly.
    """
    for stretch in stretches:
        problem = f"targets {stretch.what_targets_do}"
        count = stretch.end - stretch.start
        lines = (stretch.start + 1,)
        if stretch.late is None:
            yield Finding("unrelated", problem, count, lines, stretch.end)
        else:
            yield Finding("misaligned", problem, count, lines, stretch.end)


def _inside(stretches: Iterable[Stretch]) -> set[int]:
    """Return the lines of stretches, counted from 1."""
    return {line for start, end, _ in stretches for line in range(start + 1, end + 1)}


def _far_lengths(
    sources: Sequence[str], targets: Sequence[str], stretches: Iterable[Stretch]
) -> Iterator[Finding]:
    """Yield the lines whose target is far shorter or longer than is usual for such a source.

    Lines of misaligned stretches are left out.
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
    for script, count in counts.most_common():
        if count >= _USUAL_SHARE * counts.total():
            continue
        name = script_name(script)
        lines = _lines_in(script, scripts)
        yield on_lines(f"foreign-script-{side}", f"{side} in {name} letters", lines)


def _lines_in(script: str, scripts: Iterable[str]) -> Iterator[int]:
    """Yield the lines in this script, counted from 1."""
    return (line for line, main in enumerate(scripts, start=1) if main == script)


def _without_letters(side: str, texts: list[str], scripts: list[str]) -> Iterator[Finding]:
    """Yield a finding if most lines have no letters, as in a column of numbers."""
    numbered = enumerate(zip(texts, scripts, strict=True), start=1)
    lines = [line for line, (text, script) in numbered if text and not script]
    if len(lines) > len(texts) / 2:
        yield on_lines(f"no-letters-{side}", f"{side} without letters", lines)


def _damaged(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield the lines with text that was read or written in a wrong way."""
    numbered = list(enumerate(pairs, start=1))
    for side, opposite in (("source", "target"), ("target", "source")):
        for id, (problem, is_damaged) in _DAMAGES.items():
            lines = (
                n
                for n, pair in numbered
                if is_damaged(getattr(pair, side), getattr(pair, opposite))
            )
            yield on_lines(f"{id}-{side}", f"{side} {problem}", lines)


def _decomposed(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield the lines that are not in form NFC; pairs: as they were read."""
    for side in ("source", "target"):
        texts = enumerate((getattr(pair, side) for pair in pairs), start=1)
        problem = f"{side} not in Unicode's composed form (NFC), such as u and ¨ for ü"
        yield on_lines(f"decomposed-{side}", problem, (n for n, t in texts if is_decomposed(t)))


def _lost_characters(text: str, _: str) -> bool:
    return "\ufffd" in text


def _mojibake(text: str, _: str) -> bool:
    return is_mojibake(text)


def _broken_mojibake(text: str, _: str) -> bool:
    return is_broken_mojibake(text)


def _control_characters(text: str, _: str) -> bool:
    """Return True if neither the repair of mojibake nor that of spaces removes all of them."""
    return has_control_characters(text) and has_control_characters(with_plain_spaces(undone(text)))


def _broken_codes(text: str, _: str) -> bool:
    return has_broken_codes(text)


def _odd_spaces(text: str, _: str) -> bool:
    return has_odd_spaces(text)


_DAMAGES = {
    "broken-codes": ("with what seem to be broken codes of HTML, such as & amp", _broken_codes),
    "broken-mojibake": ("with parts of UTF-8 that cannot be restored, such as Ã", _broken_mojibake),
    "control-characters": ("with control characters", _control_characters),
    "html-codes": ("with codes of HTML, such as &amp;", has_codes),
    "lost-characters": ("with characters that were lost in reading (\ufffd)", _lost_characters),
    "mojibake": ("with UTF-8 that was decoded as another encoding, such as Ã© for é", _mojibake),
    "spaces": ("with tabs, no-break, doubled or invisible spaces", _odd_spaces),
}


def _mismatched(pairs: Sequence[Pair], stretches: Iterable[Stretch]) -> Iterator[Finding]:
    """Yield the lines whose sides have different numbers, addresses or markup.

    Lines of misaligned stretches are left out.
    """
    moved = _inside(stretches)
    numbered = [(n, pair) for n, pair in enumerate(pairs, 1) if all(pair) and n not in moved]
    yield on_lines(
        "number-mismatch",
        "different numbers in source and target",
        (n for n, pair in numbered if has_other_numbers(*pair)),
    )
    yield on_lines(
        "url-mismatch",
        "different web or email addresses in source and target",
        (n for n, pair in numbered if has_other_addresses(*pair)),
    )
    yield on_lines(
        "markup-mismatch",
        "different markup in source and target, such as <b>",
        (n for n, pair in numbered if has_other_markup(*pair)),
    )


def main_scripts(pairs: Iterable[Pair]) -> Scripts:
    """Count the main scripts of the lines of each side; lines without letters do not count."""
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
    """Return findings on sides that are mostly in another script than in usual text.

    This happens if sides are exchanged. usual: the scripts of usual text. where: its name in words.
    """
    return [
        on_lines(f"other-script-{side}", f"{side} in {script} letters, {where} {expected}", lines)
        for side, script, expected, lines in in_other_scripts(usual, pairs)
    ]


def other_languages(languages: tuple[str, str], pairs: Sequence[Pair]) -> list[Finding]:
    """Return findings on sides that are mostly in another script than their language.

    languages: names or codes, from and to. Most often the names of two files are exchanged.
    """
    scripts = map(script_of_language, languages)
    source, target = (Counter([script] if script else []) for script in scripts)
    named: dict[str, str] = dict(zip(USUAL_FIELDS, languages, strict=True))
    return [
        on_lines(
            f"other-language-{side}",
            f"{side} in {script} letters, but {named[side]} is written in {expected}",
            lines,
        )
        for side, script, expected, lines in in_other_scripts((source, target), pairs)
    ]


def in_other_scripts(
    usual: Scripts, pairs: Sequence[Pair]
) -> Iterator[tuple[str, str, str, Iterable[int]]]:
    """Yield each side that is in another script: its name, script, usual script, and lines."""
    for side, known in zip(USUAL_FIELDS, usual, strict=True):
        scripts = [main_script(getattr(pair, side)) for pair in pairs]
        counts = Counter(filter(None, scripts))
        if not (known and counts):
            continue
        (script, count), (expected, _) = counts.most_common(1)[0], known.most_common(1)[0]
        if count > _MOST * counts.total() and known[script] < (1 - _MOST) * known.total():
            yield side, script_name(script), script_name(expected), _lines_in(script, scripts)


def _is_same(pair: Pair) -> bool:
    return pair.source == pair.target and any(map(str.isalpha, pair.source))
