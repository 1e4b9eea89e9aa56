"""What goes into what: names of the tensors that a sub-layer of a traced model reads.

Post-norm is the paper's (section 3.1); in pre-norm the way around a sub-layer carries the sums.
Names are patterns here, `decoder.layers.*.input`, or the names of one layer: whatever `layer` is.
"""

from headway.model.residual import NormPosition

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


def stream(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of what goes around a sub-layer: its x in `x + Sublayer(x)`.

    >>> stream("decoder.layers.1", "cross_attention", "post")
    'decoder.layers.1.self_attention_residual.norm'
    """
    before = SUBLAYERS[_stack(layer)]
    place = before.index(sublayer)
    if place == 0:
        return f"{layer}.input"
    return f"{layer}.{before[place - 1]}_residual.{_result(norm_position)}"


def sublayer_input(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of what a sub-layer itself reads."""
    if norm_position == "pre":
        return f"{layer}.{sublayer}_residual.norm"
    return stream(layer, sublayer, norm_position)


def memory_or_input(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of what the keys and values of an attention are made of."""
    if sublayer == "cross_attention":
        return "encoder.output"
    return sublayer_input(layer, sublayer, norm_position)


def normalized(layer: str, sublayer: str, norm_position: NormPosition) -> str:
    """Return the name of what the LayerNorm of a sub-layer's frame reads."""
    if norm_position == "pre":
        return stream(layer, sublayer, norm_position)
    return f"{layer}.{sublayer}_residual.sum"


def layer_result(layer: str, norm_position: NormPosition) -> str:
    """Return the name of what is the layer's output."""
    return f"{layer}.feed_forward_residual.{_result(norm_position)}"


def _stack(layer: str) -> str:
    return layer.partition(".")[0]


def _result(norm_position: NormPosition) -> str:
    return "norm" if norm_position == "post" else "sum"
