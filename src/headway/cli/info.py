"""`headway info`: a summary of a bundle."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.options import AsJson, Debug, Quiet, print_json
from headway.cli.remarks import remark_on_weights

_NAMED = 20  # pieces


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A bundle, or a run that holds one.")
    ] = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels",
            help="Show which implementation computes each operation on this CPU, and why; "
            "without MODEL for the paper's base model.",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show sizes, vocabulary, training record and checksum of a model."""
    if kernels:
        _show_kernels(model, as_json=as_json)
        return
    if model is None:
        raise typer.BadParameter("Name a model, or add --kernels.")
    from headway.data.vocabulary import never_cut
    from headway.evaluation.units import scores_in_percent
    from headway.model.accounting import count_by_part
    from headway.saved_bundle import read_bundle

    remark_on_weights(model, quiet)
    bundle = read_bundle(model, mapped=True)
    by_part = count_by_part(bundle.tensors)
    values: dict[str, Any] = {
        "bundle": str(bundle.folder),
        "checksum": bundle.checksum,
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "parameters": sum(by_part.values()),
        "parameters_by_part": by_part,
        "changed": bundle.changed,
        "tokenizer": {
            "joint": bundle.source_tokenizer == bundle.target_tokenizer,
            "source_kind": bundle.source_tokenizer.kind,
            "source_pieces": bundle.source_tokenizer.vocabulary_size,
            "target_kind": bundle.target_tokenizer.kind,
            "target_pieces": bundle.target_tokenizer.vocabulary_size,
            "source_never_cut": never_cut(bundle.source_tokenizer),
            "target_never_cut": never_cut(bundle.target_tokenizer),
        },
        "model": bundle.config.model_dump(),
        "decoding": bundle.decoding.model_dump(),
        "shortlist": bundle.shortlist is not None,
        "drafts": bundle.drafts is not None,
        "record": scores_in_percent(bundle.record),
    }
    if as_json:
        print_json(values)
        return
    _show(values)


def _show_kernels(model: Path | None, *, as_json: bool) -> None:
    import torch

    from headway.config.presets import base
    from headway.inspection.kernel_table import LENGTH, SENTENCES, kernel_table
    from headway.kernels.dispatch import capabilities
    from headway.runtime.devices import processor
    from headway.saved_bundle import read_bundle

    config = base() if model is None else read_bundle(model, mapped=True).config
    rows = kernel_table(config)
    machine = processor(torch.device("cpu"))
    if as_json:
        kernels = [row._asdict() for row in rows]
        print_json({"processor": machine, "capabilities": capabilities(), "kernels": kernels})
        return
    available = [name for name, is_available in capabilities().items() if is_available]
    print(f"{machine}: {', '.join(available) or 'none of the capabilities that kernels use'}")
    parts: dict[tuple[str, str, str, str, str], list[str]] = {}
    for row in rows:
        key = row.phase, row.operation, row.precision, row.implementation, row.reason
        parts.setdefault(key, []).append(row.part)
    table = [("phase", "operation", "precision", "implementation", "reason")]
    for (phase, operation, precision, implementation, reason), names in parts.items():
        named = ", ".join(name for name in names if name)
        operation = f"{operation}: {named}" if named else operation
        table.append((phase, operation, precision, implementation, reason))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        print(line.rstrip())
    print(
        f"\nTraining: a batch of {SENTENCES} sentences of {LENGTH} tokens, in training mode with "
        "gradients, without a trace, torch.compile or a counter of operations."
    )


def _show(values: dict[str, Any]) -> None:
    record = values["record"]
    rows = [
        ("bundle", values["bundle"]),
        ("checksum", values["checksum"]),
        ("languages", f"{values['source_language']} → {values['target_language']}"),
        ("parameters", f"{values['parameters']:,}"),
    ]
    rows += [(f"  {name}", f"{count:,}") for name, count in values["parameters_by_part"].items()]
    rows += [(f"changed: {path or 'the model'}", kind) for path, kind in values["changed"].items()]
    tokenizer = values["tokenizer"]
    rows.append(
        (
            "vocabulary",
            f"{tokenizer['source_pieces']:,} tokens ({tokenizer['source_kind']}), shared"
            if tokenizer["joint"]
            else f"{tokenizer['source_pieces']:,} ({tokenizer['source_kind']}) and "
            f"{tokenizer['target_pieces']:,} ({tokenizer['target_kind']}) tokens",
        )
    )
    for side in ("source", "target"):
        if whole := tokenizer[f"{side}_never_cut"]:
            more = ", …" if len(whole) > _NAMED else ""
            rows.append((f"{side} tokens never cut", f"{', '.join(whole[:_NAMED])}{more}"))
    model = dict(values["model"])
    if model["positions"] != "learned":
        del model["max_positions"]  # sinusoids have no end
    rows += [(name, str(value)) for name, value in model.items() if value is not None]
    rows += [(f"search: {name}", str(value)) for name, value in values["decoding"].items()]
    for name in ("steps", "epochs", "target_tokens", "seconds", "seed", "precision", "trained_on"):
        if name in record:
            rows.append((f"training: {name}", str(record[name])))
    rows += [(part, "yes") for part in ("shortlist", "drafts") if values[part]]
    for learned in ("shortlist", "drafts"):
        for name, value in record.get(learned, {}).items():
            rows.append((f"{learned}: {name}", f"{value:,}"))
    for text in ("valid", "test"):
        for score in record.get(text, []):
            rows.append((f"{text} {score['name']}", f"{score['value']:.2f}  {score['signature']}"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
