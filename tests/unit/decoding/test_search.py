"""What every search shares: options, forbidden pieces, forced pieces."""

import math
from typing import Any

import pytest
import torch

from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.decoding.search import SearchOptions, next_log_probs, start_ids
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size is 0, but must be at least 1"),
        ({"n_best": 0}, "n_best is 0, but must be from 1 to beam_size 4"),
        ({"n_best": 5}, "n_best is 5, but must be from 1 to beam_size 4"),
        ({"length_penalty": -0.1}, "length_penalty is -0.1, but must be at least 0"),
        ({"length_penalty": math.nan}, "length_penalty is nan, but must be at least 0"),
        ({"prefixes": [[4]]}, "There are 1 prefixes for 2 sentences"),
    ],
    ids=["beam", "no hypotheses", "more than the beam", "penalty", "no number", "prefixes"],
)
def test_options_that_no_search_could_follow_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchOptions([3, 4], **options)


def test_the_defaults_are_the_papers() -> None:
    options = SearchOptions([3])

    assert (options.beam_size, options.length_penalty, options.n_best) == (4, 0.6, 1)


def test_a_free_row_has_the_models_log_probabilities_except_for_what_is_no_output() -> None:
    logits = torch.randn(2, 7)
    expected = logits.log_softmax(-1)

    log_probs = next_log_probs(logits, [0, 0], 1, SearchOptions([5]))

    assert (log_probs[:, [PAD_ID, UNK_ID, START_ID]] == -math.inf).all()
    # Not normalized anew: a score is what the model itself says.
    torch.testing.assert_close(log_probs[:, END_ID:], expected[:, END_ID:])


def test_forced_rows_and_rows_at_their_limit_have_one_choice_with_its_own_probability() -> None:
    logits = torch.randn(3, 7)
    expected = logits.log_softmax(-1)
    options = SearchOptions([5, 1, 5], prefixes=[[4, 6], [], []])

    log_probs = next_log_probs(logits, [0, 1, 2], 1, options)

    assert log_probs[0].isfinite().nonzero().flatten().tolist() == [6]
    assert log_probs[1].isfinite().nonzero().flatten().tolist() == [END_ID]
    assert log_probs[2].isfinite().nonzero().flatten().tolist() == [3, 4, 5, 6]
    assert log_probs[0, 6] == expected[0, 6]
    assert log_probs[1, END_ID] == expected[1, END_ID]
    torch.testing.assert_close(log_probs[2, 3:], expected[2, 3:])


def test_half_precision_logits_are_scored_in_float32() -> None:
    logits = torch.randn(2, 7).bfloat16()

    log_probs = next_log_probs(logits, [0, 1], 0, SearchOptions([5, 5]))

    assert log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs[:, 4], logits.float().log_softmax(-1)[:, 4])


def test_every_row_starts_with_the_start_symbol() -> None:
    assert start_ids(3, torch.device("cpu")).tolist() == [START_ID] * 3
