"""The base of all samplers, which cut text into random pieces, reproducibly.

SentencePiece samples too, but from version 0.2.3 on its draws differ from process to process
whatever the seed, so no run could be repeated or continued. Here the draws come from our own
generator, over the pieces and scores of its model. No piece spans two words, so words are cut
independently, thousands of them at once.
"""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count

import numpy as np

from headway.data.ragged import Ints, Ragged, starts_of
from headway.data.tokenizer import UNK_ID, USER_DEFINED, Tokenizer
from headway.errors import ConfigError

_SPACE = "▁"
_WORD = re.compile(f"{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_NORMAL, _BYTE = 1, 6
_PORTION = 1 << 17  # characters cut at once, which bounds memory


class Sampler(ABC):
    """Cuts the words of one tokenizer at random.

    A code is the id of a piece. A character without a piece has the code `num_pieces` plus its code
    point.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Read pieces and scores from the model."""
        table = list(tokenizer.table())
        self.tokenizer = tokenizer
        self.num_pieces = len(table)
        self.ids = {text: i for i, (text, _, kind) in enumerate(table) if kind == _NORMAL}
        self.scores = np.array([score for _, score, _ in table])
        self.bytes = [i for i, (_, _, kind) in enumerate(table) if kind == _BYTE]
        if any(_SPACE in text[1:] for text in self.ids):
            raise ConfigError(
                "This tokenizer has tokens of several words, which cannot be sampled.",
                "Leave tokenizer.sampling out, or train a tokenizer with Headway.",
            )
        self.symbols = {t: i for i, (t, _, kind) in enumerate(table) if kind == USER_DEFINED}
        self.longest = max(map(len, (*self.ids, *self.symbols)), default=1)
        """Characters of the longest piece."""
        longest_first = sorted(self.symbols, key=len, reverse=True)
        self._symbols = re.compile(f"({'|'.join(map(re.escape, longest_first))})")

    def sample(self, texts: Sequence[str], seed: int) -> Ragged:
        """Return the piece ids of each text; equal arguments give equal pieces on any machine."""
        rng = np.random.Generator(np.random.PCG64(seed))
        return Ragged.joined([self._sample(portion, rng) for portion in _portions(texts)])

    def _sample(self, texts: Sequence[str], rng: np.random.Generator) -> Ragged:
        words = [self._words(self.tokenizer.marked(text)) for text in texts]
        starts = starts_of(list(map(len, words)))
        numbers: dict[str, int] = defaultdict(count().__next__)  # of each different word or symbol
        numbered = map(numbers.__getitem__, chain.from_iterable(words))
        drawn = np.fromiter(numbered, dtype=np.int64, count=int(starts[-1]))
        codes = self._cut(list(numbers), drawn, rng)
        # A text begins where its first word begins.
        return self._spelled(Ragged(codes.values, codes.starts[starts]))

    def _words(self, marked: str) -> list[str]:
        """Return the words of a text, and the user-defined symbols, which end them."""
        if not self.symbols:
            return _WORD.findall(marked)
        parts = self._symbols.split(marked)  # every other one is a symbol
        words = [_WORD.findall(part) if i % 2 == 0 else [part] for i, part in enumerate(parts)]
        return list(chain.from_iterable(words))

    def _cut(self, words: Sequence[str], drawn: Ints, rng: np.random.Generator) -> Ragged:
        """Return the codes of each drawn word or symbol."""
        symbols = np.array([self.symbols.get(word, -1) for word in words], dtype=np.int64)
        is_word = symbols[drawn] < 0
        cut = self.cut(words, drawn[is_word], rng)
        if is_word.all():
            return cut
        whole = Ragged.of(symbols[drawn][~is_word, None].tolist())
        rows = np.empty(len(is_word), dtype=np.int64)
        rows[is_word] = np.arange(len(cut))
        rows[~is_word] = len(cut) + np.arange(len(whole))
        return Ragged.joined([cut, whole]).pick(rows)

    def _spelled(self, codes: Ragged) -> Ragged:
        """Write characters without a piece by their bytes, or as unknown."""
        values = codes.values
        if not (values >= self.num_pieces).any():
            return codes
        if self.bytes:
            kinds, which = np.unique(values, return_inverse=True)
            spelled = Ragged.of([self._spelling(code) for code in kinds.tolist()]).pick(which)
            return Ragged(spelled.values, spelled.starts[codes.starts])
        unknown = values >= self.num_pieces
        follows = np.zeros(len(values) + 1, dtype=bool)
        follows[1:-1] = unknown[1:] & unknown[:-1]
        follows[codes.starts] = False
        kept = ~follows[:-1]  # neighbouring unknown characters share one id
        return Ragged(
            np.where(unknown, UNK_ID, values)[kept], starts_of(kept.astype(int))[codes.starts]
        )

    def _spelling(self, code: int) -> list[int]:
        if code < self.num_pieces:
            return [code]
        return [self.bytes[value] for value in chr(code - self.num_pieces).encode()]

    @abstractmethod
    def cut(self, words: Sequence[str], drawn: Ints, rng: np.random.Generator) -> Ragged:
        """Return the codes of each drawn word, cut at random; `drawn` holds indices into words."""


def code_points(words: Sequence[str]) -> Ragged:
    """Return the code points of each word."""
    values = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    return Ragged(values.astype(np.int64), starts_of([len(word) for word in words]))


def _portions(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield stretches of at most `_PORTION` characters; a longer text is one by itself."""
    start, characters = 0, 0
    for stop, text in enumerate(texts):
        characters += len(text)
        if characters > _PORTION and stop > start:
            yield texts[start:stop]
            start, characters = stop, len(text)
    yield texts[start:]
