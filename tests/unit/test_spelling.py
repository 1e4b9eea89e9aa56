"""An argument that a function does not have is answered with the one that is meant."""

import pytest

from headway.spelling import hinted


@hinted(beam="beam_size")
def search(text: str, *, beam_size: int = 1) -> tuple[str, int]:
    """Search."""
    return text, beam_size


def test_a_right_call_is_made() -> None:
    assert search("a", beam_size=2) == ("a", 2)
    assert search(text="a") == ("a", 1)
    assert search.__doc__ == "Search."


@pytest.mark.parametrize("name", ["beam", "beam_sise"])
def test_another_spelling_gets_the_right_one(name: str) -> None:
    with pytest.raises(
        TypeError, match=rf"search\(\) has no argument '{name}'. Did you mean 'beam_s"
    ):
        search("a", **{name: 2})  # type: ignore[arg-type]


def test_a_foreign_argument_gets_all_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"Known: beam_size, text\."):
        search("a", xyz=2)  # type: ignore[call-arg]
