"""The log-probability that a model gives to existing translations."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.bundle import Bundle
from headway.data.batching import Batch, collate, inference_batches
from headway.data.encoded import EncodedPair
from headway.data.texts import as_texts
from headway.data.tokenizer import PAD_ID
from headway.decoding.request_maker import check_count
from headway.decoding.tags import tag_before
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, DataError, require_type
from headway.model.modes import evaluating

_ROWS = 256  # positions whose logits exist at the same time


@dataclass(frozen=True, slots=True)
class PairScore:
    """A model's score of one given translation."""

    log_prob: float
    """Natural logarithm of its probability, end symbol included."""
    num_pieces: int
    """Pieces of the target, end symbol included; never 0."""


def score_pairs(
    model: Bundle | TextTranslator,
    sources: Iterable[str],
    targets: Iterable[str],
    batch_tokens: int = 4096,
) -> list[PairScore]:
    """Return log P(target | source) of each pair, in order, by teacher forcing.

    A blank side is its end symbol alone. batch_tokens: padded pieces of each side computed
    together; it changes speed and memory, not the result. A model in training mode is in eval mode
    meanwhile. Raises ConfigError for an ensemble.
    """
    bundle = only_bundle(model, "A score")
    pairs = encode_pairs(bundle, sources, targets)
    log_probs = [0.0] * len(pairs)
    for batch in forced_batches(bundle, pairs, batch_tokens):
        for row, log_prob in zip(batch.indices, _log_probs(bundle, batch).tolist(), strict=True):
            log_probs[row] = log_prob
    return [
        PairScore(log_prob, len(pair.target_ids) + 1)
        for log_prob, pair in zip(log_probs, pairs, strict=True)
    ]


def encode_pairs(
    bundle: Bundle, sources: Iterable[str], targets: Iterable[str]
) -> list[EncodedPair]:
    """Return the pieces of pairs; ConfigError for a pair that is too long for the model.

    A source that lacks a tag has that of the model before its pieces, see `tag_before`.
    """
    sources, targets = as_texts(sources, "sources"), as_texts(targets, "targets")
    if len(sources) != len(targets):
        raise DataError(
            f"There are {len(sources)} sources and {len(targets)} targets.",
            "Give one target for each source, in the same order.",
        )
    tokenizer = bundle.source_tokenizer
    tags = [tag_before(bundle, source) for source in sources]
    tag_ids = {tag: tokenizer.encode(tag) for tag in set(tags)}
    tagged = zip(tags, tokenizer.encode_batch(sources), strict=True)
    encoded = zip(
        ([*tag_ids[tag], *ids] for tag, ids in tagged),
        bundle.target_tokenizer.encode_batch(targets),
        strict=True,
    )
    pairs = [EncodedPair(*pair, line) for line, pair in enumerate(encoded, start=1)]
    _check_positions(bundle, pairs)
    return pairs


def forced_batches(
    bundle: Bundle, pairs: Sequence[EncodedPair], batch_tokens: int
) -> Iterator[Batch]:
    """Yield the pairs in batches for teacher forcing, on the model's device, the longest first.

    `batch.indices` are places in `pairs`. batch_tokens: padded pieces of each side in a batch.
    """
    check_count("batch_tokens", batch_tokens)
    device = next(bundle.model.parameters()).device
    for rows in inference_batches(
        [(len(pair.source_ids), len(pair.target_ids)) for pair in pairs],
        max_tokens=batch_tokens,
        max_sentences=max(len(pairs), 1),
    ):
        yield collate([pairs[row] for row in rows], rows).to(device)


def perplexity(scores: Sequence[PairScore]) -> float:
    """Return exp(-sum of log-probabilities / number of pieces); lower is better.

    >>> perplexity([PairScore(-3.0, 2), PairScore(-1.0, 2)]) == math.e
    True
    """
    remedy = "Give the list that `score_pairs` returns."
    require_type("scores", scores, Sequence, remedy)
    for score in scores:
        require_type("A score", score, PairScore, remedy)
    if not scores:
        raise DataError("There is nothing to score.", "Give at least one pair.")
    nll = -math.fsum(score.log_prob for score in scores)
    return math.exp(min(nll / sum(score.num_pieces for score in scores), 700.0))


def _check_positions(bundle: Bundle, pairs: Sequence[EncodedPair]) -> None:
    config = bundle.config
    if config.positions != "learned":
        return
    for pair in pairs:
        needed = max(len(pair.source_ids), len(pair.target_ids)) + 1
        if needed > config.max_positions:
            raise ConfigError(
                f"Pair {pair.line} takes {needed} positions, but the model has "
                f"{config.max_positions}.",
                "Split the sentence, or leave the pair out.",
            )


@torch.inference_mode()
def _log_probs(bundle: Bundle, batch: Batch) -> Float[Tensor, " B"]:
    with evaluating(bundle.model):
        hidden = bundle.model.hidden(batch.source_ids, batch.target_ids)
        return summed_log_probs(bundle, hidden, batch.label_ids)


def summed_log_probs(
    bundle: Bundle, hidden: Float[Tensor, "B T d_model"], label_ids: Int[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Sum the log-probabilities of each row's labels, padding left out; float64, on the CPU.

    Rows of the table without a piece have no probability, here as in a translation.
    """
    project, pieces = bundle.model.output_projection, len(bundle.target_tokenizer)
    labels = label_ids.flatten()
    chosen = torch.cat(
        [
            project(some_hidden)[:, :pieces]
            .float()
            .log_softmax(dim=-1)
            .gather(1, some_labels[:, None])[:, 0]
            for some_hidden, some_labels in zip(
                hidden.flatten(0, 1).split(_ROWS), labels.split(_ROWS), strict=True
            )
        ]
    )
    chosen = chosen.masked_fill(labels == PAD_ID, 0.0).view(label_ids.shape)  # (B, T)
    return chosen.cpu().double().sum(dim=1)
