"""The best next pieces of each row, under the rules, with their log-probabilities."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.decoding.engine import Engine, Ints
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.errors import HeadwayError
from headway.kernels import dispatch

# Padding and start are no output; the unknown piece cannot be turned back into text.
NEVER_CHOSEN = (PAD_ID, START_ID, UNK_ID)
Floats = NDArray[np.float64]
_Values = NDArray[np.float32]

_FIRST = 32  # pieces of a row that are looked at first, and suffice for most rows of a wide beam


class Rivals(NamedTuple):
    """The hypotheses of several sentences, which compete for the best extensions."""

    sentences: Ints
    """The sentence of each row, ascending, (R,)."""
    log_probs: Floats
    """The log-probability of each row's hypothesis so far, (R,)."""


def candidates(
    logits: Float[Tensor, "R V"],
    count: int,
    only: Sequence[int | None],
    rules: Rules = NO_RULES,
    pasts: Sequence[Past] = (),
    also: Sequence[Sequence[int]] = (),
    rivals: Rivals | None = None,
) -> tuple[Floats, Ints]:
    """Return the log-probabilities and ids of each row's best pieces, best first, (R, count).

    only: the only choice of a row, or None; it keeps its probability, and the other places of the
    row have minus infinity. pasts: the past of each row, needed if `rules` has any. also: more
    pieces of each row, which get columns of their own. rivals: if they are given, pieces may be
    left out that are not among the best `count` extensions of a sentence. There may be fewer
    columns then.
    """
    logits, forced_logits, sums = steer(logits, only, rules, pasts)
    count = min(count, logits.size(1))
    if rivals is not None and not forced_logits and count >= 4 * _FIRST:
        return _best_of_rivals(logits, count, sums, rivals)
    values, ids, totals = best_pieces(logits, count, NEVER_CHOSEN)
    totals = totals if sums is None else sums
    check_numbers(totals)
    log_probs = values.astype(np.float64) - totals[:, None]
    if forced_logits:
        chosen = list(forced_logits)
        log_probs[chosen] = -math.inf
        log_probs[chosen, 0] = np.array(list(forced_logits.values())) - totals[chosen]
        ids[chosen, 0] = [choice for choice in only if choice is not None]
    return _with_columns(logits, log_probs, ids, totals, also) if also else (log_probs, ids)


def _best_of_rivals(
    logits: Float[Tensor, "R V"], count: int, sums: _Values | None, rivals: Rivals
) -> tuple[Floats, Ints]:
    """Return log-probabilities and ids, (R, W), with the best `count` of each sentence.

    The best few pieces of each row give a bound of its sentence. If the last of a row's few reaches
    it, the row may have more among the best, so all its pieces are found. These rows are few: all
    their few pieces are among the best.
    """
    values, ids, sums_now = best_pieces(logits, _FIRST, NEVER_CHOSEN)
    sums = sums_now if sums is None else sums
    check_numbers(sums)
    log_probs = values.astype(np.float64) - sums[:, None]
    before, sentences = rivals.log_probs[:, None], rivals.sentences
    totals = log_probs + before
    bounds = _bounds(count, [(totals, sentences)])
    more = (totals[:, -1] >= bounds[sentences]).nonzero()[0]
    if not len(more):
        return log_probs, ids
    more_values, more_ids, _ = best_pieces(logits[torch.from_numpy(more)], count, NEVER_CHOSEN)
    more_log_probs = more_values.astype(np.float64) - sums[more, None]
    more_totals, its_sentence = more_log_probs + before[more], sentences[more]
    other_rows = np.delete(totals, more, axis=0), np.delete(sentences, more)
    bounds = _bounds(count, [other_rows, (more_totals, its_sentence)])
    reaching = np.count_nonzero(more_totals >= bounds[its_sentence, None], axis=1)
    shape = len(ids), max(_FIRST, int(reaching.max()))
    all_log_probs, all_ids = np.full(shape, -math.inf), np.full(shape, END_ID)
    all_log_probs[:, :_FIRST], all_ids[:, :_FIRST] = log_probs, ids
    all_log_probs[more], all_ids[more] = more_log_probs[:, : shape[1]], more_ids[:, : shape[1]]
    return all_log_probs, all_ids


