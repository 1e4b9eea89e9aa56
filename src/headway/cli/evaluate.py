"""`headway evaluate`: translate, compare with references, and compare models with each other."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.options import (
    AsJson,
    Beam,
    Debug,
    Device,
    LengthPenalty,
    Quiet,
    TrustCode,
    print_json,
)
from headway.cli.search_options import Engine, Precision, Shortlist
from headway.counted import counted

if TYPE_CHECKING:
    from headway.cli.systems import System
    from headway.data.corpus import Pair
    from headway.evaluation.comparing import SystemComparison

_EXAMPLES = 10
_ROUGH = 100  # sentences; with fewer, an interval is rough
_NOTES = {
    "split": "{sentences} {were} too long and {were} split.",
    "incomplete": "the output limit ended {translations}.",
    "empty": "{translations} {are} empty, although the source has text.",
    "unknown": "{sentences} {have} text that is unknown to the vocabulary.",
    "deleted": "{sentences} {have} characters that the tokenizer deletes.",
    "repeated": "{translations} {repeat} a few words again and again, or {are} far too long. They "
    "are scored as they are; headway translate searches them again.",
    "several_sentences": "source lines with several sentences, each translated as one: {count:,}. "
    "headway translate splits them; to score that, write with its --out and give --hypothesis.",
}

_BLANK_NOTES = {
    "blank_sources": "{source_lines} {are} blank, although the reference has text. Scores are "
    "worse: complete these lines, or take them out of both files.",
    "blank_references": "{references} {are} blank, although a translation has text. Scores are "
    "worse: complete these lines, or take them out of all files.",
}

Models = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL]...", help="Bundles or runs; several are compared with the first."
    ),
]
Hypothesis = Annotated[
    list[Path] | None,
    typer.Option(
        "--hypothesis",
        help="A file of translations to score, alone or beside models; several are allowed.",
    ),
]
Source = Annotated[
    Path | None,
    typer.Option("--source", help="Text to translate; files of translations need none."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="File for the translations; for several models, hyp.en means hyp.1.en, hyp.2.en, …",
    ),
]


def evaluate(
    reference: Annotated[Path, typer.Option("--reference", help="The right translations.")],
    source: Source = None,
    models: Models = None,
    hypothesis: Hypothesis = None,
    out: Out = None,
    metric: Annotated[
        str, typer.Option("--metric", help="Any of bleu,chrf,ter,exact,wer.")
    ] = "bleu,chrf",
    tokenize: Annotated[
        str, typer.Option("--tokenize", help="sacreBLEU's tokenization; none for tokenized text.")
    ] = "13a",
    examples: Annotated[
        int | None,
        typer.Option(
            "--examples",
            min=0,
            help="Number of sentences to show: those that differ most between systems (default "
            "10), or those of one system with the lowest chrF (default none).",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, help="Number of draws of the paired bootstrap.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of these draws.")] = 12345,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    engine: Engine = "auto",
    precision: Precision = "float32",
    shortlist: Shortlist = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Score models, or files of translations, on text with references, and compare them."""
    from headway.cli.systems import System, Work, read_hypotheses, translate_all
    from headway.evaluation.comparing import compare_texts
    from headway.evaluation.metrics import check_metrics, score_texts, tokenized_remark

    metrics = list(dict.fromkeys(name.strip() for name in metric.split(",")))
    check_metrics(metrics, tokenize)  # before the work, not after it
    models, files = models or [], hypothesis or []
    _check_files(models, source, [reference, *files], out)
    pairs, references = _read(source, reference)
    text = f"{source} and {reference}" if source else str(reference)
    written = read_hypotheses(files, text, len(references))
    if len(models) + len(files) > 1 and len(references) < 2:
        raise typer.BadParameter("A comparison of systems needs at least two sentences.")
    way = {"beam_size": beam, "length_penalty": length_penalty}
    work = Work(device, engine, precision, shortlist, way, quiet, trust_code)
    systems = [*translate_all(models, pairs, out, work), *written]
    systems = System.named_apart(systems)
    texts = {system.name: system.texts for system in systems}
    if len(systems) == 1:
        scores = score_texts(systems[0].texts, references, metrics, tokenize)
        shown = _lowest(systems[0].texts, references, examples or 0)
        report = {"scores": [score.as_dict() for score in scores]}
        lines = [str(score) for score in scores]
    else:
        compared = compare_texts(
            texts, references, metrics, tokenize, resamples=resamples, seed=seed
        )
        shown = _furthest(compared, _EXAMPLES if examples is None else examples)
        report, lines = compared.as_dict(), compared.lines()
        if len(set(map(tuple, texts.values()))) == 1:
            lines = [*lines, "All translations are the same, so there is no difference to show."]
    blank = _blank_lines(systems, pairs, references)
    _print(systems, pairs, references, report | blank, lines, shown, as_json=as_json)
    if not quiet:
        for name, count in blank.items():
            if count:
                print(f"Note: {_worded(_BLANK_NOTES[name], count)}", file=sys.stderr)
        remark = tokenized_remark(references, tokenize) if "bleu" in metrics else ""
        _remark(systems, pairs, references, remark)


def _read(source: Path | None, reference: Path) -> "tuple[list[Pair], list[str]]":
    """Return the pairs of source and reference, empty without a source, and the references."""
    from headway.data.corpus import read_parallel, read_sentences
    from headway.errors import DataError

    if source is not None:
        pairs = read_parallel(source, reference)
        return pairs, [pair.target for pair in pairs]
    references = list(read_sentences(reference))
    if not references:
        raise DataError(f"{reference} is empty.", "Give a file with one sentence a line.")
    return [], references


