"""Read sentence pairs from disk, without changing them."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import glob
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from headway.counted import counted
from headway.data.composition import composed
from headway.data.compression import COMPRESSIONS, StrPath, plain_name, readable
from headway.data.headers import USUAL_FIELDS
from headway.data.hub import dataset_digest, is_dataset
from headway.data.line_count_mismatch import go_together_at_the_end, where_they_part
from headway.data.lines import read_lines
from headway.data.tables import FORMS, table_reader
from headway.errors import ConfigError, DataError, permitted

_READ_SIZE = 1 << 20


class Pair(NamedTuple):
    """Hold one source sentence and its translation, as read."""

    source: str
    target: str

    def stripped(self) -> "Pair":
        """Return the pair without spaces around its sides."""
        return Pair(self.source.strip(), self.target.strip())

    def comparable(self) -> "Pair":
        """Return the pair stripped and in form NFC, in which equal text has equal characters."""
        return Pair(composed(self.source.strip()), composed(self.target.strip()))


def read_parallel(source_path: StrPath, target_path: StrPath) -> list[Pair]:
    """Return the pairs of two files; line n of one translates line n of the other."""
    return list(iterate_parallel(source_path, target_path))


def read_sentences(path: StrPath) -> Iterator[str]:
    """Return the lines of a file with one sentence each.

    Raises DataError if lines are records or have columns, because both sides would be one sentence.
    """
    name = plain_name(path)
    if name.endswith(FORMS) and not name.endswith(".tsv"):
        raise DataError(
            f"{path} holds records, but a file with one sentence a line is needed.",
            "Write the field that you need into a text file.",
        )
    return _without_columns(path) if name.endswith(".tsv") else read_lines(path)


def _without_columns(path: StrPath) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), 1):
        if "\t" in line:
            raise DataError(
                f"{path}, line {number} has columns, but a file with one sentence a line is "
                "needed.",
                "Write one of them into a text file.",
            )
        yield line


def iterate_parallel(source_path: StrPath, target_path: StrPath) -> Iterator[Pair]:
    """Yield the pairs of two files; line n of one translates line n of the other.

    Raises DataError at the end if one has more lines than the other, or if both are empty.
    """
    sources, targets = read_sentences(source_path), read_sentences(target_path)
    count = 0
    for source, target in zip_longest(sources, targets):
        if source is None or target is None:
            # The first line without a partner has been read already.
            rows = [
                count + (side is not None) + sum(1 for _ in lines)
                for side, lines in ((source, sources), (target, targets))
            ]
            where = _where_moved(source_path, target_path, rows)
            raise DataError(
                f"{source_path} has {counted(rows[0], 'line')} and {target_path} has {rows[1]:,}; "
                f"parallel files must have the same number.{where}",
                "Make line n of the one the translation of line n of the other; "
                "an untranslated sentence keeps its place as a blank line.",
            )
        count += 1
        yield Pair(source, target)
    if not count:
        raise DataError(
            f"{source_path} and {target_path} are empty.", "Give files with one sentence a line."
        )


def _where_moved(source_path: StrPath, target_path: StrPath, rows: list[int]) -> str:
    """Return a sentence on where the files stop matching; empty if the lines do not show it."""
    paths = source_path, target_path
    if not all(Path(path).is_file() for path in paths):  # a pipe cannot be read again
        return ""
    names = [Path(path).name for path in paths]
    end = ""
    if go_together_at_the_end(read_sentences(source_path), read_sentences(target_path)):
        shorter, longer = names if rows[0] < rows[1] else reversed(names)
        end = f" Up to its last line {shorter} goes with {longer}: its end seems to be missing."
    sources, targets = read_sentences(source_path), read_sentences(target_path)
    return end + where_they_part(sources, targets, names[1])


def read_pairs(
    source: StrPath,
    target: StrPath | None = None,
    *,
    source_column: int = 0,
    target_column: int = 1,
    source_field: str = "source",
    target_field: str = "target",
    languages: tuple[str, str] = USUAL_FIELDS,
) -> list[Pair]:
    """Return the pairs of two parallel files, or of one file that holds both sides.

    One file is .tsv (columns, counted from 0), .csv (columns by field or language), .jsonl or
    .parquet (fields by name; a dot leads into a field) or .tmx (by language). All but Parquet may
    be compressed and end in .gz, .bz2, .xz or .zst as well.
    """
    columns, fields = (source_column, target_column), (source_field, target_field)
    return list(iterate_pairs(source, target, columns, fields, languages))


def iterate_pairs(
    source: StrPath,
    target: StrPath | None,
    columns: tuple[int, int],
    fields: tuple[str, str],
    languages: tuple[str, str] = USUAL_FIELDS,
) -> Iterator[Pair]:
    """Yield the same pairs as `read_pairs`, one at a time."""
    if target is not None:
        yield from iterate_parallel(source, target)
        return
    read = table_reader(source, columns, fields, languages)
    if read is None:
        raise ConfigError(
            f"{source} comes without a target file and is not a .tsv, .csv, .jsonl, .parquet or "
            f".tmx file (all but .parquet also with {', '.join(COMPRESSIONS)}) or a data set "
            "(hf://…).",
            "Give the file of translations too, or one such file with both sides.",
        )
    empty = True
    for sides in read(source):
        empty = False
        yield Pair(*sides)
    if empty:
        raise DataError(f"{source} is empty.", "Give a file with one pair a line.")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Training text that is read again in each pass, and never held whole."""

    sources: tuple[StrPath, ...]
    targets: tuple[StrPath, ...]
    """Empty if the files hold both sides."""
    columns: tuple[int, int] = (0, 1)
    fields: tuple[str, str] = ("source", "target")
    languages: tuple[str, str] = USUAL_FIELDS
    """Of source and target, before `reverse`; they tell the columns of .csv and texts of .tmx."""
    reverse: bool = False
    tag: str = ""
    """A piece before each source, such as <2ko>."""
    weight: float = 1.0
    held_out: frozenset[int] = frozenset()
    """Lines that are left out, because they are held out for validation."""
    without: frozenset[Pair] = frozenset()
    """Pairs that are not trained on, because they equal one that is held out; spaces around them
    do not count."""
    near: frozenset[int] = frozenset()
    """Lines that are not trained on, because their pairs differ from one that is held out only in
    case, digits, punctuation and spaces."""

    @property
    def files(self) -> tuple[StrPath, ...]:
        """Return all files, the sources first."""
        return self.sources + self.targets

    def numbered(self) -> Iterator[tuple[int, Pair]]:
        """Yield each pair to be trained on with its line, counted from 1 over all files."""
        for line, pair in self.candidates():
            if line not in self.near and (not self.without or pair.stripped() not in self.without):
                yield line, pair

    def candidates(self) -> Iterator[tuple[int, Pair]]:
        """Yield the pairs of `numbered`, and those that resemble one that is held out."""
        for line, pair in enumerate(self._all(), start=1):
            if line not in self.held_out:
                yield line, pair

    def __iter__(self) -> Iterator[Pair]:
        """Yield each pair."""
        return (pair for _, pair in self.numbered())

    def _all(self) -> Iterator[Pair]:
        for source, target in zip_longest(self.sources, self.targets):
            for pair in iterate_pairs(source, target, self.columns, self.fields, self.languages):
                yield Pair(pair.target, pair.source) if self.reverse else pair


