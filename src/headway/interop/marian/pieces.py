"""Marian's tokenizers with Headway's numbers: its four special pieces come first."""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.protobuf import number_field
from headway.data.renumbered import SPEC_IDS, renumbered, with_pieces
from headway.data.tokenizer import (
    END_ID,
    PAD_ID,
    SPECIAL_PIECES,
    START_ID,
    UNK_ID,
    Tokenizer,
    table_of,
)
from headway.errors import BundleError, TokenizerError, shown

_UNKNOWN = 2  # SentencePiece's type of the unknown piece
_NO_ID = 2**64 - 1  # -1, as protobuf writes it
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


def read_pieces(data: bytes, name: str) -> Renumbered:
    """Return the tokenizer with <pad>, <unk>, <s> and </s> first; all other pieces follow.

    name: of the file, for errors. Raises BundleError for another kind of file, for one without
    <unk> and </s>, and for one with <pad> or <s>, which Marian does not have.
    """
    try:
        table = list(table_of(data))
    except (AssertionError, IndexError, UnicodeDecodeError, ValueError, struct.error):
        table = []
    if not table:
        raise BundleError(
            f"{name} is not a SentencePiece model, or it is damaged.", "Copy the file again."
        )
    texts = [text for text, _, _ in table]
    unknown = [place for place, (_, _, kind) in enumerate(table) if kind == _UNKNOWN]
    if len(unknown) != 1 or _END not in texts:
        raise BundleError(
            f"{name} has {len(unknown)} unknown tokens and {'a' if _END in texts else 'no'} "
            f"'{_END}'; Marian's has one of each.",
            "Give the .spm file of the model.",
        )
    for text in (SPECIAL_PIECES[PAD_ID], SPECIAL_PIECES[START_ID]):
        if text in texts:
            raise BundleError(
                f"{name} has the token {shown(text)}, which Headway adds itself.",
                "A model with this token cannot be imported.",
            )
    special = unknown[0], texts.index(_END)
    other_places = [place for place in range(len(table)) if place not in special]
    try:
        tokenizer = renumbered(data, [texts[place] for place in other_places])
    except TokenizerError as error:
        raise BundleError(f"{name}: {error.message}", error.remedy) from error
    return Renumbered(
        tokenizer, np.array([-1, special[0], -1, special[1], *other_places], np.int64)
    )


def written_pieces(tokenizer: Tokenizer) -> bytes:
    """Return a tokenizer's model as Marian expects it: </s> is 0, <unk> is 1, no <pad> and <s>."""
    table = list(tokenizer.table())
    rows = [table[END_ID], table[UNK_ID], *table[len(SPECIAL_PIECES) :]]
    ids = {UNK_ID: 1, END_ID: 0}
    spec = [number_field(field, ids.get(i, _NO_ID)) for i, field in enumerate(SPEC_IDS)]
    return with_pieces(tokenizer.to_bytes(), rows, spec)
