"""Languages that are not set are those that the names of files, fields and columns show."""

import re
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import RunConfig, parse_run_config
from headway.training.languages import (
    are_read_alike,
    language_ending,
    language_remarks,
    with_begun_languages,
    with_languages,
)

Settings = dict[str, Any]
FILES = {"valid_source": "dev.de", "valid_target": "dev.en"}
FIELDS = {"source_field": "German", "target_field": "English"}
TEXT = {"source": "a.source", "target": "a.target"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _config(**data: object) -> RunConfig:
    return parse_run_config({"data": data})


def _languages(config: RunConfig) -> tuple[str, str]:
    return config.data.source_language, config.data.target_language


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"source": "a.fr.gz", "target": "a.it.gz", **FILES}, ("fr", "it")),
        ({"source": "a.tsv", **FILES}, ("de", "en")),
        ({"source": "a.tsv", **FILES, "valid_source": "dev.txt"}, ("source", "target")),
        ({**TEXT, "test_source": "t.kor_Hang", "test_target": "t.eng_Latn"},
         ("kor_Hang", "eng_Latn")),
        ({**TEXT, "test_source": "t.deu", "test_target": "t.eng"}, ("deu", "eng")),
        ({"source": "a.jsonl", **FIELDS, "test_source": "x.fr", "test_target": "x.it"},
         ("fr", "it")),
        ({"source": "hf://a/b.de", "source_field": "translation.de",
          "target_field": "translation.en"}, ("de", "en")),
        ({"source": "a.jsonl", **FIELDS, "valid_source": "b.jsonl"}, ("German", "English")),
        ({"source": "a.jsonl", "source_field": "text", "target_field": "en"},
         ("source", "target")),
        ({**TEXT, "valid_source": "a.en", "valid_target": "b.en"}, ("source", "target")),
        ({**TEXT, "valid_source": "a.en", "valid_target": "b.eng"}, ("source", "target")),
        ({**TEXT, **FILES, "source_language": "Korean"}, ("Korean", "target")),
        ({**TEXT, **FILES, "source_language": "German"}, ("German", "en")),
        ({**TEXT, **FILES, "target_language": "en-US"}, ("de", "en-US")),
        ({**TEXT, **FILES, "source_language": "x", "target_language": "y"}, ("x", "y")),
        ({"source": "a.x", "target": "a.mine", "source_language": "x", "target_language": "mine",
          **FILES}, ("de", "en")),
        ({"source": "a.tgt", "target": "a.src", "source_language": "tgt",
          "target_language": "src", **FILES, "reverse": True}, ("de", "en")),
        ({"source": "gone.csv"}, ("source", "target")),
    ],
)  # fmt: skip
def test_languages_are_found_by_names_in_order(data: Settings, expected: tuple[str, str]) -> None:
    assert _languages(with_languages(_config(**data))) == expected


@pytest.mark.parametrize(
    ("corpora", "expected"),
    [
        ([{"source": "a.de", "target": "a.en"}, {"source": "b.de", "target": "b.en"}],
         ("de", "en")),
        ([{"source": "a.de", "target": "a.en"}, {"source": "b.fr", "target": "b.en"}],
         ("source", "target")),
        ([{"source": "a.tsv"}, {"source": "a.tsv", "reverse": True}], ("source", "target")),
        ([{"source": "a.jsonl", **FIELDS}, {"source": "b.jsonl", "source_field": "French"}],
         ("source", "target")),
    ],
)  # fmt: skip
def test_corpora_must_have_their_languages_in_common(
    corpora: list[Settings], expected: tuple[str, str]
) -> None:
    files = FILES if corpora[0] == {"source": "a.tsv"} else {}
    assert _languages(with_languages(_config(corpora=corpora, **files))) == expected


@pytest.mark.parametrize(
    ("name", "text", "data", "expected"),
    [
        ("a.csv", "German;Korean\nja;네\n", {}, ("German", "Korean")),
        ("a.csv", "id,de,ko,source\n1,ja,네,web\n", FIELDS | {"source_field": "de",
         "target_field": "ko"}, ("de", "ko")),
        ("a.csv", "id,german,english,source\n1,ja,yes,web\n", {}, ("source", "target")),
        ("a.tsv", "id\tGerman\tEnglish\n1\tja\tyes\n", {"source_column": 3, "target_column": 2},
         ("English", "German")),
        ("a.tsv", "no\tit\nja\tyes\n", {}, ("source", "target")),
    ],
)  # fmt: skip
def test_languages_are_those_of_the_columns_that_are_read(
    name: str, text: str, data: Settings, expected: tuple[str, str]
) -> None:
    Path(name).write_text(text, encoding="utf-8")
    assert _languages(with_languages(_config(source=name, **data))) == expected


def test_a_run_that_goes_on_has_its_languages_unless_others_are_set() -> None:
    begun = _config(**TEXT, source_language="de", target_language="en")
    assert _languages(with_begun_languages(_config(**TEXT), begun)) == ("de", "en")
    changed = _config(**TEXT, source_language="ko")
    assert _languages(with_begun_languages(changed, begun)) == ("ko", "en")


@pytest.mark.parametrize(
    ("name", "text", "before", "after", "alike"),
    [
        ("a.csv", "id,de,en,source,target\n", ("source", "target"), ("de", "en"), False),
        ("a.csv", "id,source,target\n", ("source", "target"), ("de", "en"), True),
        ("a.tsv", "de\ten\n", ("source", "target"), ("de", "en"), False),
        ("a.tsv", "German\tEnglish\n", ("source", "target"), ("de", "en"), True),
        ("a.tmx", "", ("de", "en"), ("en", "de"), False),
        ("a.tmx", "", ("de", "en"), ("German", "eng"), True),
        ("a.jsonl", "", ("de", "en"), ("en", "de"), True),
    ],
)
def test_other_languages_may_choose_other_columns(
    name: str, text: str, before: tuple[str, str], after: tuple[str, str], alike: bool
) -> None:
    Path(name).write_text(text, encoding="utf-8")
    configs = [
        _config(**TEXT, valid_source=name, source_language=source, target_language=target)
        for source, target in (before, after)
    ]
    assert are_read_alike(configs[0].data, configs[1].data) is alike


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        ({}, "is not set, so .*--set data.source_language=de"),
        ({"reverse": True, "source_language": "de"}, "is not set.*--set data.target_language=de"),
        ({"source_language": "Elvish"}, "is 'Elvish', which is not known, so"),
        ({"source_language": "en"}, None),
        ({"source_language": "Korean (formal)"}, None),
    ],
)
def test_a_language_without_rules_for_its_sentences_is_said(
    data: Settings, remark: str | None
) -> None:
    said = language_remarks(_config(**data).data)
    assert len(said) == (remark is not None)
    if remark:
        assert re.search(remark, said[0])


@pytest.mark.parametrize(
    ("name", "ending"),
    [("a.b.en.gz", "en"), ("en", ""), ("a.txt", ""), ("a.TSV.zst", ""), ("hf://x/y.de", "")],
)
def test_the_ending_of_a_file_may_be_a_language(name: str, ending: str) -> None:
    assert language_ending(name) == ending
