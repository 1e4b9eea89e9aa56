"""The text of a run: its files, and validation text held out of training text."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from headway.config.data import DataConfig
from headway.counted import listed
from headway.data.compression import StrPath
from headway.data.corpus import (
    Corpus,
    Pair,
    check_read_again,
    file_digest,
    fingerprint,
    read_pairs,
)
from headway.data.headers import USUAL_FIELDS
from headway.data.hub import is_dataset
from headway.data.tables import FORMS, header_remark, table_reader
from headway.errors import ConfigError
from headway.training.corpora import tables_of, training_corpora
from headway.training.holding_out import hold_out
from headway.training.reporting import SILENT, Reporter

_HELD_OUT = 500  # pairs of validation text that messages suggest
_FORM = 4  # of kept encoded text and tokenizers; a new number makes them again


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of a run: validation and test text, and training text that is still to be read."""

    corpora: list[Corpus]
    valid: list[Pair]
    test: list[Pair]
    files: dict[str, str]
    """Training and validation files in their order, each with its SHA-256."""
    checksum: str
    """SHA-256 of all of these."""
    training_checksum: str
    """SHA-256 of the training files."""
    valid_lines: Sequence[int] | None = None
    """Line of each validation pair in the training file, if the pairs are held out from there."""
    held_out_as_before: bool = True
    """True if versions that ignored nearly equal pairs held out the same pairs."""
    remarks: Sequence[str] = ()
    """Sentences on the reading of files."""

    @property
    def train(self) -> list[Pair]:
        """Return all training pairs, read at once."""
        return list(chain.from_iterable(self.corpora))

    def name_of_what_is_made(self, *values: Any) -> str:
        """Return a name that depends on the training text, on its reading, and on these values."""
        corpora = [
            [len(c.sources), len(c.targets), c.columns, c.fields, c.languages, c.reverse, c.tag]
            for c in self.corpora
        ]
        parts = [_FORM, self.training_checksum, corpora, self.valid_lines, *values]
        if near := [sorted(corpus.near) for corpus in self.corpora if corpus.near]:
            parts.append(near)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def read_texts(
    data: DataConfig, *, needs_validation: bool = True, reporter: Reporter = SILENT
) -> Texts:
    """Find all files that the configuration names; training text is required.

    needs_validation: require validation text, too. reporter: shows the progress of holding out.
    """
    _check_named(data, needs_validation)
    _check_tags(data)
    folder = Path(data.directory)
    corpora = training_corpora(data)
    files = [(file, corpus.fields) for corpus in corpora for file in corpus.files]
    named = [name for name in (data.valid_source, data.valid_target) if data.valid_source and name]
    valid_files: list[StrPath] = [name if is_dataset(name) else folder / name for name in named]
    fields = (data.source_field, data.target_field)
    all_files = [*files, *((file, fields) for file in valid_files)]
    for file, _ in all_files:
        check_read_again(file)
    valid: list[Pair] = []
    valid_lines, as_before = None, True
    if data.valid_source:
        valid = read_split(data, data.valid_source, data.valid_target)
    elif data.hold_out:
        whole = _only(corpora, data.hold_out)
        with reporter.preparing("Choosing validation text") as show:
            held_out = hold_out(whole, data.hold_out, show)
        corpora, valid_lines, as_before = [held_out.remaining], held_out.lines, held_out.as_before
        valid = [_tagged(data.tag, pair) for pair in held_out.pairs]
    digests = [file_digest(*file) for file in all_files]
    return Texts(
        corpora=corpora,
        valid=valid,
        valid_lines=valid_lines,
        held_out_as_before=as_before,
        test=read_split(data, data.test_source, data.test_target) if data.test_source else [],
        files={
            str(file): digest.hex() for (file, _), digest in zip(all_files, digests, strict=True)
        },
        checksum=fingerprint(digests),
        training_checksum=fingerprint(digests[: len(files)]),
        remarks=_header_remarks(data, corpora),
    )


def _header_remarks(data: DataConfig, corpora: Sequence[Corpus]) -> list[str]:
    """Return a remark for each table, on the columns that are source and target."""
    remarks = (
        header_remark(file, corpus.columns, corpus.fields, corpus.languages)
        for file, corpus in tables_of(data, corpora)
    )
    return list(dict.fromkeys(filter(None, remarks)))


