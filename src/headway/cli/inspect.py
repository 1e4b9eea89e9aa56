"""`headway inspect`: one sentence, every intermediate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headway.cli.options import AsJson, Debug, Device, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights

if TYPE_CHECKING:
    from headway.inspection.phrases import Language
    from headway.inspection.steps import TargetRow
    from headway.inspection.trace import Trace

_TRACES = (".safetensors", ".json", ".npz")
_FIGURES = (".png", ".svg", ".pdf")
_PAGE = ".html"


def inspect(
    model: Model,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Sentence to translate.")],
    target: Annotated[
        str | None,
        typer.Option("--target", help="A translation to look at instead of the model's own."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="Beginning of the model's own translation.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File for the trace (.safetensors, .json, .npz), a picture of attention (.png, "
            ".svg, .pdf), or the explorer with this sentence (.html).",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="Tensors to show, such as '*.cross_attention.weights'; of a picture, the weights.",
        ),
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", help="Work out one number of this tensor.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at", metavar="AXIS=PLACE", help="Place of that number; give it once for each axis."
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang", metavar="ko|en", help="Language of the explanation (unset: en) or the page."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Show what a model computes for one sentence: all tensors by name, each number explained."""
    from headway.cli.line_notes import UNFAMILIAR
    from headway.inspection.explain import explain as work_out
    from headway.inspection.familiarity import is_unfamiliar_trace
    from headway.inspection.steps import target_rows
    from headway.inspection.translator import load
    from headway.saved_bundle import find_bundle

    _check(out, explain, at, lang)
    folder = find_bundle(remark_on_weights(model, quiet))
    translator = load(folder, device, precision="float32", trust_code=trust_code)
    trace = translator.trace(sentence, target, prefix=prefix)
    is_unfamiliar = target is None and is_unfamiliar_trace(
        translator.bundle, trace, forced=prefix is not None
    )
    if is_unfamiliar and not quiet:
        print(f"Note: beyond what this model knows; {UNFAMILIAR}.", file=sys.stderr)
    if out is not None and out.suffix == _PAGE:
        from headway.serving.export import write_page

        state = "#/attention" if lang is None else f"#/attention?lang={lang}"
        write_page(translator, trace, out, state=state, model=str(model))
    elif out is not None:
        _write(trace, out, name)
    if out is not None and not quiet:
        print(f"Wrote {out}", file=sys.stderr)
    if explain is not None:
        place = {axis: _number(text) for axis, text in (_pair(pair) for pair in at or [])}
        explanation = work_out(trace, explain, (), place, language=cast("Language", lang or "en"))
        if as_json:
            print_json(explanation.as_dict())
        else:
            print(explanation)
        return
    rows = target_rows(trace)
    if as_json:
        print_json(_values(trace, rows, name) | {"unfamiliar": is_unfamiliar})
    elif out is None or (not quiet and out.suffix in _TRACES):
        _print(trace, rows, name)


def _check(out: Path | None, explain: str | None, at: list[str] | None, lang: str | None) -> None:
    """Raise an error before the work if the output or the explanation is impossible."""
    from headway.errors import ConfigError, TraceError
    from headway.inspection.phrases import check_language
    from headway.runtime.atomic_files import check_file_place

    if out is not None and out.suffix not in (*_TRACES, *_FIGURES, _PAGE):
        raise ConfigError(
            f"A trace cannot be written as '{out.suffix or out.name}'.",
            f"Write the tensors ({', '.join(_TRACES)}), a picture of attention "
            f"({', '.join(_FIGURES)}), or a page ({_PAGE}).",
        )
    if out is not None:
        check_file_place(out, TraceError)
    if at and explain is None:
        raise ConfigError("--at is for a tensor, but none was named.", "Add --explain NAME.")
    if lang is not None:
        check_language(lang)
        if explain is None and (out is None or out.suffix != _PAGE):
            raise ConfigError(
                "--lang is for an explanation or a page, but neither was asked for.",
                f"Add --explain NAME, or --out page{_PAGE}.",
            )
    for pair in at or []:
        if "=" not in pair:
            raise ConfigError(f"--at {pair} is not a place.", "Write it as --at head=0.")


def _pair(text: str) -> tuple[str, str]:
    axis, _, place = text.partition("=")
    return axis, place


def _number(text: str) -> int | str:
    """Return a number if the text is one, or else the text, which is a piece."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _write(trace: "Trace", out: Path, name: str | None) -> None:
    """Write the tensors, or a picture of the attention weights of this name."""
    if out.suffix in _TRACES:
        trace.save(out)
        return
    from headway.inspection.figures import trace_attention

    trace_attention(trace, out, name)


def _print(trace: "Trace", rows: "list[TargetRow]", name: str | None) -> None:
    from headway.inspection.table import rows_table

    if name is not None:
        _matching_names(trace, name)
        print(trace.table(name))
        return
    print(rows_table(rows))
    print()
    print(trace)


def _matching_names(trace: "Trace", name: str) -> list[str]:
    """Return the names that match; TraceError with the nearest ones if none does."""
    names = trace.names(name) or trace.names(name, derived=True)
    if not names:
        trace[name]  # raises, with the nearest names
    return names


def _values(trace: "Trace", rows: "list[TargetRow]", name: str | None) -> dict[str, Any]:
    assert trace.sentence is not None
    return {
        "source": trace.sentence.source,
        "target": trace.sentence.target,
        "source_pieces": trace.sentence.source_pieces,
        "rows": [
            {
                "reads": row.reads,
                "writes": row.writes,
                "probability": row.probability,
                "best": row.best,
                "others": row.others,
            }
            for row in rows
        ],
        "tensors": {
            path: {axis.name: length for axis, length in _axes(trace, path)}
            for path in (list(trace) if name is None else _matching_names(trace, name))
        },
    }


def _axes(trace: "Trace", name: str) -> list[tuple[Any, int]]:
    return list(zip(trace[name].axes, trace[name].shape, strict=True))
