"""Engines agree, and what a sentence gets depends on no other sentence."""

import random
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.build_search import build_batch, search_all
from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.packed.weights import Projection
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.decoding.workers import search_with_workers
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.attention import MultiHeadAttention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
VARIANTS = st.fixed_dictionaries(
    {
        "norm_position": st.sampled_from(["post", "pre"]),
        "activation": st.sampled_from(["relu", "silu", "gelu", "swiglu", "geglu"]),
        "attention_bias": st.booleans(),
        "feed_forward_bias": st.booleans(),
        "output_bias": st.booleans(),
        "decoder_past": st.sampled_from(["self_attention", "ssru"]),
        "zero_id": st.sampled_from([None, 2]),
        "shared_embeddings": st.sampled_from(["all", "target", "none"]),
        "scale_embeddings": st.booleans(),
        "positions": st.sampled_from(["sinusoidal", "learned"]),
        "sinusoid_layout": st.sampled_from(["interleaved", "halved", "split"]),
        "first_position": st.sampled_from([0, 2]),
        "d_k": st.sampled_from([5, 16, 7]),
        "d_v": st.sampled_from([4, 16, 6]),
        "num_encoder_layers": st.integers(1, 2),
        "num_decoder_layers": st.integers(1, 2),
        "seed": st.integers(0, 10_000),
    }
)


def engines(model: Transformer) -> list[Engine[Any]]:
    made: list[Engine[Any]] = [
        ReferenceEngine(model),
        PackedEngine(model, TorchBackend(torch.device("cpu"))),
    ]
    if find_spec("numba"):
        from headway.decoding.packed.numba_backend import NumbaBackend

        made.append(PackedEngine(model, NumbaBackend()))
    return made


def some(seed: int, count: int) -> list[Request]:
    draw = random.Random(seed)
    return [
        Request([*(draw.randrange(4, 23) for _ in range(length)), 3], length + draw.randrange(9))
        for length in (draw.randrange(14) for _ in range(count))
    ]


def shuffled(engine: Engine[Any], options: SearchOptions, requests: list[Request], slots: int):
    """Search in some order with refill, not longest first; give back the order of the requests."""
    order = list(enumerate(requests))
    random.Random(slots).shuffle(order)
    make = partial(build_batch, engine, options)
    found = search_with_workers(make, order, workers=1, slots=slots, max_tokens=10**6)
    return [hypotheses for _, hypotheses in sorted(found, key=lambda result: result[0])]


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert [h.ids for h in mine] == [h.ids for h in other]
        assert [h.complete for h in mine] == [h.complete for h in other]
        assert [h.score for h in mine] == pytest.approx([h.score for h in other], abs=1e-4)


@settings(max_examples=15)
@given(variant=VARIANTS, beam_size=st.sampled_from([1, 4]))
def test_alone_in_any_batch_in_any_order_on_any_engine_a_sentence_gets_the_same(
    build: Build, variant: dict[str, Any], beam_size: int
) -> None:
    model, requests = build(**variant), some(variant["seed"], 20)
    options = SearchOptions(beam_size, n_best=beam_size)
    expected = None
    for engine in engines(model):
        if expected is None:
            expected = [search_all(engine, options, [request])[0] for request in requests]
        for slots in (7, 64):
            assert_same(search_all(engine, options, requests, slots=slots), expected)
            assert_same(shuffled(engine, options, requests, slots), expected)


MIXED = {"d_model": 24, "d_ff": 33, "num_heads": 4, "d_k": 6, "d_v": 6, "num_encoder_layers": 2}


def other_heads(model: Transformer) -> None:
    model.encoder.layers[1].self_attention = MultiHeadAttention(24, 2)
    model.decoder.layers[1].cross_attention = MultiHeadAttention(24, 8)


def other_head_widths(model: Transformer) -> None:
    model.decoder.layers[0].cross_attention = MultiHeadAttention(24, 3, d_k=5, d_v=17)
    model.decoder.layers[1].self_attention = MultiHeadAttention(24, 3, d_k=16, d_v=2)


def wider(model: Transformer) -> None:
    model.encoder.layers[0].feed_forward = PositionwiseFeedForward(24, 19)
    model.decoder.layers[1].feed_forward = PositionwiseFeedForward(24, 71)


