"""The input of a cleaning, its languages, and the line that its first pair stands in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.data.compression import StrPath, plain_name
from headway.data.corpus import Pair, iterate_pairs
from headway.data.headers import USUAL_FIELDS
from headway.data.languages import is_language
from headway.data.tables import has_header, header_remark
from headway.data.tmx import tmx_languages

Sides = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """Pairs that are about to be read."""

    pairs: Iterator[Pair]
    first_line: int
    """Of the first pair: 2 where the first line of a table names its columns."""
    remarks: list[str]


def read_input(
    source: StrPath, target: StrPath | None, columns: tuple[int, int], fields: Sides, wanted: Sides
) -> PreparedInput:
    """Return the pairs of two files or of a table.

    wanted: languages; an empty one is not known.
    """
    languages = wanted[0] or USUAL_FIELDS[0], wanted[1] or USUAL_FIELDS[1]
    first_line, remarks = 1, []
    # A pipe is read once only, so nothing looks at it beforehand.
    if target is None and Path(source).is_file():
        if not any(wanted) and plain_name(source).endswith(".tmx"):
            languages = tmx_languages(source) or languages
            if languages != USUAL_FIELDS:
                remarks = [f"{source}: the source is {languages[0]}, the target is {languages[1]}."]
        first_line += has_header(source, columns, languages)
        remark = header_remark(source, columns, fields, languages, counted=True)
        remarks += [remark] if remark else []
    pairs = iterate_pairs(source, target, columns, fields, languages)
    return PreparedInput(pairs, first_line, remarks)


def chosen_languages(wanted: Sides, outputs: Sequence[Path]) -> Sides:
    """Return languages that are wanted, or those of two outputs such as clean.en and clean.ko.gz.

    A language that neither says is an empty text.
    """
    endings = [plain_name(path).rpartition(".")[2] for path in outputs]
    named = ["", ""]
    if len(endings) == 2 and all(map(is_language, endings)):
        named = endings
    return wanted[0] or named[0], wanted[1] or named[1]
