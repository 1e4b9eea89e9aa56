"""`headway export`: a bundle in another framework's form."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.options import AsJson, Debug, Model, Quiet, TrustCode, print_json
from headway.cli.remarks import remark_on_weights
from headway.counted import counted

if TYPE_CHECKING:
    from headway.bundle import Bundle


_OTHER_FORMS = {
    "bergamot": "firefox", "mozilla": "firefox", "student": "firefox",
    "hf": "marian", "hugging-face": "marian", "huggingface": "marian", "opus-mt": "marian",
    "transformers": "marian", "libretranslate": "argos",
}  # fmt: skip
"""By the name of a program: the form that it reads."""


def export(
    model: Model,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="keras|ctranslate2|firefox|argos|marian", help="Format to write."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="A new folder; for argos a new file, NAME.argosmodel.")
    ],
    quantization: Annotated[
        str | None,
        typer.Option(
            "--quantization",
            metavar="none|int8|float16",
            help="How weights are stored (ctranslate2, argos); unset: none, which is float32.",
        ),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(
            "--sample",
            metavar="FILE",
            help="Sentences to compare on, one a line; not for keras.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    trust_code: TrustCode = False,
) -> None:
    """Write a model in the format of another framework, after checking that both agree."""
    from headway.bundle import load_bundle

    _check(to, quantization, sample)
    bundle = load_bundle(remark_on_weights(model, quiet), trust_code=trust_code)
    if to in ("ctranslate2", "argos"):
        result, text = _to_ctranslate2(bundle, out, quantization or "none", sample, to=to)
    elif to == "firefox":
        result, text = _to_firefox(bundle, out, sample)
    elif to == "marian":
        result, text = _to_marian(bundle, out, sample)
    else:
        result, text = _to_keras(bundle, out)
    if as_json:
        print_json(result)
    elif not quiet:
        print(text)


def _check(to: str, quantization: str | None, sample: Path | None) -> None:
    """Raise ConfigError for an unknown form, and for options that it does not have."""
    from headway.errors import ConfigError, suggest

    forms = ["argos", "ctranslate2", "firefox", "keras", "marian"]
    if to not in forms:
        meant = _OTHER_FORMS.get(to.lower())
        remedy = f"That form is --to {meant}." if meant else suggest(to, forms)
        raise ConfigError(f"There is no export to '{to}'.", remedy)
    if quantization and to not in ("ctranslate2", "argos"):
        raise ConfigError("--quantization is for --to ctranslate2 and argos only.", "Leave it out.")
    if sample and to == "keras":
        raise ConfigError("--sample is not for --to keras.", "Leave it out.")


def _to_keras(bundle: "Bundle", out: Path) -> tuple[dict[str, str | int | float], str]:
    """Export; return the result as JSON and as text."""
    # The file is the same for every back end, and this one is always installed.
    os.environ.setdefault("KERAS_BACKEND", "torch")
    from headway.interop.keras.export import export as write

    result = write(bundle, out)
    return (
        {"folder": str(result.folder), "largest_difference": result.largest_difference},
        f"Wrote {result.folder}; logits differ by {result.largest_difference:.2g} at most.",
    )


def _to_firefox(
    bundle: "Bundle", out: Path, sample: Path | None
) -> tuple[dict[str, str | int | float], str]:
    """Export; return the result as JSON and as text."""
    from dataclasses import asdict

    from headway.data.lines import read_lines
    from headway.interop.marian.firefox import export as write

    result = write(bundle, out, [] if sample is None else list(read_lines(sample)))
    random = "" if sample else " of random tokens"
    text = (
        f"Wrote {result.folder}; weights rounded to 8 bits change {result.changed} of the greedy "
        f"translations of {counted(result.sentences, 'sentence')}{random}."
    )
    if not sample:
        text += (
            "\nRandom tokens say little about real text. Give a hundred or more sentences with "
            "--sample FILE: they also decide how Firefox's engines round activations."
        )
    return asdict(result) | {"folder": str(result.folder)}, text


def _to_marian(
    bundle: "Bundle", out: Path, sample: Path | None
) -> tuple[dict[str, str | int | float], str]:
    """Export; return the result as JSON and as text."""
    from dataclasses import asdict

    from headway.data.lines import read_lines
    from headway.interop.marian.hugging_face_export import export as write

    result = write(bundle, out, [] if sample is None else list(read_lines(sample)))
    return asdict(result) | {"folder": str(result.folder)}, (
        f"Wrote {result.folder}; README.md there says how to run it.\n"
        f"In float64 the logits of {counted(result.sentences, 'sentence')} differ by "
        f"{result.largest_difference:.2g} at most."
    )


def _to_ctranslate2(
    bundle: "Bundle", out: Path, quantization: str, sample: Path | None, *, to: str
) -> tuple[dict[str, str | int | float], str]:
    """Export, as a package of Argos Translate if `to` says so; return the result as JSON and text.

    The model in such a package is one for CTranslate2.
    """
    from dataclasses import asdict

    from headway.data.lines import read_lines
    from headway.interop import argos, ctranslate2

    write = argos.export if to == "argos" else ctranslate2.export
    texts = [] if sample is None else list(read_lines(sample))
    result = write(bundle, out, quantization, texts)
    lines = [
        f"Wrote {result.folder}; README.md {'in it' if to == 'argos' else 'there'} says how to run "
        "it.",
        f"In float32 the greedy translations of {counted(result.sentences, 'sentence')} are the "
        "same"
        + (f", {result.ties} up to a tie" if result.ties else "")
        + f"; log-probabilities differ by {result.largest_difference:.2g} at most.",
    ]
    if texts and quantization != "none":
        lines.append(f"{quantization} changes {result.changed} of the {len(texts)} translations.")
    return asdict(result) | {"folder": str(result.folder)}, "\n".join(lines)
