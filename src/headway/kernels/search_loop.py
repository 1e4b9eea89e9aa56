"""Greedy and beam search over a batch, from one finished sentence to the next in one call.

`headway.decoding.greedy` and `headway.decoding.beam` are the readable forms of the same searches,
and say why each decision is made. Hypotheses and their log-probabilities are equal in all bits
(`tests/property/test_search_loop.py`): the products and sums are the same machine code, called by
address, and the arithmetic here has the same order, in float64.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.kernels.arrays import Bools, Floats, Ints
from headway.kernels.codegen.calls import call_at
from headway.kernels.codegen.numba_compiler import compiled_exactly, inlined

Doubles = NDArray[np.float64]

SENTENCE_ENDED, NEEDS_ROOM, NOT_A_NUMBER = 0, 1, 2
"""The reasons to return: a sentence ended; the caches are full; a sum of probabilities is NaN."""


class Model(NamedTuple):
    """The target embedding, the decoder, and the projection to the vocabulary."""

    table: Floats
    """(V, d_model)."""
    scale: np.float32
    positions: Floats
    """At least as many as the longest translation has steps, (T, d_model)."""
    decoder: tuple[Any, ...]
    """The arguments of `decode_rows` from `weights` on."""
    output: NDArray[np.int32]
    """The projection's weights, as `linear.project` takes them; the bits of any kind in int32."""
    vocabulary: int
    """V."""
    exact_output: Floats
    """The same before rounding, (V, d_model), and its bias, (V,), for `top_k.sharpen`."""
    exact_bias: Floats
    margin: np.float32
    most: int
    """The last arguments of `top_k.sharpen`."""


class Calls(NamedTuple):
    """The addresses of kernels."""

    decode_rows: int
    project: int
    sharpen: int
    """0 if the logits are not rounded."""
    best_pieces: int


class Caches(NamedTuple):
    """The state of the decoder; `decode_rows` describes the fields."""

    lengths: Ints
    owners: NDArray[np.int32]
    source_lengths: Ints
    first: tuple[Any, Any, Any, Any]
    addresses: Ints


class Sentences(NamedTuple):
    """The sentence in each of N slots, with K hypotheses of at most T pieces."""

    at_work: Bools
    """(N,)."""
    steps: Ints
    """The pieces of the live hypotheses, (N,)."""
    max_lengths: Ints
    """(N,)."""
    prefix_lengths: Ints
    """(N,)."""
    prefixes: Ints
    """The pieces that a translation must begin with, (N, P)."""
    log_probs: Doubles
    """Of each hypothesis; minus infinity for one that is not live, (N, K)."""
    ids: NDArray[np.int32]
    """(N, K, T)."""


class Finished(NamedTuple):
    """The best finished hypotheses of each slot, in any order, B at most."""

    ids: NDArray[np.int32]
    """(N, B, T)."""
    scores: Doubles
    """Log-probability and score, (N, B, 2)."""
    facts: Ints
    """Number of pieces, order of completion, and 1 if complete, 0 if the limit or the rules ended
    it, (N, B, 3)."""
    counts: Ints
    """The number that have finished, the forgotten ones included, (N,)."""


class Rules(NamedTuple):
    """The options of the search."""

    greedy: bool
    penalties: Doubles
    """The length penalty of each length, the end symbol counted."""
    finished_needed: float
    """Hypotheses that must have finished before a sentence is done."""
    drops_hopeless: bool
    """True if a hypothesis that is worse than all that will be returned is dropped."""
    min_length: int
    no_repeat_ngram: int
    repetition_penalty: np.float32
    never: Ints
    """Pieces that are never chosen."""
    start: int
    end: int


