"""Texts that must not occur in a translation, however they would be cut into pieces."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import SPECIAL_PIECES, Tokenizer
from headway.decoding.engine import Ints
from headway.decoding.rules import Past
from headway.errors import ConfigError

_SPACE = "▁"
_BLANKS = (b" ", b"\n")  # bytes that come out as a space


class BannedTexts:
    """Forbid each piece that would complete a banned text.

    Pieces and texts are compared as bytes, for a character can be written in several pieces. A
    text that begins with a space is banned at the beginning of a word, any other one anywhere.
    """

    def __init__(self, texts: Iterable[str], tokenizer: Tokenizer) -> None:
        """Prepare the rule for these texts."""
        self.pieces = _as_bytes(tokenizer)
        self.texts: list[bytes] = []
        # For each text: how far it may be written already, and the pieces that then complete it.
        self.completions: list[list[tuple[bytes, Ints]]] = []
        for text in texts:
            written = tokenizer.marked(text.strip()).strip(_SPACE)
            if not written:
                raise ConfigError(
                    f"The banned text {text!r} has nothing to write.", "Ban a word or a piece."
                )
            start = _SPACE if text.startswith(" ") else ""
            self.texts.append(f"{start}{written}".encode())
            self.completions.append(self._completions(self.texts[-1]))

    def _completions(self, text: bytes) -> list[tuple[bytes, Ints]]:
        found = []
        for done in range(len(text)):
            rest = text[done:]
            ids = [
                i
                for i, piece in enumerate(self.pieces)
                # Nothing yet: it may also stand within a piece.
                if (piece.startswith(rest) if done else rest in piece)
            ]
            if ids:
                found.append((text[:done], np.array(ids)))
        return found

    def occur_in(self, ids: Iterable[int]) -> bool:
        """Tell whether these pieces write one of the texts."""
        written = b"".join(self.pieces[piece] for piece in ids)
        return any(text in written for text in self.texts)

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid them."""
        for row, past in enumerate(pasts):
            request = past.request
            written = b"".join(self.pieces[piece] for piece in request.pieces(past.ids))
            for completions in self.completions:
                for start, ids in completions:
                    if written.endswith(start):
                        logits[row, request.places(ids)] = -math.inf


def _as_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """Return what each piece writes; special pieces write nothing."""
    written = tokenizer.written(range(len(tokenizer)))
    written[: len(SPECIAL_PIECES)] = [b""] * len(SPECIAL_PIECES)
    return [_SPACE.encode() if piece in _BLANKS else piece for piece in written]
