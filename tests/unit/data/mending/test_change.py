"""A change is one line, whatever stands in the text."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.mending.change import HEAD, Change

TEXT = st.text(st.sampled_from("ab\t\n\r\\tn"), max_size=9)


def _read(column: str) -> str:
    characters = iter(column)
    names = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    return "".join(names[next(characters)] if c == "\\" else c for c in characters)


@settings(max_examples=50, deadline=None)
@given(TEXT, TEXT, st.none() | st.tuples(TEXT, TEXT))
@example("a", "b", ("a", "b"))
def test_a_line_of_the_log_can_be_read_back(source, target, after) -> None:
    change = Change(7, "spaces-source", Pair(source, target), Pair(*after) if after else None)
    line, id, action, *texts = str(change).split("\t")
    is_left = after == (source, target)
    expected = "left" if is_left else "repaired" if after else "dropped"
    assert (line, id, action) == ("7", "spaces-source", expected)
    new = after if after and not is_left else ("", "")
    assert [_read(text) for text in texts] == [source, target, *new]
    assert len(texts) + 3 == len(HEAD.split("\t"))
    assert "\n" not in str(change)
