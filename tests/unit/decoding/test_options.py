"""Options that no search could follow are refused; the defaults are the paper's."""

import math
from typing import Any

import pytest

from headway.decoding.options import SearchOptions
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size is 0, but must be at least 1"),
        ({"n_best": 0}, "n_best is 0, but must be from 1 to beam_size 4"),
        ({"n_best": 5}, "n_best is 5, but must be from 1 to beam_size 4"),
        ({"length_penalty": -0.1}, "length_penalty is -0.1, but must be at least 0"),
        ({"length_penalty": math.nan}, "length_penalty is nan, but must be at least 0"),
    ],
    ids=["beam", "no hypotheses", "more than the beam", "penalty", "no number"],
)
def test_options_that_no_search_could_follow_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchOptions(**options)


def test_the_defaults_are_the_papers() -> None:
    options = SearchOptions()

    assert (options.beam_size, options.length_penalty, options.n_best) == (4, 0.6, 1)
