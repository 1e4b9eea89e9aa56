"""Requests of a search, made of sentences: cut into pieces, split where they are too long."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import chain, groupby
from numbers import Integral
from typing import Any

import numpy as np

from headway.bundle import Bundle
from headway.counted import counted
from headway.data.sentences import split_sentences, splitting_language
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, Tokenizer
from headway.decoding.banned import BannedTexts
from headway.decoding.glossary import Glossary
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Part, cut_text, part_texts, word_numbers
from headway.decoding.request import Request
from headway.errors import ConfigError, require_type


class RequestMaker:
    """Make requests that each of some bundles can take; the first has the settings."""

    def __init__(self, bundles: Sequence[Bundle]) -> None:
        """Read for these bundles, which have one vocabulary."""
        self.bundle = bundles[0]
        # A learned table of positions has an end; one place in it is for START or END.
        tables = [b.config.max_positions for b in bundles if b.config.positions == "learned"]
        self.position_limit = min(tables, default=sys.maxsize) - 1
        # Rows of the table that no piece goes with could not be turned into text.
        pieces = len(self.bundle.target_tokenizer)
        padded = any(bundle.config.target_vocab_size > pieces for bundle in bundles)
        self._writable_ids = np.arange(pieces) if padded else None
        self._tags = set(self.bundle.tags)

    def parts(self, sentence: str, *, at_most: int | None = None) -> list[Part]:
        """Return the parts of a text that are translated each by itself; none of a blank one.

        at_most: sentences of a part, as `sentences_a_part` returns it; None for the whole text. A
        sentence that is too long is several parts in any case. A text of nothing but a tag that the
        model was trained with is blank, too.
        """
        return cut_text(
            sentence,
            self.bundle.source_tokenizer,
            min(self.bundle.decoding.max_source_pieces, self.position_limit),
            splitting_language(self.bundle.source_language),
            tags=self._tags,
            at_most=at_most,
        )

    def sentences_a_part(self, asked: bool | None) -> int | None:
        """Return how many sentences of a text are translated together; None for all of them.

        asked: True for each by itself, False for all. None leaves it to the model: one that was
        trained on several sentences a line is given as many as its training lines usually had, or
        all of them where its record does not say how many these were.
        """
        remedy = "Give True or False, or None to leave it to the model."
        require_type("split_sentences", asked, (bool, type(None)), remedy)
        if asked is None and self.bundle.trained_on_paragraphs:
            return self.bundle.usual_sentences
        return None if asked is False else 1

    def whole(self, sentence: str, what: str) -> list[Part]:
        """Return the one part that a sentence is; ConfigError where it has several, or none.

        what: is for one part only, for the message.
        """
        parts = self.parts(sentence)
        if len(parts) != 1:
            raise ConfigError(
                f"The sentence has {len(parts)} parts, but {what} for one.",
                "Give one sentence that the model can take whole.",
            )
        return parts

    def source_words(self, sentence: str, parts: Sequence[Part]) -> list[list[int | None]]:
        """Return for each piece of each part the number of its word in the whole text."""
        return word_numbers(sentence, parts, self.bundle.source_tokenizer)

    def make(
        self,
        parts: Sequence[Sequence[Part]],
        options: SearchOptions,
        *,
        first: int = 0,
        prefix: str | Sequence[str] | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
        glossary: Glossary | None = None,
        banned: BannedTexts | None = None,
    ) -> list[Request]:
        """Return a request for every part of the texts; arguments as in `translate`."""
        if glossary is not None and not options.takes_terms:
            raise ConfigError(
                "There is a glossary, but pieces are drawn or the beam has groups.",
                "Leave out sampling and groups, or the glossary.",
            )
        requests: list[Request] = []
        texts, words = _prefixes(prefix, len(parts)), _terms(terms, len(parts))
        for number, (text, own, cut) in enumerate(zip(texts, words, parts, strict=True), first):
            with _named(number, alone=len(parts) == 1 and first == 0):
                ids = self._prefix_ids(text, cut)
                _check_one_part(own, cut)
                wanted = _glossary_terms(glossary, cut, self.bundle.source_tokenizer)
                for place, (part, of_part) in enumerate(zip(cut, wanted, strict=True)):
                    term_ids = self._term_ids([*own, *of_part], options, banned)
                    # A prefix belongs to the first part; the others are free.
                    begun = ids if place == 0 else []
                    together = [*begun, *(i for term in term_ids for i in term)]
                    self._fitting(together, "A prefix with its terms")
                    where = (number, place)
                    requests.append(self.one(part.ids, begun, options, place=where, terms=term_ids))
        return requests

    def check_glossary(self, glossary: Glossary) -> None:
        """Refuse translations that the model cannot write; ConfigError names the first of them."""
        for target in glossary.targets:
            self._writable(target, "glossary's translation")

    def _prefix_ids(self, prefix: str, parts: Sequence[Part]) -> list[int]:
        """Return the pieces of a prefix, which is that of one sentence."""
        several = len({part.sentence for part in parts}) > 1
        language = splitting_language(self.bundle.target_language)
        if several and (count := len(split_sentences(prefix, language))) > 1:
            raise ConfigError(
                f"The prefix has {count} sentences, but each sentence is translated by itself and "
                "the prefix is that of the first one.",
                "Shorten it, or take the text as one sentence with split_sentences=False "
                "(--one-sentence-a-line).",
            )
        return self._writable(prefix, "prefix")

    def one(
        self,
        ids: Sequence[int],
        prefix: Sequence[int],
        options: SearchOptions,
        *,
        place: tuple[int, ...] = (),
        terms: Sequence[Sequence[int]] = (),
    ) -> Request:
        """Return the request for one part."""
        longest = len(ids) + self.bundle.decoding.max_extra_pieces
        limit = min(max(longest, len(prefix), options.min_length), self.position_limit)
        # All requests share one array of what may be written: prefix and terms are in it.
        allowed = self._writable_ids
        request = Request([*ids, END_ID], limit, prefix, place=place, terms=terms, allowed=allowed)
        if not options.shortlist:
            return request
        if self.bundle.shortlist is None:
            raise ConfigError(
                "The model has no shortlist.",
                "Learn one from its training text with `headway shortlist`, or do without.",
            )
        return request.restricted(self.bundle.shortlist.pieces_for(ids))

    def target_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of target pieces; ConfigError where there is no such piece."""
        tokenizer = self.bundle.target_tokenizer
        require_type("pieces", pieces, Iterable, "Give pieces as `translation.pieces` has them.")
        for piece in pieces:
            require_type("A piece", piece, str, "Give pieces as `translation.pieces` has them.")
            if tokenizer.piece(tokenizer.id(piece)) != piece:
                raise ConfigError(
                    f"The vocabulary has no piece '{piece}'.",
                    "Give pieces as `translation.pieces` has them.",
                )
        return self._fitting([tokenizer.id(piece) for piece in pieces], "A prefix")

    def text_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of target pieces that are text: no padding, no start, no end."""
        ids = self.target_ids(pieces)
        if marks := [SPECIAL_PIECES[i] for i in ids if i in (PAD_ID, START_ID, END_ID)]:
            raise ConfigError(
                f"The target has {marks[0]} in it, which is no text.",
                "Give pieces of text; start and end are added.",
            )
        return ids

    def unfinished_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of pieces that a translation can go on after, whatever it goes on with."""
        ids = self.target_ids(pieces)
        if special := [SPECIAL_PIECES[piece] for piece in ids if piece < len(SPECIAL_PIECES)]:
            raise ConfigError(
                f"A translation with {special[0]} in it cannot go on.",
                "Give pieces of text, as `translation.pieces` has them.",
            )
        if len(ids) == self.position_limit:
            raise ConfigError(
                f"There are {len(ids)} pieces, as many as the model has positions for, so that "
                "nothing but the end can follow.",
                "Give fewer pieces.",
            )
        return ids

    def _term_ids(
        self, terms: Sequence[str], options: SearchOptions, banned: BannedTexts | None
    ) -> list[list[int]]:
        """Return the pieces of a part's terms, none of which another wish may forbid."""
        found = [self._writable(term, "term") for term in terms if term.strip()]
        for ids in found:
            n = options.no_repeat_ngram
            sequences = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)] if n else []
            repeats = len(set(sequences)) < len(sequences)
            if repeats or (banned is not None and banned.occur_in(ids)):
                why = f"no_repeat_ngram {n}" if repeats else "a banned text"
                raise ConfigError(
                    f"The term '{self.bundle.target_tokenizer.decode(ids)}' must occur, but {why} "
                    "forbids it.",
                    "Leave out one of the two.",
                )
        return found

    def _writable(self, text: str, what: str) -> list[int]:
        ids = self.bundle.target_tokenizer.encode(text)
        if text.strip() and not ids:
            raise ConfigError(
                f"Nothing of the {what} {text!r} is left in pieces of the vocabulary.",
                "Use words that the model can write, or leave it out.",
            )
        if unknown := self.bundle.target_tokenizer.unknown_count(ids):
            raise ConfigError(
                f"The {what} '{text}' has {counted(unknown, 'piece')} that "
                "the vocabulary does not know.",
                "Use words that the model can write.",
            )
        return self._fitting(ids, f"A {what}")

    def _fitting(self, ids: list[int], what: str) -> list[int]:
        if len(ids) > self.position_limit:
            raise ConfigError(
                f"{what} has {len(ids)} pieces, but the model has positions for "
                f"{self.position_limit}.",
                "Shorten it.",
            )
        return ids


