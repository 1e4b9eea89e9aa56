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
from headway.decoding.attention import chosen_layer, cross_attention
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, require_type, suggest
from headway.evaluation.scoring import encode_pairs, forced_batches
from headway.model.modes import evaluating
from headway.model.transformer import Transformer

Moment = Literal["written", "read"]

_READINGS = "Give a list of readings, such as [Reading(layer=0)]."


class Reading(NamedTuple):
    """The decoder layer, counted from 0, and the moment at which an alignment is read.

    moment: `written` takes for each target piece the attention of the step that chooses it, as
    `translate(attention=True)` does; `read` takes that of the next step, whose input the piece is.
    """

    layer: int
    moment: Moment = "written"


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

    layer: a decoder layer, from 0; None is the last. moment: see `Reading`. Spaces separate words,
    in the text as the tokenizer normalizes it. The other arguments are those of `score_pairs`.
    """
    bundle = only_bundle(model, "An alignment")
    reading = Reading(chosen_layer(bundle.model, layer), moment)
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
        source_words = number_words(bundle.source_tokenizer, sources[row])
        target_words = number_words(bundle.target_tokenizer, targets[row])
        for reading in readings:
            # The last of T + 1 rows chooses the end symbol; the last column is the source's.
            chosen = weights[reading.layer, :, :-1]
            chosen = chosen[1:] if reading.moment == "read" else chosen[:-1]
            alignments[reading][row] = word_alignment(chosen, source_words, target_words)
    return alignments


def _attention(
    model: Transformer, bundle: Bundle, pairs: Sequence[EncodedPair], batch_tokens: int
) -> Iterator[tuple[int, Float[Tensor, "N T S"]]]:
    """Yield the index of each pair with its attention in every layer, averaged over the heads."""
    for batch in forced_batches(bundle, pairs, batch_tokens):
        weights = _weights(model, batch)  # (N, B, T, S)
        for column, row in enumerate(batch.indices):
            pair = pairs[row]
            yield row, weights[:, column, : len(pair.target_ids) + 1, : len(pair.source_ids) + 1]


@torch.inference_mode()
def _weights(model: Transformer, batch: Batch) -> Float[Tensor, "N B T S"]:
    """Return the cross-attention of every layer, averaged over the heads, on the CPU."""
    layers = range(len(model.decoder.layers))
    with evaluating(model), cross_attention(model, layers) as heard:
        model.hidden(batch.source_ids, batch.target_ids)
    return torch.stack([heard[layer] for layer in layers])
