"""`headway align`: word alignments of existing translations."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from headway.cli.options import AsJson, Debug, Device, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.cli.tags import remark_on_tags

if TYPE_CHECKING:
    from headway.bundle import Bundle
    from headway.data.corpus import Pair
    from headway.evaluation.aligning import Reading
    from headway.evaluation.alignment_error import AlignmentScore


def align(
    model: Model,
    source: Annotated[Path, typer.Option("--source", help="Source text.")],
    target: Annotated[Path, typer.Option("--target", help="Its translations, line by line.")],
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Alignments by hand: 3-4 is sure, 3p4 or 3?4 possible."),
    ] = None,
    gold_from_one: Annotated[
        bool, typer.Option("--gold-from-one", help="Words in --gold are counted from 1.")
    ] = False,
    layer: Annotated[
        int | None,
        typer.Option("--layer", min=0, help="Decoder layer, from 0; unset: best or the model's."),
    ] = None,
    moment: Annotated[
        str | None,
        typer.Option("--moment", metavar="written|read", help="Step of a target token to look at."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Print a word alignment for each pair, like `0-0 1-2`, source word first.

    With --gold, layer and moment are those with the lowest error rate, unless you give them.
    """
    from headway.bundle import load_bundle
    from headway.data.corpus import read_parallel
    from headway.decoding.alignment import pharaoh
    from headway.evaluation.aligning import align_by
    from headway.evaluation.alignment_error import best_of
    from headway.runtime.devices import resolve_device

    pairs = read_parallel(source, target)
    remark_on_weights(model, quiet)
    bundle = load_bundle(model, resolve_device(device), trust_code=trust_code)
    remark_on_tags(bundle, (pair.source for pair in pairs), quiet)
    readings = _readings(bundle, layer, moment, choose=gold is not None)
    by_hand = None if gold is None else _gold(gold, gold_from_one, pairs, bundle)
    aligned = align_by(bundle, [p.source for p in pairs], [p.target for p in pairs], readings)
    scores = {} if by_hand is None else _scores(aligned, by_hand)
    chosen = best_of(scores) if scores else readings[0]
    lines = [pharaoh(alignment) for alignment in aligned[chosen]]
    if as_json:
        rows = [reading._asdict() | score.as_dict() for reading, score in scores.items()]
        print_json(chosen._asdict() | {"alignments": lines, "scores": rows})
        return
    for line in lines:
        print(line)
    if not quiet:
        print("\n".join(_report(bundle, scores, chosen)), file=sys.stderr)


def _readings(
    bundle: "Bundle", layer: int | None, moment: str | None, *, choose: bool
) -> list["Reading"]:
    """Return the readings: all that remain open if a gold file can choose, else the usual one."""
    from headway.decoding.attention import chosen_layer
    from headway.evaluation.aligning import Moment, all_readings, usual_reading

    if not choose:
        chosen_layer(bundle.model, layer, "--layer")
        return [usual_reading(bundle, layer, cast(Moment, moment or "written"))]
    named = [usual_reading(bundle, moment=each) for each in get_args(Moment)]
    candidates = dict.fromkeys([*all_readings(bundle.model), *named])
    layers = None if layer is None else chosen_layer(bundle.model, layer, "--layer")
    return [
        reading
        if moment is None
        else reading._replace(moment=cast(Moment, moment))  # `align_by` checks the name
        for reading in candidates
        if layers in (None, reading.layer) and (moment is None or reading.moment == "written")
    ]


def _gold(path: Path, from_one: bool, pairs: Sequence["Pair"], bundle: "Bundle") -> list[Any]:
    from headway.evaluation.alignment_error import check_gold, read_gold

    gold = read_gold(path, first=int(from_one))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    check_gold(gold, sources, targets, bundle.source_tokenizer, bundle.target_tokenizer)
    return gold


def _scores(
    aligned: dict["Reading", list[Any]], gold: Sequence[Any]
) -> dict["Reading", "AlignmentScore"]:
    from headway.evaluation.alignment_error import alignment_error

    return {reading: alignment_error(pairs, gold) for reading, pairs in aligned.items()}


def _report(
    bundle: "Bundle", scores: dict["Reading", "AlignmentScore"], chosen: "Reading"
) -> list[str]:
    count = len(bundle.model.decoder.layers)
    head = "" if chosen.head is None else f", head {chosen.head}"
    read = f"Read in decoder layer {chosen.layer} of 0 to {count - 1}{head}, moment {chosen.moment}"
    if chosen.head is not None and not scores:
        return [f"{read}: the model was trained on alignments there."]
    if not scores:
        return [f"{read}. Which is best differs; --gold FILE, a few pairs by hand, tells."]
    rows = [
        f"{_place(reading):>5}  {reading.moment:7}  {score.error_rate:6.4f}  "
        f"{score.precision:9.4f}  {score.recall:6.4f}"
        for reading, score in scores.items()
    ]
    return ["layer  moment      AER  precision  recall", *rows, f"{read}."]


def _place(reading: "Reading") -> str:
    """Return the layer, with the head if it is one of them: `1.0`."""
    return f"{reading.layer}" if reading.head is None else f"{reading.layer}.{reading.head}"
