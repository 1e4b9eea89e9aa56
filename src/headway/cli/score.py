"""`headway score`: the probability that a model gives to existing translations."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Device, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.cli.tags import remark_on_tags
from headway.counted import counted


def score(
    model: Model,
    source: Annotated[Path, typer.Option("--source", help="Source text.")],
    target: Annotated[Path, typer.Option("--target", help="Its translations, to be scored.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Print the log-probability of each line, and the perplexity of the text."""
    import sys

    from headway.bundle import load_bundle
    from headway.data.corpus import read_parallel
    from headway.evaluation.scoring import perplexity, score_pairs
    from headway.runtime.devices import resolve_device

    pairs = read_parallel(source, target)
    remark_on_weights(model, quiet)
    bundle = load_bundle(model, resolve_device(device), trust_code=trust_code)
    sources = [pair.source for pair in pairs]
    remark_on_tags(bundle, sources, quiet)
    blank = sum(not (pair.source.strip() and pair.target.strip()) for pair in pairs)
    if blank and not quiet:
        print(
            f"Note: {counted(blank, 'line')} {'has' if blank == 1 else 'have'} a blank side, which "
            "is scored as the end symbol alone. Complete these lines, or take them out of both "
            "files.",
            file=sys.stderr,
        )
    scores = score_pairs(bundle, sources, [pair.target for pair in pairs])
    total = perplexity(scores)
    if as_json:
        print_json(
            {
                "log_probs": [score.log_prob for score in scores],
                "pieces": [score.num_pieces for score in scores],
                "perplexity": total,
            }
        )
        return
    for line in scores:
        print(f"{line.log_prob:.6f}")
    if not quiet:
        print(f"perplexity {total:.4f} over {counted(len(scores), 'line')}", file=sys.stderr)
