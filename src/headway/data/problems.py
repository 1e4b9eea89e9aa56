"""The table of all problems that text may have: id, order of harm, and remedy.

Ids are stable: they appear in JSON, and programs may rely on them. `docs/en/reference/findings.md`
says when each is reported.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Problem(NamedTuple):
    """One row of the table."""

    id: str
    rank: int
    """Its place in the order of harm: 0 is the worst."""
    remedy: str
    """A verb phrase, or a command."""
    held_out: str
    """The remedy in validation and test text if it differs; empty otherwise."""


_CLEAN = "headway clean"
_LOOK = "make sure that these are the right files, and that the sides are not exchanged"
_HELD_OUT = f"{_CLEAN} --valid-source"
_SOURCES = f"{_HELD_OUT} and --drop empty,duplicates,source-in-validation"
_TOGETHER = "make sure that the two files belong together"
_START = "exchange the two files of this text, or train without --from (training.start_from)"
_SIDES = ("source", "target")

# The worst first: text that teaches another task, pairs that teach something wrong, pairs that
# teach little, and pairs that spoil a score. A row with `{side}` becomes two.
_ROWS = (
    ("exchanged-files", "exchange the two files of this text, or of the training text", ""),
    ("other-direction", _START, ""),
    (
        "other-language-{side}",
        "exchange the names of the two files, or set data.source_language and data.target_language",
        "",
    ),
    ("other-script-{side}", _LOOK, ""),
    ("new-script-{side}", f"{_START}, unless the model is to learn new letters", ""),
    ("no-letters-{side}", "make sure that this is the right file and column", ""),
    ("misaligned", _CLEAN, ""),
    ("unrelated", f"{_TOGETHER}, or {_CLEAN} --drop empty,duplicates,unrelated", _TOGETHER),
    (
        "exchanged",
        f"{_CLEAN}, or --set data.drop_exchanged=true",
        _CLEAN,
    ),
    ("wrong-language-{side}", f"{_CLEAN} --drop empty,duplicates,wrong-language-{{side}}", ""),
    ("mojibake-{side}", _CLEAN, ""),
    ("broken-mojibake-{side}", f"{_CLEAN} --drop empty,duplicates,broken-mojibake-{{side}}", ""),
    ("lost-characters-{side}", f"{_CLEAN} --drop empty,duplicates,lost-characters-{{side}}", ""),
    (
        "control-characters-{side}",
        f"{_CLEAN} --drop empty,duplicates,control-characters-{{side}}",
        "",
    ),
    ("decomposed-{side}", _CLEAN, ""),
    ("foreign-script-{side}", f"{_CLEAN} --drop empty,duplicates,foreign-script-{{side}}", ""),
    ("copies", "--set data.drop_identical=true", f"{_CLEAN} --drop empty,duplicates,copies"),
    ("near-copies", "--set data.drop_copies=true", f"{_CLEAN} --drop empty,duplicates,near-copies"),
    ("shared-{side}", f"{_CLEAN} --drop empty,duplicates,shared-{{side}}", ""),
    ("length-short", f"{_CLEAN} --drop empty,duplicates,length-short", ""),
    ("length-long", f"{_CLEAN} --drop empty,duplicates,length-long", ""),
    (
        "number-mismatch",
        "--set data.drop_number_mismatch=true",
        f"{_CLEAN} --drop empty,duplicates,number-mismatch",
    ),
    (
        "url-mismatch",
        "--set data.drop_url_mismatch=true",
        f"{_CLEAN} --drop empty,duplicates,url-mismatch",
    ),
    (
        "markup-mismatch",
        "--set data.drop_markup_mismatch=true",
        f"{_CLEAN} --drop empty,duplicates,markup-mismatch",
    ),
    ("html-codes-{side}", _CLEAN, ""),
    (
        "broken-codes-{side}",
        "look at these lines; if they are wrong, "
        f"{_CLEAN} --drop empty,duplicates,broken-codes-{{side}}",
        "",
    ),
    ("tokenized-{side}", "tokenize both texts or neither", ""),
    ("capitals-{side}", "use the same casing in both texts", ""),
    ("end-marks-{side}", "train on text of both kinds, or validate with text like it", ""),
    ("in-training", f"take these pairs out of the training text with {_HELD_OUT}", ""),
    ("source-in-training", f"take these sources out of the training text with {_SOURCES}", ""),
    ("in-validation", f"take these pairs out with {_HELD_OUT}", ""),
    ("source-in-validation", f"take these sources out with {_SOURCES}", ""),
    ("duplicate-pairs", f"{_CLEAN}, or --set data.drop_duplicates=true", _CLEAN),
    ("in-corpus", "--set data.drop_duplicates=true", ""),
    ("in-corpus-of-other-tag", "make sure that both tags are intended", ""),
    ("other-translation", "keep them, unless one of them is wrong", ""),
    ("spaces-{side}", _CLEAN, ""),
    (
        "empty-{side}",
        f"{_CLEAN}, or leave it: training drops such pairs",
        f"{_CLEAN}, or leave it: such pairs are not used",
    ),
)


def problems() -> tuple[Problem, ...]:
    """Return the whole table, the most harmful first."""
    return tuple(_by_id().values())


def problem_of(id: str) -> Problem:
    """Return the row with this id."""
    return _by_id()[id]


@cache
def _by_id() -> dict[str, Problem]:
    numbered = enumerate(_expanded())
    return {row[0]: Problem(row[0], rank, *row[1:]) for rank, row in numbered}


def _expanded() -> Iterator[tuple[str, ...]]:
    """Yield the rows; one with `{side}` comes once for each side."""
    for row in _ROWS:
        for side in _SIDES if "{side}" in row[0] else ("",):
            yield tuple(cell.replace("{side}", side) for cell in row)
