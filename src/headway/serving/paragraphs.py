"""Texts of several sentences: the sentences, and the translation of the text.

One search, and so one record and one trace, is about one sentence. The page keeps the whole text,
shows its translation, and asks about one sentence of it at a time.
"""

from typing import NamedTuple

from fastapi import APIRouter
from fastapi import Request as HttpRequest

from headway.decoding.joining import JoinedText
from headway.decoding.parts import Joint, Part
from headway.serving.failures import Json, RefusedError, told_as
from headway.serving.limits import check_characters
from headway.serving.models import Here, Served
from headway.serving.schemas import ParagraphBody, TextBody
from headway.serving.searches import search_options
from headway.serving.turns import in_turn

router = APIRouter()


class TextSentence(NamedTuple):
    """One sentence of a text, as it can be asked about by itself."""

    source: str
    """With the tags of the text, which stand before the first sentence only."""
    joint: Joint | None
    """How it follows on the sentence before; None for the first one."""


@router.post("/api/sentences")
def sentences(here: Here, body: TextBody) -> Json:
    """Return the sentences of a text; one where it is not split."""
    served = here.model(body.model)
    return Json({"sentences": [sentence.source for sentence in sentences_of(served, body)]})


@router.post("/api/paragraph")
async def paragraph(here: Here, request: HttpRequest, body: ParagraphBody) -> Json:
    """Return the translation of a text, and of each of its sentences."""
    served = here.model(body.model)
    return await in_turn(served.turn, request, lambda: answer(served, body))


def sentences_of(served: Served, body: TextBody) -> list[TextSentence]:
    """Return the sentences of a text; RefusedError where it is blank or too long."""
    check_characters([body.source])
    requests = served.translator.requests
    split = requests.splits_sentences(body.split_sentences)
    parts = requests.parts(body.source, split_sentences=split)
    if not parts:
        raise RefusedError(400, "The text is blank.", "Give a text to translate.", "blank")
    if len({part.sentence for part in parts}) == 1:
        return [TextSentence(body.source, None)]
    first_parts: dict[int, Part] = {}  # of each sentence, by where it begins
    for part in parts:
        first_parts.setdefault(part.sentence.start, part)
    return [TextSentence(_source(served, part), part.joint) for part in first_parts.values()]


def _source(served: Served, part: Part) -> str:
    """Return a sentence with the tags that are put before it."""
    tokenizer = served.translator.bundle.source_tokenizer
    tags = "".join(tokenizer.pieces(part.ids[: part.sentence.repeated])).replace("▁", " ").strip()
    return f"{tags} {part.sentence.text}" if tags else part.sentence.text


def answer(served: Served, body: ParagraphBody) -> Json:
    """Translate each sentence by itself, as a search for it does, and join the translations."""
    texts = sentences_of(served, body)
    if body.chosen >= len(texts):
        raise RefusedError(
            400,
            f"'chosen' is {body.chosen}, but the text has {len(texts)} sentences, counted from 0.",
            f"Give 0 to {len(texts) - 1}.",
        )
    options = search_options(served, body, body.sampling)
    prefix = body.prefix if body.prefix and body.prefix.strip() else None
    joined = JoinedText()
    translated = []
    for number, sentence in enumerate(texts):
        begin = prefix if number == body.chosen else None
        with told_as("prefix" if begin else "other"):
            translation = served.translator.translate(
                sentence.source, options=options, prefix=begin, split_sentences=False
            )
        added = joined.add(translation.text, sentence.joint)
        space = added.removesuffix(translation.text)
        translated.append(
            {"source": sentence.source, "space": space, "translation": translation.text}
        )
    return Json({"text": joined.text, "sentences": translated})
