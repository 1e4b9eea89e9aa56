"""`headway translate`: one line out for each line in, in the same order."""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headway.cli import search_options as search
from headway.cli.options import AsJson, Beam, Debug, Device, LengthPenalty, Model, Quiet, TrustCode
from headway.cli.paragraphs import ParagraphWatch
from headway.cli.remarks import remark_on_precision, remark_on_unfinished
from headway.cli.shown import showing_lines
from headway.cli.tags import TagWatch

if TYPE_CHECKING:
    from headway.cli.line_notes import LineNotes
    from headway.cli.wishes import Wishes
    from headway.decoding.build_engine import EngineName, PrecisionName
    from headway.decoding.translation import StreamEnd
    from headway.decoding.translator import TextTranslator

_STREAM_ALONE = "--stream prints text alone: no --out, --alignments, --nbest or --json."


def translate(
    ctx: typer.Context,
    model: Model,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Text, one sentence a line; default: standard input."
        ),
    ] = None,
    text: search.Text = None,
    as_text: search.AsText = False,
    document_format: search.Format = None,
    keep: search.Keep = None,
    lower_capitals: search.LowerCapitals = True,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write; default: standard output.")
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    nbest: search.Nbest = 1,
    prefix: search.Prefix = None,
    batch_tokens: search.BatchTokens = 16384,
    ban: search.Ban = None,
    terms: search.Terms = None,
    glossary: search.Glossary = None,
    split_sentences: search.SplitSentences = None,
    min_length: search.MinLength = None,
    max_length: search.MaxLength = None,
    length_form: search.LengthForm = None,
    coverage_penalty: search.CoveragePenalty = None,
    attention_layer: search.AttentionLayer = None,
    alignments: search.Alignments = None,
    patience: search.Patience = None,
    repetition_penalty: search.RepetitionPenalty = None,
    no_repeat_ngram: search.NoRepeatNgram = None,
    keep_runaways: search.KeepRunaways = False,
    prefix_bias: search.PrefixBias = None,
    groups: search.Groups = None,
    diversity: search.Diversity = None,
    sample: search.Sample = False,
    temperature: search.Temperature = None,
    top_k: search.TopK = None,
    top_p: search.TopP = None,
    min_p: search.MinP = None,
    seed: search.Seed = None,
    shortlist: search.Shortlist = False,
    stream: search.Stream = False,
    ensemble: search.Ensemble = None,
    engine: search.Engine = "auto",
    precision: search.Precision = "auto",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Translate a file or standard input; docs/en/howto/decoding.md says what each option does."""
    from headway.cli.line_notes import LineNotes

    is_document = document_format is not None
    _check_sentences(model, file, text, as_text=as_text or is_document)
    inputs = {"FILE": file, "--prefix": prefix, "--terms": terms, "--glossary": glossary}
    _check_files(inputs, {"--out": out, "--alignments": alignments})
    _check_options(ctx.params)
    translator = _load(model, ctx.params)
    remark_on_unfinished([model, *(ensemble or [])], quiet)
    remark_on_precision(translator, precision, quiet)
    wishes = _wishes(translator, ctx.params)
    if document_format is not None:
        from headway.cli.documents import translate_document
        from headway.documents import check_form

        translate_document(translator, wishes, check_form(document_format), ctx.params)
        wishes.finish(quiet)
        return
    tags = TagWatch(translator.bundle, quiet)
    watch = ParagraphWatch(translator, split_sentences=split_sentences, quiet=quiet)
    mended = not (stream or keep_runaways or wishes.options.sampling)
    notes = LineNotes(translator.requests, runaways_mended=mended, quiet=quiet)
    incoming = (list(watch.of(tags.of(lines))) for lines in _incoming(file, text, as_text))
    if stream:
        _stream(translator, incoming, wishes, notes)
    else:
        form = {"nbest": nbest, "as_json": as_json, "notes": notes, "alignments": alignments}
        way = {
            "attention": alignments is not None,
            "batch_tokens": batch_tokens,
            "mend_runaways": mended,
        }
        with showing_lines(file, out, quiet=quiet):
            _write(translator, incoming, wishes, way, out, form)
    wishes.finish(quiet)
    tags.finish()
    notes.finish()


def _wishes(translator: "TextTranslator", chosen: dict[str, Any]) -> "Wishes":
    from headway.cli.wishes import Wishes

    names = ("prefix", "terms", "glossary", "split_sentences", "file")
    wishes = Wishes(
        search.change(translator.options, chosen),
        banned=chosen["ban"] or [],
        **{name: chosen[name] for name in names},
    )
    wishes.check(translator.requests)
    return wishes


def _load(model: Path, chosen: Mapping[str, Any]) -> "TextTranslator":
    from headway.decoding.translator import load
    from headway.runtime.memory import collect_only_new_objects

    translator = load(
        model,
        chosen["device"],
        engine=cast("EngineName", chosen["engine"]),  # `load` checks the names
        ensemble=chosen["ensemble"] or [],
        precision=cast("PrecisionName", chosen["precision"]),
        trust_code=chosen["trust_code"],
    )
    collect_only_new_objects()
    return translator


def _check_options(chosen: Mapping[str, Any]) -> None:
    """Raise an error for options that do not go together."""
    lines = chosen["out"] or chosen["alignments"] or chosen["nbest"] != 1 or chosen["as_json"]
    if chosen["stream"] and lines:
        raise typer.BadParameter(_STREAM_ALONE)
    if chosen["document_format"] is not None:
        from headway.cli.documents import check_options
        from headway.documents import check_form

        check_form(chosen["document_format"])
        check_options(chosen)
    elif chosen["keep"]:
        raise typer.BadParameter("--keep is for documents; name their --format.")
    if chosen["prefix_bias"] is not None and chosen["prefix"] is None:
        raise typer.BadParameter("--prefix-bias favours a prefix; name its file with --prefix.")


def _check_sentences(
    model: Path, file: Path | None, text: Sequence[str] | None, *, as_text: bool
) -> None:
    """Raise an error for a sentence in place of a file, a file next to sentences, or a document."""
    if file is None:
        return
    if text:
        raise typer.BadParameter("--text and FILE are both text; give one of them.")
    if not os.path.exists(file) and (" " in str(file) or not file.suffix):
        from headway.errors import ConfigError, shown

        raise ConfigError(
            f"There is no file {shown(str(file))}.",
            f"To translate a sentence: headway translate {quote(str(model))} --text "
            f"{quote(str(file))}",
        )
    if not as_text:
        from headway.data.documents import refuse_document

        refuse_document(file)


def _incoming(file: Path | None, text: Sequence[str] | None, as_text: bool) -> Iterator[list[str]]:
    from headway.cli.lines import incoming_lines
    from headway.data.documents import without_documents

    if text:
        return iter([[line for sentence in text for line in sentence.split("\n")]])
    lines = incoming_lines(file)
    return lines if as_text else without_documents(lines, str(file or "Standard input"))


def _check_files(inputs: dict[str, Path | None], outputs: dict[str, Path | None]) -> None:
    """Raise an error, before the work, for an output that would replace another named file."""
    named = [(name, path) for name, path in (inputs | outputs).items() if path is not None]
    for number, (name, path) in enumerate(named):
        for earlier_name, earlier in named[:number]:
            same = os.path.realpath(path) == os.path.realpath(earlier)
            if name in outputs and same and (path.is_file() or not path.exists()):  # no device
                raise typer.BadParameter(f"{earlier_name} and {name} are one file; choose two.")
    if outputs["--out"] is None:
        from headway.data.output import goes_to

        for name, path in inputs.items():
            if path is not None and goes_to(path):  # reading would never end, because it grows
                raise typer.BadParameter(f"{name} and standard output are one file; choose two.")


def _write(
    translator: "TextTranslator",
    incoming: Iterator[list[str]],
    wishes: "Wishes",
    way: dict[str, Any],
    out: Path | None,
    form: dict[str, Any],
) -> None:
    from headway.cli.lines import LineWriter

    with LineWriter(out, **form) as writer:
        for lines in incoming:
            translations = translator.translate(lines, **way, **wishes.of(len(lines)))
            writer.write(lines, translations)


def _stream(
    translator: "TextTranslator",
    incoming: Iterator[list[str]],
    wishes: "Wishes",
    notes: "LineNotes",
) -> None:
    from headway.cli.lines import check_output

    check_output()
    for line in chain.from_iterable(incoming):
        notes.add(line, _print_bits(translator.stream(line, **wishes.of(1))))


def _print_bits(bits: "Generator[str, None, StreamEnd]") -> "StreamEnd":
    """Print a translation as it comes; return its end, which has the facts for remarks."""
    while True:
        try:
            print(next(bits), end="", flush=True)
        except StopIteration as end:
            print(flush=True)
            return cast("StreamEnd", end.value)
