"""How large a trace becomes, before it is made."""

import math
from collections.abc import Mapping

from headway.inspection.catalog import catalog, model_names, pattern_of
from headway.inspection.variant import variant_of
from headway.model.decoder import DecoderLayer
from headway.model.transformer import Transformer


def letter_sizes(model: Transformer, source: int, target: int, batch: int = 1) -> dict[str, int]:
    """Return the number that each letter of a shape stands for in a pass of this model."""
    layer = model.decoder.layers[0]
    assert isinstance(layer, DecoderLayer)
    attention, feed_forward = layer.self_attention, layer.feed_forward
    vocabulary, d_model = model.output_projection.weight.shape
    return {
        "1": 1,
        "B": batch,
        "S": source,
        "T": target,
        "H": attention.num_heads,
        "V": vocabulary,
        "d_model": d_model,
        "d_ff": feed_forward.w_1.out_features,
        "d_k": attention.d_k,
        "d_v": attention.d_v,
        "H*d_k": attention.num_heads * attention.d_k,
        "H*d_v": attention.num_heads * attention.d_v,
    }


def tensor_bytes(model: Transformer, source: int, target: int) -> Mapping[str, int]:
    """Return the bytes of each tensor of a trace of one sentence.

    source, target: pieces, with the end and the start symbol. Together they are what a trace
    holds at most: several names may share one memory, as `q` does with `projected_q`.
    """
    variant = variant_of(model)
    rows, sizes = catalog(variant), letter_sizes(model, source, target)
    width = model.output_projection.weight.element_size()
    return {
        name: math.prod(sizes[axis.letter] for axis in rows[pattern_of(name)].axes)
        * (1 if name.endswith("_mask") else width)
        for name in model_names(model, variant)
    }
