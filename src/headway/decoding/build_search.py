"""The search that options describe, and its results for many requests, in order."""

import sys
from collections.abc import Sequence
from functools import partial

from headway.decoding.attention import Attend
from headway.decoding.batch import StepwiseBatch
from headway.decoding.beam import BeamSearch
from headway.decoding.counting import SentenceCounter
from headway.decoding.diverse import DiverseBeamSearch
from headway.decoding.engine import Batch, Engine
from headway.decoding.greedy import GreedySearch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Rule, rules_of
from headway.decoding.sampling import SamplingSearch
from headway.decoding.search import Search, SearchObserver
from headway.decoding.terms import TermsBeamSearch
from headway.decoding.workers import search_with_workers
from headway.errors import ConfigError

# The most rows and sentences of a batch. More rows make larger products, but also larger caches,
# which no longer fit into the processor's caches together with the weights (benchmarks/log/018).
_ROWS = 256
_SENTENCES = 128
# Hypotheses from which a beam is faster step by step, because it looks at few pieces of most rows.
_WIDE = 256


def build_search(
    options: SearchOptions,
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
    terms: bool = False,
    observer: SearchObserver | None = None,
) -> Search:
    """Make the search that these options describe.

    attend: computes the attention for a coverage penalty (`headway.decoding.attention`). banned: a
    rule that forbids more pieces (`headway.decoding.banned`). terms: True if requests have terms.
    observer: follows the search, which then takes one sentence. Raises ConfigError for terms or an
    observer with a search that does not support them.
    """
    several_samples = options.sampling is not None and (options.n_best > 1 or terms)
    if observer is not None and (options.groups > 1 or several_samples):
        raise ConfigError(
            "A search cannot be recorded if its beam has groups, if several samples are drawn, or "
            "if one is drawn with terms.",
            "Leave out groups and terms, and draw one sample.",
        )
    rules = rules_of(options)
    if banned is not None:
        rules = rules.and_forbid(banned)
    if terms:
        if not options.takes_terms:
            raise ConfigError(
                "Terms that must occur cannot be combined with sampling or groups.",
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


def build_batch(
    engine: Engine,
    options: SearchOptions,
    slots: int,
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
    terms: bool = False,
    lists: bool = False,
) -> Batch:
    """Make a batch with this number of slots; the other arguments are those of `build_search`.

    lists: True if the requests have lists of allowed pieces. If the engine has a compiled loop, it
    runs greedy and beam search with all options but a coverage penalty and a favoured prefix, and
    without lists, up to a beam of 255. The results are those of the searches that `build_search`
    makes, in all bits.
    """
    needs_search = terms or banned is not None or options.sampling is not None or options.groups > 1
    needs_logits = lists or options.coverage_penalty or options.prefix_bias < 1
    wide = options.beam_size >= _WIDE
    if not (needs_search or needs_logits or wide) and (batch := engine.batch(options, slots)):
        return batch
    search = build_search(options, attend=attend, banned=banned, terms=terms)
    return StepwiseBatch(engine, search, slots)


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

    slots: sentences that each worker has at work; by default as many as have 256 rows together,
    128 at most. max_tokens: source pieces that all workers have at work together, counted once for
    each row of their sentence; fewer if the engine gains little by more. Long sentences go first,
    so that the last ones at work are short and a batch is seldom half empty.
    """
    attend = attend if options.coverage_penalty else None
    by_kind: dict[bool, list[tuple[int, Request]]] = {}
    for number, request in sorted(enumerate(requests), key=lambda job: -len(job[1].source_ids)):
        by_kind.setdefault(bool(request.terms), []).append((number, request))
    # Requests with and without terms are separate searches, so that the result of a sentence does
    # not depend on the terms of other sentences.
    results: list[list[Hypothesis]] = [[] for _ in requests]
    counter = SentenceCounter(requests)
    for terms, numbered in by_kind.items():
        rows = build_search(options, attend=attend, banned=banned, terms=terms).copies
        lists = any(request.allowed is not None for _, request in numbered)
        batch = partial(
            build_batch, engine, options, attend=attend, banned=banned, terms=terms, lists=lists
        )
        for index, hypotheses in search_with_workers(
            batch,
            numbered,
            workers=workers,
            slots=usual_slots(rows) if slots is None else slots,
            max_tokens=pieces_at_work(engine, rows, max_tokens // rows // workers),
        ):
            results[index] = hypotheses
            counter.ended(index)
    return results


def usual_slots(rows: int) -> int:
    """Return the sentences of a batch, for a search with this number of rows for each."""
    return max(min(_ROWS // rows, _SENTENCES), 1)


def pieces_at_work(engine: Engine, copies: int, most: int = sys.maxsize) -> int:
    """Return the number of source pieces that one worker has at work, `most` at most."""
    useful = engine.max_useful_source_pieces(copies)
    return max(most if useful is None else min(most, useful), 1)
