"""Every error has a message, a remedy and an exit status, and is what Python expects it to be."""

import pytest

from headway import errors
from headway.errors import HeadwayError, hinted, suggest

ALL = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, HeadwayError)
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_an_error_keeps_problem_and_remedy_apart_and_prints_both(
    kind: type[HeadwayError],
) -> None:
    error = kind("The sky is green.", "Look again.")

    assert (error.message, error.remedy) == ("The sky is green.", "Look again.")
    assert str(error) == "The sky is green. Look again."
    assert str(kind("The sky is green.")) == "The sky is green."


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_wrong_call_exits_with_2_and_failed_work_with_1(kind: type[HeadwayError]) -> None:
    assert kind.exit_status == (2 if kind is errors.ConfigError else 1)


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.ConfigError, ValueError),
        (errors.TraceError, KeyError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_an_error_is_also_pythons_own_kind(kind: type[HeadwayError], base: type) -> None:
    with pytest.raises(base) as caught:
        raise kind("Wrong.", "Mend it.")

    assert str(caught.value) == "Wrong. Mend it."  # a plain KeyError would print quotes


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    assert errors.__doc__ is not None
    for kind in ALL:
        assert kind.__name__ in errors.__doc__


def test_the_nearest_names_are_suggested() -> None:
    known = ["warmup_steps", "max_steps", "seed"]

    assert suggest("warm_up", known) == "Did you mean 'warmup_steps'?"
    assert suggest("max_step", known).startswith("Did you mean 'max_steps'")
    assert suggest("xyz", known) == "Known: max_steps, seed, warmup_steps."
    assert suggest("xyz", []) == ""


def test_of_many_names_some_are_listed_and_how_to_list_all() -> None:
    known = [f"decoder.layers.{number}.attention.weights" for number in range(1000)]

    assert suggest("wights", known) == "Did you mean 'decoder.layers.0.attention.weights'?"
    assert suggest("*.wights", known, "See names().") == (
        "Did you mean 'decoder.layers.0.attention.weights'? See names()."
    )
    told = suggest("xyz", known, "See names().")
    assert told.endswith(" and 976 more. See names().")
    assert len(told) < 1500


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
