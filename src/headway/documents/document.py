"""A document: passages that are translated, and all else, which stays as it is."""

from collections.abc import Sequence

from headway.documents.passage import Passage

Parts = list[str | Passage]
"""A document in its order: text that stays, and passages."""


def passages_of(parts: Parts) -> list[Passage]:
    """Return the passages of a document."""
    return [part for part in parts if isinstance(part, Passage)]


def joined(parts: Parts, texts: Sequence[str]) -> str:
    """Return a document with a text in place of each passage."""
    waiting = iter(texts)
    return "".join(next(waiting) if isinstance(part, Passage) else part for part in parts)
