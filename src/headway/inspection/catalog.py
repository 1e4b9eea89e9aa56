"""The catalog: shape, equation and one sentence for every name that a trace can have.

A row's pattern has `*` in place of a layer's number: `decoder.layers.*.cross_attention.weights`.
The equations are those of one model: `catalog(variant_of(model))`; without a variant, the paper's.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from string import Template

from torch import nn

from headway.inspection import catalog_lines as lines
from headway.inspection.catalog_lines import Line
from headway.inspection.dataflow import (
    layer_result,
    memory_or_input,
    normalized,
    stream,
    sublayer_input,
    sublayers,
)
from headway.inspection.model_kind import Variant
from headway.inspection.named_tensor import Axis
from headway.model.transformer import Transformer

Fields = dict[str, str]

ALL_NAMES = "`names()` lists all of a trace, as does `headway inspect` with --name '*'."

_SIDES = {"encoder": ("source", "S", "원문"), "decoder": ("target", "T", "번역문")}
# Names in the whole model have these in front, unlike those of a part that is traced by itself.
_PREFIXES = {
    "Transformer": "",
    "Encoder": "encoder.",
    "Decoder": "decoder.",
    "EncoderLayer": "encoder.layers.0.",
    "DecoderLayer": "decoder.layers.0.",
    "RecurrentDecoderLayer": "decoder.layers.0.",
}


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """One name, or the same name in every layer."""

    pattern: str
    axes: tuple[Axis, ...]
    equation: str
    """As plain text; names are those of tensors of the same part unless they are whole."""
    latex: str
    english: str
    korean: str
    derived: bool = False
    """Not recorded, but computed from recorded tensors on request."""

    @property
    def shape(self) -> str:
        """Return the letters of the shape, as `(B, H, T, S)`."""
        return "(" + ", ".join(axis.letter for axis in self.axes) + ")"


@lru_cache
def catalog(variant: Variant | None = None) -> Mapping[str, CatalogRow]:
    """Return the rows of a whole model by their patterns; without a variant, the paper's."""
    variant = variant or Variant()
    return {row.pattern: row for row in _all_rows(variant)}


def pattern_of(name: str) -> str:
    """Return the pattern of a name, which its row in the catalog has.

    >>> pattern_of("decoder.layers.11.cross_attention.weights")
    'decoder.layers.*.cross_attention.weights'
    """
    return re.sub(r"\blayers\.\d+\.", "layers.*.", name)


def find_row(root: nn.Module, part: nn.Module, name: str, path: str) -> CatalogRow | None:
    """Return the row of an intermediate `name` of `part` in a trace of `root`; path: its full name.

    Axes and sentences hold for every model; the equations of one model are in its own catalog. None
    for a module that is not of this package.
    """
    for base in type(root).__mro__:
        if base.__name__ in _PREFIXES:
            return _every_row().get(pattern_of(_PREFIXES[base.__name__] + path))
    rows = _lone_rows()
    keys = ((base.__name__, name) for base in type(part).__mro__)
    return next((rows[key] for key in keys if key in rows), None)


