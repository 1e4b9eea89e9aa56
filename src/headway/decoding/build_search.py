"""Which search these options mean, and all that it finds, in order."""

import sys
from collections.abc import Sequence
from functools import partial

from headway.decoding.attention import Attend
from headway.decoding.beam import BeamSearch
from headway.decoding.counting import SentenceCounter
from headway.decoding.diverse import DiverseBeamSearch
from headway.decoding.engine import Engine
from headway.decoding.greedy import GreedySearch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Rule, rules_of
from headway.decoding.run_search import Search, SearchObserver
from headway.decoding.sampling import SamplingSearch
from headway.decoding.terms import TermsBeamSearch
from headway.decoding.workers import search_with_workers
from headway.errors import ConfigError

# Rows that a batch has at most, and sentences. More rows make products larger, but caches too,
# which then no longer fit beside the weights (benchmarks/log/018).
_ROWS = 256
_SENTENCES = 128


def build_search(
    options: SearchOptions,
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
    terms: bool = False,
    observer: SearchObserver | None = None,
) -> Search:
    """Make the search that these options describe.

    attend: tells the attention for a coverage penalty, see `headway.decoding.attention`. banned: a
    rule for pieces that are forbidden besides, see `headway.decoding.banned`. terms: whether a
    request has some. observer: follows the search, which then is for one sentence. Raises
    ConfigError where it would draw several samples or its beam has groups.
    """
    several_samples = options.sampling is not None and (options.n_best > 1 or terms)
    if observer is not None and (options.groups > 1 or several_samples):
        raise ConfigError(
            "The beam has groups, or several samples are drawn, or one with terms; of these there "
            "is no record.",
            "Leave out groups and terms, and draw one sample.",
        )
    rules = rules_of(options)
    if banned is not None:
        rules = rules.and_forbid(banned)
    if terms:
        if not options.takes_terms:
            raise ConfigError(
                "There are terms that must occur, but pieces are drawn or the beam has groups.",
                "Leave out sampling and groups, or the terms.",
            )
        return TermsBeamSearch(options, rules, attend, observer)
    if options.sampling is not None:
        return SamplingSearch(options, options.sampling, rules, attend, observer)
    if options.groups > 1:
        return DiverseBeamSearch(options, rules, attend)
    if options.beam_size == 1:
        return GreedySearch(options, rules, attend, observer)
    return BeamSearch(options, rules, attend, observer)


def search_all(
    engine: Engine,
    options: SearchOptions,
    requests: Sequence[Request],
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
    slots: int | None = None,
    max_tokens: int = sys.maxsize,
    workers: int = 1,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each request, best first, in the order of the requests.

    slots: sentences that each worker has at work; unset, as many as make 256 rows, 128 at most.
    max_tokens: source pieces that all have at work together, counted once for each row of their
    sentence; they are fewer where the engine says that more gain little. Long sentences go first:
    the last ones at work are then short, and a batch is seldom half empty.
    """
    attend = attend if options.coverage_penalty else None
    by_kind: dict[bool, list[tuple[int, Request]]] = {}
    for number, request in sorted(enumerate(requests), key=lambda job: -len(job[1].source_ids)):
        by_kind.setdefault(bool(request.terms), []).append((number, request))
    # Each kind by itself: what a sentence gets is not to depend on the terms of others.
    builds = {
        terms: partial(build_search, options, attend=attend, banned=banned, terms=terms)
        for terms in by_kind
    }
    copies = {terms: build().copies for terms, build in builds.items()}
    found: list[list[Hypothesis]] = [[] for _ in requests]
    counter = SentenceCounter(requests)
    for terms, own in by_kind.items():
        rows = copies[terms]
        for index, hypotheses in search_with_workers(
            engine,
            builds[terms],
            own,
            workers=workers,
            slots=max(min(_ROWS // rows, _SENTENCES), 1) if slots is None else slots,
            max_tokens=pieces_at_work(engine, rows, max_tokens // rows // workers),
            lasting=attend is None and banned is None,
        ):
            found[index] = hypotheses
            counter.ended(index)
    return found


def pieces_at_work(engine: Engine, copies: int, most: int = sys.maxsize) -> int:
    """Return the source pieces that one worker has at work: what is worthwhile, at most so many."""
    worthwhile = engine.max_useful_source_pieces(copies)
    return max(most if worthwhile is None else min(most, worthwhile), 1)
