"""Word alignments of existing translations, read off attention by teacher forcing.

Models differ in the layer that aligns best, and in the best step: the one that writes a piece, as
in the paper's decoder, or the next one, which has read it (Chen et al. 2020). A few sentences that
are aligned by hand show both (`headway.evaluation.alignment_error`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from headway.bundle import Bundle
from headway.data.batching import Batch
from headway.data.encoded import EncodedPair
from headway.data.texts import as_texts
from headway.data.words import number_words
from headway.decoding.alignment import Alignment, word_alignment
from headway.decoding.attention import chosen_layer, cross_attention_by_head
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, require_type, suggest
from headway.evaluation.scoring import encode_pairs, forced_batches
from headway.model.modes import evaluating
from headway.model.transformer import Transformer

Moment = Literal["written", "read"]

_READINGS = "Give a list of readings, such as [Reading(layer=0)]."


class Reading(NamedTuple):
    """The decoder layer and head, counted from 0, and the moment at which an alignment is read.

    head: None is the average of all heads. moment: `written` takes for each target piece the
    attention of the step that chooses it, as `translate(attention=True)` does; `read` takes that of
    the next step, whose input the piece is.
    """

    layer: int
    moment: Moment = "written"
    head: int | None = None


def usual_reading(bundle: Bundle, layer: int | None = None, moment: Moment = "written") -> Reading:
    """Return the reading that a bundle's `decoding` names: of a head that aligns, or of a layer.

    layer: a decoder layer, from 0; of another one than the bundle's, all heads count.
    """
    decoding = bundle.decoding
    usual = chosen_layer(bundle.model, decoding.alignment_layer, "alignment_layer")
    chosen = usual if layer is None else chosen_layer(bundle.model, layer)
    return Reading(chosen, moment, decoding.alignment_head if chosen == usual else None)


def all_readings(model: Transformer) -> list[Reading]:
    """Return the readings of every layer at both moments."""
    layers = range(len(model.decoder.layers))
    return [Reading(layer, moment) for layer in layers for moment in get_args(Moment)]


def align_pairs(
    model: Bundle | TextTranslator,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    layer: int | None = None,
    moment: Moment = "written",
    batch_tokens: int = 4096,
) -> list[Alignment]:
    """Return the word alignment of each pair, in order: which source words a target word is about.

    layer: a decoder layer, from 0; None is that of `usual_reading`. moment: see `Reading`. Spaces
    separate words, in the text as the tokenizer normalizes it. The other arguments are those of
    `score_pairs`.
    """
    bundle = only_bundle(model, "An alignment")
    reading = usual_reading(bundle, layer, moment)
    return align_by(bundle, sources, targets, [reading], batch_tokens)[reading]


def align_by(
    model: Bundle | TextTranslator,
    sources: Iterable[str],
    targets: Iterable[str],
    readings: Sequence[Reading],
    batch_tokens: int = 4096,
) -> dict[Reading, list[Alignment]]:
    """Return the alignments of each reading, from a single pass; arguments as in `align_pairs`."""
    bundle = only_bundle(model, "An alignment")
    require_type("readings", readings, Sequence, _READINGS)
    for reading in readings:
        require_type("A reading", reading, Reading, _READINGS)
        chosen_layer(bundle.model, reading.layer)
        _check_head(bundle, reading)
        if reading.moment not in get_args(Moment):
            raise ConfigError(
                f"There is no moment '{reading.moment}'.",
                suggest(str(reading.moment), get_args(Moment)),
            )
    sources, targets = as_texts(sources, "sources"), as_texts(targets, "targets")
    pairs = encode_pairs(bundle, sources, targets)
    alignments: dict[Reading, list[Alignment]] = {
        reading: [()] * len(pairs) for reading in readings
    }
    for row, weights in _attention(bundle.model, bundle, pairs, batch_tokens):
        own_words = number_words(bundle.source_tokenizer, sources[row])
        # A tag that was put before the source is none of its words.
        source_words = [None] * (len(pairs[row].source_ids) - len(own_words)) + own_words
        target_words = number_words(bundle.target_tokenizer, targets[row])
        for reading in readings:
            # The last of T + 1 rows chooses the end symbol; the last column is the source's.
            heads = weights[reading.layer]
            rows = heads.mean(dim=0) if reading.head is None else heads[reading.head]
            chosen = rows[:, :-1]
            chosen = chosen[1:] if reading.moment == "read" else chosen[:-1]
            alignments[reading][row] = word_alignment(chosen, source_words, target_words)
    return alignments


def _check_head(bundle: Bundle, reading: Reading) -> None:
    heads = bundle.config.num_heads
    if reading.head is not None and not 0 <= reading.head < heads:
        raise ConfigError(
            f"The head is {reading.head}, but a layer has heads 0 to {heads - 1}.",
            "Choose one of these; None is the average of all.",
        )


def _attention(
    model: Transformer, bundle: Bundle, pairs: Sequence[EncodedPair], batch_tokens: int
) -> Iterator[tuple[int, list[Float[Tensor, "H T S"]]]]:
    """Yield the index of each pair with its attention in every layer."""
    for batch in forced_batches(bundle, pairs, batch_tokens):
        layers = _weights(model, batch)  # (B, H, T, S) each
        for column, row in enumerate(batch.indices):
            rows, columns = len(pairs[row].target_ids) + 1, len(pairs[row].source_ids) + 1
            yield row, [weights[column, :, :rows, :columns] for weights in layers]


@torch.inference_mode()
def _weights(model: Transformer, batch: Batch) -> list[Float[Tensor, "B H T S"]]:
    """Return the cross-attention of every layer, on the CPU."""
    layers = range(len(model.decoder.layers))
    with evaluating(model), cross_attention_by_head(model, layers) as heard:
        model.hidden(batch.source_ids, batch.target_ids)
    return [heard[layer] for layer in layers]
