"""The text that translators are compared on."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.bench.jobs import Text
from headway.bundle import Bundle
from headway.data.corpus import Pair, read_parallel
from headway.data.lines import read_lines
from headway.errors import ConfigError, DataError
from headway.sample_corpus import build_sample_corpus

_SAMPLE_LANGUAGES = ("ko", "en")
_CODES = {"korean": "ko", "english": "en"}


@dataclass(frozen=True, slots=True)
class Material:
    """Sentences, perhaps with references."""

    text: Text
    references: tuple[str, ...] | None
    blank: int
    """Number of lines left out because they are blank."""


def read_material(
    bundle: Bundle,
    source: str | Path | None,
    reference: str | Path | None,
    count: int | None = None,
) -> Material:
    """Read the first `count` lines; without files, the test sentences of the built-in corpus.

    The built-in corpus is for bundles of Korean and English; ConfigError for other languages.
    Raises DataError for a sentence that the bundle would translate in parts, because a peer would
    not.
    """
    pairs, has_references = _read(bundle, source, reference)
    return material_of(bundle, pairs[:count], has_references=has_references)


def material_of(bundle: Bundle, pairs: Sequence[Pair], *, has_references: bool) -> Material:
    """Return the pairs without blank lines; raise DataError as `read_material` does."""
    kept = [pair for pair in pairs if bundle.source_tokenizer.encode(pair.source)]
    if not kept:
        raise DataError("There is no text to translate.", "Give a file with sentences.")
    config, decoding = bundle.config, bundle.decoding
    most = config.max_positions - 1 if config.positions == "learned" else sys.maxsize
    _check_lengths(bundle, pairs, min(decoding.max_source_pieces, most))
    return Material(
        Text(tuple(pair.source for pair in kept), decoding.max_extra_pieces, most),
        tuple(pair.target for pair in kept) if has_references else None,
        len(pairs) - len(kept),
    )


def _read(
    bundle: Bundle, source: str | Path | None, reference: str | Path | None
) -> tuple[list[Pair], bool]:
    if source is not None and reference is not None:
        return read_parallel(source, reference), True
    if source is not None:
        return [Pair(line, "") for line in read_lines(source)], False
    if reference is not None:
        raise ConfigError("There is a reference without a source.", "Give --source, too.")
    return _sample(bundle), True


def _sample(bundle: Bundle) -> list[Pair]:
    names = (bundle.source_language.lower(), bundle.target_language.lower())
    languages = tuple(_CODES.get(name, name) for name in names)
    if set(languages) != set(_SAMPLE_LANGUAGES):
        raise ConfigError(
            f"There is no built-in text for a model from {bundle.source_language} to "
            f"{bundle.target_language}.",
            "Give --source with sentences for it, and --reference if you have it.",
        )
    corpus = build_sample_corpus()
    pairs = [Pair(p.korean, p.english) for p in (*corpus.test_unseen, *corpus.test_compositional)]
    return pairs if languages == _SAMPLE_LANGUAGES else [Pair(p.target, p.source) for p in pairs]


def _check_lengths(bundle: Bundle, pairs: Sequence[Pair], longest: int) -> None:
    for number, pair in enumerate(pairs, start=1):
        pieces = len(bundle.source_tokenizer.encode(pair.source))
        if pieces > longest:
            raise DataError(
                f"Sentence {number} has {pieces} tokens and would be translated in parts: the "
                f"model takes {longest}.",
                "Leave it out, because a peer would not split it.",
            )
