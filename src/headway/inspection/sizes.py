"""The size of a trace, before it is made."""

import math
from collections.abc import Mapping

from headway.inspection.catalog import catalog, model_names, pattern_of
from headway.inspection.model_kind import first_with, variant_of
from headway.model.transformer import Transformer


def letter_sizes(model: Transformer, source: int, target: int, batch: int = 1) -> dict[str, int]:
    """Return the number for each letter of a shape in a pass of this model.

    The numbers are those of the first layer that has them; with parts of your own, none may.
    """
    vocabulary, d_model = model.output_projection.weight.shape
    layers = [*model.decoder.layers, *model.encoder.layers]
    heads = first_with(layers, "self_attention.num_heads", 1)
    d_k = first_with(layers, "self_attention.d_k", d_model // heads)
    d_v = first_with(layers, "self_attention.d_v", d_model // heads)
    return {
        "1": 1,
        "B": batch,
        "S": source,
        "T": target,
        "H": heads,
        "V": vocabulary,
        "d_model": d_model,
        "d_ff": first_with(layers, "feed_forward.w_1.out_features", 4 * d_model),
        "d_k": d_k,
        "d_v": d_v,
        "H*d_k": heads * d_k,
        "H*d_v": heads * d_v,
    }


def tensor_bytes(model: Transformer, source: int, target: int) -> Mapping[str, int]:
    """Return the bytes of each tensor of a trace of one sentence.

    source, target: pieces, with the end and the start symbol. A trace takes at most the sum of
    these bytes; several names may share memory, as `q` does with `projected_q`.
    """
    variant = variant_of(model)
    rows, sizes = catalog(variant), letter_sizes(model, source, target)
    width = model.output_projection.weight.element_size()
    return {
        name: math.prod(sizes[axis.letter] for axis in rows[pattern_of(name)].axes)
        * (1 if name.endswith("_mask") else width)
        for name in model_names(model, variant)
    }
