"""`headway drafts`: count which pieces follow others, so that greedy search takes fewer steps."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.options import AsJson, Debug, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.cli.tags import remark_on_tags


def drafts(
    model: Model,
    source: Annotated[Path, typer.Option("--source", help="Training text to count in.")],
    target: Annotated[Path, typer.Option("--target", help="Its translations, line by line.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    trust_code: TrustCode = False,
) -> None:
    """Count which tokens follow others in parallel text, and put the counts into the model.

    Greedy search of one or two sentences then guesses the next tokens. It is faster with decoders
    of 8 million weights or more; smaller ones do not guess. Translations and scores stay the same.
    """
    from headway.bundle import load_bundle, save_bundle
    from headway.bundle_folder import check_place
    from headway.data.corpus import iterate_parallel
    from headway.decoding.drafts import with_drafts
    from headway.hub import refuse_address
    from headway.saved_bundle import find_bundle

    refuse_address(model, "Counts are")
    folder = find_bundle(remark_on_weights(model, quiet))
    bundle = load_bundle(folder, trust_code=trust_code)
    check_place(folder)  # before the work
    started = time.perf_counter()
    pairs = [(pair.source, pair.target) for pair in iterate_parallel(source, target)]
    remark_on_tags(bundle, [text for text, _ in pairs], quiet)
    bundle = with_drafts(bundle, pairs)
    save_bundle(folder, bundle)
    counted: dict[str, Any] = bundle.record["drafts"]
    seconds = round(time.perf_counter() - started, 1)
    if as_json:
        print_json({"bundle": str(folder), "counted": counted | {"seconds": seconds}})
    elif not quiet:
        print(
            f"Counted in {counted['pairs']:,} of {counted['pairs_given']:,} pairs in "
            f"{seconds:.0f} s: {folder}"
        )
