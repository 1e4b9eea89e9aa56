"""The weights of a Marian model of Hugging Face: tensors only, each checked."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from torch import Tensor

from headway.errors import BundleError
from headway.interop.files import COPY_AGAIN
from headway.interop.pickled import as_float32, read_pickle
from headway.model.positional_encoding import sinusoid_table
from headway.runtime.mapped_tensors import MappedTensors, map_file

SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"
OUTPUT_BIAS = "final_logits_bias"
SHARED = "model.shared.weight"
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")

_REMEDY = "Save the weights as safetensors."
_ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
_PARTS = {
    "self_attn": "self_attention",
    "encoder_attn": "cross_attention",
    "self_attn_layer_norm": "self_attention_residual.norm",
    "encoder_attn_layer_norm": "cross_attention_residual.norm",
    "final_layer_norm": "feed_forward_residual.norm",
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
}


def read_weights(folder: Path) -> tuple[dict[str, Tensor], list[str]]:
    """Return the tensors of a folder in float32, and remarks; BundleError for anything else.

    A pickle is read without executing code.
    """
    if (folder / f"{SAFETENSORS}.index.json").exists() or (
        folder / f"{PICKLE}.index.json"
    ).exists():
        raise BundleError(
            f"The weights in {folder} are divided into several files.", "Save them as one file."
        )
    if (folder / SAFETENSORS).exists():
        path = folder / SAFETENSORS
        tensors = MappedTensors(path, map_file(path)).tensors()
    elif (folder / PICKLE).exists():
        path = folder / PICKLE
        tensors = _unpickled(path)
    else:
        raise BundleError(
            f"{folder} has no weights: neither {SAFETENSORS} nor {PICKLE}.",
            "Weights for TensorFlow or Flax are not read.",
        )
    return as_float32(tensors, path)


def _unpickled(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a pickle, which may hold nothing else."""
    values = read_pickle(path, _REMEDY)
    if not isinstance(values, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) and not tensor.is_sparse
        for name, tensor in values.items()
    ):
        raise BundleError(f"{path} holds more than tensors; its code was not executed.", _REMEDY)
    return {name: tensor.detach() for name, tensor in values.items()}


def layer_names(num_encoder_layers: int, num_decoder_layers: int) -> Iterator[tuple[str, str]]:
    """Yield Hugging Face's name and Headway's of each tensor in the layers."""
    for stack, layers in (("encoder", num_encoder_layers), ("decoder", num_decoder_layers)):
        for layer in range(layers):
            for part, ours in _PARTS.items():
                if stack == "encoder" and part.startswith("encoder_attn"):
                    continue
                is_attention = part in ("self_attn", "encoder_attn")
                inner = _ATTENTION if is_attention else {"": ""}
                for theirs, name in inner.items():
                    for kind in ("weight", "bias"):
                        old = [f"model.{stack}.layers.{layer}.{part}", theirs, kind]
                        new = [f"{stack}.layers.{layer}.{ours}", name, kind]
                        yield ".".join(filter(None, old)), ".".join(filter(None, new))


def check_positions(tensors: Mapping[str, Tensor], d_model: int) -> None:
    """Refuse tables of positions that are not the sinusoids of Hugging Face's code."""
    for name in POSITIONS:
        table = tensors.get(name)
        if table is None:
            continue
        if table.dim() != 2 or table.size(1) != d_model or len(table) > 2**20:
            raise BundleError(f"'{name}' has the shape {tuple(table.shape)}.", COPY_AGAIN)
        expected = sinusoid_table(len(table), d_model, "split").float()
        if float((table - expected).abs().max()) > 5e-3:  # float16 is within 5e-4
            raise BundleError(
                f"'{name}' has positions other than Marian's sinusoids.",
                "A model with trained positions cannot be imported.",
            )
