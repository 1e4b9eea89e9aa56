"""Laws of splitting long sentences."""

from hypothesis import given
from hypothesis import strategies as st

from headway.decoding.splitting import split_long

PIECES = ["▁the", "▁", "cat", "s", ".", "▁!", "。", "?", "ing", "▁end.", "…"]
sentences = st.lists(st.integers(0, len(PIECES) - 1), max_size=40)
limits = st.integers(1, 12)


def spelled(ids: list[int]) -> list[str]:
    return [PIECES[i] for i in ids]


@given(ids=sentences, limit=limits)
def test_joined_parts_are_the_sentence_and_no_part_is_empty_or_too_long(
    ids: list[int], limit: int
) -> None:
    parts = split_long(ids, spelled(ids), limit)

    assert [i for part in parts for i in part] == ids
    assert all(1 <= len(part) <= limit for part in parts)


@given(ids=sentences, limit=limits)
def test_every_part_but_the_last_is_more_than_half_full(ids: list[int], limit: int) -> None:
    parts = split_long(ids, spelled(ids), limit)

    assert all(2 * len(part) > limit for part in parts[:-1])


@given(ids=sentences, limit=limits)
def test_a_cut_inside_a_word_means_that_there_was_no_better_one(ids: list[int], limit: int) -> None:
    start = 0
    for part in split_long(ids, spelled(ids), limit)[:-1]:
        end = start + len(part)
        if not PIECES[ids[end]].startswith("▁") and not PIECES[ids[end - 1]].endswith("。"):
            possible = range(start + limit // 2 + 1, start + limit + 1)
            assert len(part) == limit
            assert not any(PIECES[ids[other]].startswith("▁") for other in possible)
        start = end


@given(ids=sentences, limit=limits)
def test_a_short_sentence_stays_whole(ids: list[int], limit: int) -> None:
    if 0 < len(ids) <= limit:
        assert split_long(ids, spelled(ids), limit) == [ids]
