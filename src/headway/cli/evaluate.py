"""`headway evaluate`: translate and compare with references."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from headway.cli.options import (
    AsJson,
    Beam,
    Debug,
    Device,
    LengthPenalty,
    Model,
    Quiet,
    print_json,
)
from headway.cli.search_options import Engine, Precision, Shortlist
from headway.cli.tags import TagWatch

if TYPE_CHECKING:
    from headway.data.corpus import Pair
    from headway.decoding.engines import EngineName, PrecisionName
    from headway.decoding.request_maker import RequestMaker
    from headway.decoding.translation import Translation


def evaluate(
    model: Model,
    source: Annotated[Path, typer.Option("--source", help="Text to translate.")],
    reference: Annotated[Path, typer.Option("--reference", help="The right translations.")],
    metric: Annotated[
        str, typer.Option("--metric", help="Any of bleu,chrf,ter,exact,wer.")
    ] = "bleu,chrf",
    tokenize: Annotated[
        str, typer.Option("--tokenize", help="sacreBLEU's; none for tokenized text.")
    ] = "13a",
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    engine: Engine = "auto",
    precision: Precision = "float32",
    shortlist: Shortlist = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Score a model on text with references."""
    import time
    from dataclasses import replace

    from headway.data.corpus import read_parallel
    from headway.decoding.translator import load
    from headway.evaluation.metrics import check_metrics, score_texts, tokenized_remark

    metrics = list(dict.fromkeys(name.strip() for name in metric.split(",")))
    check_metrics(metrics, tokenize)  # before the work, not after it
    pairs = read_parallel(source, reference)
    references = [pair.target for pair in pairs]
    translator = load(
        model,
        device,
        engine=cast("EngineName", engine),  # `load` checks the names
        precision=cast("PrecisionName", precision),
    )
    started = time.perf_counter()
    tags = TagWatch(translator.bundle, quiet)
    translations = translator.translate(
        list(tags.of(pair.source for pair in pairs)),
        beam_size=beam,
        length_penalty=length_penalty,
        options=replace(translator.options, shortlist=shortlist),
    )
    seconds = time.perf_counter() - started
    tags.finish()
    scores = score_texts(
        [translation.text for translation in translations],
        references,
        metrics,
        tokenize,
    )
    counts = _counts(pairs, translations, translator.requests)
    if as_json:
        plain = [score.as_dict() for score in scores]
        print_json(
            {"scores": plain, "sentences": len(pairs), "seconds": round(seconds, 2)} | counts
        )
        return
    for score in scores:
        print(score)
    if not quiet:
        _remark(counts, tokenized_remark(references, tokenize) if "bleu" in metrics else "")


def _counts(
    pairs: "Sequence[Pair]", translations: "Sequence[Translation]", requests: "RequestMaker"
) -> dict[str, int]:
    """Return how many were not translated as a whole, and how many became nothing."""
    lost = [
        not found.text.strip() and bool(requests.parts(pair.source))
        for pair, found in zip(pairs, translations, strict=True)
    ]
    return {
        "split": sum(translation.num_parts > 1 for translation in translations),
        "incomplete": sum(not translation.complete for translation in translations),
        "empty": sum(lost),
    }


def _remark(counts: dict[str, int], of_references: str) -> None:
    """Say on standard error what is remarkable."""
    if split := counts["split"]:
        print(f"Note: {split:,} sentences were too long and were split.", file=sys.stderr)
    if incomplete := counts["incomplete"]:
        print(f"Note: the output limit ended {incomplete:,} translations.", file=sys.stderr)
    if empty := counts["empty"]:
        print(f"Note: {empty:,} translations are empty.", file=sys.stderr)
    if of_references:
        print(f"Note: {of_references}", file=sys.stderr)
