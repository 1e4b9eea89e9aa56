"""SentencePiece models of a list of words or characters, for models without a subword program."""

from collections.abc import Collection, Sequence
from typing import Literal

from headway.data.protobuf import bytes_field, number_field
from headway.data.renumbered import CONTROL, spec_of, special_pieces, with_pieces
from headway.data.tokenizer import (
    APART_FIELD,
    LIMITED_FIELD,
    MERGES_FIELD,
    SPECIAL_PIECES,
    Tokenizer,
)
from headway.data.word_merges import WordMerges
from headway.errors import TokenizerError, shown

_SPACE = "▁"  # U+2581, which SentencePiece writes for a space
_KINDS = {"bpe": 2, "word": 3, "char": 4}  # SentencePiece's numbers
_NORMAL = 1  # SentencePiece's type of a usual piece
_NORMALIZER = 3  # a field of `ModelProto`
_KIND = 3  # a field of `TrainerSpec`
_NAME, _PREFIX, _TRIM, _ESCAPE = 1, 3, 4, 5  # fields of `NormalizerSpec`


def plain_tokenizer(
    texts: Sequence[str],
    kind: Literal["word", "char"],
    *,
    trimmed: bool = False,
    unwritten: Collection[str] = (),
    merges: WordMerges | None = None,
    limited: bool = False,
) -> Tokenizer:
    """Return a tokenizer that cuts text at spaces, or into characters, and changes none of it.

    Each unknown word or character is an unknown piece.

    texts: of each id from 4 on; for `char`, `▁` stands for a space. trimmed: several spaces are
    one, and those at an end are none; otherwise an empty word, as between two spaces, is unknown.
    unwritten: those of the texts that no text is cut into and that write none. merges: cut each
    word by them, and join its parts again; limited: only into the texts. Raises TokenizerError for
    a list that cannot be a vocabulary.
    """
    for text in texts:
        if text in unwritten:
            continue
        marked = _SPACE in text if kind == "word" else len(text) != 1
        if not text or marked or " " in text or "\0" in text or text in SPECIAL_PIECES:
            raise TokenizerError(
                f"The vocabulary has the token {shown(text)}, which is no {_NAMES[kind]}.",
                "If a SentencePiece model made the tokens, give that model.",
            )
    if len(set(texts)) < len(texts):
        raise TokenizerError("The vocabulary has a token twice.", "Check the vocabulary.")
    prefix = _SPACE if kind == "word" else ""
    table = [*special_pieces(), *(_piece(text, prefix, unwritten) for text in texts)]
    spec = [number_field(_KIND, _KINDS["bpe" if merges else kind]), *spec_of(len(table))]
    if merges:
        spec += [bytes_field(MERGES_FIELD, merges.to_bytes()), number_field(LIMITED_FIELD, limited)]
    else:
        spec.append(number_field(APART_FIELD, 1))
    rules = [
        bytes_field(_NAME, b"identity"),
        number_field(_PREFIX, kind == "word"),
        number_field(_TRIM, trimmed),
        number_field(_ESCAPE, True),
    ]
    empty = bytes_field(_NORMALIZER, b"".join(rules))
    return Tokenizer.from_bytes(with_pieces(empty, table, spec))


def _piece(text: str, prefix: str, unwritten: Collection[str]) -> tuple[str, float, int]:
    """Return text, score and type of a piece."""
    return (text, 0.0, CONTROL) if text in unwritten else (prefix + text, 0.0, _NORMAL)


_NAMES = {"word": "word", "char": "character"}
