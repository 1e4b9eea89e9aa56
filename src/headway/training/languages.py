"""The languages of a run, which names show if they are not set, and which may be corrected."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from headway.config.data import DataConfig
from headway.config.run import RunConfig
from headway.data.compression import compression, plain_name
from headway.data.headers import USUAL_FIELDS
from headway.data.hub import is_dataset
from headway.data.languages import are_languages, language_code
from headway.data.sentences import has_rules_of_its_own
from headway.data.tables import FORMS, column_names
from headway.errors import HeadwayError
from headway.training.corpora import tables, training_corpora

Sides = tuple[str, str]

_KEYS = ("source_language", "target_language")


def with_languages(config: RunConfig) -> RunConfig:
    """Return the configuration with the languages that names show, for those that are not set.

    The first two different languages count: the endings of training, validation and test files
    (`dev.de`), then fields or columns of the training text. Corpora of several languages or
    directions have none in common.
    """
    data = config.data
    unset = _unset(data)
    chosen = [getattr(data, key) for key in _KEYS]
    for names in _candidates(data) if unset else ():
        agrees = all(
            key in unset or _main_code(name) == _main_code(language)
            for key, name, language in zip(_KEYS, names, chosen, strict=True)
        )
        if are_languages(*names) and agrees:
            languages: dict[str, str] = dict(zip(_KEYS, names, strict=True))
            return _replaced(config, {key: languages[key] for key in unset})
    return config


def with_begun_languages(config: RunConfig, begun: RunConfig) -> RunConfig:
    """Return the configuration of a run that goes on, with its languages where none are set."""
    return _replaced(config, {key: getattr(begun.data, key) for key in _unset(config.data)})


def are_read_alike(before: DataConfig, after: DataConfig) -> bool:
    """Return True if the languages of `after` choose the columns that those of `before` chose."""
    languages = before.source_language, before.target_language
    if languages == (after.source_language, after.target_language):
        return True
    for file, corpus in tables(after):
        if plain_name(file).endswith(".tmx"):
            if list(map(language_code, languages)) != list(map(language_code, corpus.languages)):
                return False
            continue
        names = [
            column_names(file, corpus.columns, corpus.fields, chosen)
            for chosen in (languages, corpus.languages)
        ]
        if names[0] != names[1]:
            return False
    return True


def language_remarks(data: DataConfig) -> list[str]:
    """Return a sentence if the ends of sentences are those of English for want of a language."""
    language = data.languages[0]
    if has_rules_of_its_own(language):
        return []
    key = _KEYS[data.reverse]
    unknown = "not set" if language in USUAL_FIELDS else f"'{language}', which is not known"
    return [
        f"The source language is {unknown}, so text is cut into sentences by the rules of English. "
        f"For another language, add for instance --set data.{key}=de."
    ]


def language_ending(name: str) -> str:
    """Return the ending of a name like `train.ko` or `train.ko.gz`; empty for `a.txt`, tables."""
    if is_dataset(name):
        return ""
    suffix = PurePath(name[: len(name) - len(compression(name))]).suffix.removeprefix(".")
    return "" if f".{suffix.lower()}" in (".txt", *FORMS) else suffix


def _unset(data: DataConfig) -> list[str]:
    """Return the languages that are not set, or that are endings of files and no language."""
    endings = language_ending(data.source), language_ending(data.target)
    values = [getattr(data, key) for key in _KEYS]
    return [
        key
        for key, value, ending in zip(_KEYS, values, endings, strict=True)
        if value in USUAL_FIELDS or (value == ending and not has_rules_of_its_own(value))
    ]


def _main_code(language: str) -> str:
    return language_code(language).partition("-")[0]


def _replaced(config: RunConfig, languages: dict[str, str]) -> RunConfig:
    return config.model_copy(update={"data": config.data.model_copy(update=languages)})


def _candidates(data: DataConfig) -> Iterator[Sides]:
    """Yield what may be the names of the two languages, the most certain first."""
    named = data.corpora or [data]
    endings = {(language_ending(text.source), language_ending(text.target)) for text in named}
    if len(endings) > 1 or any(corpus.reverse for corpus in data.corpora):
        return
    yield from endings
    yield language_ending(data.valid_source), language_ending(data.valid_target)
    yield language_ending(data.test_source), language_ending(data.test_target)
    yield from _common(
        (corpus.source_field.rpartition(".")[2], corpus.target_field.rpartition(".")[2])
        for corpus in named
    )
    with suppress(HeadwayError):  # which reading the text raises again
        yield from _common(
            column_names(file, corpus.columns, corpus.fields, corpus.languages)
            for corpus in training_corpora(data)
            for file in corpus.sources
            if not corpus.targets and Path(file).is_file()  # a pipe can be read only once
        )


def _common(pairs: Iterable[Sides]) -> set[Sides]:
    """Return the pair that all are, or nothing."""
    different = set(pairs)
    return different if len(different) == 1 else set()
