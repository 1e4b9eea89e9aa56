"""Read a Transformer of fairseq: a checkpoint, two dictionaries and perhaps SentencePiece models.

fairseq's sinusoids are tensor2tensor's, and the first token has position 2, the one after the id of
padding. Its LayerNorm has PyTorch's epsilon. A translation begins with the embedding of `</s>`, so
Headway's start has a copy of that row, and a bias which takes the copy out of the probabilities.
"""

from pathlib import Path
from typing import Any

from torch import Tensor

from headway.bundle import Bundle
from headway.errors import BundleError
from headway.interop.checkpoints.fairseq_dictionary import sides_of
from headway.interop.checkpoints.fairseq_settings import (
    PADDING,
    architecture,
    is_tied,
    settings_of,
)
from headway.interop.checkpoints.files import checkpoint_in
from headway.interop.checkpoints.values import Values
from headway.interop.checkpoints.weights import (
    Sides,
    Weights,
    layer_norm,
    linear,
    model_of,
    tables,
)
from headway.interop.files import read_card
from headway.interop.imported import ReadModel
from headway.interop.pickled import read_pickle

_CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")
# Of the settings and their types. Python writes a type such as `List[int]` by `getitem`, and some
# versions write a member of an enumeration by `getattr`.
_PACKAGES = ("fairseq", "omegaconf", "typing", "_operator.getitem", "builtins.getattr")
_GIVE = "Give a checkpoint as fairseq writes it."
_ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v"}
# By stack: fairseq's name of each sub-layer, of its LayerNorm, and ours.
_SUBLAYERS = {
    "encoder": [
        ("self_attn", "self_attn_layer_norm", "self_attention"),
        ("", "final_layer_norm", "feed_forward"),
    ],
    "decoder": [
        ("self_attn", "self_attn_layer_norm", "self_attention"),
        ("encoder_attn", "encoder_attn_layer_norm", "cross_attention"),
        ("", "final_layer_norm", "feed_forward"),
    ],
}
# Copies in the encoder's layers of version 0.12, for PyTorch's fast path: zeros, or as old as the
# last load of the checkpoint. fairseq computes them again when it loads.
_COPIES = [
    f"{name}_{kind}"
    for name in ("in_proj", "out_proj", "fc1", "fc2")
    for kind in ("weight", "bias")
]
_WITH_LAST_NORM = 3  # the version of a stack that ends with a LayerNorm in a pre-norm model


def read_fairseq(path: Path) -> ReadModel:
    """Return the bundle of a checkpoint or of its folder, and notes on its files.

    Raises BundleError that names the file, the tensor or the setting which does not fit.
    """
    checkpoint = checkpoint_in(path, _CHECKPOINTS, "fairseq")
    folder = checkpoint.parent
    content = read_pickle(checkpoint, _GIVE, _PACKAGES)
    if not isinstance(content, dict) or "model" not in content:
        raise BundleError(f"{checkpoint} is not a checkpoint of fairseq.", "It has a 'model'.")
    settings, task = settings_of(content, checkpoint)
    values = architecture(settings, task)
    sides, languages, notes = sides_of(task, folder)
    weights = Weights(content["model"], checkpoint)
    ours, shared = _tables(weights, settings, values["d_model"], sides)
    ours |= _layers(weights, values)
    weights.check_nothing_left()
    values |= {"shared_embeddings": shared}
    config, model = model_of(values, ours, sides, checkpoint)
    bundle = Bundle(
        config,
        model,
        *sides.tokenizers,
        source_language=languages[0],
        target_language=languages[1],
        record={"imported": {"kind": "fairseq"}},
        card=read_card(folder, "a model of fairseq"),
    )
    return ReadModel(bundle, notes + weights.notes)


