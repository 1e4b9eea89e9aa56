"""Write a SentencePiece model anew, with Headway's four special pieces first."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.protobuf import bytes_field, fields_of, number_field
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID, Tokenizer
from headway.errors import BundleError, TokenizerError, shown

_PIECES, _TRAINER = 1, 2  # fields of SentencePiece's model
_UNKNOWN, _CONTROL = 2, 3  # types of pieces
# Fields of the trainer's settings: the ids, then the texts, of <unk>, <s>, </s> and <pad>.
_IDS = {UNK_ID: (40, 45), START_ID: (41, 46), END_ID: (42, 47), PAD_ID: (43, 48)}
_END = SPECIAL_PIECES[END_ID]


@dataclass(frozen=True, slots=True)
class Renumbered:
    """A tokenizer in Headway's order, and where its pieces were before."""

    tokenizer: Tokenizer
    old_ids: NDArray[np.int64]
    """By new id: the id in the file; -1 for <pad> and <s>, which the file does not have."""

    @property
    def new_ids(self) -> NDArray[np.int64]:
        """Return the new id by the id in the file."""
        new = np.zeros(len(self.old_ids) - 2, np.int64)
        kept = self.old_ids >= 0
        new[self.old_ids[kept]] = np.flatnonzero(kept)
        return new


def renumbered(data: bytes, name: str) -> Renumbered:
    """Return Marian's tokenizer with <pad>, <unk>, <s> and </s> first; all other pieces follow.

    name: of the file, for errors. Raises BundleError for another kind of file, and for one that
    has no <unk> and </s>, or that has <pad> or <s>.
    """
    try:
        entries = list(_entries(data))
    except (IndexError, UnicodeDecodeError):
        entries = []
    if not entries:
        raise BundleError(
            f"{name} is not a SentencePiece model, or it is damaged.", "Copy the file again."
        )
    unknown = [place for place, (_, kind, _) in enumerate(entries) if kind == _UNKNOWN]
    texts = [text for text, _, _ in entries]
    if len(unknown) != 1 or _END not in texts:
        raise BundleError(
            f"{name} has {len(entries)} tokens, {len(unknown)} of them unknown, and "
            f"{'a' if _END in texts else 'no'} '{_END}'; Marian's has one of each.",
            "Give the .spm file of the model.",
        )
    for text in (SPECIAL_PIECES[PAD_ID], SPECIAL_PIECES[START_ID]):
        if text in texts:
            raise BundleError(
                f"{name} has the token {shown(text)}, which Headway adds itself.",
                "A model with this token cannot be imported.",
            )
    special = unknown[0], texts.index(_END)
    others = [place for place in range(len(entries)) if place not in special]
    pieces = [
        _piece(SPECIAL_PIECES[PAD_ID], _CONTROL),
        _piece(SPECIAL_PIECES[UNK_ID], _UNKNOWN),
        _piece(SPECIAL_PIECES[START_ID], _CONTROL),
        _piece(SPECIAL_PIECES[END_ID], _CONTROL),
        *(entries[place][2] for place in others),
    ]
    try:
        tokenizer = Tokenizer(_model(data, pieces))
    except TokenizerError as error:
        raise BundleError(f"{name}: {error.message}", error.remedy) from error
    return Renumbered(tokenizer, np.array([-1, special[0], -1, special[1], *others], np.int64))


def original(tokenizer: Tokenizer) -> bytes:
    """Return a tokenizer's model as Marian expects it: </s> is 0, <unk> is 1, no <pad> and <s>."""
    data = tokenizer.to_bytes()
    entries = [piece for _, _, piece in _entries(data)]
    pieces = [entries[END_ID], entries[UNK_ID], *entries[len(SPECIAL_PIECES) :]]
    kept = [(number, value) for number, value in fields_of(data) if number != _PIECES]
    ids = {UNK_ID: 1, END_ID: 0}
    numbers = b"".join(number_field(_IDS[i][0], ids.get(i, 2**64 - 1)) for i in _IDS)  # -1: none
    return b"".join(
        [
            *(bytes_field(_PIECES, piece) for piece in pieces),
            *(bytes_field(number, _bytes(value)) for number, value in kept),
            bytes_field(_TRAINER, numbers),
        ]
    )


def _entries(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Yield text, type and message of each piece."""
    for number, message in fields_of(data):
        if number == _PIECES:
            fields = dict(fields_of(_bytes(message)))
            kind = fields.get(3, 1)
            yield _bytes(fields.get(1, b"")).decode("utf-8"), int(kind), _bytes(message)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise IndexError("a number in place of a message")
    return value


def _piece(text: str, kind: int) -> bytes:
    score = bytes([2 << 3 | 5]) + struct.pack("<f", 0.0)
    return bytes_field(1, text.encode()) + score + number_field(3, kind)


def _model(data: bytes, pieces: list[bytes]) -> bytes:
    """Return the model with other pieces, and with Headway's ids in the trainer's settings.

    Later fields of a message replace earlier ones, so the ids are only added.
    """
    kept = [(number, value) for number, value in fields_of(data) if number != _PIECES]
    settings = b"".join(
        number_field(number, i) + bytes_field(text, SPECIAL_PIECES[i].encode())
        for i, (number, text) in _IDS.items()
    )
    return b"".join(
        [
            *(bytes_field(_PIECES, piece) for piece in pieces),
            *(bytes_field(number, _bytes(value)) for number, value in kept),
            bytes_field(_TRAINER, settings),
        ]
    )
