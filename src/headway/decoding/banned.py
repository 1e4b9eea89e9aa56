"""Texts that must not occur in a translation, in whichever pieces they are written."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import SPECIAL_PIECES, Tokenizer
from headway.decoding.rules import Past
from headway.errors import ConfigError

_SPACE = "▁"
_BLANKS = (b" ", b"\n")  # bytes that are decoded to a space
_BEGINNING = _SPACE.encode()  # a word begins there, as after a space
_NONE = np.empty(0, dtype=np.int64)


class BannedTexts:
    """Forbid each piece that would complete a banned text.

    Pieces and texts are compared as bytes, because several pieces can write one character. A text
    that begins with a space is banned at the beginning of a word, any other text everywhere.
    """

    def __init__(self, texts: Iterable[str], tokenizer: Tokenizer) -> None:
        """Prepare the rule for these texts."""
        self.pieces = _as_bytes(tokenizer)
        self._sorted = sorted(enumerate(self.pieces), key=itemgetter(1))
        self.texts: list[bytes] = []
        # The written beginning of a text, and the pieces that complete the text after it.
        completions: dict[bytes, set[int]] = {}
        for text in texts:
            written = tokenizer.marked(text.strip()).strip(_SPACE)
            if not written:
                raise ConfigError(
                    f"The banned text {text!r} contains no text that can be written.",
                    "Ban a word or a token.",
                )
            start = _SPACE if text.startswith(" ") else ""
            self.texts.append(f"{start}{written}".encode())
            for done, ids in self._completions(self.texts[-1]):
                completions.setdefault(done, set()).update(ids)
        self._always = np.array(sorted(completions.pop(b"", ())), dtype=np.int64)
        self._after = {done: np.array(sorted(ids)) for done, ids in completions.items()}
        self._lengths = sorted({len(done) for done in self._after})

    def _completions(self, text: bytes) -> Iterator[tuple[bytes, list[int]]]:
        # Before its first byte is written, a piece may have the whole text within it.
        if ids := [i for i, piece in enumerate(self.pieces) if text in piece]:
            yield b"", ids
        for done in range(1, len(text)):
            if ids := self._beginning_with(text[done:]):
                yield text[:done], ids

    def _beginning_with(self, text: bytes) -> list[int]:
        def beginning(numbered: tuple[int, bytes]) -> bytes:
            return numbered[1][: len(text)]

        first = bisect_left(self._sorted, text, key=beginning)
        end = bisect_right(self._sorted, text, first, key=beginning)
        return [number for number, _ in self._sorted[first:end]]

    def occur_in(self, ids: Iterable[int]) -> bool:
        """Return True if these pieces write one of the texts."""
        written = b"".join([_BEGINNING, *(self.pieces[piece] for piece in ids)])
        return any(text in written for text in self.texts)

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid the pieces that would complete a text."""
        for row, past in enumerate(pasts):
            end = self._end(past)
            completing = [self._always]
            for length in self._lengths:
                if length <= len(end):
                    completing.append(self._after.get(end[len(end) - length :], _NONE))
            ids = np.concatenate(completing)
            if len(ids):
                logits[row, past.request.places(ids)] = -math.inf

    def _end(self, past: Past) -> bytes:
        """Return the last bytes written, as many as the longest beginning of a text has."""
        longest = self._lengths[-1] if self._lengths else 0
        written: list[bytes] = []
        for place in reversed(past.ids):
            if longest <= 0:
                return b"".join(reversed(written))
            written.append(self.pieces[past.request.pieces([place])[0]])
            longest -= len(written[-1])
        return b"".join([_BEGINNING, *reversed(written)])


def _as_bytes(tokenizer: Tokenizer) -> list[bytes]:
    """Return the bytes that each piece writes; special pieces write none."""
    written = tokenizer.written(range(len(tokenizer)))
    written[: len(SPECIAL_PIECES)] = [b""] * len(SPECIAL_PIECES)
    return [_SPACE.encode() if piece in _BLANKS else piece for piece in written]
