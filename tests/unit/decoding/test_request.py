"""A request tells what must come next."""

from headway.data.tokenizer import END_ID
from headway.decoding.request import Request


def test_the_only_choice_is_the_prefix_then_free_then_the_end() -> None:
    request = Request([7, END_ID], 3, [5, 4])

    assert [request.only_choice(step) for step in range(5)] == [5, 4, None, END_ID, END_ID]
    # A prefix that is longer than the limit is written all the same.
    assert Request([7, END_ID], 1, [5, 4]).only_choice(1) == 4
