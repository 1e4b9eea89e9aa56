"""A caller hears of each sentence once, when all parts of it are done."""

from dataclasses import replace

import pytest
import torch

from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.counting import SentenceCounter, counting_sentences
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.model.transformer import Transformer


def part(sentence: int, number: int = 0) -> Request:
    return Request([5 + number, 3], 2, place=(sentence, number))


def test_a_sentence_counts_when_its_last_part_is_done() -> None:
    heard: list[int] = []
    with counting_sentences(heard.append):
        counter = SentenceCounter([part(7), part(8, 0), part(8, 1), part(9)])

    counter.ended(2)
    assert heard == []
    counter.ended(0)
    counter.ended(1)
    counter.ended(3)
    assert heard == [1, 1, 1]


def test_without_a_listener_nothing_is_told() -> None:
    heard: list[int] = []
    with counting_sentences(heard.append):
        pass

    SentenceCounter([part(0)]).ended(0)

    assert heard == []


@pytest.mark.parametrize("workers", [1, 2])
def test_every_sentence_of_a_search_is_heard_of(tiny: Transformer, workers: int) -> None:
    draw = torch.Generator().manual_seed(5)
    requests = [
        Request([*torch.randint(4, 23, (n,), generator=draw).tolist(), 3], n, place=(n, 0))
        for n in range(1, 21)
    ]
    requests += [replace(requests[0], place=(1, 1)), replace(requests[3], terms=[[6]])]
    heard: list[int] = []

    with counting_sentences(heard.append):
        search_all(build_engine(tiny, "packed"), SearchOptions(2), requests, workers=workers)

    assert sum(heard) == 20
