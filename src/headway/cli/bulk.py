"""`headway bulk`: many lines, by many processes and machines that share a folder."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import search_options as search
from headway.cli.guesses import Command, Commands
from headway.cli.options import (
    AsJson,
    Beam,
    Debug,
    Device,
    LengthPenalty,
    Model,
    Quiet,
    TrustCode,
    print_json,
)
from headway.cli.remarks import remark_on_weights

if TYPE_CHECKING:
    from headway.bulk.parts import Manifest
    from headway.bulk.plan import Plan
    from headway.bulk.work import Outcome

bulk = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Translate many lines with many processes that share a folder.",
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the plan.")]
Inputs = Annotated[
    list[Path],
    typer.Argument(
        metavar="INPUT...", help="Text, JSON Lines or Parquet; also with .gz, .xz or .zst."
    ),
]
ShardLines = Annotated[
    int, typer.Option("--shard-lines", min=1, help="Lines of a shard, the unit of work.")
]
Column = Annotated[
    str | None, typer.Option("--column", help="The field or column to translate; none for text.")
]
Into = Annotated[str, typer.Option("--into", help="The field or column for the translations.")]
Lease = Annotated[
    float,
    typer.Option("--lease", min=1, help="Seconds until the shard of a silent worker is free."),
]
AllowFailures = Annotated[
    bool, typer.Option("--allow-failures", help="Leave lines that could not be translated empty.")
]


@bulk.command("plan", cls=Command)
def plan(
    ctx: typer.Context,
    model: Model,
    inputs: Inputs,
    out: Annotated[Path, typer.Option("--out", help="A new folder that all workers can reach.")],
    shard_lines: ShardLines = 100_000,
    column: Column = None,
    into: Into = "translation",
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    ban: search.Ban = None,
    glossary: search.Glossary = None,
    split_sentences: search.SplitSentences = None,
    min_length: search.MinLength = None,
    max_length: search.MaxLength = None,
    no_repeat_ngram: search.NoRepeatNgram = None,
    repetition_penalty: search.RepetitionPenalty = None,
    shortlist: search.Shortlist = False,
    batch_tokens: search.BatchTokens = 16384,
    engine: search.Engine = "auto",
    precision: search.Precision = "auto",
    device: Device = "auto",
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Read the inputs once, and write the plan."""
    _plan(out, ctx.params)


@bulk.command("work", cls=Command)
def work(
    folder: Folder,
    claim: Annotated[
        bool, typer.Option("--claim", help="Take free shards until none is left; the default.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard", metavar="N|auto", help="Only this shard; auto: the number of the task."
        ),
    ] = None,
    lease: Lease = 600,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Start no new shard after this time.")
    ] = None,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Translate shards; exit status 0: all done, 1: lines failed, 3: other workers have some."""
    from headway.bulk.work import task_number

    if claim and shard is not None:
        raise typer.BadParameter(
            "--claim takes any shard and --shard takes one; give only one of these options."
        )
    if shard is not None and shard != "auto" and not shard.isdecimal():
        raise typer.BadParameter(f"--shard is a number or auto, not {shard!r}.")
    number = None if shard is None else task_number() if shard == "auto" else int(shard)
    end = None if minutes is None else time.monotonic() + 60 * minutes
    raise typer.Exit(_work(folder, number, lease, end, trust_code=trust_code, quiet=quiet))


@bulk.command("status", cls=Command)
def status(folder: Folder, as_json: AsJson = False, debug: Debug = False) -> None:
    """Print how many shards and lines are done."""
    from headway.bulk import whole
    from headway.bulk.plan import read_plan

    progress = whole.status(folder, read_plan(folder))
    if as_json:
        print_json(asdict(progress))
        return
    print(
        f"{progress.done:,} of {progress.shards:,} shards done, {progress.claimed:,} claimed; "
        f"{progress.lines_done:,} of {progress.lines:,} lines, {progress.failures:,} failed"
    )


@bulk.command("verify", cls=Command)
def verify(
    folder: Folder,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Remove damaged parts, so that their shards are translated again."
        ),
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare every part with its manifest and its shard."""
    from headway.bulk import whole
    from headway.bulk.plan import read_plan

    planned = read_plan(folder)
    if repair:
        for number in whole.reopen(folder, planned):
            print(f"Shard {number} is free again.")
    whole.check(folder, planned)
    if not quiet:
        print(f"All {len(planned.shards):,} parts are whole: {planned.lines:,} lines.")


