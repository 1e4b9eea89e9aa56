"""An interruption carries a sentence: the innermost one, unless one is to take its place."""

from contextlib import suppress

import pytest

from headway.stopping import if_stopped, last_words


def interrupted(*sentences: str, instead: bool = False) -> KeyboardInterrupt:
    """Return the interruption of a work in blocks with these sentences, outermost first."""
    with pytest.raises(KeyboardInterrupt) as stopped:
        nested(list(sentences), instead)
    return stopped.value


def nested(sentences: list[str], instead: bool) -> None:
    if not sentences:
        raise KeyboardInterrupt
    with if_stopped(sentences[0], instead=instead):
        nested(sentences[1:], instead)


def test_the_innermost_sentence_stays() -> None:
    assert last_words(interrupted("outer", "middle", "inner")) == "inner"


def test_a_sentence_may_take_the_place_of_another() -> None:
    assert last_words(interrupted("outer", "inner", instead=True)) == "outer"


def test_there_may_be_none() -> None:
    assert last_words(interrupted()) == ""


def test_a_function_is_called_when_the_work_is_stopped() -> None:
    saved = ["nothing"]
    error = KeyboardInterrupt()

    with suppress(KeyboardInterrupt), if_stopped(lambda: f"Saved: {saved[0]}."):
        saved[0] = "the weights"
        raise error

    assert last_words(error) == "Saved: the weights."


def test_another_error_is_left_alone() -> None:
    with pytest.raises(ValueError, match="its own") as raised, if_stopped("Stopped."):
        raise ValueError("its own")

    assert not hasattr(raised.value, "__notes__")