def _tables(
    weights: Weights, settings: Values, width: int, sides: Sides
) -> tuple[dict[str, Tensor], str]:
    """Return tables and bias of the output under our names, and which tables are one."""
    sizes = [int(vocabulary.rows.max()) + 1 for vocabulary in sides.vocabularies]
    source = weights.take("encoder.embed_tokens.weight", sizes[0], width)
    target = weights.take("decoder.embed_tokens.weight", sizes[1], width)
    is_shared, tied = is_tied(settings)
    old = "decoder.embed_out"
    name = old if old in weights else "decoder.output_projection.weight"
    is_present = name in weights or not tied
    output = weights.take(name, sizes[1], width) if is_present else target
    ours, shared = tables(source, target, output, sides)
    if is_shared and shared != "all":
        raise settings.refused("share_all_embeddings", "False, because the tables differ")
    if tied and shared == "none":
        raise settings.refused(
            "share_decoder_input_output_embed", "False, because the tables differ"
        )
    bias = sides.vocabularies[1].bias(output.new_zeros(sizes[1]))
    return ours | {"output_projection.bias": bias}, shared


def _layers(weights: Weights, values: dict[str, Any]) -> dict[str, Tensor]:
    """Return all other tensors under our names."""
    width = values["d_model"]
    ours: dict[str, Tensor] = {}
    for stack, sublayers in _SUBLAYERS.items():
        ours |= _positions(weights, stack, values)
        is_whole = _version(weights, stack) >= _WITH_LAST_NORM
        for layer in range(values[f"num_{stack}_layers"]):
            at = f"{stack}.layers.{layer}"
            for number, (attention, norm, name) in enumerate(sublayers):
                if attention:
                    ours |= _attention(f"{at}.{name}", weights, f"{at}.{attention}", width)
                else:
                    ours |= linear(f"{at}.{name}.w_1", weights, f"{at}.fc1", values["d_ff"], width)
                    ours |= linear(f"{at}.{name}.w_2", weights, f"{at}.fc2", width, values["d_ff"])
                old = f"{at}.layer_norms.{number}"
                theirs = old if f"{old}.weight" in weights else f"{at}.{norm}"
                ours |= layer_norm(f"{at}.{name}_residual.norm", weights, theirs, width)
            weights.leave_out(f"{at}.{name}" for name in _COPIES)
        if values["norm_position"] == "pre":
            if not is_whole:
                raise BundleError(
                    f"The {stack} in {weights.path} is of an old version, without a LayerNorm "
                    "after its last layer.",
                    "Such pre-norm models cannot be imported.",
                )
            ours |= layer_norm(f"{stack}.norm", weights, f"{stack}.layer_norm", width)
    return ours


def _version(weights: Weights, stack: str) -> float:
    """Return the version of a stack, 1 if the checkpoint has none."""
    name = f"{stack}.version"
    return float(weights.take(name, 1)) if name in weights else 1.0


def _positions(weights: Weights, stack: str, values: dict[str, Any]) -> dict[str, Tensor]:
    """Return the trained positions of a stack; check and leave out the others."""
    at, width = f"{stack}.embed_positions", values["d_model"]
    if values.get("positions") == "learned":
        rows = values["max_positions"] + PADDING + 1
        side = "source" if stack == "encoder" else "target"
        table = weights.take(f"{at}.weight", rows, width)[PADDING + 1 :]
        return {f"{side}_embedding.positions.weight": table.clone()}
    weights.check_positions(f"{at}.weights", width, values["sinusoid_layout"], zero_row=PADDING)
    weights.leave_out([f"{at}._float_tensor"])
    return {}


def _attention(ours: str, weights: Weights, theirs: str, width: int) -> dict[str, Tensor]:
    """Return the four projections of attention; older versions have three of them in one."""
    result = linear(f"{ours}.w_o", weights, f"{theirs}.out_proj", width, width)
    if f"{theirs}.in_proj_weight" not in weights:
        for name, projection in _ATTENTION.items():
            result |= linear(f"{ours}.{projection}", weights, f"{theirs}.{name}", width, width)
        return result
    for kind, shape in (("weight", (3 * width, width)), ("bias", (3 * width,))):
        parts = weights.take(f"{theirs}.in_proj_{kind}", *shape).chunk(3)
        for projection, part in zip(_ATTENTION.values(), parts, strict=True):
            result[f"{ours}.{projection}.{kind}"] = part.clone()
    return result