def _check_named(data: DataConfig, needs_validation: bool) -> None:
    """Refuse text that is missing, without its other side, or named twice."""
    if not data.corpora:
        _check_sides(data, "source", "target", "training")
    _check_sides(data, "valid_source", "valid_target", "validation")
    _check_sides(data, "test_source", "test_target", "test")
    if not (data.source or data.corpora):
        raise ConfigError(
            "'data.source' is missing.",
            "Name the text files in [data], or with --source, --target, --valid-source and "
            "--valid-target.",
        )
    for name in ("source", "target"):
        if getattr(data, name) and data.corpora:
            raise ConfigError(
                f"Both 'data.{name}' and 'data.corpora' name training text.",
                f"Make data.{name} part of one of the corpora, [[data.corpora]].",
            )
    if needs_validation and not data.validates:
        raise ConfigError(
            "'data.valid_source' is missing.", f"{ways_to_validate(data).capitalize()}."
        )


def _check_sides(data: DataConfig, source: str, target: str, text: str) -> None:
    """Refuse a target without its source, and a source without its target unless it holds both."""
    first, second = getattr(data, source), getattr(data, target)
    if second and not first:
        present, missing = target, source
    elif first and not second and table_reader(first, (0, 1), USUAL_FIELDS) is None:
        present, missing = source, target
    else:
        return
    options = "" if text == "test" else f" with {_option(source)} and {_option(target)}"
    raise ConfigError(
        f"'data.{present}' is given, but 'data.{missing}' is missing.",
        f"Name both sides of the {text} text{options}, or as source one file that holds both: "
        f"{', '.join(FORMS)}.",
    )


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def ways_to_validate(data: DataConfig, pairs: int = 10 * _HELD_OUT) -> str:
    """Return the remedy for missing validation text; only a single corpus can be held out of.

    pairs: of the training text, of which a tenth at most is held out.
    """
    if len(data.corpora) > 1:
        return "name validation text with data.valid_source and data.valid_target"
    count = min(max(pairs // 10, 1), _HELD_OUT)
    return f"name validation text, or hold some training text out with --set data.hold_out={count}"


def _check_tags(data: DataConfig) -> None:
    """Refuse tags with spaces, and validation text with a tag that no corpus has."""
    for tag in data.tags:
        if any(map(str.isspace, tag)):
            raise ConfigError(
                f"The tag of a corpus is {tag!r}, which holds a space.",
                "A tag is one token, such as <2ko>.",
            )
    trained = [corpus.tag for corpus in data.corpora]
    used = data.tag or data.validates or data.test_source
    if trained and used and data.tag not in trained:
        raise ConfigError(
            f"data.tag is {data.tag!r}, but the tags of the corpora are "
            f"{listed(map(repr, dict.fromkeys(trained)))}.",
            "Give validation and test text the tag of one of them.",
        )


def read_split(data: DataConfig, source: str, target: str) -> list[Pair]:
    """Read the pairs of two files, or of one with both sides, in the direction of the run."""
    folder = Path(data.directory)
    pairs = read_pairs(
        source if is_dataset(source) else folder / source,
        folder / target if target else None,
        source_column=data.source_column - 1,
        target_column=data.target_column - 1,
        source_field=data.source_field,
        target_field=data.target_field,
        languages=(data.source_language, data.target_language),
    )
    if data.reverse:
        pairs = [Pair(pair.target, pair.source) for pair in pairs]
    return [_tagged(data.tag, pair) for pair in pairs]


def held_out_files(data: DataConfig) -> dict[str, tuple[StrPath, ...]]:
    """Return the files of validation and test text by name: a table, or source and target.

    Source and target are those of the run, so `data.reverse` exchanges the two files.
    """
    folder = Path(data.directory)
    named = {
        "validation": (data.valid_source, data.valid_target),
        "test": (data.test_source, data.test_target),
    }
    return {
        text: tuple(
            name if is_dataset(name) else folder / name
            for name in (reversed(names) if data.reverse else names)
            if name
        )
        for text, names in named.items()
        if names[0]
    }


def _tagged(tag: str, pair: Pair) -> Pair:
    return Pair(f"{tag} {pair.source}", pair.target) if tag else pair


def untag(tag: str, pairs: Iterable[Pair]) -> list[Pair]:
    """Return validation or test text without its tag, like in its files."""
    beginning = f"{tag} " if tag else ""
    return [Pair(pair.source.removeprefix(beginning), pair.target) for pair in pairs]


def _only(corpora: list[Corpus], count: int) -> Corpus:
    """Return the corpus that text is held out of; ConfigError for several corpora."""
    if len(corpora) > 1:
        raise ConfigError(
            f"data.hold_out is {count}, but there are {len(corpora)} corpora.",
            "Name validation text with data.valid_source and data.valid_target.",
        )
    return corpora[0]
