"""Each side competes in every layout that may be its best."""

import pytest

from headway.bench.configurations import (
    OURS,
    Entrant,
    beam_size_of,
    configurations,
    peer_layouts,
)
from headway.errors import ConfigError


def test_layouts_of_a_peer() -> None:
    assert peer_layouts(1) == [(1, 1)]
    assert peer_layouts(2) == [(1, 1), (2, 1), (1, 2)]
    assert peer_layouts(8) == [(1, 1), (2, 1), (4, 1), (8, 1), (1, 8)]


def test_a_file_takes_a_worker_a_core_and_one_sentence_one_or_all_threads() -> None:
    entrants = [Entrant(OURS, "int8"), *(Entrant("peer", "int8", *o) for o in peer_layouts(2))]

    def found(batches: list[int]) -> list[tuple[str, int, int, int]]:
        entries = configurations(entrants, 4, batches, 2)
        assert all(entry.job.beam_size == 4 for entry in entries)
        return [(e.entrant.side, e.workers, e.threads, e.job.batch) for e in entries]

    assert found([1]) == [(OURS, 1, 1, 1), (OURS, 1, 2, 1), ("peer", 1, 1, 1), ("peer", 1, 2, 1)]
    assert found([7, 64]) == [
        (OURS, 2, 1, 7),
        (OURS, 2, 1, 64),
        *(("peer", *layout, batch) for layout in peer_layouts(2) for batch in (7, 64)),
    ]


@pytest.mark.parametrize("name", ["beam", "beam1", "beam-4", "bream4", ""])
def test_another_search_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no search '{name}'"):
        beam_size_of(name)
