"""Cut words by learned merges, as subword-nmt and fastBPE do (Sennrich et al. 2016, section 3.2).

A file of codes lists pairs of symbols. A word begins as its characters, the last of them with a
sign for the end of the word. The pair that comes first in the file is merged wherever it is, until
no pair of the file is left. A vocabulary may then undo merges whose tokens it lacks. SentencePiece
merges by the text that two pieces give together, whatever the pieces are, so it cannot stand for
these merges.
"""

import re
from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heappush

from headway.errors import TokenizerError, shown

JOINED = "@@"
"""The end of a token that is not the end of its word."""
_END = "</w>"  # at the last character of a word
_VERSION = "#version: "
_KNOWN = "0.2"  # before, the end of a word was a symbol of its own
_JOINT = re.compile(f"{JOINED}( |$)")
_MOST_WORDS = 2**16  # that are remembered

Pair = tuple[str, str]


class WordMerges:
    """The merges of one file of codes."""

    def __init__(self, pairs: list[Pair], vocabulary: Collection[str] = ()) -> None:
        """Take the pairs in the order in which they are merged; of equal ones the first counts.

        vocabulary: tokens, such as `lo@@` and `w`; merges that give others are undone.
        """
        self.pairs = pairs
        self.vocabulary = vocabulary
        self._halves: dict[str, Pair] = {}  # of a merged symbol
        for pair in pairs:
            self._halves.setdefault("".join(pair), pair)
        self._rank: dict[Pair, int] = {}
        for pair in pairs:
            self._rank.setdefault(pair, len(self._rank))
        self._known: dict[str, list[str]] = {}

    @classmethod
    def read(cls, data: bytes, vocabulary: Collection[str] = ()) -> "WordMerges":
        """Return the merges in a file of subword-nmt 0.2 or later, or of fastBPE.

        vocabulary: as for `WordMerges`. Those of fastBPE have a count behind each pair, and no line
        with a version. Raises TokenizerError for another file.
        """
        try:
            text = data.decode().replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise TokenizerError("The codes are not in UTF-8.", _GIVE) from None
        lines = text.removesuffix("\n").split("\n") if text else []
        has_version = bool(lines) and lines[0].startswith(_VERSION)
        if has_version and lines[0].removeprefix(_VERSION).strip() != _KNOWN:
            raise TokenizerError(f"The codes begin with {shown(lines[0])}.", _GIVE)
        fields = 2 if has_version else 3
        pairs = []
        for number, line in enumerate(lines, 1):
            if has_version and number == 1:
                continue
            parts = line.rstrip(" ").split(" ")
            if len(parts) != fields or not all(parts) or (fields == 3 and not parts[2].isdecimal()):
                raise TokenizerError(f"Line {number} of the codes is {shown(line)}.", _GIVE)
            pairs.append((parts[0], parts[1]))
        if not pairs:
            raise TokenizerError("The codes are empty.", _GIVE)
        return cls(pairs, vocabulary)

    def to_bytes(self) -> bytes:
        """Return the content of a file of subword-nmt with these merges."""
        return "\n".join([_VERSION + _KNOWN, *map(" ".join, self.pairs), ""]).encode()

    def cut(self, text: str) -> Iterator[str]:
        """Yield the tokens of a text, whose words are between spaces; `@@` ends most of them."""
        for word in text.split(" "):
            if word:
                *parts, last = self._parts(word)
                yield from (part + JOINED for part in parts)
                yield last

    def _parts(self, word: str) -> list[str]:
        if (known := self._known.get(word)) is not None:
            return known
        symbols = self._merged([*word[:-1], word[-1] + _END]) if len(word) > 1 else [word + _END]
        if self.vocabulary and len(word) > 1:
            symbols = [part for symbol in symbols for part in self._known_parts(symbol)]
        parts = [symbol.removesuffix(_END) for symbol in symbols]
        if len(self._known) < _MOST_WORDS:
            self._known[word] = parts
        return parts

    def _merged(self, symbols: list[str]) -> list[str]:
        """Merge the pair of the lowest rank at all its places, from the left, until none is left.

        A merged symbol stays at its first place, and the place of the second becomes empty. So a
        word of n characters takes n log n steps.
        """
        end = len(symbols)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))

        def rank_at(place: int) -> int | None:
            following = after[place]
            return self._rank.get((symbols[place], symbols[following])) if following < end else None

        waiting = [(rank, place) for place in range(end) if (rank := rank_at(place)) is not None]
        heapify(waiting)
        while waiting:
            lowest, changed = waiting[0][0], list[int]()
            while waiting and waiting[0][0] == lowest:
                _, place = heappop(waiting)
                if rank_at(place) != lowest:  # another merge has taken one of the two
                    continue
                second = after[place]
                symbols[place] += symbols[second]
                symbols[second] = ""
                after[place] = after[second]
                if after[second] < end:
                    before[after[second]] = place
                changed += [before[place], place]
            for place in changed:
                if place >= 0 and (rank := rank_at(place)) is not None:
                    heappush(waiting, (rank, place))
        return [symbol for symbol in symbols if symbol]

    def _known_parts(self, symbol: str) -> Iterator[str]:
        """Yield a symbol if it is in the vocabulary, or else the parts that it was merged from."""
        is_last = symbol.endswith(_END)
        token = symbol.removesuffix(_END) if is_last else symbol + JOINED
        if token in self.vocabulary or symbol not in self._halves:
            yield symbol
        else:
            for half in self._halves[symbol]:
                yield from self._known_parts(half)


def joined(text: str) -> str:
    """Return a text of tokens with their words joined again."""
    return _JOINT.sub("", text)


_GIVE = "Give the codes of `subword-nmt learn-bpe`, from version 0.2 on, or of fastBPE."
