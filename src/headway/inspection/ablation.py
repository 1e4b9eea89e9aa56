"""Head importance by ablation: the rise of the loss without a head.

A head is switched off by zeros in place of its output, before W^O (section 3.2.2), as in Michel et
al. (2019), section 3.2. The loss rises by the contribution of this head alone; if it falls, the
head was harmful. Heads that do the same replace each other, so these numbers do not add up.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.bundle import Bundle
from headway.data.batching import Batch
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import PAD_ID
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, DataError, TraceError, suggest
from headway.evaluation.scoring import encode_pairs, forced_batches, summed_log_probs
from headway.model.attention import MultiHeadAttention
from headway.model.customized import changed_parts
from headway.model.masks import padding_mask
from headway.model.modes import evaluating
from headway.model.probe import listen, stop_listening
from headway.model.ssru import RecurrentDecoderLayer
from headway.model.transformer import Transformer

KINDS = ("encoder.self_attention", "decoder.self_attention", "decoder.cross_attention")
"""The three attentions of the model (section 3.2.3), in the order in which a pass meets them."""


class Head(NamedTuple):
    """A head by the attribute path of its attention and its number, from 0."""

    attention: str
    """Such as `decoder.layers.3.cross_attention`."""
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class HeadImportance:
    """The rise of the loss without each head, in nats per target piece."""

    rises: dict[str, Float[Tensor, "N H"]]
    """By kind of attention, see KINDS; a row for each layer, a column for each head."""
    loss: float
    """With all heads, in nats per target piece."""
    num_pieces: int
    """Target pieces that were counted, end symbols among them."""

    def table(self) -> str:
        """Return all numbers as text: a table for each kind, layers down, heads across."""
        lines = [f"loss {self.loss:.4f} nats a token, over {self.num_pieces:,} tokens"]
        for kind, rises in self.rises.items():
            lines += ["", f"{kind}: rise without the head"]
            lines.append("  ".join(["layer", *(f"head {n:2}" for n in range(rises.size(1)))]))
            lines += [
                "  ".join([f"{layer:5}", *(f"{rise:+.4f}" for rise in row)])
                for layer, row in enumerate(rises.tolist())
            ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        rises = {kind: table.tolist() for kind, table in self.rises.items()}
        return {"loss": self.loss, "num_pieces": self.num_pieces, "rises": rises}


def heads_of(model: Transformer) -> list[Head]:
    """Return all heads, kind by kind, layer by layer."""
    return [
        Head(path, head)
        for kind in KINDS
        for path, attention in attentions_of(model, kind)
        for head in range(_num_heads(path, attention))
    ]


def attentions_of(model: Transformer, kind: str) -> list[tuple[str, nn.Module]]:
    """Return the attentions of a kind by path; a decoder with SSRUs has no self-attention."""
    side, name = kind.split(".")
    return [
        (f"{side}.layers.{layer}.{name}", getattr(part, name))
        for layer, part in enumerate(getattr(model, side).layers)
        if not (kind == "decoder.self_attention" and isinstance(part, RecurrentDecoderLayer))
    ]


@contextmanager
def without_heads(model: nn.Module, heads: Iterable[Head]) -> Iterator[None]:
    """Switch these heads off inside the `with` block, in the thread that runs it.

    Raises TraceError if the model has no such head, and at the end if an attention of your own
    passed no "heads" to `probe`, so that none was off. The model is not changed: only passes inside
    the block have the zeros, however it ends. A trace around the block does not hear its passes; a
    trace opened inside hears them, with the zeros. A layer that is used at several places is off at
    all of them.
    """
    off: dict[nn.Module, list[int]] = {}
    for head in heads:
        off.setdefault(_attention(model, head), []).append(head.number)
    spoke: set[nn.Module] = set()

    def receive(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        if name != "heads" or module not in off:
            spoke.add(model)  # a pass was made
            return tensor
        spoke.add(module)
        numbers = torch.tensor(off[module], device=tensor.device)
        return tensor.index_fill(1, numbers, 0.0)  # (B, H, T, d_v)

    token = listen(receive, lasting=True)
    try:
        yield
    finally:
        stop_listening(token)
    for attention in off.keys() - spoke if spoke else ():
        _refuse_silent(model, attention)


def head_importance(
    model: Bundle | TextTranslator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    place: int | None = None,
    batch_tokens: int = 4096,
) -> HeadImportance:
    """Return how much the loss of given translations rises without each head.

    place: count only this piece of each target, from 0; the last one is the end symbol. None counts
    all. The other arguments are those of `headway.evaluation.scoring.score_pairs`. It takes a pass
    for each head.
    """
    bundle = only_bundle(model, "A head's importance")
    return pairs_importance(bundle, encode_pairs(bundle, sources, targets), place, batch_tokens)


def pairs_importance(
    bundle: Bundle, pairs: Sequence[EncodedPair], place: int | None = None, batch_tokens: int = 4096
) -> HeadImportance:
    """Return the same for pairs that are in pieces already; arguments as in `head_importance`."""
    if not pairs:
        raise DataError("There is no pair to compute a loss for.", "Give at least one.")
    shortest = min(len(pair.target_ids) for pair in pairs)
    if place is not None and not 0 <= place <= shortest:
        raise ConfigError(
            f"place is {place}, but the shortest target has places 0 to {shortest}.",
            "Choose one of these, or leave place out to count all.",
        )
    heads = heads_of(bundle.model)
    losses = torch.zeros(1 + len(heads), dtype=torch.float64)  # the first with all heads
    with evaluating(bundle.model):
        for batch in forced_batches(bundle, pairs, batch_tokens):
            losses += _losses(bundle, _only(batch, place), heads)
    num_pieces = sum(1 if place is not None else len(pair.target_ids) + 1 for pair in pairs)
    losses /= num_pieces
    rises, tables = iter((losses[1:] - losses[0]).tolist()), {}
    for kind in KINDS:
        attentions = attentions_of(bundle.model, kind)
        rows = [[next(rises) for _ in range(_num_heads(*attention))] for attention in attentions]
        if rows:
            tables[kind] = torch.tensor(rows, dtype=torch.float64)
    return HeadImportance(tables, float(losses[0]), num_pieces)


@torch.inference_mode()
def _losses(bundle: Bundle, batch: Batch, heads: Sequence[Head]) -> Float[Tensor, " N"]:
    """Return the summed loss with all heads, then without each."""
    model = bundle.model
    mask = padding_mask(batch.source_ids, model.pad_id)
    losses = []
    # Without heads it still takes the plain form of equation 1, so that nothing else differs.
    with without_heads(model, []):
        memory = model.encode(batch.source_ids, mask)
    for off in ([], *([head] for head in heads)):
        with without_heads(model, off):
            encoding = any(head.attention.startswith("encoder") for head in off)
            encoded = model.encode(batch.source_ids, mask) if encoding else memory
            hidden = model.decode(batch.target_ids, encoded, mask)
        losses.append(-summed_log_probs(bundle, hidden, batch.label_ids).sum())
    return torch.stack(losses)


def _only(batch: Batch, place: int | None) -> Batch:
    """Return a batch whose labels are padding except at one place."""
    if place is None:
        return batch
    labels = torch.full_like(batch.label_ids, PAD_ID)
    labels[:, place] = batch.label_ids[:, place]
    return replace(batch, label_ids=labels)


def _refuse_silent(model: nn.Module, attention: nn.Module) -> None:
    """Raise TraceError for an attention that calls no probe; Headway's own class always does."""
    changed = changed_parts(model)
    for path, part in model.named_modules():
        if part is attention and path in changed:
            raise TraceError(
                f"{path}, of class {changed[path]}, has no '{path}.heads', so no head was off.",
                'Let its forward join what probe(self, "heads", …) returns, of (B, H, T, d_v).',
            )


def _num_heads(path: str, attention: nn.Module) -> int:
    if not isinstance(number := getattr(attention, "num_heads", None), int):
        raise TraceError(
            f"{path}, of class {type(attention).__qualname__}, does not say how many heads it has.",
            "Give it a num_heads, and let its forward join what "
            'probe(self, "heads", …) returns, of (B, H, T, d_v).',
        )
    return number


def _attention(model: nn.Module, head: Head) -> nn.Module:
    attentions = {
        path: part
        for path, part in model.named_modules(remove_duplicate=False)
        if isinstance(part, MultiHeadAttention) or path.endswith("_attention")
    }
    if head.attention not in attentions:
        raise TraceError(
            f"The model has no attention '{head.attention}'.", suggest(head.attention, attentions)
        )
    attention = attentions[head.attention]
    num_heads = _num_heads(head.attention, attention)
    if not 0 <= head.number < num_heads:
        raise TraceError(
            f"There is no head {head.number} in {head.attention}.",
            f"It has heads 0 to {num_heads - 1}.",
        )
    return attention
