"""`headway clean`: cleaned text, and a log of each change with its reason."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Quiet, print_json
from headway.errors import ConfigError

_TABLES = (".tsv", ".jsonl", ".ndjson")
_EXAMPLE = "headway clean --source train.en --target train.ko --out clean.{en,ko}"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE …]",
        help="Source and target, if they are not named by options; behind --out its second file.",
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
    typer.Option("--report", metavar="FILE.tsv", help="Log of each change; beside --out if unset."),
]
Fix = Annotated[
    str | None,
    typer.Option(
        "--fix",
        metavar="a,b,c",
        help="Repair: mojibake, html, spaces, shift, exchanged (all of them if unset); or none.",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        metavar="a,b,c",
        help="Drop lines by finding (docs/corpora.md): empty, duplicates (these two if unset), "
        "copies, near-copies, length, script, language, number-mismatch, url-mismatch, …; or none.",
    ),
]
SourceColumn = Annotated[int, typer.Option(min=1, help="Column of a .tsv file with the source.")]
TargetColumn = Annotated[int, typer.Option(min=1, help="Column of a .tsv file with the target.")]
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
    source_column: SourceColumn = 1,
    target_column: TargetColumn = 2,
    source_field: SourceField = "source",
    target_field: TargetField = "target",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repair text, drop lines by the findings of `headway check`, and log each change.

    Without --fix and --drop right pairs stay right; other findings are counted as left.
    """
    from headway.data.mending.text import clean_text

    inputs, outputs = _named_files(files or [], source, target, out)
    done = clean_text(
        inputs[0],
        inputs[1] if len(inputs) == 2 else None,
        out=outputs,
        report=report,
        fix=_names(fix),
        drop=_names(drop),
        columns=(source_column - 1, target_column - 1),
        fields=(source_field, target_field),
        tell=lambda pairs: None if quiet or as_json else _tell(pairs),
    )
    if as_json:
        print_json(done.as_dict())
        return
    for line in done.lines():
        print(line)


def _tell(pairs: int) -> None:
    """Say how far the work is after each million."""
    from headway.data.mending.text import AT_ONCE

    if pairs % AT_ONCE == 0:
        print(f"{pairs:,} pairs are done.", file=sys.stderr)


def _named_files(
    files: list[str], source: str, target: str, out: str
) -> tuple[list[str], tuple[str, ...]]:
    """Return which files are read and which are written.

    A shell makes two words of `--out clean.{en,ko}`, and the second one stands among the files.
    """
    if not out:
        raise ConfigError("--out names no file.", f"For example: {_EXAMPLE}.")
    named = list(files)
    is_whole = "{" in out or any(ending in Path(out).name.lower() for ending in _TABLES)
    outputs = (out,) if is_whole or not named else (out, named.pop())
    if target and not source:
        raise ConfigError("--target comes without --source.", f"For example: {_EXAMPLE}.")
    inputs = [name for name in (source, target) if name] + named
    if not 1 <= len(inputs) <= 2:
        listed = ", ".join(inputs) or "no file"
        raise ConfigError(
            f"To be cleaned: {listed}; one or two files are wanted.", f"For example: {_EXAMPLE}."
        )
    return inputs, outputs


def _names(listed: str | None) -> list[str] | None:
    """Return the names in a list with commas; None where it is not given."""
    if listed is None:
        return None
    names = [name.strip() for name in listed.split(",") if name.strip()]
    return [] if names == ["none"] else names
