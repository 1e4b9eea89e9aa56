"""The language of messages and figures."""

from collections.abc import Iterator

import pytest

from headway import learn
from headway.errors import ConfigError
from headway.learn.language import check_words, in_language, spoken


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    learn.speak("en")


def test_words_follow_the_language() -> None:
    words = {"en": "query", "ko": "쿼리"}
    assert (spoken(), in_language(words), in_language("Q")) == ("en", "query", "Q")
    learn.speak("ko")
    assert (spoken(), in_language(words), in_language("Q")) == ("ko", "쿼리", "Q")


def test_another_language_is_refused_and_changes_nothing() -> None:
    with pytest.raises(ConfigError, match=r"no language 'kr'. Did you mean 'ko'\?"):
        learn.speak("kr")
    assert spoken() == "en"


@pytest.mark.parametrize("words", [{"en": "a"}, {}, {"en": "a", "ko": "b", "de": "c"}])
def test_words_need_both_languages(words: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="languages"):
        check_words(words)
