"""Make sentences of the phrases that are learned by heart: all of them are in the training text."""

from collections.abc import Iterator

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus.grammar import Sentence, noun_phrase
from headway.sample_corpus.lexicon import NOUN_LIST, irregular, pairs
from headway.sample_corpus.phrases import (
    ACTIONS,
    ANSWERS,
    CASUAL_GREETINGS,
    MARKED_QUESTIONS,
    POLITE_GREETINGS,
    QUESTIONS,
    STATES,
    YES_AND_NO,
)

PHRASE = "phrase"
"""The name of their pattern."""

STYLES: tuple[ko.Style, ...] = ("formal", "polite", "plain", "casual")


def greeting_marks(korean: str) -> tuple[str, ...]:
    """Return the marks that may follow a greeting; some people ask 안녕하세요?"""
    return ("", ".", "!", "?") if korean.startswith("안녕하") else ("", ".", "!")


def exclaimed(english: str, mark: str) -> str:
    """Return a phrase as a sentence that is exclaimed if its Korean mark is "!"."""
    return english[0].upper() + english[1:] + ("!" if mark == "!" else ".")


def by_heart() -> Iterator[Sentence]:
    """Yield each phrase with each of its marks, and each noun by itself."""
    for korean, english in pairs(POLITE_GREETINGS + "," + CASUAL_GREETINGS + "," + ANSWERS):
        for mark in greeting_marks(korean):
            yield _sentence(korean, exclaimed(english, mark), mark)
    for korean, english in pairs(YES_AND_NO):
        for form in (korean, korean.replace(" ", ", ", 1)):
            for mark in ("", ".", "!"):
                yield _sentence(form, exclaimed(english.replace(" ", ", ", 1), mark), mark)
    for noun in {noun.korean: noun for noun in reversed(NOUN_LIST)}.values():  # the first of a name
        yield _sentence(noun.korean, exclaimed(noun_phrase(noun).english, ""), "")
    for text, marks in ((QUESTIONS, ("?", "")), (MARKED_QUESTIONS, ("?",))):
        for korean, english in pairs(text):
            for mark in marks:
                yield _sentence(korean, english[0].upper() + english[1:] + "?", mark)
    for text, describes in ((STATES, True), (ACTIONS, False)):
        for korean, english in pairs(text):
            dictionary, kind = irregular(korean)
            for style in STYLES:
                form = ko.present(dictionary, kind, style, describes=describes)
                for mark in (".", ""):
                    yield _sentence(form, exclaimed(english, mark), mark, style)


def _sentence(korean: str, english: str, mark: str, style: str = "") -> Sentence:
    return Sentence(PHRASE, korean + mark, english, (), frozenset(), (style, mark))
