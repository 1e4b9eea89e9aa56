"""Logit lens: the pieces that the decoder would write if a layer were its last one.

The output of each layer goes through the modules that follow the last layer: the norm that closes a
pre-norm stack, and the output projection (section 3.4). So the lens of the last layer shows the
model's own probabilities.
"""

from dataclasses import dataclass

import torch

from headway.errors import TraceError
from headway.inspection.trace import Trace
from headway.model.transformer import Transformer


@dataclass(frozen=True, slots=True)
class LensRow:
    """One row of the target after one layer."""

    best: tuple[tuple[str, float], ...]
    """The most probable pieces, with their probabilities."""
    written: float
    """Probability of the piece that the row writes."""
    norm: float
    """Length of the residual stream, the Euclidean norm of the layer's output."""


@dataclass(frozen=True, slots=True)
class LensLayer:
    """The lens of one decoder layer, row by row."""

    name: str
    """The output that was used, such as `decoder.layers.0.output`."""
    rows: tuple[LensRow, ...]


@torch.no_grad()
def logit_lens(trace: Trace, count: int = 3) -> list[LensLayer]:
    """Return for each decoder layer the `count` most probable pieces of each row."""
    model, sentence = trace.module, trace.sentence
    if not isinstance(model, Transformer) or sentence is None:
        raise TraceError(
            "A lens needs the model's weights and a sentence, which this trace does not have.",
            "Use `translator.trace`.",
        )
    labels = list(sentence.label_ids)
    layers = []
    for number in range(len(model.decoder.layers)):
        name = f"decoder.layers.{number}.output"
        hidden = trace[name].detach().as_subclass(torch.Tensor)  # (T, d_model)
        closed = hidden if model.decoder.norm is None else model.decoder.norm(hidden)
        shares = model.output_projection(closed).softmax(dim=-1)  # (T, V)
        values, pieces = shares.topk(min(count, shares.size(-1)), dim=-1)
        written = shares[torch.arange(len(labels)), labels]
        rows = zip(
            pieces.tolist(), values.tolist(), written.tolist(), hidden.norm(dim=-1).tolist(),
            strict=True,
        )  # fmt: skip
        layers.append(
            LensLayer(
                name,
                tuple(
                    LensRow(
                        tuple((sentence.vocabulary[p], v) for p, v in zip(ids, best, strict=True)),
                        share,
                        norm,
                    )
                    for ids, best, share, norm in rows
                ),
            )
        )
    return layers
