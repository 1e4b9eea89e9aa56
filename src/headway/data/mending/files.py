"""The files of a cleaning: text in, cleaned text and a log of changes out."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from headway.data.compression import StrPath, compression, plain_name
from headway.data.corpus import Pair
from headway.data.hub import is_dataset
from headway.data.output import OutputFile
from headway.errors import ConfigError, DataError, require_path
from headway.home import expanded

_RECORDS = (".jsonl", ".ndjson")
_TABLES = (".tsv", *_RECORDS)
_UNWRITTEN = (".csv", ".tmx", ".parquet")
_BRACES = re.compile(r"(.*)\{([^{},]*),([^{},]*)\}(.*)")
LOG_ENDING = "removed.tsv"


def named_inputs(source: StrPath, target: StrPath | None) -> tuple[StrPath, StrPath | None]:
    """Return the names of the input files, with the user's folder for a leading `~`."""
    require_path("source", source)
    if target is not None:
        require_path("target", target)
    return _expanded(source), None if target is None else _expanded(target)


def named_outputs(names: StrPath | Sequence[StrPath]) -> tuple[Path, ...]:
    """Return the files to write: one table with both sides, or a file for each side.

    `clean.{en,ko}` means `clean.en` and `clean.ko`, as in a shell. Raises ConfigError for another
    number of files, or for a form that cannot be written.
    """
    listed: Sequence[StrPath] = names if isinstance(names, (tuple, list)) else (names,)  # pyright: ignore[reportAssignmentType]
    for name in listed:
        require_path("out", name)
    named = [str(expanded(name)) for name in listed]
    if len(named) == 1 and (braces := _BRACES.fullmatch(named[0])):
        before, first, second, after = braces.groups()
        named = [f"{before}{first}{after}", f"{before}{second}{after}"]
    for name in named:
        if plain_name(name).endswith(_UNWRITTEN):
            raise ConfigError(
                f"{name} would not be text.", "Name a .tsv or .jsonl file, or two text files."
            )
    is_table = [plain_name(name).endswith(_TABLES) for name in named]
    if is_table not in ([True], [False, False]):
        raise ConfigError(
            f"The cleaned text cannot be written to {' and '.join(named) or 'no file'}.",
            "Name one .tsv or .jsonl file for both sides, or one file for each side, as clean.en "
            "clean.ko or clean.{en,ko}.",
        )
    return tuple(map(Path, named))


def named_log(name: StrPath | None, outputs: Sequence[Path]) -> Path:
    """Return the file of the log; without a name, it is next to the text with the same stem."""
    if name is not None:
        require_path("report", name)
        return expanded(name)
    first = outputs[0]
    stem = first.name.removesuffix(compression(first)).rpartition(".")[0] or first.name
    return first.with_name(f"{stem}.{LOG_ENDING}")


def check_places(inputs: Sequence[StrPath | None], outputs: Sequence[Path]) -> None:
    """Raise ConfigError if an output is an input, or is named twice."""
    places = [path.resolve() for path in outputs]
    for number, (path, place) in enumerate(zip(outputs, places, strict=True)):
        if place in places[:number]:
            raise ConfigError(f"{path} is named twice.", "Give each file a name of its own.")
        for file in filter(None, inputs):
            if is_dataset(file):
                continue
            same = path.exists() and Path(file).exists() and path.samefile(file)
            if same or place == Path(file).resolve():
                raise ConfigError(
                    f"{path} is an input and would be overwritten.", "Write to another file."
                )


def _expanded(name: StrPath) -> StrPath:
    return name if is_dataset(name) else expanded(name)


class PairWriter:
    """Writes pairs into one table, or into a file for each side."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Write to these paths, as `named_outputs` gives them."""
        self.files = [OutputFile(path) for path in paths]
        name = plain_name(paths[0])
        self._is_records = name.endswith(_RECORDS)
        self._is_table = len(paths) == 1

    def write(self, line: int, pair: Pair) -> None:
        """Write one pair, which was in this line of the input.

        Raises DataError for a tab or a line end that the form of the file cannot hold.
        """
        if self._is_records:
            record = {"source": pair.source, "target": pair.target}
            self.files[0].write(json.dumps(record, ensure_ascii=False))
            return
        unwanted = "\n\t" if self._is_table else "\n"
        if any(character in text for text in pair for character in unwanted):
            raise DataError(
                f"Line {line} has a line end or a tab within a text, which "
                f"{self.files[0].path} cannot hold.",
                "Have spaces repaired (--fix spaces), or write .jsonl.",
            )
        if self._is_table:
            self.files[0].write("\t".join(pair))
        else:
            for file, text in zip(self.files, pair, strict=True):
                file.write(text)
