"""Add pieces to a vocabulary: texts that are never cut, such as a tag `<2ko>` or a term.

They are SentencePiece's user-defined symbols. A new tokenizer is trained with them. A trained
tokenizer gets them at its end, so that each old piece keeps its id, and text without the new pieces
is cut as before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.data.protobuf import bytes_field, number_field
from headway.data.renumbered import with_pieces
from headway.data.tokenizer import (
    SPECIAL_PIECES,
    UNK_ID,
    USER_DEFINED,
    WITHOUT_ID_FIELD,
    Tokenizer,
    piece_message,
    table_of,
)
from headway.errors import ConfigError

_NOT_IN_PIECES = re.compile(r"\s|[▁▅\x00\ud800-\udfff]")
_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True)
class Enlarged:
    """A tokenizer with new pieces, and how the old one cut their texts."""

    tokenizer: Tokenizer
    known: list[str]
    """Texts that were pieces already and are unchanged."""
    new: list[str]
    """Texts that are pieces now."""
    cuts: list[list[int]]
    """For each piece added, in the order of the new ids: the old pieces of its text."""


def check_pieces(texts: Sequence[str]) -> None:
    """Raise ConfigError for a text that cannot be a new piece."""
    for index, text in enumerate(texts):
        problem = None
        if not text:
            problem = "is empty"
        elif forbidden := _NOT_IN_PIECES.search(text):
            problem = f"holds {forbidden[0]!r}"
        elif text in SPECIAL_PIECES or _BYTE_PIECE.fullmatch(text):
            problem = "is a special token of every tokenizer"
        elif text in texts[:index]:
            problem = "is there twice"
        if problem:
            raise ConfigError(
                f"tokenizer.new_pieces has {text!r}, which {problem}.",
                "A new token is a text without spaces, named once, such as <2ko>.",
            )


def check_room(texts: Sequence[str], vocabulary_size: int) -> None:
    """Raise ConfigError if new and special pieces alone would fill a vocabulary."""
    needed = len(SPECIAL_PIECES) + len(texts) + 1
    if texts and vocabulary_size < needed:
        raise ConfigError(
            f"tokenizer.vocabulary_size is {vocabulary_size}, but {len(texts)} new tokens, the "
            f"special ones and one of the text need {needed}.",
            "Raise it, to 8000 for instance.",
        )


def never_cut(tokenizer: Tokenizer) -> list[str]:
    """Return the texts that are always one piece, such as tags."""
    return [text for text, _, kind in tokenizer.table() if kind == USER_DEFINED]


def add_pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> Enlarged:
    """Return the tokenizer with these texts as pieces after its own.

    A text that is a piece already is left as it is. The pieces of a `word` tokenizer are whole
    words, so it recognizes a new piece only between spaces.
    """
    check_pieces(texts)
    if tokenizer.has_word_merges:
        raise ConfigError(
            "A tokenizer with merges of subword-nmt cannot get new tokens.",
            "Leave tokenizer.new_pieces out.",
        )
    known, new, cuts, pieces = [], [], [], []
    for text in texts:
        piece = "▁" + tokenizer.normalize(text) if tokenizer.kind == "word" else text
        if tokenizer.id(piece) != UNK_ID or piece in pieces:
            known.append(text)
        else:
            new.append(text)
            pieces.append(piece)
            cuts.append(_cut(tokenizer, text))
    if not pieces:
        return Enlarged(tokenizer, known, new, cuts)
    return Enlarged(Tokenizer.from_bytes(_appended(tokenizer, pieces)), known, new, cuts)


def _cut(tokenizer: Tokenizer, text: str) -> list[int]:
    cut = tokenizer.encode(text)
    if not cut:
        raise ConfigError(
            f"tokenizer.new_pieces has {text!r}, but the tokenizer's normalization leaves nothing "
            "of it.",
            "Leave it out.",
        )
    return cut


def _appended(tokenizer: Tokenizer, pieces: Sequence[str]) -> bytes:
    """Return the model file with more pieces.

    Protobuf merges a message into the one before it: lists grow, and a later number replaces an
    earlier one. So the old file stays unchanged, and fields are added behind it.
    `ModelProto.pieces` is field 1, `trainer_spec` field 2, and in that `vocab_size` 4.
    """
    # A score is not used for this type.
    added = [(piece, 0.0, USER_DEFINED) for piece in pieces]
    data = tokenizer.to_bytes()
    if unnumbered := list(table_of(data))[len(tokenizer) :]:
        # New pieces come before those without an id. One of those may be a new piece: it has an id
        # from now on.
        remaining = [row for row in unnumbered if row[0] not in pieces]
        table = [*tokenizer.table(), *added, *remaining]
        spec = [number_field(4, len(table)), number_field(WITHOUT_ID_FIELD, len(remaining))]
        return with_pieces(data, table, spec)
    size = number_field(4, tokenizer.vocabulary_size + len(pieces))
    messages = [bytes_field(1, piece_message(*row)) for row in added]
    return b"".join([data, *messages, bytes_field(2, size)])