def narrower(model: Transformer) -> None:
    model.encoder.layers[1].feed_forward = PositionwiseFeedForward(24, 7)
    model.decoder.layers[1].feed_forward = PositionwiseFeedForward(24, 9)


def no_gamma(model: Transformer) -> None:
    model.encoder.layers[0].feed_forward_residual.norm = nn.LayerNorm(24, elementwise_affine=False)
    model.decoder.layers[1].self_attention_residual.norm = nn.LayerNorm(24, bias=False)
    model.decoder.layers[0].feed_forward_residual.norm = nn.LayerNorm(24, elementwise_affine=False)


@pytest.mark.parametrize(
    "change", [other_heads, other_head_widths, wider, narrower, no_gamma], ids=lambda f: f.__name__
)
def test_layers_of_different_sizes_are_the_same_to_every_engine(
    build: Build, change: Callable[[Transformer], None]
) -> None:
    model, requests = build(**MIXED), some(5, 9)
    torch.manual_seed(6)
    change(model)
    for parameter in model.eval().parameters():  # what is new, too, is far from zero
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    options = SearchOptions(3, n_best=3)
    expected, *others = (search_all(each, options, requests, slots=4) for each in engines(model))
    assert len({tuple(best.ids) for best, *_ in expected}) > 5
    for found in others:
        assert_same(found, expected)


@settings(max_examples=6)
@given(variant=VARIANTS, beam_size=st.sampled_from([1, 3]))
@pytest.mark.parametrize(
    ("precision", "without"),
    [
        ("float32", ()),
        ("bfloat16", ()),
        ("int8", ()),
        ("int8", ("multiplies_bfloat16",)),
        ("int8", ("multiplies_bfloat16", "multiplies_bytes")),
    ],
)
def test_compiled_loops_give_the_very_same_bits_in_every_batch(
    precision: Precision,
    without: tuple[str, ...],
    build: Build,
    variant: dict[str, Any],
    beam_size: int,
) -> None:
    """They take every row by itself, with its sums in one order; those of integers are exact.

    Of the activations, ReLU is compiled, and SiLU where products are. PyTorch's own are not in
    this: what they give may have another last bit in another batch. Where products are too small
    for integers, they stay in float32; here all are integers.
    """
    compiled = pytest.importorskip("headway.decoding.packed.numba_backend")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "INT8_WEIGHTS", 0)
        patch.setattr(dispatch, "SMALL_WEIGHTS", 0)
        for instructions in without:
            patch.setattr(dispatch, instructions, lambda: False)
        backend = compiled.NumbaBackend(precision)
        product = backend.linear(Projection.of(torch.nn.Linear(2, 3)))
        if precision == "bfloat16" and not isinstance(product, compiled.Bfloat16Product):
            pytest.skip("PyTorch multiplies bfloat16 here")
        is_compiled = isinstance(product, (compiled.Float32Product, compiled.Int8LoopProduct))
        activation = "silu" if variant["seed"] % 2 and is_compiled else "relu"
        model = build(**variant | {"activation": activation})
        engine = PackedEngine(model, backend)
        requests, options = some(variant["seed"], 20), SearchOptions(beam_size, n_best=beam_size)
        if precision == "int8":
            assert isinstance(product, compiled.Int8LoopProduct) == dispatch.multiplies_bytes()
        if is_compiled:
            assert engine.whole_decoder is not None  # no library takes part: one call

        alone = [search_all(engine, options, [request])[0] for request in requests]

        for slots in (7, 64):
            assert shuffled(engine, options, requests, slots) == alone
    for request, hypotheses in zip(requests, alone, strict=True):
        for found in hypotheses:
            ids = [START_ID, *found.ids]
            with torch.inference_mode():
                logits = model(torch.tensor([request.source_ids]), torch.tensor([ids]))[0]
            log_probs = logits.log_softmax(-1)[range(len(ids)), [*found.ids, END_ID]]
            # Off by rounding, which weighs much at such widths, and by no more than that.
            off = {"int8": 0.15, "bfloat16": 0.05}.get(precision, 0.0) * len(ids) + 1e-4
            assert found.log_prob == pytest.approx(float(log_probs.sum()), abs=off)