def _bounds(count: int, parts: Sequence[tuple[Floats, Ints]]) -> Floats:
    """Return a number for each sentence that `count` of its totals reach; -inf if it has fewer.

    parts: totals, (R, W), and the sentence of each row, (R,).
    """
    bounds = np.full(1 + max(sentences.max(initial=0) for _, sentences in parts), -math.inf)
    for sentence in range(len(bounds)):
        numbers = np.concatenate([totals[rows == sentence].ravel() for totals, rows in parts])
        if len(numbers) >= count:
            bounds[sentence] = np.partition(numbers, len(numbers) - count)[len(numbers) - count]
    return bounds


@torch.inference_mode()
def next_pieces(engine: Engine, request: Request, count: int) -> list[tuple[int, float]]:
    """Return the most probable pieces after a request's prefix, with their probabilities.

    The most probable comes first. Fewer than `count` are possible where no others are allowed.
    """
    state, row = engine.start(1, 1), np.array([0])
    allowed = None if request.allowed is None else [request.allowed]
    engine.encode(state, [0], [request.source_ids], allowed)
    logits = engine.step(state, row, np.array([START_ID]))
    for piece in request.by_place().prefix:
        logits = engine.step(state, row, np.array([piece]))
    log_probs, ids = candidates(logits, count, [None])
    return [
        (request.pieces([place])[0], math.exp(log_prob))
        for place, log_prob in zip(ids[0].tolist(), log_probs[0], strict=True)
        if log_prob > -math.inf
    ]


def check_numbers(totals: _Values) -> None:
    """Refuse rows with NaN, which have no best piece; totals: log(sum(exp(logits))), (R,)."""
    if math.isnan(totals @ totals):  # one operation for all rows
        raise HeadwayError(
            "The model's output for a sentence is not a number (NaN), so no token can be chosen.",
            "Look for NaN in its weights; if they have none, translate in float32.",
        )


def _with_columns(
    logits: Float[Tensor, "R V"],
    log_probs: Floats,
    ids: Ints,
    totals: _Values,
    also: Sequence[Sequence[int]],
) -> tuple[Floats, Ints]:
    """Append the pieces of `also` that are not yet among those of a row."""
    width = max(map(len, also))
    more, pieces = np.full((len(also), width), -math.inf), np.full((len(also), width), END_ID)
    for row, row_pieces in enumerate(also):
        for column, piece in enumerate(row_pieces):
            if piece not in ids[row]:
                more[row, column] = float(logits[row, piece]) - totals[row]
                pieces[row, column] = piece
    return np.concatenate([log_probs, more], axis=1), np.concatenate([ids, pieces], axis=1)


def steer(
    logits: Float[Tensor, "R V"],
    only: Sequence[int | None],
    rules: Rules,
    pasts: Sequence[Past],
) -> tuple[Float[Tensor, "R V"], dict[int, float], _Values | None]:
    """Apply the rules; return the logits, the logit of each row with one choice, and the sums.

    The sums are log(sum(exp(logits))) before pieces were forbidden, (R,); None without such rules.
    """
    logits = logits.float()
    for rule in rules.changing:
        rule.apply(logits, pasts)
    rows = [row for row, choice in enumerate(only) if choice is not None]
    pieces = [choice for choice in only if choice is not None]
    forced_logits = dict(zip(rows, logits[rows, pieces].tolist(), strict=True)) if rows else {}
    if not rules.forbidding:
        return logits, forced_logits, None
    _, _, sums = best_pieces(logits, 1)
    for rule in rules.forbidding:
        rule.apply(logits, pasts)
    return logits, forced_logits, sums


def best_pieces(
    logits: Float[Tensor, "R V"], count: int, never: Sequence[int] = ()
) -> tuple[_Values, Ints, _Values]:
    """Return the best logits and their ids, best first, (R, count), and log(sum(exp)), (R,).

    never: pieces that are never among the best, but count in the sum; `logits` may lose them.
    """
    logits = logits.float()
    if dispatch.decoder(logits.device).by is dispatch.By.NUMBA:
        return _compiled_best(logits.contiguous(), count, never)
    totals = logits.logsumexp(dim=1)
    logits[:, never] = -math.inf
    values, ids = logits.topk(count, dim=1)
    return values.cpu().numpy(), ids.cpu().numpy(), totals.cpu().numpy()


def _compiled_best(
    logits: Float[Tensor, "R V"], count: int, never: Sequence[int]
) -> tuple[_Values, Ints, _Values]:
    from headway.kernels.top_k import best_pieces as find

    rows = len(logits)
    values, ids = np.empty((rows, count), np.float32), np.empty((rows, count), np.int64)
    totals = np.empty(rows, np.float32)
    find(logits.numpy(), np.array(never, dtype=np.int64), values, ids, totals)
    return values, ids, totals
