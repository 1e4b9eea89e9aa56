"""Translations that run away: they repeat a few pieces, or are far longer than their source.

Any model can fall into a loop, above all for input unlike its training text: one letter, a number,
a row of dots (Raunak et al. 2021, "The Curious Case of Hallucinations in Neural Machine
Translation"). A loop has a high probability, so the score does not tell it, and a wider beam does
not avoid it. Such a part is searched again, under rules that leave no room for a loop.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import eq

from headway.data.tokenizer import Tokenizer
from headway.decoding.hypothesis import Hypothesis, best_first
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Past
from headway.decoding.terms import has_all_terms

LONGEST_NGRAM = 8
"""Pieces of the longest n-gram whose repetition is looked for."""
TIMES = 4
"""An n-gram that occurs so often in a row is a loop, unless the source repeats as often."""
NO_REPEAT = 3
"""The second search lets no n-gram of this size occur twice, so nothing occurs four times."""


def most_pieces(request: Request, options: SearchOptions) -> int:
    """Return the most pieces of a translation that does not run away: 3 for each of the source, 20.

    Demanded pieces come on top. Options that ask for more pieces get them.
    """
    demanded = len(request.prefix) + sum(map(len, request.terms))
    return max(3 * (len(request.source_ids) - 1) + 20 + demanded, options.min_length)


def most_repeats(items: Sequence[int] | str) -> int:
    """Return how often in a row the most repeated n-gram of up to 8 items occurs.

    >>> most_repeats("xabababay"), most_repeats("abc"), most_repeats("")
    (3, 1, 0)
    """
    repeats = min(len(items), 1)
    for size in range(1, min(LONGEST_NGRAM, len(items) // 2) + 1):
        # An n-gram that occurs k times in a row is (k - 1) n items that are equal n places later.
        later = bytes(map(eq, items, items[size:]))
        repeats = max(repeats, max(map(len, later.split(b"\0"))) // size + 1)
    return repeats


def runs_away(
    ids: Sequence[int], request: Request, options: SearchOptions, tokenizer: Tokenizer
) -> bool:
    """Return True if these pieces are too many, or repeat what the source does not.

    tokenizer: that of the source. Its repetition is looked for in pieces and in characters, because
    one piece may be a row of dots. A prefix or term may repeat, too.
    """
    if len(ids) > most_pieces(request, options):
        return True
    repeated = len(ids) - len(set(ids)) >= TIMES - 1  # looked at first, because it is faster
    if not repeated or max(Counter(ids).values()) < TIMES:
        return False  # the usual case: no piece occurs often enough to be in a loop
    times = most_repeats(ids)
    if times < TIMES:
        return False
    source = request.source_ids[:-1]  # without the end symbol
    repeatable = ("".join(tokenizer.spelled(source)), source, request.prefix, *request.terms)
    return times > max(map(most_repeats, repeatable))


def tightened(options: SearchOptions) -> SearchOptions:
    """Return the options of the second search."""
    return replace(options, no_repeat_ngram=min(options.no_repeat_ngram or NO_REPEAT, NO_REPEAT))


def shortened(request: Request, options: SearchOptions) -> Request:
    """Return the request of the second search, with the most pieces as its limit."""
    limit = min(request.max_length, most_pieces(request, options))
    return replace(request, max_length=limit)


def better(
    first: Sequence[Hypothesis],
    second: Sequence[Hypothesis],
    request: Request,
    options: SearchOptions,
    tokenizer: Tokenizer,
) -> list[Hypothesis]:
    """Return the best hypotheses of both searches that do not run away, by score.

    Those of the first search are kept if there is none: the rules of the second search may exclude
    a demanded term.
    """
    usable = {
        hypothesis.ids: hypothesis
        for hypothesis in (*first, *second)
        if not runs_away(hypothesis.ids, request, options, tokenizer)
        and has_all_terms(Past(request, hypothesis.ids))
    }
    return best_first(usable.values())[: options.n_best] or list(first)