@compiled_exactly
def search_until_end(
    model: Model,
    calls: Calls,
    caches: Caches,
    sentences: Sentences,
    finished: Finished,
    rules: Rules,
) -> int:
    """Take steps until at least one sentence ends; return the reason to return.

    Sentences that have ended are no longer at work, and the hypotheses are in `finished`.
    """
    copies = sentences.log_probs.shape[1]
    room = copies * np.count_nonzero(sentences.at_work)
    rows, slots = np.empty(room, np.int64), np.empty(room, np.int64)
    x = np.empty((room, model.table.shape[1]), np.float32)
    logits = np.empty((room, model.vocabulary), np.float32)
    width = 1 if rules.greedy else min(2 * copies, logits.shape[1])
    values, pieces = np.empty((room, width), np.float32), np.empty((room, width), np.int64)
    sums, forced = np.empty(room, np.float32), np.empty(room, np.int64)
    totals = np.empty((room, width), np.float64)
    while True:
        count = _list_rows(sentences, copies, rows, slots)
        for i in range(count):
            if caches.lengths[rows[i]] == caches.owners.shape[1]:
                return NEEDS_ROOM
            _embed(model, sentences, rules.start, rows[i], x, i)
        call_at(
            calls.decode_rows,
            (
                x[:count], rows[:count], slots[:count], caches.lengths, caches.owners,
                caches.source_lengths, caches.first, caches.addresses, *model.decoder,
            ),
        )  # fmt: skip
        for i in range(count):
            caches.lengths[rows[i]] += 1
        call_at(calls.project, (x[:count], model.output, False, logits[:count]))
        if calls.sharpen:
            exact = model.exact_output, model.exact_bias
            call_at(
                calls.sharpen,
                (x[:count], exact[0], exact[1], model.margin, model.most, logits[:count]),
            )
        for i in range(count):
            forced[i] = _only_choice(sentences, slots[i], rules.end)
        if rules.repetition_penalty != np.float32(1.0):
            _penalize(sentences, rows[:count], rules.repetition_penalty, logits)
        kept = np.empty(count, np.float32)  # because rules do not forbid the only choice
        for i in range(count):
            kept[i] = logits[i, max(forced[i], 0)]
        _find_best(calls, sentences, rules, rows[:count], logits, values, pieces, sums)
        for i in range(count):
            if math.isnan(sums[i]):
                return NOT_A_NUMBER
            before = sentences.log_probs[slots[i], rows[i] - slots[i] * copies]
            for column in range(width):
                totals[i, column] = (np.float64(values[i, column]) - np.float64(sums[i])) + before
            if forced[i] >= 0:
                totals[i] = -np.inf
                totals[i, 0] = (np.float64(kept[i]) - np.float64(sums[i])) + before
                pieces[i, 0] = forced[i]
        ended = False
        first = 0
        while first < count:
            last = first + 1
            while last < count and slots[last] == slots[first]:
                last += 1
            if rules.greedy:
                _take_best(
                    sentences, finished, rules, slots[first], totals[first, 0], pieces[first, 0]
                )
            else:
                _extend(caches, sentences, finished, rules, rows, first, last, totals, pieces)
            ended |= not sentences.at_work[slots[first]]
            first = last
        if ended:
            return SENTENCE_ENDED


@inlined
def _list_rows(sentences: Sentences, copies: int, rows: Ints, slots: Ints) -> int:
    """Write the rows of live hypotheses, ascending, and their slots; return their number."""
    count = 0
    for slot in range(sentences.at_work.size):
        if sentences.at_work[slot]:
            for copy in range(copies):
                if sentences.log_probs[slot, copy] > -np.inf:
                    rows[count], slots[count] = slot * copies + copy, slot
                    count += 1
    return count


@inlined
def _embed(model: Model, sentences: Sentences, start: int, row: int, x: Floats, i: int) -> None:
    """Embed the newest piece of a row, at its position, into row i of x."""
    copies = sentences.log_probs.shape[1]
    slot = row // copies
    step = sentences.steps[slot]
    piece = sentences.ids[slot, row - slot * copies, step - 1] if step else start
    for c in range(x.shape[1]):
        x[i, c] = model.table[piece, c] * model.scale + model.positions[step, c]


