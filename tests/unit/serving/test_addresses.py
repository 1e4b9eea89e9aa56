"""The state of the page as an address."""

import pytest

from headway.serving.addresses import read_address, search_body, write_address


@pytest.mark.parametrize(
    "state",
    [
        {"screen": "tree", "src": "저는 학생입니다.", "beam": "2"},
        {"screen": "what-if", "src": "a&b=c#d?e +%", "edits": '[{"name": "x"}]'},
        {"screen": "translate"},
    ],
)
def test_what_is_written_is_read(state: dict[str, str]) -> None:
    assert read_address(write_address(state)) == state


def test_nothing_is_the_first_screen() -> None:
    assert read_address("") == {"screen": "translate"}
    assert read_address("#/?l=1") == {"screen": "translate", "l": "1"}


def test_a_search_has_what_the_state_says_and_no_more() -> None:
    state = {"src": "나는", "beam": "3", "lp": "0", "max": "9", "prefix": "I am"}
    assert search_body(state) == {
        "source": "나는", "beam": 3, "prefix": "I am", "length_penalty": 0, "max_length": 9,
    }  # fmt: skip


def test_sampling_has_one_hypothesis() -> None:
    body = search_body({"src": "a", "beam": "8", "temp": "0.5", "topp": "0.9", "seed": "3"})
    assert body["beam"] == 1
    assert body["sampling"] == {"temperature": 0.5, "top_k": None, "top_p": 0.9, "seed": 3}


@pytest.mark.parametrize("wrong", ["", "x", "1e999", "NaN", "true", "[1]", "[" * 9999])
def test_what_is_no_number_is_the_default(wrong: str) -> None:
    assert search_body({"src": "a", "beam": wrong}) == {"source": "a", "beam": 4}
