"""`headway shortlist`: learn which pieces a translation may need, and report the cost."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import AsJson, Debug, Device, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.cli.run_options import ValidSource, ValidTarget
from headway.cli.tags import remark_on_tags
from headway.counted import listed

if TYPE_CHECKING:
    from headway.bundle import Bundle


def shortlist(
    model: Model,
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Training text to learn from; unset: only report."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--target", help="Its translations, line by line.")
    ] = None,
    frequent: Annotated[
        int,
        typer.Option("--frequent", min=0, help="Number of frequent tokens that every list has."),
    ] = 100,
    per_piece: Annotated[
        int,
        typer.Option(
            "--per-piece", min=0, help="Number of most probable translations of each source token."
        ),
    ] = 100,
    min_probability: Annotated[
        float,
        typer.Option(
            "--min-probability", min=0, max=1, help="Smallest probability of these tokens."
        ),
    ] = 0.0,
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    translate: Annotated[
        bool,
        typer.Option(
            "--translate", help="Also translate the validation text with and without the shortlist."
        ),
    ] = False,
    tokenize: Annotated[
        str, typer.Option("--tokenize", help="sacreBLEU's tokenization; none for tokenized text.")
    ] = "13a",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Learn a shortlist from parallel text, put it into the model, and report its cost.

    `headway translate --shortlist` then chooses only among its tokens.
    """
    from headway.bundle import load_bundle, save_bundle
    from headway.errors import ConfigError
    from headway.hub import refuse_address
    from headway.saved_bundle import find_bundle

    wanted = _has_both(source, target, "--source", "--target")
    wanted_report = _has_both(valid_source, valid_target, "--valid-source", "--valid-target")
    if not (wanted or wanted_report):
        raise ConfigError(
            "There is no text.", "Give --source and --target, --valid-source and --valid-target."
        )
    if translate and not wanted_report:
        raise ConfigError("--translate needs text.", "Give --valid-source and --valid-target.")
    if wanted:
        refuse_address(model, "A shortlist is")
    folder = find_bundle(remark_on_weights(model, quiet))
    bundle = load_bundle(folder, trust_code=trust_code)
    values: dict[str, Any] = {"bundle": str(folder)}
    if source is not None and target is not None:
        numbers = {
            "frequent": frequent, "per_piece": per_piece, "min_probability": min_probability
        }  # fmt: skip
        bundle, learned = _learned(folder, bundle, source, target, numbers, quiet)
        save_bundle(folder, bundle)
        values["learned"] = learned
        if not (quiet or as_json):
            print(
                f"Learned from {learned['pairs']:,} of {learned['pairs_given']:,} pairs in "
                f"{learned['seconds']:.0f} s: {folder}"
            )
    if wanted_report:
        report = _report(bundle, valid_source, valid_target, translate, tokenize, device)
        values |= {name: result.as_dict() for name, result in report.items()}
        if not as_json:
            print("\n".join(line for result in report.values() for line in result.lines()))
    if as_json:
        print_json(values)


def _has_both(source: Path | str | None, target: Path | str | None, *names: str) -> bool:
    """Return True if both sides of a text are given, False for neither; ConfigError for one."""
    from headway.errors import ConfigError

    if bool(source) != bool(target):
        present, missing = names if source else reversed(names)
        raise ConfigError(f"There is {present}, but no {missing}.", f"Give {missing}, too.")
    return bool(source)


def _learned(
    folder: Path,
    bundle: "Bundle",
    source: Path,
    target: Path,
    numbers: dict[str, Any],
    quiet: bool,
) -> tuple["Bundle", dict[str, Any]]:
    """Return the bundle for this folder with a shortlist, and the record of its learning."""
    from headway.bundle_folder import check_place
    from headway.data.corpus import iterate_parallel
    from headway.evaluation.shortlists import with_shortlist

    check_place(folder)  # before the work
    started = time.perf_counter()
    pairs = list(iterate_parallel(source, target))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    beginnings = remark_on_tags(bundle, sources, quiet)
    absent = [tag for tag in bundle.tags if tag and tag not in beginnings]
    if absent and not quiet:
        print(
            f"Note: no line begins with {listed(absent)}: what only such lines are translated "
            "into may be left out of the shortlist. Learn it from text of all tags.",
            file=sys.stderr,
        )
    learned = with_shortlist(bundle, sources, targets, **numbers)
    seconds = round(time.perf_counter() - started, 1)
    return learned, learned.record["shortlist"] | {"seconds": seconds}


def _report(
    bundle: "Bundle", source: str, reference: str, translate: bool, tokenize: str, device: str
) -> dict[str, Any]:
    """Return the coverage of the shortlist and, if `translate`, its effect on translations."""
    from headway.data.corpus import read_parallel
    from headway.decoding.translator import TextTranslator
    from headway.evaluation.shortlists import coverage, effect
    from headway.runtime.devices import resolve_device

    pairs = read_parallel(source, reference)
    sources, references = [p.source for p in pairs], [p.target for p in pairs]
    report: dict[str, Any] = {"coverage": coverage(bundle, sources, references)}
    if translate:
        bundle.model.to(resolve_device(device))
        report["effect"] = effect(TextTranslator(bundle), sources, references, tokenize=tokenize)
    return report
