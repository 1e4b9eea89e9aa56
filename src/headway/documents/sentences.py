"""The sentences of a paragraph, each of which is translated by itself."""

from typing import NamedTuple

from headway.decoding.parts import Joint, Part
from headway.decoding.request_maker import RequestMaker


class TextSentence(NamedTuple):
    """One sentence of a text, or a group that the model takes together."""

    start: int
    end: int
    """Its characters of the text, without the spaces around it."""
    source: str
    """The sentence with the tags of the text, which only the first sentence has in the text."""
    joint: Joint | None
    """How it is joined to the previous sentence; None for the first one."""


def sentences_of(
    requests: RequestMaker, text: str, asked: bool | None = None
) -> list[TextSentence]:
    """Return the sentences of a text; none if it is blank.

    asked: `split_sentences` of `translate`. Raises DataError for a text without a tag that the
    model needs.
    """
    parts = requests.parts(text, at_most=requests.sentences_a_part(asked))
    first_parts: dict[int, Part] = {}  # of each sentence, by its start
    for part in parts:
        first_parts.setdefault(part.sentence.start, part)
    sentences = []
    for start, part in first_parts.items():
        begin = start + len(text[start:]) - len(text[start:].lstrip())
        end = begin + len(part.sentence.text)
        sentences.append(TextSentence(begin, end, _source(requests, part), part.joint))
    return sentences


def _source(requests: RequestMaker, part: Part) -> str:
    """Return a sentence with its tags."""
    tokenizer = requests.bundle.source_tokenizer
    tags = "".join(tokenizer.pieces(part.ids[: part.sentence.repeated])).replace("▁", " ").strip()
    return f"{tags} {part.sentence.text}" if tags else part.sentence.text
