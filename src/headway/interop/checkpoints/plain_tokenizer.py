"""SentencePiece models of a list of words or characters, for models without a subword program."""

from collections.abc import Sequence
from typing import Literal

from headway.data.protobuf import bytes_field, number_field
from headway.data.tokenizer import SPECIAL_PIECES, UNK_ID, Tokenizer, piece_message
from headway.errors import TokenizerError, shown

_SPACE = "▁"  # U+2581, which SentencePiece writes for a space
_KINDS = {"word": 3, "char": 4}  # SentencePiece's numbers
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3  # fields of `ModelProto`
_KIND, _SIZE = 3, 4  # fields of `TrainerSpec`
_IDS, _TEXTS = (43, 40, 41, 42), (48, 45, 46, 47)
_NAME, _PREFIX, _TRIM, _ESCAPE = 1, 3, 4, 5  # fields of `NormalizerSpec`


def plain_tokenizer(texts: Sequence[str], kind: Literal["word", "char"]) -> Tokenizer:
    """Return a tokenizer that cuts text at spaces, or into characters, and changes none of it.

    texts: of each id from 4 on; for `char`, `▁` stands for a space. An empty word, as between
    two spaces, is unknown. Raises TokenizerError for a list that cannot be a vocabulary.
    """
    for text in texts:
        marked = _SPACE in text if kind == "word" else len(text) != 1
        if not text or marked or " " in text or "\0" in text or text in SPECIAL_PIECES:
            raise TokenizerError(
                f"The vocabulary has the token {shown(text)}, which is no {_NAMES[kind]}.",
                "If a SentencePiece model made the tokens, give that model.",
            )
    if len(set(texts)) < len(texts):
        raise TokenizerError("The vocabulary has a token twice.", "Check the vocabulary.")
    prefix = _SPACE if kind == "word" else ""
    special = [
        (text, 0.0, _UNKNOWN if i == UNK_ID else _CONTROL) for i, text in enumerate(SPECIAL_PIECES)
    ]
    table = [*special, *((prefix + text, 0.0, _NORMAL) for text in texts)]
    trainer = [number_field(_KIND, _KINDS[kind]), number_field(_SIZE, len(table))]
    trainer += [number_field(field, i) for i, field in enumerate(_IDS)]
    trainer += [bytes_field(f, t.encode()) for f, t in zip(_TEXTS, SPECIAL_PIECES, strict=True)]
    rules = [
        bytes_field(_NAME, b"identity"),
        number_field(_PREFIX, kind == "word"),
        number_field(_TRIM, False),
        number_field(_ESCAPE, True),
    ]
    return Tokenizer.from_bytes(
        b"".join(
            [
                *(bytes_field(_PIECES, piece_message(*row)) for row in table),
                bytes_field(_TRAINER, b"".join(trainer)),
                bytes_field(_NORMALIZER, b"".join(rules)),
            ]
        )
    )


_NAMES = {"word": "word", "char": "character"}
