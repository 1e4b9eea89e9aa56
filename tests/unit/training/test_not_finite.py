"""An update that is not finite names its text, and ten in a row are another matter."""

import pytest

from headway.data.batching import collate
from headway.data.cleaning import EncodedPair
from headway.errors import NotFiniteError, TrainingError
from headway.training.not_finite import check_in_a_row, describe, lines_of, stopping_error

ERROR = NotFiniteError("The loss is not finite at step 5 (rate 0.1).", "Lower it.")
PAIRS = [EncodedPair([4] * (line % 7 + 1), [5] * (line % 5 + 1), 3 * line) for line in range(40)]


def test_lines_are_those_of_the_text_and_not_of_the_batch() -> None:
    batches = [collate([PAIRS[i] for i in rows], rows) for rows in ([9, 2], [30])]

    assert lines_of(batches, PAIRS) == [6, 27, 90]
    assert describe(batches, PAIRS) == (
        "It was made from 3 pairs, of up to 3 source and 5 target pieces, on these lines of the "
        "training text: 6, 27, 90."
    )


def test_a_long_list_of_lines_is_cut_and_says_so() -> None:
    rows = list(range(13, 0, -1))

    text = describe([collate([PAIRS[i] for i in rows], rows)], PAIRS)

    assert text.endswith("text: 3, 6, 9, 12, 15, 18, 21, 24, 27, 30 and 3 more.")


def test_the_error_that_ends_a_run_says_how_to_go_on() -> None:
    error = stopping_error(ERROR, "It was made from 3 pairs.")

    assert str(error) == (
        "The loss is not finite at step 5 (rate 0.1). It was made from 3 pairs. Lower it. If those "
        "lines are to blame, continue with --resume --set training.not_finite=skip."
    )


def test_ten_in_a_row_end_the_run() -> None:
    check_in_a_row(9, ERROR)

    with pytest.raises(TrainingError, match="9 updates before it, all left out") as caught:
        check_in_a_row(10, ERROR)

    assert not isinstance(caught.value, NotFiniteError)
