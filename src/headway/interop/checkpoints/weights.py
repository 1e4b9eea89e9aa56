"""The weights of a checkpoint under Headway's names, with nothing missing and nothing left over."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.bundle import set_model_tensors
from headway.config.model import ModelConfig
from headway.data.tokenizer import Tokenizer
from headway.errors import BundleError
from headway.interop.checkpoints.values import model_config
from headway.interop.pickled import as_float32
from headway.interop.vocabulary import Vocabulary
from headway.model.positional_encoding import sinusoid_table
from headway.model.transformer import Transformer
from headway.model.uninitialized import empty_model

SAME_MODEL = "Give files that belong to one model."
_CLOSE = 5e-3  # of float32 angles at position 5,000, and of float16


@dataclass(frozen=True, slots=True)
class Sides:
    """Vocabularies and tokenizers, source and target."""

    vocabularies: tuple[Vocabulary, Vocabulary]
    tokenizers: tuple[Tokenizer, Tokenizer]

    @property
    def one(self) -> bool:
        """Return True if both languages have the same ids."""
        first, second = self.vocabularies
        return first.pieces == second.pieces and torch.equal(first.rows, second.rows)


class Weights:
    """The tensors of a checkpoint; each is taken once, with a check of its shape."""

    def __init__(self, content: object, path: Path) -> None:
        """Keep the tensors in float32; BundleError for anything else."""
        if not isinstance(content, Mapping) or not all(
            isinstance(name, str) and isinstance(tensor, Tensor) and tensor.layout == torch.strided
            for name, tensor in content.items()
        ):
            raise BundleError(f"The weights in {path} are not only tensors.", SAME_MODEL)
        self.path = path
        self._left, self.notes = as_float32({n: t.detach() for n, t in content.items()}, path)

    def __contains__(self, name: str) -> bool:
        """Return True if there is a tensor of this name, which has not been taken."""
        return name in self._left

    def take(self, name: str, *shape: int) -> Tensor:
        """Return the tensor of this name; BundleError if it is missing or has another shape."""
        if name not in self._left:
            raise BundleError(f"The weights in {self.path} lack '{name}'.", SAME_MODEL)
        tensor = self._left.pop(name)
        if tensor.shape != shape:
            raise BundleError(
                f"'{name}' in {self.path} has the shape {tuple(tensor.shape)}, but the settings "
                f"and vocabularies say {shape}.",
                SAME_MODEL,
            )
        return tensor

    def leave_out(self, names: Iterable[str]) -> None:
        """Take the tensors of these names, as far as they are there, which compute nothing."""
        for name in names:
            self._left.pop(name, None)

    def check_positions(
        self, name: str, d_model: int, layout: str, zero_row: int | None = None
    ) -> None:
        """Take a table of positions, if there is one; BundleError for other sinusoids.

        zero_row: the position of padding, which is zeros.
        """
        if name not in self._left:
            return
        table = self._left.pop(name).squeeze(0)
        if table.dim() != 2 or table.size(1) != d_model or len(table) > 2**20:
            raise BundleError(
                f"'{name}' in {self.path} has the shape {tuple(table.shape)}.", SAME_MODEL
            )
        expected = sinusoid_table(len(table), d_model, layout).float()
        if zero_row is not None:
            expected[zero_row : zero_row + 1] = 0
        if float((table - expected).abs().max()) > _CLOSE:
            raise BundleError(
                f"'{name}' in {self.path} has positions other than sinusoids.",
                "A model with trained positions cannot be imported.",
            )

    def check_nothing_left(self) -> None:
        """Raise BundleError if a tensor has not been taken."""
        if self._left:
            raise BundleError(
                f"The weights in {self.path} have '{min(self._left)}', which a model with these "
                "settings does not have.",
                SAME_MODEL,
            )


def tables(
    source: Tensor, target: Tensor, output: Tensor, sides: Sides
) -> tuple[dict[str, Tensor], str]:
    """Return the tables (V, d_model) in Headway's order, and which of them are one.

    The tensors decide which are shared.
    """
    first, second = sides.vocabularies
    one_output = torch.equal(target, output)
    is_shared = one_output and sides.one and torch.equal(source, target)
    ours = {"source_embedding.tokens.weight": first.table(source)}
    if not is_shared:
        ours["target_embedding.tokens.weight"] = second.table(target)
    if not one_output:
        ours["output_projection.weight"] = second.table(output)
    return ours, "all" if is_shared else "target" if one_output else "none"


def linear(ours: str, weights: Weights, theirs: str, rows: int, columns: int) -> dict[str, Tensor]:
    """Return weight (rows, columns) and bias of a linear layer."""
    return {
        f"{ours}.weight": weights.take(f"{theirs}.weight", rows, columns),
        f"{ours}.bias": weights.take(f"{theirs}.bias", rows),
    }


def layer_norm(ours: str, weights: Weights, theirs: str, d_model: int) -> dict[str, Tensor]:
    """Return gain and bias (d_model,) of LayerNorm."""
    return {f"{ours}.{x}": weights.take(f"{theirs}.{x}", d_model) for x in ("weight", "bias")}


def model_of(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], sides: Sides, path: Path
) -> tuple[ModelConfig, Transformer]:
    """Return configuration and model. values: of the configuration, without sizes."""
    sizes = [len(vocabulary) for vocabulary in sides.vocabularies]
    config = model_config(
        {**values, "source_vocab_size": sizes[0], "target_vocab_size": sizes[1]}, path
    )
    model = empty_model(config, "cpu")
    set_model_tensors(model, dict(tensors))
    return config, model.eval()
