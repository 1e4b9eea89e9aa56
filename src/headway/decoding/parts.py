"""The parts of a text that are translated separately: sentences, and parts of long sentences."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from headway.data.scripts import is_ideographic, is_spaceless
from headway.data.sentences import split_sentences
from headway.data.tokenizer import Tokenizer
from headway.data.words import number_words
from headway.decoding.splitting import leading_tag, split_long

_TAGS = re.compile(r"(?:\s*<[^<>\s]+>)+(?=\s|$)")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1f\x85\u2028\u2029]")


class Joint(NamedTuple):
    """The place in the source between two parts."""

    before: str
    """The last character before the place that is no space."""
    space: str
    """The spaces between the two parts; may be empty."""
    after: str
    """The first character after the place that is no space."""

    def between(self, written: str, following: str) -> str:
        """Return the text between the translations of the two parts.

        It is the spaces of the source, unless only one of the languages puts spaces between words:
        then it is a space, or nothing between ideographs.
        """
        spaceless = is_spaceless(self.before) or is_spaceless(self.after)
        ends = written[-1:], following[:1]
        if not self.space and spaceless and not any(map(is_spaceless, ends)):
            return " "
        if self.space == " " and not spaceless and all(map(is_ideographic, ends)):
            return ""
        return _LINE_ENDS.sub(lambda end: "\n" if end[0] == "\r\n" else " ", self.space)


class SourceSentence(NamedTuple):
    """One sentence of a text, or several that are translated together."""

    text: str
    """Without spaces around it unless it is the only one; the first has the tags of the text."""
    start: int
    """The character of the text at which it begins."""
    repeated: int
    """The number of tag pieces put before its own; 0 for a sentence that begins with its tags."""


@dataclass(frozen=True, slots=True)
class Part:
    """A unit that is translated by itself: one sentence, several, or a part of a long one."""

    ids: list[int]
    """Its pieces, with those of the tags before the text."""
    sentence: SourceSentence
    """The sentence that the part belongs to."""
    places: Sequence[int]
    """The places of its pieces in the sentence, repeated tags included."""
    joint: Joint | None = None
    """The joint with the part before; None for the first part."""


def cut_text(
    text: str,
    tokenizer: Tokenizer,
    longest: int,
    language: str,
    *,
    tags: Collection[str] = (),
    put: Sequence[int] = (),
    at_most: int | None = None,
) -> list[Part]:
    """Return the parts of a text; none if it is blank or only a tag.

    longest: the most pieces of a part. language: a code, see `headway.data.sentences`. tags: those
    that the model was trained with. put: the pieces of a tag for a text without one, which go
    before each part. at_most: the most sentences of a part; sentences are divided evenly. None
    takes the text as one sentence.
    """
    if text.strip() in tags:
        return []
    tagged = _TAGS.match(text)
    begin = tagged.end() if tagged else 0
    texts = [text[begin:]]
    if at_most is not None:
        texts = _grouped(split_sentences(text[begin:], language), at_most)
    texts[0] = text[:begin] + texts[0]
    tag = list(put)
    parts: list[Part] = []
    start = 0
    for number, sentence_text in enumerate(texts):
        # Spaces at the ends belong to the joint, because they can change the pieces.
        stripped = sentence_text.strip()
        ids = tokenizer.encode(sentence_text if len(texts) == 1 else stripped)
        if number == 0 and not put and (len(texts) > 1 or len(ids) > longest):
            tag = ids[: leading_tag(tokenizer.pieces(ids), tags)]
        repeated = len(tag) if number or put else 0
        sentence = SourceSentence(stripped, start, repeated)
        if ids:
            joint = _joint(texts[number - 1], sentence_text) if parts else None
            ids = [*tag, *ids] if repeated else ids
            parts += _parts_of(sentence, ids, len(tag), tokenizer, longest, language, joint)
        start += len(sentence_text)
    return parts


def _grouped(sentences: list[str], at_most: int) -> list[str]:
    """Join sentences in groups of at most `at_most`, as even as possible."""
    groups = -(-len(sentences) // at_most)
    ends = [len(sentences) * number // groups for number in range(groups + 1)]
    return ["".join(sentences[begin:end]) for begin, end in pairwise(ends)]


def _parts_of(
    sentence: SourceSentence,
    ids: list[int],
    tag: int,
    tokenizer: Tokenizer,
    longest: int,
    language: str,
    joint: Joint | None,
) -> list[Part]:
    """Return the parts of one sentence; each begins with the sentence's tags.

    tag: the number of its pieces that are tags. joint: the joint with the sentence before.
    """
    if len(ids) <= longest:
        return [Part(ids, sentence, range(len(ids)), joint)]
    pieces = tokenizer.spelled(ids)
    if 2 * tag > longest:
        tag = 0  # so long a tag leaves no room for text
    cut = split_long(range(tag, len(ids)), pieces[tag:], longest - tag, language)
    joints = [joint, *(_joint_of_pieces(pieces, places[0]) for places in cut[1:])]
    return [
        Part([ids[place] for place in places], sentence, places, joint)
        for places, joint in zip(
            ([*range(tag), *untagged] for untagged in cut), joints, strict=True
        )
    ]


def part_texts(parts: Sequence[Part], tokenizer: Tokenizer) -> list[str]:
    """Return the text of each part of one sentence as it is written, without repeated tags."""
    sentence = parts[0].sentence
    if len(parts) == 1:
        return [sentence.text]
    stretches = tokenizer.stretches(sentence.text)
    ends = [part.places[-1] + 1 - sentence.repeated for part in parts]
    return ["".join(stretches[begin:end]) for begin, end in pairwise([0, *ends])]


def word_numbers(text: str, parts: Sequence[Part], tokenizer: Tokenizer) -> list[list[int | None]]:
    """Return for each piece of each part the number of its word in the whole text.

    Words are those of `headway.data.words`. A repeated tag has the word numbers of the first one;
    a tag that the text does not have has None.
    """
    numbers: dict[int, list[int | None]] = {}  # by the first character of each sentence
    first: list[int | None] = []
    before = counted = 0  # `before` words begin before character `counted`
    for sentence_text, start, repeated in dict.fromkeys(part.sentence for part in parts):
        words = number_words(tokenizer, sentence_text)
        if start > counted:
            # An x represents the text on either side: without a space a word continues there.
            between = ("x" if counted else "") + text[counted:start] + "x"
            before += tokenizer.normalize(between).count(" ")
            counted = start
        first = first or [None] * repeated + words
        numbers[start] = first[:repeated] + [None if n is None else before + n for n in words]
    return [[numbers[part.sentence.start][place] for place in part.places] for part in parts]


def _joint(sentence: str, following: str) -> Joint:
    """Return the joint between two sentences; the first one ends with the spaces between them."""
    before = sentence.rstrip()
    return Joint(before[-1:], sentence[len(before) :], following[:1])


def _joint_of_pieces(pieces: Sequence[str], place: int) -> Joint:
    """Return the joint before this piece, within a sentence."""
    following = "".join(pieces[place : place + 2])
    space = " " if following.startswith("▁") else ""
    return Joint(pieces[place - 1][-1:], space, following.lstrip("▁")[:1])