def model_names(model: Transformer, variant: Variant, *, derived: bool = False) -> list[str]:
    """Return all names that a trace of this model has, or else all that are derived from it."""
    layers = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    names = []
    for row in catalog(variant).values():
        if row.derived is not derived:
            continue
        stack = row.pattern.partition(".")[0]
        many = range(layers[stack]) if "*" in row.pattern else range(1)
        names += [row.pattern.replace("*", str(number)) for number in many]
    return names


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that a glob matches; `*` matches any characters."""
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def _all_rows(variant: Variant) -> Iterator[CatalogRow]:
    bias = " + b" if variant.output_bias else ""
    yield from _rows("", lines.TRANSFORMER, {"b": bias})
    for stack, (side, letter, korean) in _SIDES.items():
        side_fields = {"side": side, "side_ko": korean, "L": letter}
        yield from _rows(
            f"{side}_embedding.", lines.EMBEDDING, side_fields | _embedding_fields(variant)
        )
        yield from _layer_rows(stack, variant, side_fields)
        yield from _rows(f"{stack}.", lines.STACK, side_fields | _stack_fields(stack, variant))


def _layer_rows(stack: str, variant: Variant, side_fields: Fields) -> Iterator[CatalogRow]:
    layer = f"{stack}.layers.*"
    last = layer_result(layer, variant)
    fields = {"embedding": f"{side_fields['side']}_embedding", "last": last}
    latex = {"last_latex": last.rpartition(".")[2]}
    yield from _rows(f"{layer}.", lines.LAYER, side_fields | fields | latex)
    for sublayer in sublayers(stack, variant):
        reads = {"x": sublayer_input(layer, sublayer, variant)}
        if sublayer == "feed_forward":
            part = _feed_forward_lines(variant)
            fields = side_fields | reads | _feed_forward_fields(variant)
        elif sublayer == "ssru":
            part, fields = lines.SSRU, side_fields | reads
        else:
            part = lines.ATTENTION
            cross = sublayer == "cross_attention"
            keys = _SIDES["encoder"] if cross else _SIDES[stack]
            reads["y"] = memory_or_input(layer, sublayer, variant)
            fields = reads | _attention_fields(_SIDES[stack], keys, variant.attention_bias)
        yield from _rows(f"{layer}.{sublayer}.", part, fields)
        around = {
            "x": stream(layer, sublayer, variant),
            "sublayer": f"{layer}.{sublayer}.output",
            "normalized": normalized(layer, sublayer, variant),
        }
        yield from _rows(f"{layer}.{sublayer}_residual.", lines.RESIDUAL, side_fields | around)


def _feed_forward_lines(variant: Variant) -> tuple[Line, ...]:
    return tuple(line for line in lines.FEED_FORWARD if variant.gated or line.name != "gate")


def _attention_fields(asks: tuple[str, str, str], keys: tuple[str, str, str], bias: bool) -> Fields:
    fields = {"asks": asks[0], "A": asks[1], "asks_ko": asks[2]}
    fields |= {"keys": keys[0], "K": keys[1], "keys_ko": keys[2]}
    return fields | {f"b{x.lower()}": f" + b^{x}" if bias else "" for x in "QKVO"}


def _feed_forward_fields(variant: Variant) -> Fields:
    equation, latex = lines.ACTIVATIONS[variant.activation]
    b1, b2, bg = (" + b_1", " + b_2", " + b_{gate}") if variant.feed_forward_bias else ("",) * 3
    return {"activation": equation, "activation_latex": latex, "b1": b1, "b2": b2, "bg": bg}


def _embedding_fields(variant: Variant) -> Fields:
    first = variant.first_position
    written = f"(pos + {first})" if first else "pos"
    position, latex = (
        Template(text).substitute(pos=written) for text in lines.POSITIONS[variant.positions]
    )
    return {
        "scaled": "E[id] · √d_model" if variant.scaled else "E[id]",
        "scaled_latex": r"E_{id} \sqrt{d_{model}}" if variant.scaled else "E_{id}",
        "position": position,
        "position_latex": latex,
    }


def _stack_fields(stack: str, variant: Variant) -> Fields:
    last = f"the output of the last layer of the {stack}"
    post = variant.norm_position == "post"
    english, korean = {
        "encoder": ("The encoder output (memory), computed once and read by cross-attention.",
                    "인코더 출력(memory): 한 번만 계산하며 크로스 어텐션이 참조합니다."),
        "decoder": ("The decoder output, from which the scores of the next tokens are computed.",
                    "디코더 출력: 이 벡터에서 다음 토큰의 점수를 계산합니다."),
    }[stack]  # fmt: skip
    return {
        "stack": last if post else f"LayerNorm({last})",
        "stack_latex": r"x^{(N)}" if post else r"\operatorname{LayerNorm}(x^{(N)})",
        "stack_english": english,
        "stack_korean": korean,
    }


@lru_cache
def _every_row() -> Mapping[str, CatalogRow]:
    """Return a row for every name that some model has."""
    gated = Variant(activation="glu")
    return {**catalog(gated), **catalog(replace(gated, decoder_past="ssru"))}


@lru_cache
def _lone_rows() -> Mapping[tuple[str, str], CatalogRow]:
    """Return the rows of parts that are traced by themselves, by class and name."""
    sides = ("query", "T", "쿼리의"), ("key", "S", "키의")
    side_fields = {"side": "position", "side_ko": "문장", "L": "L"}
    variant = Variant()
    gated = Variant(activation="glu")
    around = {"x": "x", "sublayer": "Sublayer(·)", "normalized": "the input of the norm"}
    layer = {"embedding": "embedding", "last": "the result of Add & Norm", "last_latex": "last"}
    reads = {"x": "x", "y": "y"}
    parts = {
        "MultiHeadAttention": (lines.ATTENTION, reads | _attention_fields(*sides, bias=True)),
        "PositionwiseFeedForward": (
            lines.FEED_FORWARD,
            reads | side_fields | _feed_forward_fields(gated),
        ),
        "SimpleRecurrentUnit": (lines.SSRU, {"x": "x"} | side_fields),
        "Residual": (lines.RESIDUAL, side_fields | around),
        "InputEmbedding": (lines.EMBEDDING, side_fields | _embedding_fields(variant)),
        "EncoderLayer": (lines.LAYER, side_fields | layer),
        "DecoderLayer": (lines.LAYER, side_fields | layer),
        "RecurrentDecoderLayer": (lines.LAYER, side_fields | layer),
        "Encoder": (lines.STACK, side_fields | _stack_fields("encoder", variant)),
        "Decoder": (lines.STACK, side_fields | _stack_fields("decoder", variant)),
        "Transformer": (lines.TRANSFORMER, {"b": ""}),
    }
    return {
        (kind, line.name): row
        for kind, (part, fields) in parts.items()
        for line, row in zip(part, _rows("", part, fields), strict=True)
    }


def _rows(prefix: str, part: Sequence[Line], fields: Fields) -> Iterator[CatalogRow]:
    def fill(text: str) -> str:
        return Template(text).substitute(fields)

    for line in part:
        axes = (axis.split(":") for axis in fill(line.axes).split())
        yield CatalogRow(
            pattern=prefix + line.name,
            axes=tuple(Axis(name, letter) for name, letter in axes),
            equation=fill(line.equation),
            latex=fill(line.latex),
            english=fill(line.english),
            korean=fill(line.korean),
            derived=line.derived,
        )
