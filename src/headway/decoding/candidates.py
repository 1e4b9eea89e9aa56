"""The best next pieces of each row, under the rules, with their log-probabilities."""

import math
from collections.abc import Sequence

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


def candidates(
    logits: Float[Tensor, "R V"],
    count: int,
    only: Sequence[int | None],
    rules: Rules = NO_RULES,
    pasts: Sequence[Past] = (),
    also: Sequence[Sequence[int]] = (),
) -> tuple[Floats, Ints]:
    """Return the log-probabilities and ids of each row's best pieces, best first, (R, count).

    only: the only choice of a row, or None; it keeps its probability, and the other places of the
    row have minus infinity. pasts: the past of each row, needed if `rules` has any. also: more
    pieces of each row, which get columns of their own.
    """
    logits, kept, sums = steer(logits, only, rules, pasts)
    values, ids, totals = best_pieces(logits, min(count, logits.size(1)), NEVER_CHOSEN)
    totals = totals if sums is None else sums
    check_numbers(totals)
    log_probs = values.astype(np.float64) - totals[:, None]
    if kept:
        chosen = list(kept)
        log_probs[chosen] = -math.inf
        log_probs[chosen, 0] = np.array(list(kept.values())) - totals[chosen]
        ids[chosen, 0] = [choice for choice in only if choice is not None]
    return _with_columns(logits, log_probs, ids, totals, also) if also else (log_probs, ids)


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
    for row, asked in enumerate(also):
        for column, piece in enumerate(asked):
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
    kept = dict(zip(rows, logits[rows, pieces].tolist(), strict=True)) if rows else {}
    if not rules.forbidding:
        return logits, kept, None
    sums = logits.logsumexp(dim=1).cpu().numpy()
    for rule in rules.forbidding:
        rule.apply(logits, pasts)
    return logits, kept, sums


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
