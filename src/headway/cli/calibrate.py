"""`headway calibrate`: fit the confidence of a model to text with references."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Device, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.cli.tags import remark_on_tags


def calibrate(
    model: Model,
    source: Annotated[
        Path, typer.Option("--source", help="Text that the model was not trained on.")
    ],
    target: Annotated[Path, typer.Option("--target", help="Its translations, line by line.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Fit the confidence of a model to text with references, and put it into the model.

    `headway train` does this with its validation text. An imported model has no confidence until
    then.
    """
    from headway.bundle import load_bundle, save_bundle
    from headway.bundle_folder import check_place
    from headway.data.corpus import read_parallel
    from headway.decoding.confidence import CONFIDENCE
    from headway.decoding.counting import counting_sentences
    from headway.decoding.translator import TextTranslator
    from headway.errors import DataError
    from headway.evaluation.confidence import FEWEST, measured_confidence
    from headway.hub import refuse_address
    from headway.progress import progress
    from headway.runtime.devices import resolve_device
    from headway.saved_bundle import find_bundle

    refuse_address(model, "A calibration is")
    folder = find_bundle(remark_on_weights(model, quiet))
    bundle = load_bundle(folder, resolve_device(device), trust_code=trust_code)
    check_place(folder)  # before the work
    pairs = read_parallel(source, target)
    sources = [pair.source for pair in pairs]
    remark_on_tags(bundle, sources, quiet)
    translator = TextTranslator(bundle)
    with (
        progress("Translation", len(pairs), quiet=quiet, stopped="The model is unchanged.") as done,
        counting_sentences(done),
    ):
        translations = translator.translate(sources, mend_runaways=False, split_sentences=False)
    confidence = measured_confidence(translator, pairs, translations)
    if confidence is None:
        raise DataError(
            f"{source} has fewer than {FEWEST} lines that are translated in one part.",
            f"Give at least {FEWEST} sentences with references, like the text to translate later.",
        )
    save_bundle(folder, replace(bundle, record=bundle.record | {CONFIDENCE: confidence}))
    if as_json:
        print_json({"bundle": str(folder), "confidence": confidence})
    elif not quiet:
        print(
            f"Calibrated with {confidence['sentences']:,} sentences, of which "
            f"{confidence['within_reach']:.1%} are close to their references: {folder}"
        )
