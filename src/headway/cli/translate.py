"""`headway translate`: one line in, one line out, always, in order."""

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headway.cli import search_options as search
from headway.cli.options import AsJson, Beam, Debug, Device, LengthPenalty, Model, Quiet
from headway.cli.tags import TagWatch
from headway.cli.weights import remark_on_weights

if TYPE_CHECKING:
    from headway.cli.lines import LineWriter
    from headway.decoding.engines import EngineName, PrecisionName
    from headway.decoding.options import SearchOptions
    from headway.decoding.translation import StreamEnd
    from headway.decoding.translator import Translator

_STREAM_ALONE = "--stream prints text alone: no --out, --alignments, --nbest or --json."


def translate(
    ctx: typer.Context,
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Text, one sentence a line; else stdin.")
    ] = None,
    text: search.Text = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; else stdout.")] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    nbest: search.Nbest = 1,
    prefix: search.Prefix = None,
    batch_tokens: search.BatchTokens = 16384,
    ban: search.Ban = None,
    terms: search.Terms = None,
    min_length: search.MinLength = None,
    max_length: search.MaxLength = None,
    length_form: search.LengthForm = None,
    coverage_penalty: search.CoveragePenalty = None,
    attention_layer: search.AttentionLayer = None,
    alignments: search.Alignments = None,
    patience: search.Patience = None,
    repetition_penalty: search.RepetitionPenalty = None,
    no_repeat_ngram: search.NoRepeatNgram = None,
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
    precision: search.Precision = "float32",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Translate a file or standard input; docs/decoding.md says what each option does."""
    _check_sentences(model, file, text)
    _check_files(file, prefix, terms, out=out, alignments=alignments)
    if stream and (out or alignments or nbest != 1 or as_json):
        raise typer.BadParameter(_STREAM_ALONE)
    if prefix_bias is not None and prefix is None:
        raise typer.BadParameter("--prefix-bias favours a prefix; name its file with --prefix.")
    for path in (model, *(ensemble or [])):
        remark_on_weights(path, quiet)
    translator = _load(model, device, engine, precision, ensemble or [])
    wishes = _Wishes(search.change(translator.options, ctx.params), ban or [], prefix, terms)
    tags = TagWatch(translator.bundle, quiet)
    if stream:
        _stream(translator, _incoming(file, text), wishes, tags, quiet)
    else:
        from headway.cli.lines import LineWriter

        form = {"nbest": nbest, "as_json": as_json, "quiet": quiet, "alignments": alignments}
        with LineWriter(out, requests=translator.requests, **form) as writer:
            _write(translator, _incoming(file, text), wishes, tags, writer, batch_tokens)
    wishes.finish(quiet)
    tags.finish()


def _load(
    model: Path, device: str, engine: str, precision: str, ensemble: Sequence[Path]
) -> "Translator":
    from headway.decoding.translator import load

    return load(
        model,
        device,
        engine=cast("EngineName", engine),  # `load` checks the names
        ensemble=ensemble,
        precision=cast("PrecisionName", precision),
    )


def _check_sentences(model: Path, file: Path | None, text: Sequence[str] | None) -> None:
    """Refuse a sentence where a file is to be named, and a file beside sentences."""
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


def _incoming(file: Path | None, text: Sequence[str] | None) -> Iterator[list[str]]:
    from headway.cli.lines import incoming_lines

    if text:
        return iter([[line for sentence in text for line in sentence.split("\n")]])
    return incoming_lines(file)


def _check_files(
    file: Path | None,
    prefix: Path | None,
    terms: Path | None,
    *,
    out: Path | None,
    alignments: Path | None,
) -> None:
    """Refuse, before the work, an output that would take the place of another file of the call."""
    inputs = {"FILE": file, "--prefix": prefix, "--terms": terms}
    outputs = {"--out": out, "--alignments": alignments}
    named = [(name, path) for name, path in (inputs | outputs).items() if path is not None]
    for number, (name, path) in enumerate(named):
        for other, earlier in named[:number]:
            one = os.path.realpath(path) == os.path.realpath(earlier)
            if name in outputs and one and (path.is_file() or not path.exists()):  # no device
                raise typer.BadParameter(f"{other} and {name} are one file; choose two.")


class _Wishes:
    """What is asked for every sentence, and the lines that go with each."""

    def __init__(
        self,
        options: "SearchOptions",
        banned: Sequence[str],
        prefix: Path | None,
        terms: Path | None,
    ) -> None:
        from headway.data.lines import read_lines

        self.options = options
        self.banned = banned
        self.prefixes = None if prefix is None else read_lines(prefix)
        self.terms = None if terms is None else read_lines(terms)
        self.count = 0

    def of(self, count: int) -> dict[str, Any]:
        """Return the arguments of `translate` for the next sentences."""
        first, self.count = self.count, self.count + count
        wanted: dict[str, Any] = {"banned": self.banned, "first": first, "options": self.options}
        if self.prefixes is not None:
            wanted["prefix"] = take_lines(self.prefixes, count, "prefix")
        if self.terms is not None:
            lines = take_lines(self.terms, count, "terms")
            wanted["terms"] = [[t for t in line.split("\t") if t.strip()] for line in lines]
        return wanted

    def finish(self, quiet: bool) -> None:
        """Remark on lines that no sentence had."""
        for what, lines in (("prefix", self.prefixes), ("terms", self.terms)):
            if lines is not None and next(lines, None) is not None and not quiet:
                print(
                    f"Note: the {what} file has more lines than there were sentences.",
                    file=sys.stderr,
                )


def _write(
    translator: "Translator",
    incoming: Iterator[list[str]],
    wishes: _Wishes,
    tags: TagWatch,
    writer: "LineWriter",
    batch_tokens: int,
) -> None:
    aligned = writer.alignments is not None
    for lines in incoming:
        wanted = wishes.of(len(lines)) | {"attention": aligned, "batch_tokens": batch_tokens}
        sentences = list(tags.of(lines))
        writer.write(sentences, translator.translate(sentences, **wanted))


def _stream(
    translator: "Translator",
    incoming: Iterator[list[str]],
    wishes: _Wishes,
    tags: TagWatch,
    quiet: bool,
) -> None:
    from headway.cli.lines import check_output, remark

    check_output()
    for number, line in enumerate(tags.of(chain.from_iterable(incoming)), start=1):
        end = _print_bits(translator.stream(line, **wishes.of(1)))
        if not quiet:
            remark(number, line, end, translator.requests)


def _print_bits(bits: "Generator[str, None, StreamEnd]") -> "StreamEnd":
    """Print a translation as it comes; return what is to be said of it."""
    while True:
        try:
            print(next(bits), end="", flush=True)
        except StopIteration as end:
            print(flush=True)
            return cast("StreamEnd", end.value)


def take_lines(lines: Iterator[str], count: int, what: str) -> list[str]:
    """Return the lines of the next sentences; DataError when there are too few."""
    from itertools import islice

    from headway.errors import DataError

    taken = list(islice(lines, count))
    if len(taken) < count:
        raise DataError(
            f"The {what} file has fewer lines than there are sentences.",
            "Give one line for each; an empty one asks for nothing.",
        )
    return taken