def _check_one_part(terms: Sequence[str], parts: Sequence[Part]) -> None:
    """Refuse terms of a text in several parts."""
    if not terms or len(parts) < 2:
        return
    sentences = len({part.sentence for part in parts})
    if sentences > 1:
        raise ConfigError(
            f"The text has {sentences} sentences, so it is unclear which one the terms belong to.",
            "Give each sentence by itself, take the text as one with split_sentences=False "
            "(--one-sentence-a-line), or give a glossary, which goes by the words of the source.",
        )
    raise ConfigError(
        f"The sentence is too long: it would be translated in {len(parts)} parts, and it is "
        "unclear which one the terms belong to.",
        "Split it where it suits, or leave its terms out.",
    )


def _glossary_terms(
    glossary: Glossary | None, parts: Sequence[Part], tokenizer: Tokenizer
) -> list[list[str]]:
    """Return the terms of each part; ConfigError where a part ends within one."""
    if glossary is None:
        return [[] for _ in parts]
    wanted: list[list[str]] = []
    for sentence, cut in groupby(parts, lambda part: part.sentence):
        by_part = [glossary.terms(text) for text in part_texts(list(cut), tokenizer)]
        wanted += by_part
        if len(by_part) == 1:
            continue
        within = set(chain.from_iterable(by_part))
        if lost := [term for term in glossary.terms(sentence.text) if term not in within]:
            raise ConfigError(
                f"The sentence is too long, and its parts divide the term of the glossary that is "
                f"to become '{lost[0]}'.",
                "Split the sentence where it suits, or leave the term out.",
            )
    return wanted