def matching_files(folder: Path, name: str) -> tuple[StrPath, ...]:
    """Return the file of this name or, if it contains * ? or [, all that match, sorted."""
    if is_dataset(name):
        return (name,)
    path = folder / name
    with permitted(path, DataError):
        if path.exists() or not _has_wildcard(name):
            return (path,)
    # A pattern may lead out of the folder, or be absolute; the folder's name is not a pattern.
    files = tuple(sorted(folder / match for match in _matching(folder, Path(name))))
    if not files:
        raise DataError(f"No file matches {path}.", "Check the pattern and the folder.")
    return files


def _has_wildcard(name: str) -> bool:
    return bool(set("*?[") & set(name))


def _matching(folder: Path, pattern: Path) -> list[str]:
    """Return all matches; DataError for a folder on the way that this user may not read."""
    for depth in range(pattern.is_absolute(), len(pattern.parts)):
        above = str(Path(*pattern.parts[:depth]))
        mode = os.R_OK | os.X_OK if _has_wildcard(pattern.parts[depth]) else os.X_OK
        for parent in glob(f"{above}/", root_dir=folder, recursive=True):
            if not os.access(folder / parent, mode):  # glob would leave it out silently
                raise DataError(
                    f"{folder / parent} may not be read by this user, and {folder / pattern} leads "
                    "through it.",
                    "Change its permissions, or choose a pattern that does not.",
                )
    return glob(str(pattern), root_dir=folder, recursive=True)


