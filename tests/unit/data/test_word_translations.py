"""Lines whose words translate each other are told from others; unknown words show nothing."""

import itertools
import random

from headway.data.word_translations import WordTranslations

SYLLABLES = ["ba", "de", "fi", "go", "ku", "la", "me", "ni"]
WORDS = ["".join(syllables) for syllables in itertools.permutations(SYLLABLES, 2)]


def phrases(lines: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return lines of five words, and the same words with other letters in another order."""
    draw = random.Random(seed)
    sources = [draw.sample(WORDS, 5) for _ in range(lines)]
    return [
        (" ".join(line), " ".join(word.upper()[::-1] for word in line[::-1])) for line in sources
    ]


def test_each_target_has_most_evidence_with_its_own_source() -> None:
    translations = WordTranslations(phrases(300))

    unseen = phrases(20, seed=1)
    for source, target in unseen:
        most = translations.evidence(source, target)
        assert most > 0
        others = [other for _, other in unseen if other != target]
        assert all(translations.evidence(source, other) < most for other in others)


def test_case_and_signs_do_not_count() -> None:
    translations = WordTranslations(phrases(50))
    source, target = phrases(1)[0]

    plain = translations.evidence(source, target)
    assert plain != 0
    assert translations.evidence(f"«{source.upper()}!»", f"({target.lower()})") == plain


def test_unknown_words_show_nothing() -> None:
    translations = WordTranslations(phrases(50))
    source, target = phrases(1)[0]

    assert translations.evidence(source, "unheard words") == 0
    assert translations.evidence("", "") == 0
    plain = translations.evidence(source, target)
    assert translations.evidence(f"{source} unheard", f"{target} unheard") == plain
