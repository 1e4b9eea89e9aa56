"""The dataflow of a traced model: names of the tensors that a sub-layer reads.

Post-norm is the paper's (section 3.1); in pre-norm the path around a sub-layer carries the sums.
Names are patterns, such as `decoder.layers.*.input`, or those of one layer: `layer` decides.
"""

from headway.inspection.model_kind import Variant


def sublayers(stack: str, variant: Variant) -> tuple[str, ...]:
    """Return the names of the sub-layers of the encoder or the decoder, in order."""
    if stack == "encoder":
        return "self_attention", "feed_forward"
    return variant.decoder_past, "cross_attention", "feed_forward"


def stream(layer: str, sublayer: str, variant: Variant) -> str:
    """Return the name of the tensor that goes around a sub-layer: x in `x + Sublayer(x)`.

    >>> stream("decoder.layers.1", "cross_attention", Variant())
    'decoder.layers.1.self_attention_residual.norm'
    """
    before = sublayers(layer.partition(".")[0], variant)
    place = before.index(sublayer)
    if place == 0:
        return f"{layer}.input"
    return f"{layer}.{before[place - 1]}_residual.{_result(variant)}"


def sublayer_input(layer: str, sublayer: str, variant: Variant) -> str:
    """Return the name of the tensor that a sub-layer itself reads."""
    if variant.norm_position == "pre":
        return f"{layer}.{sublayer}_residual.norm"
    return stream(layer, sublayer, variant)


def memory_or_input(layer: str, sublayer: str, variant: Variant) -> str:
    """Return the name of the tensor that gives the keys and values of an attention."""
    if sublayer == "cross_attention":
        return "encoder.output"
    return sublayer_input(layer, sublayer, variant)


def normalized(layer: str, sublayer: str, variant: Variant) -> str:
    """Return the name of the tensor that the LayerNorm around a sub-layer reads."""
    if variant.norm_position == "pre":
        return stream(layer, sublayer, variant)
    return f"{layer}.{sublayer}_residual.sum"


def layer_result(layer: str, variant: Variant) -> str:
    """Return the name of the tensor that is the layer's output."""
    return f"{layer}.feed_forward_residual.{_result(variant)}"


def _result(variant: Variant) -> str:
    return "norm" if variant.norm_position == "post" else "sum"