@inlined
def _only_choice(sentences: Sentences, slot: int, end: int) -> int:
    """Return the only piece that may follow in a slot; -1 if several may."""
    step = sentences.steps[slot]
    if step < sentences.prefix_lengths[slot]:
        return sentences.prefixes[slot, step]
    return end if step >= sentences.max_lengths[slot] else -1


@inlined
def _penalize(sentences: Sentences, rows: Ints, penalty: np.float32, logits: Floats) -> None:
    """Make pieces that were chosen before less probable, each once."""
    copies = sentences.log_probs.shape[1]
    for i in range(rows.size):
        slot = rows[i] // copies
        ids = sentences.ids[slot, rows[i] - slot * copies]
        for place in range(sentences.steps[slot]):
            earlier = 0
            while ids[earlier] != ids[place]:
                earlier += 1
            if earlier == place:
                before = logits[i, ids[place]]
                logits[i, ids[place]] = before / penalty if before > 0 else before * penalty


@inlined
def _find_best(
    calls: Calls,
    sentences: Sentences,
    rules: Rules,
    rows: Ints,
    logits: Floats,
    values: Floats,
    pieces: Ints,
    sums: Floats,
) -> None:
    """Find the best pieces of each row that the rules allow, and the logarithms of the sums."""
    count, copies = rows.size, sentences.log_probs.shape[1]
    if rules.min_length == 0 and rules.no_repeat_ngram == 0:
        call_at(
            calls.best_pieces,
            (logits[:count], rules.never, values[:count], pieces[:count], sums[:count]),
        )
        return
    fixed = rules.never.size
    never = np.empty(fixed + 1 + sentences.ids.shape[2], np.int64)
    for place in range(fixed):
        never[place] = rules.never[place]
    for i in range(count):
        slot = rows[i] // copies
        step, ids = sentences.steps[slot], sentences.ids[slot, rows[i] - slot * copies]
        size = fixed
        if step < rules.min_length:
            never[size] = rules.end
            size += 1
        n = rules.no_repeat_ngram
        if n:
            for begin in range(step - n + 1):
                equal = 0
                while equal < n - 1 and ids[begin + equal] == ids[step - n + 1 + equal]:
                    equal += 1
                if equal == n - 1:
                    never[size] = ids[begin + n - 1]
                    size += 1
        one = slice(i, i + 1)
        call_at(calls.best_pieces, (logits[one], never[:size], values[one], pieces[one], sums[one]))


@inlined
def _finish(
    finished: Finished,
    slot: int,
    ids: NDArray[np.int32],
    copy: int,
    length: int,
    log_prob: float,
    score: float,
    complete: bool,
) -> None:
    """Keep a finished hypothesis if it is among the best; of equal ones the first is better.

    ids: those of all copies, (K, T).
    """
    count = finished.counts[slot]
    finished.counts[slot] += 1
    place = count
    if count >= finished.scores.shape[1]:
        place = _worst_of(finished, slot)
        if not score > finished.scores[slot, place, 1]:
            return
    for s in range(length):
        finished.ids[slot, place, s] = ids[copy, s]
    finished.scores[slot, place, 0], finished.scores[slot, place, 1] = log_prob, score
    finished.facts[slot, place, 0], finished.facts[slot, place, 1] = length, count
    finished.facts[slot, place, 2] = complete


@inlined
def _worst_of(finished: Finished, slot: int) -> int:
    """Return the place of the worst hypothesis of a slot that has as many as it keeps."""
    worst, scores, facts = 0, finished.scores, finished.facts
    for place in range(1, scores.shape[1]):
        lower = scores[slot, place, 1] < scores[slot, worst, 1]
        equal = scores[slot, place, 1] == scores[slot, worst, 1]
        if lower or (equal and facts[slot, place, 1] > facts[slot, worst, 1]):
            worst = place
    return worst


