"""`headway check`: the training text and the cost of a run, before its first step."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headway.cli.how_to_clean import how_to_clean
from headway.cli.options import AsJson, Debug, Device, Quiet, TrustCode, print_json
from headway.cli.run_options import (
    Config,
    Preset,
    Settings,
    Source,
    StartFrom,
    Target,
    ValidSource,
    ValidTarget,
    chosen_settings,
)
from headway.counted import counted
from headway.errors import shown

if TYPE_CHECKING:
    from headway.data.corpus import Corpus
    from headway.data.finding import Finding
    from headway.training.check import RunCheck
    from headway.training.text_check import CorpusShare

_FILES = 2  # of a corpus that are named
_SHORTENED = 50  # characters of a side of an example


def check(
    config: Config = None,
    settings: Settings = None,
    source: Source = "",
    target: Target = "",
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    preset: Preset = "",
    start_from: StartFrom = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Check the text for a run, and estimate the run's time and memory.

    It takes the arguments of `headway train`.
    """
    from headway.config.run import load_run_config
    from headway.runtime.memory import prepare_process
    from headway.training.check import check_run, plain
    from headway.training.reporting import Reporter
    from headway.training.texts import held_out_files

    prepare_process()
    files = {"source": source, "target": target}
    files |= {"valid_source": valid_source, "valid_target": valid_target}
    chosen = chosen_settings(
        files, preset, settings or [], starter=config is None, start_from=start_from
    )
    reporter = Reporter(quiet or as_json)

    def tell(
        findings: "dict[str, list[Finding]]", corpora: "Sequence[Corpus]", error: Exception
    ) -> None:
        if as_json:
            print_json({"findings": plain(findings), "error": str(error)})
            return
        for text, some in findings.items():
            head = f"{text.capitalize()} text{_files(text, corpora)}:"
            print("\n".join([head, *lines_of(some, text)]))
        files = held_out_files(configured.data)
        print("\n".join(how_to_clean(findings, corpora, files)), flush=True)

    configured = load_run_config(config, chosen)
    result = check_run(configured, device, reporter, tell, trust_code=trust_code)
    if as_json:
        print_json(result.as_dict())
    else:
        for line in report_lines(result):
            print(line)
    if result.problem:
        sys.stdout.flush()  # the report comes first if both streams are one
        raise result.problem


def report_lines(result: "RunCheck") -> list[str]:
    """Return the report as lines of text."""
    lines = []
    for text, count in result.unknown.items():
        if text in result.findings:
            head = f"{text.capitalize()} text{_files(text, result.corpora)}: {count}"
            lines += [head, *lines_of(result.findings[text], text)]
        else:
            lines.append(f"{text.capitalize()} text, held out of it: {count}")
    lines.append(f"In training: {result.cleaning.summary()}")
    if len(result.corpora) > 1:
        numbered = enumerate(result.corpora, start=1)
        lines += [f"  corpus {number}: {_described(corpus)}" for number, corpus in numbered]
    minutes, gigabytes = result.estimate.seconds / 60, result.estimate.memory / 1e9
    steps = counted(result.steps, "step")
    lines += [
        f"Model: {result.parameters:,} parameters, {result.vocabulary:,} tokens"
        + (", the most that this text gives" if result.problem else ""),
        f"Training: {steps}, {result.epochs:,.1f} epochs, {result.precision}",
        f"Estimate: {minutes:,.1f} minutes"
        + (f" and {gigabytes:,.1f} GB of memory" if gigabytes else "")
        + f" for the steps; validation takes more{' of both' if gigabytes else ''}. headway train "
        "--minutes N chooses the steps for N minutes of all",
    ]
    if result.estimate.parts > 1:
        lines.append(f"Batches are computed in {result.estimate.parts} parts each")
    lines += [f"Note: {remark}" for remark in result.remarks]
    return lines + how_to_clean(result.findings, result.read, result.held_out)


def lines_of(findings: Sequence["Finding"], text: str) -> list[str]:
    """Return the findings on a text of this name, each with its remedy and an example."""
    is_trained_on = text.startswith("training")
    lines = []
    for finding in findings:
        remedy = finding.remedy if is_trained_on else finding.remedy_held_out
        lines.append(f"  {finding} → {remedy}")
        if finding.example is not None:
            source, target = (shown(side, _SHORTENED) for side in finding.example)
            lines.append(f"    line {finding.example_line:,}: {source} | {target}")
    return lines or ["  nothing suspicious"]


def _files(text: str, corpora: "Sequence[CorpusShare | Corpus]") -> str:
    """Return the files of one of several corpora in brackets; empty for other texts."""
    number = re.match(r"training, corpus (\d+)", text)
    return f" ({'; '.join(_names(corpora[int(number[1]) - 1]))})" if number else ""


def _names(corpus: "CorpusShare | Corpus") -> list[str]:
    names = [Path(file).name for file in corpus.files]
    more = f" and {len(names) - _FILES} more" if len(names) > _FILES else ""
    return [", ".join(names[:_FILES]) + more, *["reversed"] * corpus.reverse]


def _described(corpus: "CorpusShare") -> str:
    """Describe a corpus and its share of the training."""
    parts = [
        *_names(corpus),
        f"tag {corpus.tag}" if corpus.tag else "",
        f"weight {corpus.weight:g}",
        f"{counted(corpus.pairs, 'pair')}",
        f"{corpus.share:.1%} of an epoch",
    ]
    return "; ".join(filter(None, parts))
