"""`headway bench`: speed compared with peers, on this machine, in one run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.guesses import Command, Commands
from headway.cli.options import AsJson, Debug, Device, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights

bench = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Compare speed with peers, in turns, on this machine.",
)


@bench.command("train", cls=Command)
def train(
    size: Annotated[
        str, typer.Option("--size", metavar="tiny|base|big", help="Which model to train.")
    ] = "tiny",
    against: Annotated[
        str,
        typer.Option("--against", metavar="marian,torch", help="Peers, separated by commas."),
    ] = "",
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Turns for each; their median counts.")
    ] = 9,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads for each; PyTorch's if unset.")
    ] = None,
    device: Device = "cpu",
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences", min=1, help="Sentences of a batch; default: 128, on a GPU 800."
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option("--length", min=2, help="Tokens of each sentence; default: 16, on a GPU 32."),
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Ours with training.compile (torch.compile).")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train on random tokens: target tokens a second, ours and peers'."""
    from headway.bench.training import compare_training

    comparison = compare_training(
        size,
        _names(against),
        rounds,
        threads,
        device=device,
        sentences=sentences,
        length=length,
        compiled=compiled,
    )
    if as_json:
        print_json(comparison.as_dict())
        return
    if not quiet:
        print(comparison.conditions())
    name = "compiled" if comparison.compiled else "headway"
    rows = [(name, comparison.precision, comparison.tokens_per_second)]
    rows += [
        (peer, precision, rate)
        for peer, rates in comparison.peers.items()
        for precision, rate in rates.items()
    ]
    for name, precision, rate in rows:
        print(f"{name:<10}{precision:<10}{rate:>10,.0f} target tokens/s")
    if comparison.ratio is not None:
        print(f"{comparison.ratio:.2f} times the fastest peer")
    if not quiet:
        print(
            f"{comparison.matrix_rate_fraction:.0%} of this machine's rate of matrix products, "
            f"{comparison.matrix_rate / 1e9:,.0f} GFLOP/s"
        )


@bench.command("translate", cls=Command)
def translate(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL]", help="A bundle, or a run that holds one; or give --size."
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size", metavar="tiny|base|opus-mt", help="A model with random weights, for speed."
        ),
    ] = None,
    against: Annotated[
        str, typer.Option("--against", metavar="ctranslate2", help="The peer; none if unset.")
    ] = "",
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Sentences, one a line; the built-in ones if they fit."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="The right translations, to judge the changes by int8."),
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="Take only the first N.")
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Turns for each; their median counts.")
    ] = 3,
    precision: Annotated[
        str,
        typer.Option(
            "--precision", metavar="float32,bfloat16,int8", help="Ours; all sensible ones if unset."
        ),
    ] = "",
    peer_precision: Annotated[
        str,
        typer.Option("--peer-precision", metavar="float32,int8", help="The peer's; both if unset."),
    ] = "",
    search: Annotated[
        str, typer.Option("--search", metavar="greedy,beamK", help="Searches to measure.")
    ] = "greedy,beam4",
    batch: Annotated[
        str,
        typer.Option("--batch", help="1: one sentence at a time; others: sizes to try on a file."),
    ] = "1,64",
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Cores for each; all if unset.")
    ] = None,
    length_penalty: Annotated[
        float,
        typer.Option(
            "--length-penalty",
            min=0,
            max=10,
            help="Both rank a beam by log P / |Y|^alpha; 0 ranks by probability alone.",
        ),
    ] = 1.0,
    refill: Annotated[
        bool, typer.Option("--refill", help="Measure a file without continuous refill, too.")
    ] = False,
    busy: Annotated[
        bool,
        typer.Option("--busy", help="Measure all beside a process that keeps one core busy, too."),
    ] = False,
    first: Annotated[
        bool,
        typer.Option(
            "--first", help="Time the first sentence after installation and after start, too."
        ),
    ] = False,
    tokenize: Annotated[
        str, typer.Option("--tokenize", help="sacreBLEU's tokenization; none for tokenized text.")
    ] = "13a",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    trust_code: TrustCode = False,
) -> None:
    """Translate text: target tokens a second and time of a sentence, ours and a peer's."""
    from headway.bench.translating import compare_translation

    comparison = compare_translation(
        None if model is None else remark_on_weights(model, quiet),
        _names(against),
        size=size,
        source=source,
        reference=reference,
        sentences=sentences,
        rounds=rounds,
        precisions=_names(precision),
        peer_precisions=_names(peer_precision),
        searches=_names(search),
        batches=_numbers(batch),
        cores=threads,
        length_penalty=length_penalty,
        refill=refill,
        busy=busy,
        first=first,
        tokenize=tokenize,
        trust_code=trust_code,
        say=_say if sys.stderr.isatty() and not quiet else lambda text: None,
    )
    if as_json:
        print_json(comparison.as_dict())
        return
    for line in comparison.lines():
        print(line)
    for note in comparison.all_notes():
        print(f"Note: {note}", file=sys.stderr)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    from headway.errors import ConfigError

    names = _names(text)
    if not all(name.isdecimal() for name in names):
        raise ConfigError(f"'{text}' is no list of numbers.", "Separate them by commas: 1,64.")
    return [int(name) for name in names]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