def _check_files(
    models: Sequence[Path], source: Path | None, read: Sequence[Path], out: Path | None
) -> None:
    """Raise an error for text in place of a model, and for an output that would replace a text.

    read: the references, and files of translations.
    """
    import os

    from headway.cli.systems import output_paths

    for model in models:
        if model.is_file():
            raise typer.BadParameter(
                f"{model} is a file, not a model. Text is named with --source, --reference and "
                "--hypothesis."
            )
    if not models and out is not None:
        raise typer.BadParameter("--out is for translations of a model, but none is given.")
    if not models and len(read) == 1:
        raise typer.BadParameter("There is nothing to score. Name a model, or --hypothesis FILE.")
    if models and source is None:
        raise typer.BadParameter("A model needs text to translate. Name it with --source FILE.")
    texts = [*read, source] if source else read
    for path in output_paths(out, len(models)):
        for text in texts:
            if path.is_file() and os.path.realpath(path) == os.path.realpath(text):
                raise typer.BadParameter(
                    f"{path} is an input and would be overwritten; choose another."
                )


def _blank_lines(
    systems: "Sequence[System]", pairs: "Sequence[Pair]", references: Sequence[str]
) -> dict[str, int]:
    """Count the blank lines that change scores: of the sources, if known, and of the references.

    A line that is blank everywhere changes none.
    """
    lost = [not pair.source.strip() and bool(pair.target.strip()) for pair in pairs]
    translations = zip(*(system.texts for system in systems), strict=True)
    lacking = [
        not reference.strip() and any(map(str.strip, texts))
        for reference, texts in zip(references, translations, strict=True)
    ]
    counts = {"blank_sources": sum(lost)} if pairs else {}
    return counts | {"blank_references": sum(lacking)}


def _lowest(texts: Sequence[str], references: Sequence[str], count: int) -> dict[int, list[float]]:
    """Return the places of the sentences with the lowest chrF, and this; none that are correct."""
    from headway.evaluation.comparing import sentence_chrf

    if not count:
        return {}
    chrf = sentence_chrf(texts, references)
    pairs = zip(texts, references, strict=True)
    wrong = [place for place, (text, right) in enumerate(pairs) if text.strip() != right.strip()]
    return {place: [chrf[place]] for place in sorted(wrong, key=chrf.__getitem__)[:count]}


def _furthest(compared: "SystemComparison", count: int) -> dict[int, list[float]]:
    """Return the places of the sentences that differ most, with the chrF of each system."""
    systems = compared.sentence_chrf.values()
    return {place: [chrf[place] for chrf in systems] for place in compared.furthest(count)}


def _print(
    systems: "Sequence[System]",
    pairs: "Sequence[Pair]",
    references: Sequence[str],
    report: dict[str, Any],
    lines: Sequence[str],
    shown: dict[int, list[float]],
    *,
    as_json: bool,
) -> None:
    """Print scores and examples.

    pairs: empty if only files are scored. shown: chrF of each system, by place of the sentence.
    """
    if as_json:
        facts = [system.facts for system in systems]
        if len(systems) > 1:
            scores = zip(report["systems"], facts, strict=True)
            report = report | {"systems": [score | more for score, more in scores]}
        else:
            report = report | facts[0]
        sentences = [
            {"line": place + 1}
            | ({"source": pairs[place].source} if pairs else {})
            | {
                "reference": references[place],
                "translations": [system.texts[place] for system in systems],
                "chrf": list(chrf),
            }
            for place, chrf in shown.items()
        ]
        print_json(report | {"sentences": len(references), "examples": sentences})
        return
    for line in lines:
        print(line)
    width = max(len(name) for name in ("reference", *(system.name for system in systems)))
    for place, chrf in shown.items():
        print(f"\nline {place + 1:,}")
        if pairs:
            print(f"  {'source':<{width}}  {pairs[place].source}")
        print(f"  {'reference':<{width}}  {references[place]}")
        for system, value in zip(systems, chrf, strict=True):
            print(f"  {system.name:<{width}}  {system.texts[place]}  (chrF {value:.2f})")


def _worded(note: str, count: int) -> str:
    """Return a note with its count, with nouns and verbs in singular or plural."""
    names = ("sentence", "translation", "source line", "reference")
    nouns = {f"{name.replace(' ', '_')}s": counted(count, name) for name in names}
    verbs = {"are": "is", "were": "was", "have": "has", "repeat": "repeats"}
    if count != 1:
        verbs = {plural: plural for plural in verbs}
    return note.format(count=count, **nouns, **verbs)


def _remark(
    systems: "Sequence[System]",
    pairs: "Sequence[Pair]",
    references: Sequence[str],
    of_references: str,
) -> None:
    """Print remarks on standard error; pairs: empty without a source."""
    from headway.evaluation.doubts import doubts, doubts_of_files

    texts = {system.name: system.texts for system in systems}
    files = [system.name for system in systems if not system.facts]
    for system in systems:
        whose = f"{system.name}: " if len(systems) > 1 else ""
        for name, note in _NOTES.items():
            if count := system.facts.get(name):
                print(f"Note: {whose}{_worded(note, count)}", file=sys.stderr)
        if system.foreign:
            print(f"Note: {whose}{system.foreign}", file=sys.stderr)
    doubted = doubts(pairs, texts, files) if pairs else doubts_of_files(references, texts, files)
    for remark in filter(None, [*doubted, of_references]):
        print(f"Note: {remark}", file=sys.stderr)
    if len(systems) > 1 and len(references) < _ROUGH:
        print(
            f"Note: with {counted(len(references), 'sentence')} the intervals are rough; hundreds "
            "are better.",
            file=sys.stderr,
        )
