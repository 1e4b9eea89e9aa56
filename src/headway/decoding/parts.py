"""Parts of a text that are translated each by itself: its sentences, and pieces of a long one."""

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
    """Its last character before the place, no space."""
    space: str
    """Spaces between the two parts; empty where there are none."""
    after: str
    """Its first character after the place, no space."""

    def between(self, written: str, following: str) -> str:
        """Return what stands between the translations of the two parts.

        Those are the spaces of the source, but where one side is of a script that puts no spaces
        between words and the other is not: there it is a space, or nothing between ideographs.
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
    """Without spaces around it, if there are others; the first one has the tags of the text."""
    start: int
    """Where it begins in the text, in characters."""
    repeated: int
    """How many pieces of tags are put before its own; 0 for the first one."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is translated by itself."""

    ids: list[int]
    """Its pieces, with those of the tags before the text."""
    sentence: SourceSentence
    """The sentence that it is, or is a part of."""
    places: Sequence[int]
    """Which pieces of the sentence it has, repeated tags included."""
    joint: Joint | None = None
    """How it follows on the part before; None for the first one."""


def cut_text(
    text: str,
    tokenizer: Tokenizer,
    longest: int,
    language: str,
    *,
    tags: Collection[str] = (),
    at_most: int | None = None,
) -> list[Part]:
    """Return the parts of a text; none of a blank one, or one of a single tag.

    longest: pieces that a part may have. language: a code, see `headway.data.sentences`. tags:
    those that the model was trained with. at_most: how many sentences a part may have; they are
    shared out evenly. None: the text is one sentence.
    """
    if text.strip() in tags:
        return []
    tagged = _TAGS.match(text)
    begin = tagged.end() if tagged else 0
    texts = [text[begin:]]
    if at_most is not None:
        texts = _grouped(split_sentences(text[begin:], language), at_most)
    texts[0] = text[:begin] + texts[0]
    tag: list[int] = []
    parts: list[Part] = []
    start = 0
    for number, own in enumerate(texts):
        # Spaces at the ends belong to the joint: with them the pieces may be others.
        ids = tokenizer.encode(own if len(texts) == 1 else own.strip())
        if number == 0 and (len(texts) > 1 or len(ids) > longest):
            tag = ids[: leading_tag(tokenizer.pieces(ids), tags)]
        sentence = SourceSentence(own.strip(), start, len(tag) if number else 0)
        if ids:
            joint = _joint(texts[number - 1], own) if parts else None
            ids = [*tag, *ids] if number else ids
            parts += _parts_of(sentence, ids, len(tag), tokenizer, longest, language, joint)
        start += len(own)
    return parts


def _grouped(sentences: list[str], at_most: int) -> list[str]:
    """Return sentences put together, at most so many each, in groups as even as possible."""
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
    """Return the parts of one sentence, each of which begins with its tags.

    tag: how many of its pieces are tags. joint: how it follows on the sentence before.
    """
    if len(ids) <= longest:
        return [Part(ids, sentence, range(len(ids)), joint)]
    pieces = tokenizer.pieces(ids)
    if 2 * tag > longest:
        tag = 0  # whatever it is, it leaves no room
    cut = split_long(range(tag, len(ids)), pieces[tag:], longest - tag, language)
    joints = [joint, *(_joint_of_pieces(pieces, places[0]) for places in cut[1:])]
    each = ([*range(tag), *places] for places in cut)
    return [
        Part([ids[place] for place in places], sentence, places, joint)
        for places, joint in zip(each, joints, strict=True)
    ]


def part_texts(parts: Sequence[Part], tokenizer: Tokenizer) -> list[str]:
    """Return the text of each part of one sentence as it is written; repeated tags are left out."""
    sentence = parts[0].sentence
    if len(parts) == 1:
        return [sentence.text]
    stretches = tokenizer.stretches(sentence.text)
    ends = [part.places[-1] + 1 - sentence.repeated for part in parts]
    return ["".join(stretches[begin:end]) for begin, end in pairwise([0, *ends])]


def word_numbers(text: str, parts: Sequence[Part], tokenizer: Tokenizer) -> list[list[int | None]]:
    """Return for each piece of each part the number of its word in the whole text.

    Words are those of `headway.data.words`; the pieces of a repeated tag belong to its first place.
    """
    numbers: dict[int, list[int | None]] = {}  # of each sentence, by where it begins
    first: list[int | None] = []
    before = counted = 0  # words before the place up to which they are counted
    for text_of, start, repeated in dict.fromkeys(part.sentence for part in parts):
        own = number_words(tokenizer, text_of)
        if start > counted:
            # Letters stand for the text on either side: without a space a word goes on there.
            between = ("x" if counted else "") + text[counted:start] + "x"
            before += tokenizer.normalize(between).count(" ")
            counted = start
        first = first or own
        numbers[start] = first[:repeated] + [None if n is None else before + n for n in own]
    return [[numbers[part.sentence.start][place] for place in part.places] for part in parts]


def _joint(sentence: str, following: str) -> Joint:
    """Return the joint between two sentences, of which the first has the spaces between them."""
    before = sentence.rstrip()
    return Joint(before[-1:], sentence[len(before) :], following[:1])


def _joint_of_pieces(pieces: Sequence[str], place: int) -> Joint:
    """Return the joint before this piece, within a sentence."""
    following = "".join(pieces[place : place + 2])
    space = " " if following.startswith("▁") else ""
    return Joint(pieces[place - 1][-1:], space, following.lstrip("▁")[:1])
