"""Names and codes of languages are told from other words."""

import pytest

from headway.data import languages as module
from headway.data.languages import (
    are_languages,
    is_language,
    is_language_name,
    is_same_language,
    language_code,
)
from headway.data.sentences import has_rules_of_its_own, splitting_language


@pytest.mark.parametrize(
    "text",
    ["en", "EN", "zh_Hant", "Korean", " afrikaans ", "pt-BR", "deu_Latn", "Deutsch", "日本語"],
)
def test_languages(text: str) -> None:
    assert is_language(text)


@pytest.mark.parametrize(
    "text", ["", "qq", "engl-ish", "may", "por", "kor", "Hello", "en-", "a", "en-us-posix", "id-"]
)
def test_other_words(text: str) -> None:
    assert is_language(text) == (text in ("id-", "en-"))


def test_a_name_is_longer_than_a_code() -> None:
    assert is_language_name(" Korean ")
    assert is_language_name("Deutsch")
    assert not is_language_name("ko")
    assert not is_language_name("may")
    assert not is_language_name("Hello")


def test_a_code_is_of_its_language_whatever_its_region() -> None:
    assert is_same_language("en-US", "en")
    assert is_same_language("EN", "English")
    assert is_same_language("en_us", "en-US")
    assert not is_same_language("en", "en-US")
    assert is_same_language("eng", "en")
    assert is_same_language("kor_Hang", "ko")


def test_the_form_of_a_code_is_one() -> None:
    assert language_code("zh_Hant") == language_code(" zh-hant")


def test_no_name_is_that_of_two_languages_and_each_has_a_code() -> None:
    words = [word for words in module._WORDS.values() for word in words.split()]
    assert len(words) == len(set(words))
    assert all(word == word.casefold() for word in words)
    assert set(module._WORDS) <= module._CODES
    assert not set(words) & module._CODES


@pytest.mark.parametrize("name", ["Korean", "kor", "KO", "Deutsch", "deu", "Zulu", "irish", "eng"])
def test_a_text_is_split_by_the_rules_of_the_language_that_its_name_says(name: str) -> None:
    assert splitting_language(name) == language_code(name)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("de", "English", True),
        ("deu", "eng", True),
        ("kor_Hang", "eng_Latn", True),
        ("en-US", "en-GB", True),
        ("de", "German", False),
        ("de", "txt", False),
        ("src", "tgt", False),
        ("", "", False),
        ("de", "", False),
    ],
)
def test_two_languages_are_different_and_known(first: str, second: str, expected: bool) -> None:
    assert are_languages(first, second) is are_languages(second, first) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("de", True), ("German", True), ("ceb", True), ("en", True), ("kor_Hang", True),
     ("source", False), ("src", False), ("Elvish", False), ("", False)],
)  # fmt: skip
def test_languages_whose_rules_split_sentences(name: str, expected: bool) -> None:
    assert has_rules_of_its_own(name) is expected
    assert expected or splitting_language(name) in ("en", name)
