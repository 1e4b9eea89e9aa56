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
        int, typer.Option("--rounds", min=1, help="Turns of each side; their median counts.")
    ] = 9,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads of each side; unset: PyTorch's number."),
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
        bool, typer.Option("--compile", help="Run Headway with training.compile (torch.compile).")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train on random tokens, and compare target tokens a second with peers."""
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
        str, typer.Option("--against", metavar="ctranslate2", help="The peer; unset: none.")
    ] = "",
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            help="Sentences, one a line; unset: the built-in ones, if they suit the model.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", help="The right translations, to check the scores of each precision."
        ),
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", min=1, help="Take only the first N sentences.")
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Turns of each side; their median counts.")
    ] = 3,
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            metavar="float32,bfloat16,int8",
            help="Headway's precisions; unset: all that make sense here.",
        ),
    ] = "",
    peer_precision: Annotated[
        str,
        typer.Option(
            "--peer-precision", metavar="float32,int8", help="The peer's precisions; unset: both."
        ),
    ] = "",
    search: Annotated[
        str, typer.Option("--search", metavar="greedy,beamK", help="Searches to measure.")
    ] = "greedy,beam4",
    batch: Annotated[
        str,
        typer.Option(
            "--batch",
            help="1: one sentence at a time; other numbers: batch sizes to try on a file.",
        ),
    ] = "1,64",
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Cores of each side; unset: all.")
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
        bool, typer.Option("--refill", help="Also measure a file without refill.")
    ] = False,
    busy: Annotated[
        bool,
        typer.Option("--busy", help="Also measure beside a process that keeps one core busy."),
    ] = False,
    first: Annotated[
        bool,
        typer.Option(
            "--first", help="Also time the first sentence after installation and after start."
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
    """Translate text, and compare target tokens a second and the time of a sentence with a peer."""
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
        raise ConfigError(f"'{text}' is not a list of numbers.", "Separate them by commas: 1,64.")
    return [int(name) for name in names]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
