"""An update that is not finite names its text, and ten in a row are another matter."""

import pytest

from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.data.store import PairStore, StoreWriter
from headway.errors import NotFiniteError, TrainingError
from headway.training.not_finite import check_in_a_row, describe, places_of, stopping_error

ERROR = NotFiniteError("The loss is not finite at step 5 (rate 0.1).", "Lower it.")
PAIRS = [EncodedPair([4] * (line % 7 + 1), [5] * (line % 5 + 1), 3 * line) for line in range(40)]
STORE = PairStore.of(PAIRS)


def batch_of(*rows: int) -> Batch:
    return collate([PAIRS[i] for i in rows], rows)


def test_lines_are_those_of_the_text_and_not_of_the_batch() -> None:
    batches = [batch_of(9, 2), batch_of(30)]

    assert places_of(batches, STORE) == [(1, 6), (1, 27), (1, 90)]
    assert describe(batches, STORE) == (
        "It was made from 3 pairs, of up to 3 source and 5 target tokens, on these lines of the "
        "training text: 6, 27, 90."
    )


def test_a_long_list_of_lines_is_cut_and_says_so() -> None:
    text = describe([batch_of(*range(13, 0, -1))], STORE)

    assert text.endswith("text: 3, 6, 9, 12, 15, 18, 21, 24, 27, 30 and 3 more.")


def test_lines_of_several_corpora_are_told_apart() -> None:
    writer = StoreWriter()
    for first, last in ((0, 5), (5, 18), (18, 40)):
        writer.add_corpus(PAIRS[first:last])
    store = writer.finish()

    assert places_of([batch_of(17, 3)], store) == [(1, 9), (2, 51)]
    assert describe([batch_of(17, 39, 3), batch_of(5)], store).endswith(
        "text: 9 of corpus 1; 15, 51 of corpus 2; 117 of corpus 3."
    )


def test_lengths_are_those_of_the_update_however_its_text_was_cut_before() -> None:
    cut_anew = collate([EncodedPair([4] * 9, [5] * 8, 6), EncodedPair([4], [5] * 3, 9)], [2, 3])

    assert "of up to 9 source and 8 target tokens" in describe([cut_anew, batch_of(1)], STORE)


def test_the_error_that_ends_a_run_says_how_to_go_on() -> None:
    error = stopping_error(ERROR, "It was made from 3 pairs.")

    assert str(error) == (
        "The loss is not finite at step 5 (rate 0.1). It was made from 3 pairs. Lower it. If those "
        "lines are to blame, continue with --resume --set training.not_finite=skip."
    )


def test_ten_in_a_row_end_the_run() -> None:
    check_in_a_row(9, ERROR, None)

    with pytest.raises(TrainingError, match="9 updates before it were skipped") as caught:
        check_in_a_row(10, ERROR, None)

    assert not isinstance(caught.value, NotFiniteError)
