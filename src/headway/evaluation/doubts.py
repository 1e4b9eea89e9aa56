"""Reasons to doubt scores: text that is exchanged, misaligned, or compared with itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from headway.counted import counted
from headway.data.composition import differ_in_form, is_decomposed
from headway.data.corpus import Pair
from headway.data.own_lines import (
    BY_CHANCE,
    FEWEST,
    are_different,
    evenly,
    fit,
    is_clearly_less,
    length_correlation,
    share_known,
    shared_words,
)
from headway.data.survey import misalignments
from headway.data.two_languages import TwoLanguages
from headway.errors import shown

COMPOSE = "`headway clean --fix nfc --drop none` composes both files of a text."
"""The remedy for text in several Unicode forms."""

_CLEAR = 3.0  # log-odds above which the language of a line is clear
_MOST = 0.7  # of these lines
_FEWEST = 20
_SEVERAL = 5  # different references; fewer may well have one translation
_FLUENT = 0.25  # share of what translations consist of, that references have somewhere
_FEW_COPIES = 5  # sentences; all translations of so few may well equal their references


def doubts(
    pairs: Sequence[Pair], systems: Mapping[str, Sequence[str]], files: Collection[str] = ()
) -> Iterator[str]:
    """Yield a sentence for each reason to doubt the scores of these systems.

    pairs: sources with their references. systems: the translations of each system by its name.
    files: names of systems that were read from a file, which may be the references by mistake.
    """
    findings = misalignments(pairs)
    for finding in findings:
        lines = f"lines {finding.lines[0]:,} to {finding.through:,}"
        yield f"Source and reference do not seem to belong together in {lines}."
    references = [pair.target for pair in pairs]
    if _are_copies([pair.source for pair in pairs], references):
        yield "Source and reference are the same text, line by line. Is one of them the wrong file?"
    languages = TwoLanguages.of(pairs)
    yield from doubts_of_files(references, systems, files)
    for name, texts in systems.items():
        if name in files and _are_copies(references, texts):
            continue
        if not findings and _fit_other_references_as_well(pairs, texts):
            yield (
                f"The translations of {name} have as much in common with the references of other "
                "lines as with their own. Source and reference do not seem to belong together."
            )
        if languages is not None and _are_in_language_of_source(languages, references, texts):
            yield (
                f"The translations of {name} look like the language of the source, not of the "
                "references. Are source and reference exchanged?"
            )


def doubts_of_files(
    references: Sequence[str], systems: Mapping[str, Sequence[str]], files: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each file that is equal to the references, or shifted against them.

    Also for each system whose Unicode form is not that of the references, and for each that
    translates all alike. Arguments as in `doubts`.
    """
    for name, texts in systems.items():
        if remark := forms_remark(name, references, texts):
            yield remark
        if len(set(references)) >= _SEVERAL and len(set(texts)) == 1 and texts[0].strip():
            yield (
                f"All translations of {name} are the same, {shown(texts[0])}: they do not depend "
                "on the source."
            )
        if name not in files:
            continue
        if _are_copies(references, texts):
            yield f"The translations of {name} are the references, line by line."
        for finding in misalignments(list(map(Pair, references, texts))):
            yield (
                f"The translations of {name} and the references do not seem to belong together in "
                f"lines {finding.lines[0]:,} to {finding.through:,}."
            )


def forms_remark(name: str, references: Sequence[str], texts: Sequence[str]) -> str:
    """Return why scores are too low if translations and references differ in Unicode form, or "".

    texts: the translations of the system or text of this name.
    """
    pairs = zip(references, texts, strict=True)
    unequal = [(reference, text) for reference, text in pairs if reference != text]
    if not unequal or not differ_in_form(*zip(*unequal, strict=True)):
        return ""
    decomposed = [sum(map(is_decomposed, lines)) for lines in (references, texts)]
    return (
        f"{name}: Unicode's composed form (NFC) would change {decomposed[0]:,} of "
        f"{counted(len(references), 'reference')} and {decomposed[1]:,} of the translations. "
        "Characters that look the same count as different, and scores are too low. "
        f"{COMPOSE}"
    )


def _are_copies(references: Sequence[str], texts: Sequence[str]) -> bool:
    return len(texts) > _FEW_COPIES and list(texts) == list(references)


def _are_in_language_of_source(
    languages: TwoLanguages, references: Sequence[str], texts: Sequence[str]
) -> bool:
    evidence = languages.judge(list(map(Pair, references, texts))).whole[1]
    clear = evidence[np.abs(evidence) > _CLEAR]
    return len(clear) >= _FEWEST and bool((clear < 0).mean() > _MOST)


def _fit_other_references_as_well(pairs: Sequence[Pair], texts: Sequence[str]) -> bool:
    """Return True if the references seem not to be those of these sources.

    A model that cannot translate such text proves nothing. A better one writes in the language of
    the references, and long translations of long sources.
    """
    if len(pairs) < FEWEST:
        return False
    places = evenly(len(pairs))
    sources = [pairs[place].source for place in places]
    references = [pairs[place].target for place in places]
    translations = [texts[place] for place in places]
    lines = len(places)
    return (
        is_clearly_less(
            length_correlation(sources, references),
            lines,
            length_correlation(sources, translations),
            lines,
        )
        and are_different(references)
        and share_known(translations, references) > _FLUENT
        and fit(shared_words(translations, references)) < BY_CHANCE
    )