def _prefixes(prefix: str | Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the prefix of each sentence."""
    refuse_mapping("prefix", prefix, "Give a text, or a list with one for each.")
    if prefix is not None:
        require_type("prefix", prefix, Iterable, "Give a text, or a list with one for each.")
    each = [prefix or ""] * count if prefix is None or isinstance(prefix, str) else list(prefix)
    if len(each) != count:
        raise ConfigError(
            f"There are {len(each)} prefixes for {count} sentences.",
            "Give one for all or one for each; an empty one forces nothing.",
        )
    for own in each:
        require_type("A prefix", own, str, "Give texts; an empty one forces nothing.")
    return each


def _terms(terms: Sequence[str] | Sequence[Sequence[str]], count: int) -> Sequence[Sequence[str]]:
    """Return the terms of each sentence."""
    if isinstance(terms, str):
        raise ConfigError("The terms are one string.", "Give a list of words.")
    by_source = "Give a list of words; translations of source terms are glossary={source: target}."
    refuse_mapping("terms", terms, by_source)
    require_type("terms", terms, Iterable, "Give a list of words.")
    terms = list(terms)
    for_all = [term for term in terms if isinstance(term, str)]
    if for_all and len(for_all) < len(terms):
        raise ConfigError(
            "Some terms are words and others lists of words.",
            "Give one list of words for all, or one list for each.",
        )
    each = [for_all] * count if for_all or not terms else terms
    if len(each) != count:
        raise ConfigError(
            f"There are {len(each)} lists of terms for {count} sentences.",
            "Give one list of words for all, or one list for each.",
        )
    for own in each:
        refuse_mapping("A list of terms", own, by_source)
        require_type("A list of terms", own, Iterable, "Give one list of words for each sentence.")
    each = [list(own) for own in each]
    for term in chain.from_iterable(each):
        require_type("A term", term, str, "Give words.")
    return each


def refuse_mapping(name: str, given: object, remedy: str) -> None:
    """Refuse a dict where texts are wanted: its keys would be taken for them."""
    if isinstance(given, Mapping):
        raise ConfigError(f"{name} is a {type(given).__name__}.", remedy)


@contextmanager
def _named(number: int, *, alone: bool) -> Iterator[None]:
    """Say of what is refused which sentence it was for, where there is more than one."""
    try:
        yield
    except ConfigError as error:
        if alone:
            raise
        what = f"Sentence {number + 1} (counted from 1): {error.message}"
        raise ConfigError(what, error.remedy) from None


def as_sentences(text: object) -> list[Any]:
    """Return what is to be translated as a list; ConfigError where it is neither text nor texts."""
    if isinstance(text, str):
        return [text]
    if isinstance(text, (bytes, Mapping, Set)) or not isinstance(text, Iterable):
        raise ConfigError(
            f"A {type(text).__name__} was given, not text.",
            "Give one string, or an iterable of strings in their order.",
        )
    return list(text)


def check_count(name: str, number: int) -> None:
    """Refuse a number of which there must be one at least."""
    require_type(name, number, Integral, f"Give {name} as a whole number.")
    if number < 1:
        raise ConfigError(f"{name} is {number}, but must be at least 1.", f"Raise {name}.")


def check_request(sentences: Sequence[object], first: int = 0) -> None:
    """Refuse sentences that are no text, and a place in the input that there is not."""
    require_type("first", first, Integral, "Give the number of the first sentence, from 0.")
    if first < 0:
        raise ConfigError(f"first is {first}, but must be at least 0.", "Sentences count from 0.")
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise ConfigError(
                f"Sentence {number} (counted from 1) is a {type(sentence).__name__}, not text.",
                "Give one string, or an iterable of strings.",
            )
