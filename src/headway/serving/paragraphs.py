"""Texts of several sentences: the sentences, and the translation of the text.

A search, its record and its trace are about one sentence. The page keeps the whole text, shows its
translation, and asks about one of its sentences at a time.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi import Request as HttpRequest

from headway.decoding.assemble import JoinedText, is_lost
from headway.decoding.options import SearchOptions
from headway.documents.sentences import TextSentence
from headway.documents.sentences import sentences_of as sentences_of_text
from headway.serving.failures import Json, RefusedError, reported_as
from headway.serving.limits import check_characters
from headway.serving.models import CurrentExplorer, Served
from headway.serving.request_queue import in_turn
from headway.serving.schemas import ParagraphBody, TextBody
from headway.serving.searches import search_options

router = APIRouter()


@router.post("/api/sentences")
def sentences(explorer: CurrentExplorer, body: TextBody) -> Json:
    """Return the sentences of a text, or the whole text if it is not split."""
    served = explorer.model(body.model)
    return Json({"sentences": [sentence.source for sentence in sentences_of(served, body)]})


@dataclass(frozen=True, slots=True)
class TextTask:
    """A checked text, and how to translate each of its sentences."""

    served: Served
    source: str
    """The whole text."""
    sentences: list[TextSentence]
    options: SearchOptions
    prefixes: list[str | None]
    """The prefix of each sentence's translation, if it has one."""


def text_task(explorer: CurrentExplorer, body: ParagraphBody) -> TextTask:
    """Check a text; RefusedError if it is blank or too long, or has an impossible prefix."""
    served = explorer.model(body.model)
    texts = sentences_of(served, body)
    if body.chosen >= len(texts):
        raise RefusedError(
            400,
            f"'chosen' is {body.chosen}, but the text has {len(texts)} sentences, counted from 0.",
            f"Give 0 to {len(texts) - 1}.",
        )
    options = search_options(served, body, body.sampling)
    prefixes: list[str | None] = [None] * len(texts)
    if body.prefix and body.prefix.strip():
        check_characters([body.source, body.prefix])
        prefixes[body.chosen] = body.prefix
        requests = served.translator.requests
        with reported_as("prefix"):
            parts = requests.parts(texts[body.chosen].source)
            requests.make([parts], options, prefix=body.prefix)
    return TextTask(served, body.source, texts, options, prefixes)


@router.post("/api/paragraph")
async def paragraph(request: HttpRequest, task: Annotated[TextTask, Depends(text_task)]) -> Json:
    """Return the translation of a text, and of each of its sentences."""
    return await in_turn(task.served.turn, request, lambda: answer(task))


def sentences_of(served: Served, body: TextBody) -> list[TextSentence]:
    """Return the sentences of a text; RefusedError if it is blank or too long."""
    check_characters([body.source])
    requests = served.translator.requests
    sentences = sentences_of_text(requests, body.source, body.split_sentences)
    if not sentences and is_lost(served.translator.bundle, body.source):
        raise RefusedError(
            400, "The tokenizer deletes all characters of the text.", "Give other text.", "blank"
        )
    if not sentences:
        raise RefusedError(400, "The text is blank.", "Give a text to translate.", "blank")
    if len(sentences) == 1:
        return [TextSentence(0, len(body.source), body.source, None)]
    return sentences


def answer(task: TextTask) -> Json:
    """Translate each sentence by itself, as its search does, and join the translations."""
    joined = JoinedText()
    translated = []
    for sentence, prefix in zip(task.sentences, task.prefixes, strict=True):
        translation = task.served.translator.translate(
            sentence.source,
            mend_runaways=False,
            options=task.options,
            prefix=prefix,
            split_sentences=False,
        )
        text = translation.text
        translated.append({
            "source": sentence.source,
            "space": joined.add(text, sentence.joint).removesuffix(text),
            "translation": text,
            "unfamiliar": translation.unfamiliar_parts > 0,
        })  # fmt: skip
    deleted = task.served.translator.bundle.source_tokenizer.deleted_texts(task.source)
    return Json({
        "text": joined.text, "sentences": translated, "deleted_characters": len(deleted),
    })  # fmt: skip
