"""Translate documents with a translator."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from headway.decoding.translator import TextTranslator
from headway.documents.forms import Content, Finished, Form, Steps, steps_of_file, steps_of_text
from headway.documents.sentences import sentences_of
from headway.documents.steps import Answer, Wish
from headway.errors import ConfigError


def translate_text(
    translator: TextTranslator,
    text: str,
    form: Form = "text",
    *,
    keep: Sequence[str] = (),
    capitals: bool = True,
    split_sentences: bool | None = None,
    **wanted: Any,
) -> Finished[str]:
    """Translate a document that is text, such as a page or a part of one.

    keep: texts that are left as they are, besides addresses, placeholders and tags. capitals:
    translate text in capitals as a sentence, and write the translation in capitals. wanted: other
    arguments of `translate`, such as `glossary` and `options`.
    """
    split = partial(sentences_of, translator.requests, asked=split_sentences)
    steps = steps_of_text(text, form, split, keep=keep, capitals=capitals)
    return _finish(translator, steps, split_sentences, wanted)


def translate_file(
    translator: TextTranslator,
    data: bytes,
    form: Form,
    *,
    keep: Sequence[str] = (),
    capitals: bool = True,
    split_sentences: bool | None = None,
    **wanted: Any,
) -> Finished[bytes]:
    """Translate the content of a file; arguments as for `translate_text`.

    Raises DataError for content that is not of this form.
    """
    split = partial(sentences_of, translator.requests, asked=split_sentences)
    steps = steps_of_file(data, form, split, keep=keep, capitals=capitals)
    return _finish(translator, steps, split_sentences, wanted)


def _finish(
    translator: TextTranslator, steps: Steps[Content], split: bool | None, wanted: dict[str, Any]
) -> Finished[Content]:
    """Answer all wishes of the steps."""
    try:
        wishes = next(steps)
        while True:
            wishes = steps.send(answers_of(translator, wishes, split, wanted))
    except StopIteration as end:
        return end.value


def answers_of(
    translator: TextTranslator,
    wishes: Sequence[Wish],
    split: bool | None,
    wanted: dict[str, Any],
) -> list[Answer | None]:
    """Return the translations of wishes; split and wanted: arguments of `translate`."""
    answers: list[Answer | None] = [None] * len(wishes)
    kinds: dict[tuple[bool, bool], list[int]] = defaultdict(list)
    for number, wish in enumerate(wishes):
        if not wish.terms or _can_have_terms(translator, wish, wanted):
            kinds[wish.aligned, wish.split].append(number)
    for (aligned, several), numbers in kinds.items():
        translations = translator.translate(
            [wishes[number].text for number in numbers],
            attention=aligned,
            split_sentences=split if several else False,
            terms=[wishes[number].terms for number in numbers],
            **wanted,
        )
        for number, translation in zip(numbers, translations, strict=True):
            flags = frozenset[str](translation.flags)
            answers[number] = Answer(translation.text, translation.alignment, flags)
    return answers


def _can_have_terms(translator: TextTranslator, wish: Wish, wanted: dict[str, Any]) -> bool:
    """Return True if the model can write these terms, in a text that is one part for it."""
    requests = translator.requests
    options = wanted.get("options") or translator.options
    try:
        requests.make([requests.parts(wish.text)], options, terms=[wish.terms])
    except ConfigError:
        return False
    return options.takes_terms
