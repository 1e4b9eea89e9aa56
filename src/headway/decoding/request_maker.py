"""Requests to a search, made of sentences: cut into pieces, and into parts if too long."""

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, groupby
from numbers import Integral
from typing import Any

import numpy as np

from headway.bundle import Bundle
from headway.counted import counted
from headway.data.scripts import is_in_word, takes_particles
from headway.data.sentences import split_sentences, splitting_language
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, Tokenizer
from headway.decoding.banned import BannedTexts
from headway.decoding.glossary import Glossary
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Part, cut_text, part_texts, word_numbers
from headway.decoding.request import Request
from headway.decoding.tags import tag_before
from headway.errors import ConfigError, require_type, shown


class RequestMaker:
    """Make requests that every bundle of an ensemble can take; the first has the settings."""

    def __init__(self, bundles: Sequence[Bundle]) -> None:
        """Make requests for these bundles, which have one vocabulary."""
        self.bundle = bundles[0]
        # A learned table of positions has an end; one position is for START or END.
        tables = [b.config.max_positions for b in bundles if b.config.positions == "learned"]
        self.position_limit = min(tables, default=sys.maxsize) - 1
        # Rows of the output table without a piece cannot be turned into text.
        pieces = len(self.bundle.target_tokenizer)
        padded = any(bundle.config.target_vocab_size > pieces for bundle in bundles)
        self._writable_ids = np.arange(pieces) if padded else None
        self._tags = set(self.bundle.tags)

    def parts(self, sentence: str, *, at_most: int | None = None) -> list[Part]:
        """Return the parts of a text that are translated separately; none if it is blank.

        at_most: sentences of a part, see `sentences_a_part`; None for the whole text. A sentence
        that is too long is always several parts. A text that is only a tag of the model is blank.
        Raises DataError for a text without a tag that the model needs, see `tag_before`.
        """
        return cut_text(
            sentence,
            self.bundle.source_tokenizer,
            min(self.bundle.decoding.max_source_pieces, self.position_limit),
            splitting_language(self.bundle.source_language),
            tags=self._tags,
            put=self._tag_ids(sentence),
            at_most=at_most,
        )

    def _tag_ids(self, text: str) -> list[int]:
        tag = tag_before(self.bundle, text)
        return self.bundle.source_tokenizer.encode(tag) if tag else []

    def sentences_a_part(self, asked: bool | None) -> int | None:
        """Return the number of sentences of a text that are translated together; None for all.

        asked: True for each by itself, False for all. None leaves it to the model: a model trained
        on several sentences a line takes as many as its training lines usually had. If its record
        does not have their number, it takes all.
        """
        remedy = "Give True or False, or None to leave it to the model."
        require_type("split_sentences", asked, (bool, type(None)), remedy)
        if asked is None and self.bundle.trained_on_paragraphs:
            return self.bundle.usual_sentences
        return None if asked is False else 1

    def count_sentences(self, text: str) -> int:
        """Return the number of sentences that `translate` translates separately; 0 if it is blank.

        A group of sentences that the model takes together counts as one.
        """
        parts = self.parts(text, at_most=self.sentences_a_part(None))
        return len({part.sentence for part in parts})

    def single_part(self, sentence: str, purpose: str) -> list[Part]:
        """Return the only part of a sentence; ConfigError if it has several or none.

        purpose: the subject and verb of the message, such as `alternatives are`.
        """
        parts = self.parts(sentence)
        if len(parts) != 1:
            raise ConfigError(
                f"The sentence has {len(parts)} parts, but {purpose} for one.",
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
                "A glossary cannot be combined with sampling or groups.",
                "Leave out sampling and groups, or the glossary.",
            )
        requests: list[Request] = []
        texts, words = _prefixes(prefix, len(parts)), _terms(terms, len(parts))
        sentences = zip(texts, words, parts, strict=True)
        number = first
        try:
            for number, (text, sentence_terms, cut) in enumerate(sentences, first):
                prefix_ids = self._prefix_ids(text, cut)
                _check_one_part(sentence_terms, cut)
                by_part = _glossary_terms(glossary, cut, self.bundle.source_tokenizer)
                for place, (part, part_terms) in enumerate(zip(cut, by_part, strict=True)):
                    term_ids = self._term_ids([*sentence_terms, *part_terms], options, banned)
                    # Only the first part has the prefix.
                    begun = prefix_ids if place == 0 else []
                    demanded = [*begun, *(i for term in term_ids for i in term)]
                    self._fitting(demanded, "A prefix with its terms")
                    where = (number, place)
                    requests.append(
                        self.make_one(part.ids, begun, options, place=where, terms=term_ids)
                    )
        except ConfigError as error:
            if len(parts) == 1 and first == 0:
                raise
            message = f"Sentence {number + 1} (counted from 1): {error.message}"
            raise ConfigError(message, error.remedy) from None
        return requests

    def check_glossary(self, glossary: Glossary) -> None:
        """Raise ConfigError for the first translation that the model cannot write."""
        for target in glossary.targets:
            self._writable(target, "glossary's translation")

    def _prefix_ids(self, prefix: str, parts: Sequence[Part]) -> list[int]:
        """Return the pieces of a prefix; ConfigError if it and the text have several sentences."""
        if not prefix:
            return []
        several = len({part.sentence for part in parts}) > 1
        language = splitting_language(self.bundle.target_language)
        if several and (count := len(split_sentences(prefix, language))) > 1:
            raise ConfigError(
                f"The prefix has {count} sentences, but each sentence is translated by itself and "
                "the prefix belongs to the first one.",
                "Shorten it, or take the text as one sentence with split_sentences=False "
                "(--one-sentence-a-line).",
            )
        return self._writable(prefix, "prefix")

    def make_one(
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
        # All requests share one array of allowed pieces: prefix and terms are in it.
        allowed = self._writable_ids
        request = Request(
            [*ids, END_ID],
            limit,
            prefix,
            place=place,
            terms=terms,
            continuing=self._continuing if terms else frozenset(),
            allowed=allowed,
        )
        if not options.shortlist:
            return request
        if self.bundle.shortlist is None:
            raise ConfigError(
                "The model has no shortlist.",
                "Learn one from its training text with `headway shortlist`, or search without it.",
            )
        return request.restricted(self.bundle.shortlist.pieces_for(ids))

    def target_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of target pieces; ConfigError for a piece that does not exist."""
        tokenizer = self.bundle.target_tokenizer
        require_type("pieces", pieces, Iterable, "Give tokens as `translation.pieces` has them.")
        for piece in pieces:
            require_type("A token", piece, str, "Give tokens as `translation.pieces` has them.")
            if tokenizer.piece(tokenizer.id(piece)) != piece:
                raise ConfigError(
                    f"The vocabulary has no token '{piece}'.",
                    "Give tokens as `translation.pieces` has them.",
                )
        return self._fitting([tokenizer.id(piece) for piece in pieces], "A prefix")

    def text_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of target pieces; ConfigError for padding, start or end."""
        ids = self.target_ids(pieces)
        if marks := [SPECIAL_PIECES[i] for i in ids if i in (PAD_ID, START_ID, END_ID)]:
            raise ConfigError(
                f"The target contains {marks[0]}, which is not text.",
                "Give tokens of text; start and end are added.",
            )
        return ids

    def unfinished_ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of pieces that more pieces can follow."""
        ids = self.target_ids(pieces)
        if special := [SPECIAL_PIECES[piece] for piece in ids if piece < len(SPECIAL_PIECES)]:
            raise ConfigError(
                f"A translation that contains {special[0]} cannot be continued.",
                "Give tokens of text, as `translation.pieces` has them.",
            )
        if len(ids) == self.position_limit:
            raise ConfigError(
                f"There are {len(ids)} tokens, as many as the model has positions for, so only the "
                "end can follow.",
                "Give fewer tokens.",
            )
        return ids

    def _term_ids(
        self, terms: Sequence[str], options: SearchOptions, banned: BannedTexts | None
    ) -> list[list[int]]:
        """Return the pieces of a part's terms; ConfigError if another option forbids one."""
        term_ids = [self._writable(term, "term") for term in terms if term.strip()]
        for ids in term_ids:
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
        return term_ids

    @cached_property
    def _continuing(self) -> frozenset[int]:
        """Pieces that continue a word of the target language, particles excepted."""
        tokenizer = self.bundle.target_tokenizer
        beginnings = [
            piece.decode("utf-8", "ignore")[:1]
            for piece in tokenizer.written(range(len(tokenizer)))
        ]
        return frozenset(
            piece
            for piece, character in enumerate(beginnings)
            if piece >= len(SPECIAL_PIECES)
            and is_in_word(character)
            and not takes_particles(character)
        )

    def _writable(self, text: str, name: str) -> list[int]:
        ids = self.bundle.target_tokenizer.encode(text)
        if text.strip() and not ids:
            raise ConfigError(
                f"The {name} {text!r} has no tokens in the vocabulary.",
                "Use words that the model can write, or leave it out.",
            )
        if deleted := self.bundle.target_tokenizer.deleted_texts(text):
            raise ConfigError(
                f"The {name} {text!r} has {shown(deleted[0])}, which the tokenizer deletes.",
                "Leave it out.",
            )
        if unknown := self.bundle.target_tokenizer.unknown_count(ids):
            raise ConfigError(
                f"The {name} '{text}' has {counted(unknown, 'token')} that "
                "the vocabulary does not know.",
                "Use words that the model can write.",
            )
        return self._fitting(ids, f"A {name}")

    def _fitting(self, ids: list[int], name: str) -> list[int]:
        if len(ids) > self.position_limit:
            raise ConfigError(
                f"{name} has {len(ids)} tokens, but the model has positions for "
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
            "(--one-sentence-a-line), or give a glossary, which looks for its terms in each "
            "sentence.",
        )
    raise ConfigError(
        f"The sentence is too long: it would be translated in {len(parts)} parts, and it is "
        "unclear which one the terms belong to.",
        "Split it at a better place, or leave its terms out.",
    )


def _glossary_terms(
    glossary: Glossary | None, parts: Sequence[Part], tokenizer: Tokenizer
) -> list[list[str]]:
    """Return the terms of each part; ConfigError if a term is divided between parts."""
    if glossary is None:
        return [[] for _ in parts]
    all_terms: list[list[str]] = []
    for sentence, cut in groupby(parts, lambda part: part.sentence):
        by_part = [glossary.terms(text) for text in part_texts(list(cut), tokenizer)]
        all_terms += by_part
        if len(by_part) == 1:
            continue
        within = set(chain.from_iterable(by_part))
        if lost := [term for term in glossary.terms(sentence.text) if term not in within]:
            raise ConfigError(
                "The sentence is too long, and its parts divide the term of the glossary with the "
                f"translation '{lost[0]}'.",
                "Split the sentence at a better place, or leave the term out.",
            )
    return all_terms


def _prefixes(prefix: str | Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the prefix of each sentence."""
    refuse_mapping("prefix", prefix, "Give a text, or a list with one for each.")
    if prefix is None or isinstance(prefix, str):
        return [prefix or ""] * count
    require_type("prefix", prefix, Iterable, "Give a text, or a list with one for each.")
    prefixes = list(prefix)
    if len(prefixes) != count:
        raise ConfigError(
            f"There are {len(prefixes)} prefixes for {count} sentences.",
            "Give one for all or one for each; an empty one forces nothing.",
        )
    for text in prefixes:
        require_type("A prefix", text, str, "Give texts; an empty one forces nothing.")
    return prefixes


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
    if for_all or not terms:
        return [for_all] * count
    if len(terms) != count:
        raise ConfigError(
            f"There are {len(terms)} lists of terms for {count} sentences.",
            "Give one list of words for all, or one list for each.",
        )
    remedy = "Give one list of words for each sentence."
    for words in terms:
        refuse_mapping("A list of terms", words, by_source)
        require_type("A list of terms", words, Iterable, remedy)
    lists = [list(words) for words in terms]
    for term in chain.from_iterable(lists):
        require_type("A term", term, str, "Give words.")
    return lists


def refuse_mapping(name: str, value: object, remedy: str) -> None:
    """Refuse a dict instead of texts: its keys would be taken for the texts."""
    if isinstance(value, Mapping):
        raise ConfigError(f"{name} is of type {type(value).__name__}.", remedy)


def as_sentences(text: object) -> list[Any]:
    """Return one text or several as a list; ConfigError if the argument is neither."""
    if isinstance(text, str):
        return [text]
    if isinstance(text, (bytes, Mapping, Set)) or not isinstance(text, Iterable):
        raise ConfigError(
            f"The argument is of type {type(text).__name__}, not text.",
            "Give one string, or an iterable of strings in their order.",
        )
    return list(text)


def check_count(name: str, number: int) -> None:
    """Refuse a number below 1."""
    require_type(name, number, Integral, f"Give {name} as a whole number.")
    if number < 1:
        raise ConfigError(f"{name} is {number}, but must be at least 1.", f"Raise {name}.")


def check_request(sentences: Sequence[object], first: int = 0) -> None:
    """Refuse sentences that are not text, and a negative place in the input."""
    require_type("first", first, Integral, "Give the number of the first sentence, from 0.")
    if first < 0:
        raise ConfigError(f"first is {first}, but must be at least 0.", "Sentences count from 0.")
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise ConfigError(
                f"Sentence {number} (counted from 1) is of type {type(sentence).__name__}, not "
                "text.",
                "Give one string, or an iterable of strings.",
            )
