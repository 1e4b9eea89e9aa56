"""What is done with all rows at once is what would be done with each."""

from hypothesis import given
from hypothesis import strategies as st

from headway.data.ragged import Ragged

rows = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=7)


@given(rows=rows)
def test_rows_come_back(rows: list[list[int]]) -> None:
    assert Ragged.of(rows).tolist() == rows
    assert Ragged.of(rows).lengths().tolist() == [len(row) for row in rows]


@given(data=st.data(), rows=rows)
def test_picked_rows_are_those_rows(data: st.DataObject, rows: list[list[int]]) -> None:
    indices = st.lists(st.integers(0, len(rows) - 1), max_size=9) if rows else st.just([])
    chosen = data.draw(indices)
    assert Ragged.of(rows).pick(chosen).tolist() == [rows[i] for i in chosen]


@given(pairs=st.lists(st.tuples(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))))
def test_rows_side_by_side(pairs: list[tuple[list[int], list[int]]]) -> None:
    left, right = (Ragged.of([pair[side] for pair in pairs]) for side in (0, 1))
    assert left.beside(right).tolist() == [one + other for one, other in pairs]


@given(parts=st.lists(rows, min_size=1, max_size=4))
def test_parts_one_after_the_other(parts: list[list[list[int]]]) -> None:
    joined = Ragged.joined([Ragged.of(part) for part in parts])
    assert joined.tolist() == [row for part in parts for row in part]