@inlined
def _take_best(
    sentences: Sentences, finished: Finished, rules: Rules, slot: int, total: float, piece: int
) -> None:
    """Take the best piece of a sentence with one hypothesis."""
    step, possible = sentences.steps[slot], total > -np.inf
    if possible:
        sentences.log_probs[slot, 0] = total
    if possible and piece != rules.end:
        sentences.ids[slot, 0, step] = piece
        sentences.steps[slot] = step + 1
        return
    sentences.at_work[slot] = False  # if no piece is possible, rules forbid all
    log_prob = sentences.log_probs[slot, 0]
    complete = possible and step < sentences.max_lengths[slot]
    score = log_prob / rules.penalties[step + 1]
    _finish(finished, slot, sentences.ids[slot], 0, step, log_prob, score, complete)


@inlined
def _extend(
    caches: Caches,
    sentences: Sentences,
    finished: Finished,
    rules: Rules,
    rows: Ints,
    first: int,
    last: int,
    totals: Doubles,
    pieces: Ints,
) -> None:
    """Choose the next hypotheses of a sentence from the extensions of its live ones.

    These are rows[first:last]. totals and pieces: the extensions of each, best first, (R, W).
    """
    copies, width = sentences.log_probs.shape[1], totals.shape[1]
    slot = rows[first] // copies
    step, ids = sentences.steps[slot], sentences.ids[slot]
    log_probs = np.full(copies, -np.inf)
    parents, newest = np.empty(copies, np.int64), np.empty(copies, np.int64)
    taken = np.zeros(last - first, np.int64)  # of the extensions of each live hypothesis
    limit, live, possible = sentences.max_lengths[slot], 0, False
    for rank in range(2 * copies):
        # The best extension that is left; of equal ones that of the first hypothesis.
        best, total = -1, -np.inf
        for i in range(first, last):
            if taken[i - first] < width and totals[i, taken[i - first]] > total:
                best, total = i, totals[i, taken[i - first]]
        if best < 0:
            break
        possible = True
        piece, parent = pieces[best, taken[best - first]], rows[best] - slot * copies
        taken[best - first] += 1
        if piece != rules.end:
            if live < copies:
                log_probs[live], parents[live], newest[live] = total, parent, piece
                live += 1
        elif rank < copies:
            score = total / rules.penalties[step + 1]
            _finish(finished, slot, ids, parent, step, total, score, step < limit)
    if not possible and finished.counts[slot] == 0:  # rules forbid all: the best one ends
        best = np.argmax(sentences.log_probs[slot])
        total = sentences.log_probs[slot, best]
        _finish(finished, slot, ids, best, step, total, total / rules.penalties[step + 1], False)
    _reorder(caches, ids, step, slot * copies, live, parents, newest)
    sentences.steps[slot] = step + 1
    worst = -np.inf
    if finished.counts[slot] >= finished.scores.shape[1]:
        worst = finished.scores[slot, _worst_of(finished, slot), 1]
    top = -np.inf
    for copy in range(copies):
        hopeless = rules.drops_hopeless and log_probs[copy] < worst
        sentences.log_probs[slot, copy] = -np.inf if hopeless else log_probs[copy]
        top = max(top, sentences.log_probs[slot, copy])
    if top == -np.inf:
        sentences.at_work[slot] = False
    elif finished.counts[slot] >= rules.finished_needed:
        sentences.at_work[slot] = top / rules.penalties[step + 1] > worst


@inlined
def _reorder(
    caches: Caches,
    ids: NDArray[np.int32],
    step: int,
    row: int,
    live: int,
    parents: Ints,
    newest: Ints,
) -> None:
    """Let hypothesis k, below `live`, continue parents[k] with a new piece.

    ids: those of all copies, (K, T). row: that of the first copy.
    """
    owners, old = caches.owners, np.empty(live, np.int32)
    for s in range(step):
        for k in range(live):
            old[k] = ids[parents[k], s]
        for k in range(live):
            ids[k, s] = old[k]
    for s in range(step + 1):
        for k in range(live):
            old[k] = owners[row + parents[k], s]
        for k in range(live):
            owners[row + k, s] = old[k]
    for k in range(live):
        ids[k, step] = newest[k]
        caches.lengths[row + k] = step + 1
