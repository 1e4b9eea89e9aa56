"""`headway bench`: speed beside peers, on this machine, in one run."""

from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Quiet, print_json

bench = typer.Typer(
    no_args_is_help=True,
    help="Measure speed beside peers, in turns, on this machine.",
)


@bench.command("train")
def train(
    size: Annotated[
        str, typer.Option("--size", metavar="tiny|base", help="Which model to train.")
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
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train on random pieces: target pieces a second, ours and peers'."""
    from headway.benchmark.training import compare_training

    peers = [name.strip() for name in against.split(",") if name.strip()]
    found = compare_training(size, peers, rounds, threads)
    if as_json:
        print_json(found.as_dict())
        return
    rows = [("headway", found.precision, found.tokens_per_second)]
    rows += [
        (peer, precision, rate)
        for peer, rates in found.peers.items()
        for precision, rate in rates.items()
    ]
    for name, precision, rate in rows:
        print(f"{name:<10}{precision:<10}{rate:>10,.0f} target pieces/s")
    if found.ratio is not None:
        print(f"{found.ratio:.2f} times the fastest peer")
    if not quiet:
        print(
            f"{found.matrix_rate_fraction:.0%} of this machine's rate of matrix products, "
            f"{found.matrix_rate / 1e9:,.0f} GFLOP/s"
        )
