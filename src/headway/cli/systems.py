"""The systems that `evaluate` compares: models, which translate, and files of translations."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from headway.cli.remarks import remark_on_precision, remark_on_weights
from headway.cli.source_scripts import SourceScripts
from headway.cli.tags import TagWatch
from headway.counted import counted
from headway.data.compression import compression
from headway.data.corpus import Pair, read_sentences
from headway.data.output import OutputFile, opened, replaced
from headway.decoding.build_engine import EngineName, PrecisionName
from headway.decoding.counting import counting_sentences
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import Translation
from headway.decoding.translator import TextTranslator, load
from headway.errors import DataError
from headway.progress import progress


@dataclass(frozen=True, slots=True)
class System:
    """Translations of the whole text, and their origin."""

    name: str
    texts: list[str]
    facts: dict[str, Any] = field(default_factory=dict)
    """Of a model: seconds, and how many translations are remarkable."""
    foreign: str = ""
    """A remark if the sources seem not to be in the language that the model translates from."""

    @staticmethod
    def named_apart(systems: "Sequence[System]") -> "list[System]":
        """Return the systems with a number after each name that occurred before."""
        names: list[str] = []
        for system in systems:
            name, number = system.name, 1
            while name in names:
                number += 1
                name = f"{system.name} ({number})"
            names.append(name)
        return [replace(system, name=name) for system, name in zip(systems, names, strict=True)]


@dataclass(frozen=True, slots=True)
class Work:
    """How all models translate; the fields are options of the command."""

    device: str
    engine: str
    precision: str
    shortlist: bool
    way: dict[str, Any]
    """Arguments of `Translator.translate`."""
    quiet: bool
    trust_code: bool


def read_hypotheses(files: Sequence[Path], text: str, count: int) -> list[System]:
    """Read files of translations; DataError unless each has as many lines as the text.

    text: the names of the text's files, which have `count` lines.
    """
    systems = []
    for file in files:
        texts = list(read_sentences(file))
        if len(texts) != count:
            raise DataError(
                f"{file} has {counted(len(texts), 'line')}, but must have {count:,} like {text}.",
                "Give one translation for each of these lines, and an empty line for a missing "
                "one.",
            )
        systems.append(System(str(file), texts))
    return systems


def output_paths(out: Path | None, count: int) -> list[Path]:
    """Return the file of each model's translations; `hyp.en` gives hyp.1.en, hyp.2.en and so on."""
    if out is None or count < 2:
        return [] if out is None else [out]
    coded = compression(out)
    plain = out.with_name(out.name.removesuffix(coded))
    return [
        plain.with_name(f"{plain.stem}.{number}{plain.suffix}{coded}")
        for number in range(1, count + 1)
    ]


def translate_all(
    models: Sequence[Path], pairs: Sequence[Pair], out: Path | None, work: Work
) -> list[System]:
    """Translate the sources with each model, and write the translations if `out` is given.

    One model at a time is in memory. All are loaded once before the work, because the last one may
    be damaged.
    """
    for model in models:
        remark_on_weights(model, work.quiet)
        if len(models) > 1:
            _loaded(model, work)
    files = [OutputFile(path) for path in output_paths(out, len(models))]
    systems = []
    with opened(*files):
        for number, model in enumerate(models):
            task_name = f"Translation by {model}" if len(models) > 1 else "Translation"
            systems.append(_translate(model, task_name, pairs, work))
            for text in systems[-1].texts if files else ():
                files[number].write(text)
        remark = replaced(files)
    if remark and not work.quiet:
        print(f"Note: {remark}", file=sys.stderr)
    return systems


def _loaded(model: Path, work: Work) -> TextTranslator:
    return load(
        model,
        work.device,
        engine=cast("EngineName", work.engine),  # `load` checks the names
        precision=cast("PrecisionName", work.precision),
        trust_code=work.trust_code,
    )


def _translate(model: Path, task_name: str, pairs: Sequence[Pair], work: Work) -> System:
    translator = _loaded(model, work)
    remark_on_precision(translator, work.precision, work.quiet)
    tags = TagWatch(translator.bundle, work.quiet)
    sources = list(tags.of(pair.source for pair in pairs))
    started = time.perf_counter()
    with (
        progress(task_name, len(pairs), quiet=work.quiet, stopped="Nothing was scored.") as advance,
        counting_sentences(advance),
    ):
        translations = translator.translate(
            sources,
            mend_runaways=False,
            options=replace(translator.options, shortlist=work.shortlist),
            split_sentences=False,
            **work.way,
        )
    facts = {"seconds": round(time.perf_counter() - started, 2)}
    tags.finish()
    counts = _counts(pairs, translations, translator.requests)
    scripts = SourceScripts(translator.bundle)
    for source in sources:
        scripts.add(source)
    return System(
        str(model),
        [translation.text for translation in translations],
        facts | counts,
        scripts.remark(),
    )


def _counts(
    pairs: Sequence[Pair], translations: Sequence[Translation], requests: RequestMaker
) -> dict[str, int]:
    """Return the numbers of remarkable translations and sources, by the names of notes."""
    return {
        "split": sum(translation.num_parts > 1 for translation in translations),
        "incomplete": sum(not translation.complete for translation in translations),
        "empty": sum(t.empty_parts == t.num_parts for t in translations),
        "unknown": sum(bool(translation.unknown_pieces) for translation in translations),
        "deleted": sum(bool(translation.deleted_characters) for translation in translations),
        "repeated": sum("repeated" in translation.flags for translation in translations),
        "several_sentences": sum(requests.count_sentences(pair.source) > 1 for pair in pairs),
    }
