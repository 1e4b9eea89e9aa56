"""Greedy and beam search over a batch, until some of its sentences are finished, in one call.

`headway.decoding.greedy` and `headway.decoding.beam` are the readable forms of the same searches,
and explain each decision. Hypotheses and their log-probabilities are equal in all bits
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
from headway.kernels.drafts import Counts

Doubles = NDArray[np.float64]

DRAFT_ROWS = 5
"""A batch of this many rows takes little longer than one row, because both read all weights
(benchmarks/log/085). Rows that no sentence needs compute guesses."""
_ROWS_OF_LOGITS = 48
"""Rows whose logits are computed together: they stay in the processor's caches until they are
ranked."""
ENOUGH_ENDED, NEEDS_ROOM, NOT_A_NUMBER, INTERRUPTED = 0, 1, 2, 3
"""The reasons to return: enough sentences ended, or none is at work; the caches are full; a sum of
probabilities is NaN; another thread interrupts."""


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
    guess_pieces: int
    """0 if there are no counts to guess by."""


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
    """One for each hypothesis; minus infinity for one that is not live, (N, K)."""
    ids: NDArray[np.int32]
    """(N, K, T)."""
    sources: NDArray[np.int32]
    """The pieces of the sentences, (N, S); S is 0 if nothing is guessed."""
    interrupt: Bools
    """(1,); True lets the loop return after the step that it takes."""


class Finished(NamedTuple):
    """The best finished hypotheses of each slot, at most B, in any order."""

    ids: NDArray[np.int32]
    """(N, B, T)."""
    scores: Doubles
    """Log-probability and score, (N, B, 2)."""
    facts: Ints
    """Number of pieces, order of completion, and 1 if complete, 0 if the limit or the rules ended
    it, (N, B, 3)."""
    counts: Ints
    """The number that have finished, the forgotten ones included, (N,)."""


class Settings(NamedTuple):
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
    settings: Settings,
    guessing: Counts,
    helper: int,
    enough: int,
) -> int:
    """Take steps until `enough` sentences end, or another thread interrupts; return the reason.

    Sentences that have ended are no longer at work, and their hypotheses are in `finished`. In
    greedy search, the rows of the caches that a slot has beyond its first one are for guesses:
    pieces that will probably follow, from `drafts.guess_pieces`. In the same call, the decoder
    computes the next piece after each guess. Guesses are taken up to the first one that differs
    from the model's choice. So each row that counts has the same past as without guesses, and the
    same result.
    """
    # The functions of the loop take arrays, because each use of a tuple compiles to a copy of it.
    table, scale, positions, decoder, output, vocabulary, exact, exact_bias, margin, most = model
    decode_at, project_at, sharpen_at, best_at, guess_at = calls
    past_lengths, owners, source_lengths, first_caches, cache_addresses = caches
    (
        at_work, steps, max_lengths, prefix_lengths, prefixes, log_probs, ids, sources, interrupt,
    ) = sentences  # fmt: skip
    kept_ids, scores, facts, counts = finished
    (
        greedy, penalties, finished_needed, drops_hopeless,
        min_length, no_repeat_ngram, repetition_penalty, never, start, end,
    ) = settings  # fmt: skip
    nodes, last_pieces, often, from_pieces, to_pieces, probabilities = guessing
    copies, room = log_probs.shape[1], 0
    for slot in range(at_work.size):
        if at_work[slot]:
            room += copies
    # A slot has as many rows of the caches as hypotheses, and more if pieces are guessed.
    in_slot = owners.shape[0] // at_work.size
    if in_slot > copies:
        room = max(room, DRAFT_ROWS)
    scratch = np.zeros((2, vocabulary if in_slot > copies else 0), np.float32)
    touched = np.empty(scratch.shape[1], np.int64)
    rows, slots = np.empty(room, np.int64), np.empty(room, np.int64)
    places, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
    x = np.empty((room, table.shape[1]), np.float32)
    together = min(room, _ROWS_OF_LOGITS)
    logits = np.empty((together, vocabulary), np.float32)
    width = 1 if greedy else min(2 * copies, vocabulary)
    values, pieces = np.empty((room, width), np.float32), np.empty((room, width), np.int64)
    sums, forced_logits = np.empty(room, np.float32), np.empty(room, np.float32)
    forced, totals = np.empty(room, np.int64), np.empty((room, width), np.float64)
    fixed = never.size
    forbidden = np.empty(fixed + 1 + ids.shape[2], np.int64)
    for place in range(fixed):
        forbidden[place] = never[place]
    # For the extensions of a sentence.
    taken, old = np.empty(copies, np.int64), np.empty(copies, np.int32)
    parents, newest = np.empty(copies, np.int64), np.empty(copies, np.int64)
    new_log_probs = np.empty(copies, np.float64)
    ended = 0
    while True:
        count = 0
        for slot in range(at_work.size):
            first, step = count, steps[slot]
            for copy in range(copies):
                if at_work[slot] and log_probs[slot, copy] > -np.inf:
                    rows[count], slots[count] = slot * in_slot + copy, slot
                    places[count], numbers[count] = step, copy
                    count += 1
            limit = max(max_lengths[slot], prefix_lengths[slot])  # the end symbol's place
            wanted = min(in_slot - copies, limit - step, owners.shape[1] - 1 - step)
            if count == first or wanted <= 0:
                continue
            if step < prefix_lengths[slot]:
                wanted = min(wanted, prefix_lengths[slot] - step)
                ids[slot, 0, step : step + wanted] = prefixes[slot, step : step + wanted]
            else:
                source = sources[slot, : source_lengths[slot]]
                call_at(
                    guess_at,
                    (
                        nodes, last_pieces, often, from_pieces, to_pieces, probabilities,
                        source, ids[slot, 0], step, wanted, start, end, scratch, touched,
                    ),
                )  # fmt: skip
            count = _add_guesses(
                wanted, slot, step, vocabulary, end, ids, rows, slots, places, numbers, count,
                past_lengths, owners,
            )  # fmt: skip
        if count == 0:
            return ENOUGH_ENDED
        for i in range(count):
            row, step = rows[i], places[i]
            if past_lengths[row] == owners.shape[1]:
                return NEEDS_ROOM
            piece = np.int64(ids[slots[i], numbers[i], step - 1]) if step else start
            for c in range(x.shape[1]):
                x[i, c] = table[piece, c] * scale + positions[step, c]
        call_at(
            decode_at,
            (
                x[:count], rows[:count], slots[:count], past_lengths, owners, source_lengths,
                first_caches, cache_addresses, helper, *decoder,
            ),
        )  # fmt: skip
        simple = min_length == 0 and no_repeat_ngram == 0
        for begin in range(0, count, together):
            stop = min(begin + together, count)
            embedded, logits_now = x[begin:stop], logits[: stop - begin]
            call_at(project_at, (embedded, output, False, logits_now, helper))
            if sharpen_at:
                call_at(sharpen_at, (embedded, exact, exact_bias, margin, most, logits_now))
            for i in range(begin, stop):
                slot, step, at = slots[i], places[i], i - begin
                past_lengths[rows[i]] += 1
                # The only piece that may follow; -1 if several may.
                forced[i] = end if step >= max_lengths[slot] else -1
                if step < prefix_lengths[slot]:
                    forced[i] = prefixes[slot, step]
                if repetition_penalty != np.float32(1.0):
                    _penalize(ids, slot, numbers[i], step, repetition_penalty, logits, at)
                # Read before the rules, which do not forbid the only choice.
                forced_logits[i] = logits[at, max(forced[i], 0)]
            first = begin
            while first < stop:
                last, size = stop, fixed
                if not simple:
                    last, slot = first + 1, slots[first]
                    step, copy = places[first], numbers[first]
                    if step < min_length:
                        forbidden[size] = end
                        size += 1
                    size = _forbid_repeats(ids, slot, copy, step, no_repeat_ngram, forbidden, size)
                call_at(
                    best_at,
                    (
                        logits[first - begin : last - begin], forbidden[:size],
                        values[first:last], pieces[first:last], sums[first:last],
                    ),
                )  # fmt: skip
                first = last
        for i in range(count):
            # The row of a wrong guess may have any numbers, so guesses are checked when taken.
            if math.isnan(sums[i]) and places[i] == steps[slots[i]]:
                return NOT_A_NUMBER
        first = 0
        while first < count:
            slot, last = slots[first], first + 1
            while last < count and slots[last] == slot:
                last += 1
            step, limit = steps[slot], max_lengths[slot]
            if greedy:
                i = first
                while i < last:
                    step = places[i]
                    if math.isnan(sums[i]):
                        return NOT_A_NUMBER
                    past_lengths[rows[first]], owners[rows[first], step] = step + 1, rows[i]
                    guess = ids[slot, 0, step]
                    before = log_probs[slot, 0]
                    _add_up(totals, pieces, i, values, sums, forced_logits, forced, before)
                    _take_best(
                        totals, pieces, i, penalties[step + 1], end, slot, step, limit,
                        at_work, steps, log_probs, ids, kept_ids, scores, facts, counts,
                    )  # fmt: skip
                    taken_as_guessed = at_work[slot] and ids[slot, 0, step] == guess
                    i = i + 1 if taken_as_guessed else last
            else:
                penalty = penalties[step + 1]
                for i in range(first, last):
                    before = log_probs[slot, numbers[i]]
                    _add_up(totals, pieces, i, values, sums, forced_logits, forced, before)
                live = _rank_extensions(
                    totals, pieces, rows, first, last, penalty, end, slot, step, limit,
                    log_probs, ids, kept_ids, scores, facts, counts,
                    taken, new_log_probs, parents, newest,
                )  # fmt: skip
                _reorder(ids, owners, past_lengths, slot, step, live, parents, newest, old)
                steps[slot] = step + 1
                at_work[slot] = _goes_on(
                    new_log_probs, slot, penalty, drops_hopeless, finished_needed,
                    log_probs, scores, facts, counts,
                )  # fmt: skip
            ended += not at_work[slot]
            first = last
        if ended >= enough:
            return ENOUGH_ENDED
        if interrupt[0]:
            return INTERRUPTED


@inlined
def _add_guesses(
    wanted: int,
    slot: int,
    step: int,
    vocabulary: int,
    end: int,
    ids: NDArray[np.int32],
    rows: Ints,
    slots: Ints,
    places: Ints,
    numbers: Ints,
    count: int,
    past_lengths: Ints,
    owners: Ints,
) -> int:
    """Add a row for the piece after each guess of a sentence; return the number of all rows.

    The guesses are pieces step, step + 1, … of the sentence's ids, at most `wanted`. The row of the
    first one comes after row count - 1, that of the sentence itself, and each sees those before it.
    """
    sentence_row = rows[count - 1]
    for place in range(step + 1, step + 1 + wanted):
        piece = ids[slot, 0, place - 1]
        if not 0 <= piece < vocabulary or piece == end:
            break
        row = sentence_row + place - step
        past_lengths[row] = place
        for s in range(place):
            owners[row, s] = owners[sentence_row, s] if s < step else sentence_row + s - step
        rows[count], slots[count], places[count], numbers[count] = row, slot, place, 0
        count += 1
    return count


@inlined
def _add_up(
    totals: Doubles,
    pieces: Ints,
    i: int,
    values: Floats,
    sums: Floats,
    forced_logits: Floats,
    forced: Ints,
    before: float,
) -> None:
    """Compute the log-probabilities of a hypothesis with each of its best pieces, in row i.

    before: the log-probability of the hypothesis. If only one piece may follow, it is put first.
    """
    for column in range(totals.shape[1]):
        totals[i, column] = (np.float64(values[i, column]) - np.float64(sums[i])) + before
        if forced[i] >= 0:
            totals[i, column] = -np.inf
    if forced[i] >= 0:
        totals[i, 0] = (np.float64(forced_logits[i]) - np.float64(sums[i])) + before
        pieces[i, 0] = forced[i]


@inlined
def _take_best(
    totals: Doubles,
    pieces: Ints,
    i: int,
    penalty: float,
    end: int,
    slot: int,
    step: int,
    limit: int,
    at_work: Bools,
    steps: Ints,
    log_probs: Doubles,
    ids: NDArray[np.int32],
    kept_ids: NDArray[np.int32],
    scores: Doubles,
    facts: Ints,
    counts: Ints,
) -> None:
    """Take the best piece of a sentence with one hypothesis, row i."""
    total, piece = totals[i, 0], pieces[i, 0]
    possible = total > -np.inf
    if possible:
        log_probs[slot, 0] = total
    if possible and piece != end:
        ids[slot, 0, step] = piece
        steps[slot] = step + 1
    else:
        at_work[slot] = False  # if no piece is possible, the rules forbid all pieces
        copy, total = 0, log_probs[slot, 0]
        _finish(
            kept_ids, scores, facts, counts, slot,
            ids, copy, step, total, total / penalty, possible and step < limit,
        )  # fmt: skip


@inlined
def _rank_extensions(
    totals: Doubles,
    pieces: Ints,
    rows: Ints,
    first: int,
    last: int,
    penalty: float,
    end: int,
    slot: int,
    step: int,
    limit: int,
    log_probs: Doubles,
    ids: NDArray[np.int32],
    kept_ids: NDArray[np.int32],
    scores: Doubles,
    facts: Ints,
    counts: Ints,
    taken: Ints,
    new_log_probs: Doubles,
    parents: Ints,
    newest: Ints,
) -> int:
    """Rank the extensions of a sentence's live hypotheses, rows first to last - 1.

    Those that end are kept. Return the number of those that go on; their log-probabilities, parents
    and pieces are in the last three arrays. taken: scratch, (K,).
    """
    copies, width = log_probs.shape[1], totals.shape[1]
    for k in range(copies):
        taken[k], new_log_probs[k] = 0, -np.inf
    live, possible = 0, False
    for rank in range(2 * copies):
        # The best extension that is left; of equal ones, that of the first hypothesis.
        best, total = -1, -np.inf
        for i in range(first, last):
            column = taken[i - first]
            if column < width and totals[i, column] > total:
                best, total = i, totals[i, column]
        if best < 0:
            break
        possible = True
        piece, parent = pieces[best, taken[best - first]], rows[best] - slot * copies
        taken[best - first] += 1
        if piece != end:
            if live < copies:
                new_log_probs[live], parents[live], newest[live] = total, parent, piece
                live += 1
        elif rank < copies:
            _finish(
                kept_ids, scores, facts, counts, slot,
                ids, parent, step, total, total / penalty, step < limit,
            )  # fmt: skip
    if not possible and counts[slot] == 0:  # rules forbid all pieces: the best hypothesis ends
        best = rows[first] - slot * copies
        for copy in range(best + 1, copies):
            if log_probs[slot, copy] > log_probs[slot, best]:
                best = copy
        total = log_probs[slot, best]
        _finish(
            kept_ids, scores, facts, counts, slot,
            ids, best, step, total, total / penalty, possible,
        )  # fmt: skip
    return live


@inlined
def _goes_on(
    new_log_probs: Doubles,
    slot: int,
    penalty: float,
    drops_hopeless: bool,
    finished_needed: float,
    log_probs: Doubles,
    scores: Doubles,
    facts: Ints,
    counts: Ints,
) -> bool:
    """Write the log-probabilities of the next step; return True if the sentence is not done."""
    worst = -np.inf
    if counts[slot] >= scores.shape[1]:
        worst = scores[slot, _worst_of(scores, facts, slot), 1]
    top = -np.inf
    for copy in range(log_probs.shape[1]):
        hopeless = drops_hopeless and new_log_probs[copy] < worst
        log_probs[slot, copy] = -np.inf if hopeless else new_log_probs[copy]
        top = max(top, log_probs[slot, copy])
    enough = counts[slot] >= finished_needed
    return top > -np.inf and (not enough or top / penalty > worst)


@inlined
def _penalize(
    ids: NDArray[np.int32],
    slot: int,
    copy: int,
    step: int,
    penalty: np.float32,
    logits: Floats,
    i: int,
) -> None:
    """Make pieces that a hypothesis has chosen before less probable, each once; in row i."""
    for place in range(step):
        piece, earlier = ids[slot, copy, place], 0
        while ids[slot, copy, earlier] != piece:
            earlier += 1
        if earlier == place:
            before = logits[i, piece]
            logits[i, piece] = before / penalty if before > 0 else before * penalty


@inlined
def _forbid_repeats(
    ids: NDArray[np.int32], slot: int, copy: int, step: int, n: int, forbidden: Ints, size: int
) -> int:
    """Append the pieces that would repeat n pieces of a hypothesis, if n is not 0.

    Return the number of forbidden pieces.
    """
    for begin in range(step - n + 1 if n else 0):
        equal = 0
        while (
            equal < n - 1
            and ids[slot, copy, begin + equal] == ids[slot, copy, step - n + 1 + equal]
        ):
            equal += 1
        if equal == n - 1:
            forbidden[size] = ids[slot, copy, begin + n - 1]
            size += 1
    return size


@compiled_exactly
def _finish(
    kept_ids: NDArray[np.int32],
    scores: Doubles,
    facts: Ints,
    counts: Ints,
    slot: int,
    ids: NDArray[np.int32],
    copy: int,
    length: int,
    log_prob: float,
    score: float,
    complete: bool,
) -> None:
    """Keep a finished hypothesis if it is among the best; of equal ones, the earlier is better.

    The first arrays are those of `Finished`. ids: of `Sentences`.
    """
    count = counts[slot]
    counts[slot] += 1
    place = count
    if count >= scores.shape[1]:
        place = _worst_of(scores, facts, slot)
        if not score > scores[slot, place, 1]:
            return
    for s in range(length):
        kept_ids[slot, place, s] = ids[slot, copy, s]
    scores[slot, place, 0], scores[slot, place, 1] = log_prob, score
    facts[slot, place, 0], facts[slot, place, 1] = length, count
    facts[slot, place, 2] = complete


@inlined
def _worst_of(scores: Doubles, facts: Ints, slot: int) -> int:
    """Return the place of the worst hypothesis of a slot that has as many as it keeps."""
    worst = 0
    for place in range(1, scores.shape[1]):
        lower = scores[slot, place, 1] < scores[slot, worst, 1]
        equal = scores[slot, place, 1] == scores[slot, worst, 1]
        if lower or (equal and facts[slot, place, 1] > facts[slot, worst, 1]):
            worst = place
    return worst


@inlined
def _reorder(
    ids: NDArray[np.int32],
    owners: NDArray[np.int32],
    past_lengths: Ints,
    slot: int,
    step: int,
    live: int,
    parents: Ints,
    newest: Ints,
    old: NDArray[np.int32],
) -> None:
    """Let hypothesis k of a slot, below `live`, continue parents[k] with a new piece.

    old: scratch, (K,).
    """
    row = slot * ids.shape[1]
    for s in range(step + 1):
        if s < step:
            for k in range(live):
                old[k] = ids[slot, parents[k], s]
            for k in range(live):
                ids[slot, k, s] = old[k]
        for k in range(live):
            old[k] = owners[row + parents[k], s]
        for k in range(live):
            owners[row + k, s] = old[k]
    for k in range(live):
        ids[slot, k, step] = newest[k]
        past_lengths[row + k] = step + 1
