"""`headway clean`: cleaned text, and a log of each change with its reason."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Quiet, print_json
from headway.counted import counted, listed
from headway.errors import ConfigError, DataError, permitted
from headway.home import expanded

_TABLES = (".tsv", ".jsonl", ".ndjson")
_SETTING = re.compile(r"(?:--set )?\bdata\.((?:source|target)_(?:column|field|language))")
_EXAMPLE = "headway clean --source train.en --target train.ko --out clean.{en,ko}"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE …]",
        help="Source and target, unless options name them; --out may have a second file.",
    ),
]
Source = Annotated[str, typer.Option("--source", help="Source side, or a table with both sides.")]
Target = Annotated[str, typer.Option("--target", help="Target side.")]
Out = Annotated[
    str,
    typer.Option(
        "--out", metavar="FILE [FILE]", help="Cleaned text: clean.{en,ko}, clean.tsv or .jsonl."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.tsv", help="Log of each change; by default near --out."),
]
Fix = Annotated[
    str | None,
    typer.Option(
        "--fix",
        metavar="a,b,c",
        help="Repair: mojibake, html, nfc, spaces, shift, exchanged (all of them if unset); or "
        "none.",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        metavar="a,b,c",
        help="Drop lines by finding (docs/en/howto/cleaning.md): empty, duplicates (both if "
        "unset), copies, near-copies, length, script, language (a side in the other's; a third "
        "language in the usual script passes), number-mismatch, url-mismatch, markup-mismatch, "
        "…; or none.",
    ),
]
ValidSource = Annotated[
    list[str] | None,
    typer.Option(
        help="Validation or test text, source side or a table: its pairs are dropped from the "
        "text; may be repeated, each time with a --valid-target."
    ),
]
ValidTarget = Annotated[
    list[str] | None, typer.Option(help="Target side of a --valid-source, unless that is a table.")
]
SourceColumn = Annotated[int, typer.Option(min=1, help="Column of a .tsv file with the source.")]
TargetColumn = Annotated[int, typer.Option(min=1, help="Column of a .tsv file with the target.")]
SourceLanguage = Annotated[
    str,
    typer.Option(
        help="Column of a .csv or .tsv, or language of a .tmx; unset: from the names of --out or "
        "--valid-source, of a .tmx with two its first."
    ),
]
TargetLanguage = Annotated[
    str,
    typer.Option(
        help="Column of a .csv or .tsv, or language of a .tmx; unset: from the names of --out or "
        "--valid-target, of a .tmx with two its second."
    ),
]
SourceField = Annotated[str, typer.Option(help="Field of a .jsonl or .parquet file: the source.")]
TargetField = Annotated[str, typer.Option(help="Field of a .jsonl or .parquet file: the target.")]


def clean(
    files: Files = None,
    source: Source = "",
    target: Target = "",
    out: Out = "",
    report: Report = None,
    fix: Fix = None,
    drop: Drop = None,
    valid_source: ValidSource = None,
    valid_target: ValidTarget = None,
    source_column: SourceColumn = 1,
    target_column: TargetColumn = 2,
    source_field: SourceField = "source",
    target_field: TargetField = "target",
    source_language: SourceLanguage = "",
    target_language: TargetLanguage = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repair text, drop lines that `headway check` finds, and log each change.

    Without --fix and --drop, only almost certain faults are changed; others are only counted.
    """
    from headway.data.mending.text import clean_text

    inputs, outputs = _named_files(files or [], source, target, out)
    try:
        result = clean_text(
            inputs[0],
            inputs[1] if len(inputs) == 2 else None,
            out=outputs,
            report=report,
            fix=_names(fix),
            drop=_names(drop),
            columns=(source_column - 1, target_column - 1),
            fields=(source_field, target_field),
            languages=(source_language, target_language),
            held_out=_held_out(valid_source or [], valid_target or []),
            tell=lambda pairs: None if quiet or as_json else _tell(pairs),
        )
    except (ConfigError, DataError) as error:
        raise type(error)(error.message, _with_options(error.remedy)) from error
    result.remarks = [_with_options(remark) for remark in result.remarks]
    if as_json:
        print_json(result.as_dict())
        return
    for line in result.lines():
        print(line)


def _held_out(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the files of each validation text."""
    if targets and len(sources) != len(targets):
        raise ConfigError(
            f"--valid-source names {counted(len(sources), 'file')}, --valid-target "
            f"{len(targets):,}.",
            "Name both sides of each text, or tables with both by --valid-source alone.",
        )
    sides = (sources, targets) if targets else (sources,)
    return list(zip(*sides, strict=True))


def _with_options(text: str) -> str:
    """Return a text with options of this command in place of settings of a training."""
    return _SETTING.sub(lambda match: "--" + match[1].replace("_", "-"), text)


def _tell(pairs: int) -> None:
    """Print the progress after each million pairs."""
    from headway.data.mending.text import AT_ONCE

    if pairs % AT_ONCE == 0:
        print(f"{pairs:,} pairs are done.", file=sys.stderr)


def _named_files(
    files: list[str], source: str, target: str, out: str
) -> tuple[list[str], tuple[str, ...]]:
    """Return the inputs and the outputs.

    A shell makes two words of `--out clean.{en,ko}`, so the second one is among the files.
    """
    if not out:
        raise ConfigError("--out names no file.", f"For example: {_EXAMPLE}.")
    named = list(files)
    outputs: tuple[str, ...] = (out,)
    is_whole = "{" in out or any(ending in Path(out).name.lower() for ending in _TABLES)
    if named and not is_whole:
        second = _second_output(out, named)
        named.remove(second)
        outputs = out, second
    if target and not source:
        raise ConfigError("--target comes without --source.", f"For example: {_EXAMPLE}.")
    inputs = [name for name in (source, target) if name] + named
    if not 1 <= len(inputs) <= 2:
        listed = ", ".join(inputs) or "no file"
        raise ConfigError(
            f"Got {listed} to clean, but one or two files are needed.", f"For example: {_EXAMPLE}."
        )
    return inputs, outputs


def _second_output(out: str, files: Sequence[str]) -> str:
    """Return the second file of --out, which is among the files.

    An existing file counts only if its name is the other side of `out`, as in `clean.{en,ko}`,
    because any other one may be an input. Raises ConfigError unless exactly one file is likely.
    """
    from headway.data.hub import is_dataset

    likely = [name for name in files if _differ_in_side(out, name)]
    likely = likely or [name for name in files if not is_dataset(name) and not _exists(name)]
    if len(likely) != 1:
        raise ConfigError(
            f"--out names {out}, and none of {listed(files)} is surely its second file.",
            "Name both in one word with quotes, --out 'clean.{en,ko}', or one .tsv or .jsonl file.",
        )
    return likely[0]


def _exists(name: str) -> bool:
    path = expanded(name)
    with permitted(path, ConfigError):
        return path.exists()


def _differ_in_side(first: str, second: str) -> bool:
    """Return True if two names differ only in a word for the side, as clean.{en,ko} do."""
    from headway.data.headers import are_two_sides

    words = [re.split(r"[\W_]", name) for name in (first, second)]
    marks = [re.findall(r"[\W_]", name) for name in (first, second)]
    if marks[0] != marks[1]:
        return False
    different = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    return len(different) == 1 and are_two_sides(*different[0])


def _names(listed: str | None) -> list[str] | None:
    """Return the names in a list with commas; None without a list."""
    if listed is None:
        return None
    names = [name.strip() for name in listed.split(",") if name.strip()]
    return [] if names == ["none"] else names
