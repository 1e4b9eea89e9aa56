"""What was seen before is known for certain, whatever lies around it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.data.duplicates import Seen
from headway.data.pair_rules import digests

# Few different ones, some of which end in zeros or differ in their last byte alone.
EDGES = [b"\0" * 16, b"a" + b"\0" * 15, b"a" * 15 + b"\0", b"a" * 15 + b"\1", b"\xff" * 16]
digest = st.sampled_from(EDGES) | st.integers(0, 40).map(lambda n: n.to_bytes(16, "little"))


@given(st.lists(st.lists(digest, max_size=30), max_size=20))
def test_it_is_a_set(chunks: list[list[bytes]]) -> None:
    seen, known = Seen(), set[bytes]()
    for chunk in chunks:
        expected = []
        for one in chunk:
            expected.append(one not in known)
            known.add(one)

        found = seen.first_seen(np.frombuffer(b"".join(chunk), dtype="S16"))

        assert found.tolist() == expected
        assert len(seen) == len(known)


def test_few_arrays_are_looked_through() -> None:
    seen, rng = Seen(), np.random.default_rng(3)
    for _ in range(200):
        assert seen.first_seen(np.frombuffer(rng.bytes(16 * 7), dtype="S16")).all()

    assert len(seen) == 1_400
    assert len(seen._runs) <= 4
    assert all((run[:-1] < run[1:]).all() for run in seen._runs)


def test_a_digest_is_that_of_both_sides_without_spaces_around() -> None:
    same = digests([Pair(" a", "b"), Pair("a", "b "), Pair("a\n", "\tb")])
    sides = [("ab", ""), ("a", "b b"), ("", "ab"), ("b", "a"), ("a b", "")]
    others = digests([Pair(*both) for both in sides])
    tagged = digests([Pair("a", "b")], "<2ko>")

    assert len({*same.tolist()}) == 1
    assert len({*same.tolist(), *others.tolist(), *tagged.tolist()}) == 7
    assert digests([]).shape == (0,)
