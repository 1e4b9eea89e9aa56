"""The dataflow of a traced model: names of the tensors that a sub-layer reads.

Post-norm is the paper's (section 3.1); in pre-norm the path around a sub-layer carries the sums.
Names are patterns, such as `decoder.layers.*.input`, or those of one layer: `layer` decides.
"""

from headway.model.residual import NormPosition

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


def stream(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of the tensor that goes around a sub-layer: x in `x + Sublayer(x)`.

    >>> stream("decoder.layers.1", "cross_attention", "post")
    'decoder.layers.1.self_attention_residual.norm'
    """
    before = SUBLAYERS[_stack(layer)]
    place = before.index(sublayer)
    if place == 0:
        return f"{layer}.input"
    return f"{layer}.{before[place - 1]}_residual.{_result(norm_position)}"


def sublayer_input(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of the tensor that a sub-layer itself reads."""
    if norm_position == "pre":
        return f"{layer}.{sublayer}_residual.norm"
    return stream(layer, sublayer, norm_position)


def memory_or_input(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of the tensor that gives the keys and values of an attention."""
    if sublayer == "cross_attention":
        return "encoder.output"
    return sublayer_input(layer, sublayer, norm_position)


def normalized(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of the tensor that the LayerNorm around a sub-layer reads."""
    if norm_position == "pre":
        return stream(layer, sublayer, norm_position)
    return f"{layer}.{sublayer}_residual.sum"


def layer_result(layer: str, norm_position: NormPosition) -> str:
    """Return the name of the tensor that is the layer's output."""
    return f"{layer}.feed_forward_residual.{_result(norm_position)}"


def _stack(layer: str) -> str:
    return layer.partition(".")[0]


def _result(norm_position: NormPosition) -> str:
    return "norm" if norm_position == "post" else "sum"
