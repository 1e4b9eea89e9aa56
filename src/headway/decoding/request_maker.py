"""Requests of a search, made of sentences: cut into pieces, split where they are too long."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID
from headway.data.words import number_words
from headway.decoding.banned import BannedTexts
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.splitting import leading_tag, split_long
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

    def parts(self, sentence: str) -> list[list[int]]:
        """Return the pieces of a sentence, in parts when it is too long; none of a blank one.

        One of nothing but a tag that the model was trained with is blank, too.
        """
        if sentence.strip() in self._tags:
            return []
        ids = self.bundle.source_tokenizer.encode(sentence)
        return [[ids[place] for place in part] for part in self._places(ids)]

    def whole(self, sentence: str, what: str) -> list[list[int]]:
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

    def source_words(self, sentence: str) -> list[list[int | None]]:
        """Return for each piece of each part the number of its word in the whole sentence."""
        ids = self.bundle.source_tokenizer.encode(sentence)
        words = number_words(self.bundle.source_tokenizer, sentence)
        return [[words[place] for place in part] for part in self._places(ids)]

    def _places(self, ids: list[int]) -> list[list[int]]:
        """Return which pieces of a sentence each part has; a leading tag is in every one."""
        longest = min(self.bundle.decoding.max_source_pieces, self.position_limit)
        if len(ids) <= longest:
            return [list(range(len(ids)))] if ids else []
        pieces = self.bundle.source_tokenizer.pieces(ids)
        tag = leading_tag(pieces)
        if 2 * tag > longest:
            tag = 0  # whatever it is, it leaves no room
        parts = split_long(range(tag, len(ids)), pieces[tag:], longest - tag)
        return [[*range(tag), *part] for part in parts]

    def make(
        self,
        parts: Sequence[Sequence[list[int]]],
        options: SearchOptions,
        *,
        first: int = 0,
        prefix: str | Sequence[str] | None = None,
        terms: Sequence[str] | Sequence[Sequence[str]] = (),
        banned: BannedTexts | None = None,
    ) -> list[Request]:
        """Return a request for every part of the sentences; arguments as in `translate`."""
        prefixes, all_terms = [], []
        texts, words = _prefixes(prefix, len(parts)), _terms(terms, len(parts))
        for number, (text, own, cut) in enumerate(zip(texts, words, parts, strict=True), first):
            with _named(number, alone=len(parts) == 1 and first == 0):
                prefixes.append(self._writable(text, "prefix"))
                all_terms.append(self._term_ids(own, len(cut), options, banned))
                together = [*prefixes[-1], *(i for ids in all_terms[-1] for i in ids)]
                self._fitting(together, "A prefix with its terms")
        return [
            # A prefix belongs to the first part; the others are free.
            self.one(
                ids,
                prefixes[number] if place == 0 else [],
                options,
                place=(first + number, place),
                terms=all_terms[number],
            )
            for number, sentence_parts in enumerate(parts)
            for place, ids in enumerate(sentence_parts)
        ]

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
        for piece in pieces:
            require_type("A piece", piece, str, "Give pieces as `translation.pieces` has them.")
            if tokenizer.piece(tokenizer.id(piece)) != piece:
                raise ConfigError(
                    f"The vocabulary has no piece '{piece}'.",
                    "Give pieces as `translation.pieces` has them.",
                )
        return self._fitting([tokenizer.id(piece) for piece in pieces], "A prefix")

    def spoken_ids(self, pieces: Sequence[str]) -> list[int]:
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
        self,
        terms: Sequence[str],
        num_parts: int,
        options: SearchOptions,
        banned: BannedTexts | None,
    ) -> list[list[int]]:
        """Return the pieces of a sentence's terms, none of which another wish may forbid."""
        if terms and num_parts > 1:
            raise ConfigError(
                f"A sentence with terms is too long: it would be translated in {num_parts} parts, "
                "and which part has the terms is not known.",
                "Split it where it suits, or leave its terms out.",
            )
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
                f"The {what} '{text}' has {unknown} {'piece' if unknown == 1 else 'pieces'} that "
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


def _prefixes(prefix: str | Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the prefix of each sentence."""
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
        require_type("A list of terms", own, Iterable, "Give one list of words for each sentence.")
    each = [list(own) for own in each]
    for term in chain.from_iterable(each):
        require_type("A term", term, str, "Give words.")
    return each


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
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        raise ConfigError(
            f"A {type(text).__name__} was given, not text.",
            "Give one string, or an iterable of strings.",
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
