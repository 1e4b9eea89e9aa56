"""Copy weights between a bundle and the Keras form, bit for bit in both directions."""

import dataclasses
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headway.bundle import Bundle, load_bundle, model_tensors, save_bundle, set_model_tensors
from headway.config.model import ModelConfig
from headway.errors import BundleError, ConfigError
from headway.interop.keras.backend import keras
from headway.interop.keras.parity import largest_difference
from headway.interop.keras.transformer import transformer_from_config
from headway.model.customized import describe_customizations
from headway.model.transformer import Transformer

# Rounding causes 1e-5; other heads or another activation cause a tenth and more.
_OTHER_MODEL = 0.01
_OTHER_WEIGHTS = (
    "> These weights come from Keras. What follows tells of those of the bundle before, from which "
    "tokenizers and languages were taken."
)
_OF_TEXT = (
    "config",
    "shortlist",
    "drafts",
    "several_sentences",
    "usual_sentences",
    "source_script",
    "target_script",
    "examples",
)
"""Keys of a record that describe the text and not the weights."""
# A Keras model has no place for tokenizers, languages and card.
_ORIGINS: weakref.WeakKeyDictionary[Any, Bundle] = weakref.WeakKeyDictionary()


class _Place(NamedTuple):
    """The Keras variable of one of our tensors, and whether it is transposed there."""

    name: str
    variable: Any
    transposed: bool = False


def from_bundle(bundle: Bundle | str | Path) -> keras.Model:
    """Return a Keras model with the weights of a bundle, or of the bundle in a folder.

    Raises BundleError for a damaged bundle, ConfigError for a model that Keras cannot express.
    """
    origin = bundle if isinstance(bundle, Bundle) else load_bundle(bundle)
    if changes := describe_customizations(origin.model):
        raise ConfigError(
            f"The model in Keras computes the equations of Headway's own parts, but {changes}.",
            "Give a bundle without parts of your own or hooks.",
        )
    model = transformer_from_config(origin.config)
    tensors = model_tensors(origin.model)
    for place in _places(origin.config, model):
        # A copy, because JAX would otherwise share the memory of the tensor, and train in it.
        array = tensors[place.name].numpy().copy()
        place.variable.assign(array.T if place.transposed else array)
    _ORIGINS[model] = origin
    return model


def to_bundle(
    model: keras.Model, path: str | Path, like: Bundle | str | Path | None = None
) -> None:
    """Write the weights of a Keras model as a bundle.

    like: a bundle of the same configuration, for tokenizers and languages; a model from
    `from_bundle` remembers its bundle. If the weights differ from that bundle's, its scores and the
    figures of its training are left out of the record, and the card begins by saying so. Raises
    BundleError, and writes nothing, if the configurations differ.
    """
    origin = load_bundle(like) if isinstance(like, str | Path) else like or _ORIGINS.get(model)
    if origin is None:
        raise ConfigError(
            "This Keras model does not come from a bundle, so its tokenizers are not known.",
            "Name a bundle of the same configuration: to_bundle(model, path, like=BUNDLE).",
        )
    tensors: dict[str, Tensor] = {}
    places = list(_places(origin.config, model))
    _check_complete(model, places)
    for place in places:
        array = keras.ops.convert_to_numpy(place.variable)
        tensors[place.name] = torch.from_numpy((array.T if place.transposed else array).copy())
    fresh = Transformer.from_config(origin.config)
    set_model_tensors(fresh, tensors)
    bundle = dataclasses.replace(origin, model=fresh.eval())
    if not _equal(tensors, model_tensors(origin.model)):
        bundle = _without_figures(bundle)
    difference = largest_difference(bundle, model)
    if not difference <= _OTHER_MODEL:
        raise BundleError(
            f"With these weights the bundle computes something else: logits differ by "
            f"{difference:.2g}.",
            "Name a bundle of the same configuration: heads, activation and norms count too.",
        )
    save_bundle(path, bundle)


def _without_figures(bundle: Bundle) -> Bundle:
    """Return the bundle without the parts of record and card that describe other weights."""
    record = {key: bundle.record[key] for key in _OF_TEXT if key in bundle.record}
    card = f"{_OTHER_WEIGHTS}\n\n{bundle.card.removeprefix(_OTHER_WEIGHTS).lstrip()}".rstrip()
    return dataclasses.replace(bundle, card=f"{card}\n", record=record)


def _equal(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    """Return True if the weights are equal bit for bit."""
    return all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())


def _check_complete(model: keras.Model, places: list[_Place]) -> None:
    """Refuse a model with weights that the configuration does not have."""
    placed = {id(place.variable) for place in places}
    unplaced = [variable.path for variable in model.weights if id(variable) not in placed]
    if unplaced:
        raise BundleError(
            f"The Keras model has weights that the configuration does not know: {unplaced[0]}.",
            "Name a bundle of the same configuration.",
        )


def _places(config: ModelConfig, model: keras.Model) -> Iterator[_Place]:
    """Pair every parameter of ours with its Keras variable."""
    yield from _tables(config, model)
    for side, count in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        stack = _layer(model, side)
        for index in range(count):
            layer = _layer(stack, f"{side}_layer_{index}")
            yield from _block(f"{side}.layers.{index}", layer)
        if config.norm_position == "pre":
            yield from _norm(f"{side}.norm", _layer(stack, f"{side}_norm"))


def _block(name: str, layer: Any) -> Iterator[_Place]:
    """Pair the parameters of one layer of the encoder or the decoder."""
    parts = {part.name.removeprefix(f"{layer.name}_"): part for part in layer.layers}
    for part, sublayer in parts.items():
        if part.endswith("_attention"):
            for projection in ("w_q", "w_k", "w_v", "w_o"):
                yield from _dense(f"{name}.{part}.{projection}", getattr(sublayer, projection))
        elif part.endswith("_norm"):
            yield from _norm(f"{name}.{part.removesuffix('_norm')}_residual.norm", sublayer)
        elif part in ("w_1", "w_gate", "w_2"):
            yield from _dense(f"{name}.feed_forward.{part}", sublayer)


def _tables(config: ModelConfig, model: keras.Model) -> Iterator[_Place]:
    if config.shared_embeddings == "all":
        yield _Place("source_embedding.tokens.weight", _layer(model, "tokens").table)
    else:
        for side in ("source", "target"):
            table = _layer(model, f"{side}_tokens").table
            yield _Place(f"{side}_embedding.tokens.weight", table)
    if config.shared_embeddings == "none":
        projection = _layer(model, "output_projection")
        yield _Place("output_projection.weight", projection.kernel, transposed=True)
        if config.output_bias:
            yield _Place("output_projection.bias", projection.bias)
    elif config.output_bias:
        yield _Place("output_projection.bias", _layer(model, "output_bias").bias)


def _dense(name: str, layer: Any) -> Iterator[_Place]:
    yield _Place(f"{name}.weight", layer.kernel, transposed=True)
    if layer.use_bias:
        yield _Place(f"{name}.bias", layer.bias)


def _norm(name: str, layer: Any) -> Iterator[_Place]:
    yield _Place(f"{name}.weight", layer.gamma)
    yield _Place(f"{name}.bias", layer.beta)


def _layer(model: Any, name: str) -> Any:
    """Return a layer by name."""
    try:
        return model.get_layer(name)
    except ValueError:
        raise BundleError(
            f"The Keras model has no layer '{name}', which the configuration asks for.",
            "Use a model of transformer_from_config with the configuration of the bundle.",
        ) from None
