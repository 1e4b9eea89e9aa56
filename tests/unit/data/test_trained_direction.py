"""Text beside the direction of the model that training starts from."""

import pytest

from headway.data.corpus import Pair
from headway.data.trained_direction import TrainedDirection

KOREAN = TrainedDirection(("Korean", "English"), ("HANGUL", "LATIN"))
PAIRS = [Pair("하나 둘", "one two"), Pair("셋", "three"), Pair("2", "2")]
EXCHANGED = [Pair(target, source) for source, target in PAIRS]
CYRILLIC = [Pair("один", "one"), Pair("2", "2"), Pair("три", "three")]
BESIDE = "source and target seem exchanged beside the model that training starts from, which "
WORDS = [Pair("ein", "one"), Pair("zwei", "two")]


@pytest.mark.parametrize("languages", [("en", "ko"), ("source", "target"), ("Korean", "English")])
def test_text_in_the_letters_of_the_other_direction(languages: tuple[str, str]) -> None:
    (finding,) = KOREAN.findings(EXCHANGED, languages)
    assert finding.problem == BESIDE + "translates from Hangul to Latin letters"
    assert (finding.id, finding.lines) == ("other-direction", (1, 2))
    assert KOREAN.findings(PAIRS, ("ko", "en")) == []


def test_a_side_in_letters_that_are_new_to_the_model() -> None:
    (finding,) = KOREAN.findings(CYRILLIC, ("ru", "en"))
    assert (finding.id, finding.lines) == ("new-script-source", (1, 3))
    assert finding.problem == (
        "source in Cyrillic letters, but the sources that the model was trained on are in Hangul "
        "letters"
    )
    back = [Pair("셋", source) for source, _ in CYRILLIC]
    (finding,) = KOREAN.findings(back, ("ko", "ru"))
    assert (finding.id, finding.lines) == ("new-script-target", (1, 3))
    unnamed = TrainedDirection(("source", "target"), ("HANGUL", ""))
    assert [found.id for found in unnamed.findings(EXCHANGED, ("en", "ko"))] == [
        "new-script-source"
    ]


def test_languages_of_one_script_show_the_direction_by_their_names() -> None:
    german = TrainedDirection(("English", "German"), ("LATIN", "LATIN"))
    (finding,) = german.findings(WORDS, ("de", "en-US"))
    assert finding.problem == BESIDE + "translates from English to German"
    assert (finding.id, finding.lines) == ("other-direction", (1, 2))
    assert german.findings(WORDS, ("en", "de")) == german.findings(WORDS, ("fr", "en")) == []
    unknown = TrainedDirection(("source", "target"), ("", ""))
    assert unknown.findings(WORDS, ("target", "source")) == []
