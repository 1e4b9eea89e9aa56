"""Names and codes of languages are told from other words."""

import pytest

from headway.data.languages import is_language, is_same_language, language_code


@pytest.mark.parametrize("text", ["en", "EN", "en-US", "zh_Hant", "Korean", " afrikaans ", "pt-BR"])
def test_languages(text: str) -> None:
    assert is_language(text)


@pytest.mark.parametrize("text", ["", "qq", "eng-lish", "Hello", "en-", "a", "en-us-posix", "id-"])
def test_other_words(text: str) -> None:
    assert is_language(text) == (text in ("id-", "en-"))


def test_a_code_is_of_its_language_whatever_its_region() -> None:
    assert is_same_language("en-US", "en")
    assert is_same_language("EN", "English")
    assert is_same_language("en_us", "en-US")
    assert not is_same_language("en", "en-US")
    assert not is_same_language("eng", "en")


def test_the_form_of_a_code_is_one() -> None:
    assert language_code("zh_Hant") == language_code(" zh-hant")
