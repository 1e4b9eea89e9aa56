"""The catalog: one row for each name of a trace, with the shape that the tensor has."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from headway.inspection.catalog import catalog, find_row, matching, model_names, pattern_of
from headway.inspection.model_kind import Variant, variant_of
from headway.inspection.sizes import letter_sizes, tensor_bytes
from headway.inspection.trace import Trace, trace
from headway.model.attention import MultiHeadAttention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
B, S, T = 2, 7, 6
# All different, with the sizes of `build` and of each other.
SIZES = {
    "1": 1, "B": B, "H": 3, "d_v": 4, "d_k": 5, "T": T, "S": S, "H*d_v": 12, "d_model": 14,
    "H*d_k": 15, "d_ff": 19, "V": 23,
}  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "post, shared": {},
    "pre": {"norm_position": "pre"},
    "gated, halved": {"activation": "swiglu", "sinusoid_layout": "halved", "first_position": 2},
    "silu, split": {"activation": "silu", "sinusoid_layout": "split"},
    "pre, gated, learned": {"norm_position": "pre", "activation": "geglu", "positions": "learned"},
    "separate": {"shared_embeddings": "none", "source_vocab_size": 29, "output_bias": True},
    "no biases": {"attention_bias": False, "feed_forward_bias": False, "activation": "silu"},
    "ssru": {"decoder_past": "ssru"},
    "ssru, pre": {"decoder_past": "ssru", "norm_position": "pre"},
    "half shared": {"shared_embeddings": "target", "scale_embeddings": False},
}
by_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)


def traced(model: Transformer) -> Trace:
    with torch.no_grad(), trace(model) as seen:
        model(torch.randint(4, 23, (B, S)), torch.randint(4, 23, (B, T)))
    return seen


@by_variant
def test_each_name_of_a_trace_has_exactly_one_row_and_the_shape_it_says(
    build: Build, changes: dict[str, Any]
) -> None:
    model = build(num_encoder_layers=3, **changes)
    variant = variant_of(model)
    rows = catalog(variant)

    seen = traced(model)

    for name in [*seen, *model_names(model, variant, derived=True)]:
        fitting = [
            row
            for pattern, row in rows.items()
            if re.fullmatch(re.escape(pattern).replace(r"\*", r"\d+"), name)
        ]
        assert len(fitting) == 1, name
        (row,) = fitting
        assert row.pattern == pattern_of(name)
        assert tuple(seen[name].shape) == tuple(SIZES[axis.letter] for axis in row.axes), name
        assert seen[name].axes == row.axes
        assert row.derived is (name not in seen)
    assert sorted(seen) == sorted(model_names(model, variant))
    assert letter_sizes(model, S, T, B) == SIZES


@by_variant
def test_the_sizes_are_known_before_the_trace_is_made(
    build: Build, changes: dict[str, Any]
) -> None:
    model = build(**changes)
    seen = traced(model)
    expected = {name: tensor.nbytes // (B if tensor.axes[0].name == "batch" else 1)
                for name, tensor in seen.items()}  # fmt: skip

    sizes = tensor_bytes(model, S, T)

    assert dict(sizes) == expected
    assert seen.nbytes <= sum(tensor.nbytes for tensor in seen.values())


@by_variant
def test_an_equation_names_only_what_there_is(build: Build, changes: dict[str, Any]) -> None:
    rows = catalog(variant_of(build(**changes)))
    mentioned = set()
    for row in rows.values():
        names = re.findall(r"(?:encoder|decoder|source_embedding|target_embedding)\.[\w.*]+",
                           row.equation)  # fmt: skip
        assert set(names) <= set(rows), row.pattern
        mentioned |= set(names)
    assert len(mentioned) >= 10


@by_variant
def test_each_row_has_words_in_both_languages_and_an_equation_to_print(
    build: Build, changes: dict[str, Any]
) -> None:
    for row in catalog(variant_of(build(**changes))).values():
        for text in (row.equation, row.latex, row.english, row.korean):
            assert text.strip() == text != ""
            assert "$" not in text
        assert row.latex.count("{") == row.latex.count("}")
        assert row.latex.count(r"\begin") == row.latex.count(r"\end")
        assert row.english.endswith(".")
        assert row.english.isascii()
        assert row.korean.endswith(("다.", "다.)"))
        assert re.search("[가-힣]", row.korean)


def test_the_equations_are_those_of_the_model() -> None:
    name = "decoder.layers.*.cross_attention.projected_q"
    post, pre = catalog(), catalog(Variant(norm_position="pre"))
    assert post[name].equation.endswith("x = decoder.layers.*.self_attention_residual.norm")
    assert pre[name].equation.endswith("x = decoder.layers.*.cross_attention_residual.norm")
    assert "b^Q" not in catalog(Variant(attention_bias=False))[name].equation
    gate = "encoder.layers.*.feed_forward.gate"
    assert gate in catalog(Variant(activation="glu"))
    assert gate not in post


def test_a_row_is_the_same_whatever_part_is_traced(build: Build) -> None:
    model, source = build(), torch.randint(4, 23, (B, S))
    memory, mask = torch.randn(B, S, 14), torch.ones(B, 1, 1, S, dtype=torch.bool)
    x = torch.randn(B, T, 14)
    whole = traced(model)
    for part, prefix, run in (
        (model.decoder, "decoder", lambda: model.decoder(x, memory, None, mask)),
        (model.encoder, "encoder", lambda: model.encode(source, mask)),
        (model.decoder.layers[1], "decoder.layers.1", lambda: model.decoder(x, memory)),
    ):
        with torch.no_grad(), trace(part) as seen:
            run()
        assert len(seen) > 20
        for name, tensor in seen.items():
            assert tensor.axes == whole[f"{prefix}.{name}"].axes


def test_a_part_alone_has_the_letters_of_the_legend() -> None:
    attend, feed = MultiHeadAttention(8, 2), PositionwiseFeedForward(4, 6, "glu")
    with trace(attend) as seen:
        attend(torch.randn(1, 3, 8), torch.randn(1, 5, 8), torch.randn(1, 5, 8))
    row = find_row(attend, attend, "weights", "weights")
    assert row is not None
    assert row.shape == "(B, H, T, S)"
    assert seen["weights"].axes == row.axes
    with trace(feed) as seen:
        feed(torch.randn(1, 3, 4))
        assert [axis.name for axis in seen["gate"].axes] == ["batch", "position", "d_ff"]
        feed(torch.randn(3, 4))
        assert seen["gate"].axes == ()  # without a batch the row does not fit


def test_the_memory_of_a_trace_of_the_base_model_is_that_of_the_documents() -> None:
    import headway

    with torch.device("meta"):
        base = Transformer.from_config(headway.presets.base(8000))
    sizes = tensor_bytes(base, 30, 30)

    weights = [sizes[name] for name in matching(list(sizes), "*.weights")]

    assert (len(weights), sum(weights)) == (18, 518_400)
    assert sum(sizes.values()) == 4 * 6_189_120 + 930
