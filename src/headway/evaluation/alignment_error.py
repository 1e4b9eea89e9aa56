"""Alignment error rate (Och and Ney 2003, section 6): word alignments against one made by hand.

People who align by hand mark sure links S, and possible ones P, which contain the sure ones. The
counts of all sentences are added up. The measures of an alignment A are:

    precision = |A n P| / |A|
    recall = |A n S| / |S|
    AER = 1 - (|A n S| + |A n P|) / (|A| + |S|)
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from headway.data.lines import StrPath, read_lines
from headway.data.tokenizer import Tokenizer
from headway.decoding.alignment import Alignment
from headway.errors import DataError, require_path, require_type

Links = frozenset[tuple[int, int]]
Key = TypeVar("Key")

_LINK = re.compile(r"(\d{1,9})([-p?])(\d{1,9})")


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """The links of one pair, source word and target word, both counted from 0."""

    sure: Links
    possible: Links
    """Includes the sure links."""


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """The agreement of alignments with those made by hand."""

    error_rate: float
    """AER, from 0 to 1; lower is better."""
    precision: float
    """Share of the links that are possible."""
    recall: float
    """Share of the sure links that were found."""
    num_links: int
    num_sure: int

    def as_dict(self) -> dict[str, float | int]:
        """Return plain values for JSON."""
        return asdict(self)


def parse_gold(line: str, *, first: int = 0) -> GoldAlignment:
    """Read links between spaces: `3-4` is sure, `3p4` or `3?4` possible, source before target.

    first: the number of the first word, 0 or 1.

    >>> gold = parse_gold("0-0 1p2")
    >>> sorted(gold.sure), sorted(gold.possible)
    ([(0, 0)], [(0, 0), (1, 2)])
    """
    require_type("A line of links", line, str, "Give text, such as '0-0 1p2'.")
    sure, possible = set(), set()
    for link in line.split():
        match = _LINK.fullmatch(link)
        if match is None:
            raise DataError(
                f"'{link}' is not a link between two words.",
                "Write sure links like 3-4 and possible ones like 3p4 or 3?4, with spaces between.",
            )
        pair = int(match[1]) - first, int(match[3]) - first
        if min(pair) < 0:
            raise DataError(
                f"The link '{link}' has a word before the first, which has the number {first}.",
                "Count words from 0, or say that they are counted from 1.",
            )
        possible.add(pair)
        if match[2] == "-":
            sure.add(pair)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def read_gold(path: StrPath, *, first: int = 0) -> list[GoldAlignment]:
    """Read a file of alignments, a line for each pair; see `parse_gold`."""
    require_path("The file of gold alignments", path)
    gold = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            gold.append(parse_gold(line, first=first))
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error.message}", error.remedy) from None
    return gold


def check_gold(
    gold: Sequence[GoldAlignment],
    sources: Sequence[str],
    targets: Sequence[str],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
) -> None:
    """Raise DataError for a gold alignment of other pairs, or with other words than ours.

    Our words are those of the text as the tokenizer normalizes it. If that splits or joins words,
    their numbers would mean different words.
    """
    if len(gold) != len(sources):
        raise DataError(
            f"There are {len(gold)} gold alignments for {len(sources)} pairs.",
            "Give one line for each pair, and an empty line for a pair without links.",
        )
    sides = (("source", sources, source_tokenizer), ("target", targets, target_tokenizer))
    for side, (name, texts, tokenizer) in enumerate(sides):
        for number, (links, text) in enumerate(zip(gold, texts, strict=True), start=1):
            count = len(text.split())
            ours = sum(1 for word in tokenizer.normalize(text).split(" ") if word)
            if count != ours:
                raise DataError(
                    f"The {name} of pair {number} has {count} words, but {ours} as the tokenizer "
                    "normalizes it.",
                    "Normalize it before its words are aligned, or leave the pair out.",
                )
            largest_word = max((pair[side] for pair in links.possible), default=-1)
            if largest_word >= count:
                raise DataError(
                    f"The gold alignment of pair {number} has {name} word {largest_word}, counted "
                    f"from 0, but there are {count}.",
                    "Check that the files go together, source first, and where counting begins.",
                )


def alignment_error(
    alignments: Iterable[Alignment], gold: Sequence[GoldAlignment]
) -> AlignmentScore:
    """Score alignments against those made by hand, one for each.

    >>> gold = [parse_gold("0-0 1-1 1p2")]
    >>> alignment_error([((0, 0), (1, 2), (2, 2))], gold).error_rate  # 1 - (1 + 2) / (3 + 2)
    0.4
    """
    for name, value in (("alignments", alignments), ("gold", gold)):
        require_type(name, value, Iterable, "Give a list with one for each pair.")
    gold = list(gold)
    for links in gold:
        require_type("A gold alignment", links, GoldAlignment, "`read_gold` reads them.")
    aligned = [set(alignment) for alignment in alignments]
    if len(aligned) != len(gold):
        raise DataError(
            f"There are {len(aligned)} alignments and {len(gold)} made by hand.",
            "Give one for each pair, in the same order.",
        )
    num_links, num_sure = sum(map(len, aligned)), sum(len(links.sure) for links in gold)
    if not num_links or not num_sure:
        raise DataError(
            f"There are {num_links} links, and {num_sure} sure ones made by hand.",
            "An error rate needs some of both.",
        )
    in_sure = sum(len(links & hand.sure) for links, hand in zip(aligned, gold, strict=True))
    in_possible = sum(len(links & hand.possible) for links, hand in zip(aligned, gold, strict=True))
    return AlignmentScore(
        1 - (in_sure + in_possible) / (num_links + num_sure),
        in_possible / num_links,
        in_sure / num_sure,
        num_links,
        num_sure,
    )


def best_of(scores: Mapping[Key, AlignmentScore]) -> Key:
    """Return the key of the lowest error rate; the first one wins a tie."""
    require_type("scores", scores, Mapping, "Give a dictionary of scores.")
    for score in scores.values():
        require_type("A score", score, AlignmentScore, "`alignment_error` returns scores.")
    if not scores:
        raise DataError("There is no score to choose from.", "Give at least one.")
    return min(scores, key=lambda key: scores[key].error_rate)