def partners(
    folder: Path, source: str, target: str
) -> tuple[tuple[StrPath, ...], tuple[StrPath, ...]]:
    """Return the files of two names, each with its translation at the same place.

    If both are patterns, files belong together whose * and ? match the same text.
    """
    sources, targets = matching_files(folder, source), matching_files(folder, target)
    named = ((source, sources), (target, targets))
    plain = any(paths in ((name,), (folder / name,)) for name, paths in named)
    if len(sources) == len(targets) == 1 and plain:
        return sources, targets
    by_wildcard = [
        {_wildcards(path, folder, name): path for path in paths} for name, paths in named
    ]
    without_partner = [
        files[key]
        for files, partners in (by_wildcard, by_wildcard[::-1])
        for key in files
        if key not in partners
    ]
    if without_partner:
        raise ConfigError(
            f"{without_partner[0]} has no partner: {source} names {len(sources)} files and "
            f"{target} {len(targets)}.",
            "Name files so that * and ? match the same text on both sides.",
        )
    return tuple(by_wildcard[0].values()), tuple(by_wildcard[1][key] for key in by_wildcard[0])


def _wildcards(path: StrPath, folder: Path, name: str) -> tuple[str, ...]:
    """Return the texts that the wildcards of a name match in a path of this folder."""
    if is_dataset(name):
        return (name,)
    # `**/` is one wildcard with its slash: folders of any depth, or none.
    parts = re.split(r"((?:^|(?<=/))\*\*/|\*+|\?|\[[^]]*\])", str(Path(name)))
    any_depth = {"**/": r"((?:.*/)?)"}
    expression = "".join(
        any_depth.get(part, "(.*?)") if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )
    text = str(path) if Path(name).is_absolute() else str(Path(path).relative_to(folder))
    match = re.fullmatch(expression, text, re.DOTALL)
    return match.groups() if match else (str(path),)


def check_read_again(path: StrPath) -> None:
    """Raise DataError for a file that can be read only once, such as a pipe."""
    place = Path(path)
    if is_dataset(path):
        return
    with permitted(place, DataError):
        once = place.exists() and not (place.is_file() or place.is_dir())
    if once:
        raise DataError(
            f"{path} is a pipe or a device and not a file, but text is read more than once.",
            "Write it into a file first.",
        )


def fingerprint(digests: Iterable[bytes]) -> str:
    """Return the SHA-256 of several files, from their `file_digest` in this order.

    Names do not count, so a moved corpus is still the same corpus. Moving a line from one file to
    the next is a change.
    """
    return hashlib.sha256(b"".join(digests)).hexdigest()


def file_digest(path: StrPath, fields: tuple[str, str]) -> bytes:
    """Return the SHA-256 of a file's bytes, or of the columns of a data set with these fields."""
    if is_dataset(path):
        return dataset_digest(str(path), fields)
    digest = hashlib.sha256()
    with readable(path, decompress=False) as file:
        while block := file.read(_READ_SIZE):
            digest.update(block)
    return digest.digest()