@bulk.command("merge", cls=Command)
def merge(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", help="The file of all translations.")],
    allow_failures: AllowFailures = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check all parts and write them into one file, in the order of the inputs."""
    from headway.bulk import whole
    from headway.bulk.plan import read_plan

    planned = read_plan(folder)
    whole.merge(folder, planned, out, allow_failures=allow_failures)
    if not quiet:
        print(f"{planned.lines:,} lines in {out}", file=sys.stderr)


@bulk.command("run", cls=Command)
def run(
    ctx: typer.Context,
    model: Model,
    inputs: Inputs,
    out: Annotated[
        Path,
        typer.Option("--out", help="A folder; run the command again after a stop to continue."),
    ],
    shard_lines: ShardLines = 100_000,
    column: Column = None,
    into: Into = "translation",
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    ban: search.Ban = None,
    glossary: search.Glossary = None,
    split_sentences: search.SplitSentences = None,
    min_length: search.MinLength = None,
    max_length: search.MaxLength = None,
    no_repeat_ngram: search.NoRepeatNgram = None,
    repetition_penalty: search.RepetitionPenalty = None,
    shortlist: search.Shortlist = False,
    batch_tokens: search.BatchTokens = 16384,
    engine: search.Engine = "auto",
    precision: search.Precision = "auto",
    device: Device = "auto",
    lease: Lease = 600,
    allow_failures: AllowFailures = False,
    trust_code: TrustCode = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Plan, work, verify and merge on this machine: translation.txt, .jsonl or .parquet."""
    from headway.bulk import whole
    from headway.bulk.work import Outcome

    planned = _plan(out, ctx.params)
    status = _work(out, None, lease, None, trust_code=trust_code, quiet=quiet)
    if status is Outcome.OTHERS_AT_WORK:
        if not quiet:
            print(
                "Note: other workers have the shards that are left. Run it again when they are "
                "done.",
                file=sys.stderr,
            )
        raise typer.Exit(status)
    place = out / f"translation{planned.ending}"
    whole.merge(out, planned, place, allow_failures=allow_failures)
    if not quiet:
        print(f"{planned.lines:,} lines in {place}", file=sys.stderr)


def _plan(folder: Path, chosen: dict[str, Any]) -> "Plan":
    from headway.bulk.plan import write_plan
    from headway.bulk.planning import make_plan, slow_to_read

    remark_on_weights(chosen["model"], chosen["quiet"])
    names = (
        "length_penalty", "min_length", "max_length", "no_repeat_ngram", "repetition_penalty",
        "shortlist",
    )  # fmt: skip
    searching = {"beam_size": chosen["beam"]} | {name: chosen[name] for name in names}
    planned = make_plan(
        chosen["model"],
        chosen["inputs"],
        search={name: value for name, value in searching.items() if value is not None},
        banned=tuple(chosen["ban"] or ()),
        **{
            name: chosen[name]
            for name in (
                "shard_lines", "column", "into", "glossary", "precision", "device", "trust_code",
                "engine", "batch_tokens", "split_sentences",
            )
        },
    )  # fmt: skip
    is_new = write_plan(folder, planned)
    if not chosen["quiet"]:
        words = "Planned" if is_new else "Already planned:"
        print(
            f"{words} {planned.lines:,} lines in {len(planned.shards):,} shards, "
            f"{planned.precision}.",
            file=sys.stderr,
        )
        if slow := slow_to_read(planned):
            print(
                f"Note: {slow} is compressed and is read from its beginning for each of its many "
                "shards. Unpack it, or divide it into several files.",
                file=sys.stderr,
            )
    return planned


def _work(
    folder: Path,
    number: int | None,
    lease: float,
    end: float | None,
    *,
    trust_code: bool,
    quiet: bool,
) -> "Outcome":
    """Translate one shard, or free ones until the end, in seconds of the monotonic clock."""
    from headway.bulk.plan import check_shard
    from headway.bulk.work import load_worker

    def report(shard: int, manifest: "Manifest") -> None:
        if not quiet:
            speed = manifest.lines / max(manifest.seconds, 1e-3)
            failed = f", {manifest.failures:,} failed" if manifest.failures else ""
            print(
                f"Shard {shard}: {manifest.lines:,} lines{failed}, {speed:,.0f} a second",
                file=sys.stderr,
            )

    worker = load_worker(folder, report, trust_code=trust_code)
    if number is not None:
        check_shard(worker.plan, number)
        return worker.work_on(number)
    return worker.work(lease=lease, until=lambda: end is not None and time.monotonic() >= end)
