"""The order of ids: Headway's four special pieces first, then the file's pieces in its order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from headway.data.renumbered import renumbered
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID, Tokenizer
from headway.errors import BundleError, TokenizerError, shown
from headway.interop.files import COPY_AGAIN

NEVER = -100.0
"""The bias of a token that the file does not have, such as <s>: e^-100 is nothing beside other
probabilities."""

START_OF_THE_FILE = "<s> "
"""The piece `<s>` of a file, which text is never cut into; `<s>` itself is Headway's own start."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces of a file in Headway's order."""

    pieces: list[str]
    """The texts of the ids from 4 on."""
    rows: Tensor
    """The id in the file by the id here; -1 for <s> if the file has none."""

    @classmethod
    def of_ids(
        cls, ids: Mapping[str, int], path: Path, *, pad: int | None, unk: int, end: int
    ) -> "Vocabulary":
        """Order the pieces of a file; BundleError unless their ids are 0 to N - 1.

        pad, unk, end: the ids of the special pieces; the file's pad, with whose embedding its
        translations begin, is also Headway's start.
        """
        if sorted(ids.values()) != list(range(len(ids))):
            raise BundleError(
                f"The ids in {path} are not 0 to {len(ids) - 1}, each once.", COPY_AGAIN
            )
        special = {PAD_ID: pad, UNK_ID: unk, END_ID: end}
        texts = sorted(ids, key=ids.__getitem__)
        for i, old in special.items():
            if old is not None and not (0 <= old < len(texts) and texts[old] == SPECIAL_PIECES[i]):
                known = ids.get(SPECIAL_PIECES[i])
                raise BundleError(
                    f"{SPECIAL_PIECES[i]} should have the id {old}, but in {path} it has {known}.",
                    "Give a vocabulary that belongs to the model.",
                )
        start = -1 if pad is None else pad
        other_ids = [old for old in range(len(texts)) if old not in (pad, unk, end)]
        return cls.in_order([start, unk, start, end], other_ids, texts)

    @classmethod
    def in_order(
        cls, special: Sequence[int], others: Sequence[int], texts: Sequence[str]
    ) -> "Vocabulary":
        """Return the vocabulary with these ids of the file as the ids 0 to 3, and then the others.

        texts: by id in the file.
        """
        named = [texts[old] for old in others]
        pieces = [START_OF_THE_FILE if t == SPECIAL_PIECES[START_ID] else t for t in named]
        return cls(pieces, torch.tensor([*special, *others]))

    def __len__(self) -> int:
        """Return the number of ids here."""
        return len(self.rows)

    def tokenizer(self, data: bytes, path: Path, *, leading_tags: bool) -> Tokenizer:
        """Return a SentencePiece model with these ids; BundleError names its file."""
        try:
            return renumbered(data, self.pieces, leading_tags=leading_tags)
        except TokenizerError as error:
            raise BundleError(f"{path}: {error.message}", error.remedy) from None

    def table(self, rows: Tensor) -> Tensor:
        """Return the rows (V, d_model) of a table of the file in the order of ids here.

        A row that the file does not have is zero.
        """
        table = rows[self.rows.clamp(min=0)]
        table[self.rows < 0] = 0
        return table

    def bias(self, values: Tensor) -> Tensor:
        """Return the bias (V,) of the output in the order of ids here."""
        bias = values[self.rows.clamp(min=0)]
        bias[self.rows < 0] = NEVER
        bias[START_ID] = NEVER
        return bias


def ids_of(values: Mapping[str, object], path: Path) -> dict[str, int]:
    """Return the ids by piece; BundleError for a value that is not a number."""
    ids = {piece: i for piece, i in values.items() if type(i) is int}
    if wrong := next((piece for piece in values if piece not in ids), None):
        raise BundleError(
            f"The id of {shown(wrong)} in {path} is {values[wrong]!r:.40}.", COPY_AGAIN
        )
    return ids
