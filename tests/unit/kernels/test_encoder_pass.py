"""An encoder in one call gives the same bits as one call for each operation, in every batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.decoding.packed.engine import PackedEngine
from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.model.transformer import Transformer

module = pytest.importorskip("headway.decoding.packed.numba_backend")

SENTENCES = st.lists(st.lists(st.integers(0, 22), min_size=1, max_size=19), min_size=1, max_size=6)
VARIANTS = st.fixed_dictionaries(
    {
        "norm_position": st.sampled_from(["post", "pre"]),
        "attention_bias": st.booleans(),
        "scale_embeddings": st.booleans(),
        "positions": st.sampled_from(["sinusoidal", "learned"]),
        "d_k": st.sampled_from([5, 16]),
        "d_v": st.sampled_from([4, 16]),
        "num_encoder_layers": st.integers(1, 3),
        "seed": st.integers(0, 100),
    }
)
Build = Callable[..., Transformer]


def engine_of(model: Transformer, precision: Any = "float32") -> PackedEngine:
    engine = PackedEngine(model, module.NumbaBackend(precision))
    assert engine.whole_encoder is not None
    return engine


def memory(engine: PackedEngine, sentences: list[list[int]]) -> list[list[np.ndarray]]:
    """Return the keys and values of each sentence in all layers."""
    state = engine.start(len(sentences), 1)
    engine.encode(state, range(len(sentences)), sentences)
    parts = [part for cache in state.memory for part in (cache.keys, cache.values)]
    return [[part[slot, : len(ids)].copy() for part in parts] for slot, ids in enumerate(sentences)]


def assert_same_bits(ours: list[list[np.ndarray]], theirs: list[list[np.ndarray]]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_array_equal(a, b)


@settings(max_examples=8)
@given(variant=VARIANTS, sentences=SENTENCES)
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_one_call_and_one_for_each_operation_agree_in_all_bits_alone_and_together(
    precision: Any, variant: dict[str, Any], sentences: list[list[int]], build: Build
) -> None:
    if precision != "float32" and not dispatch.multiplies_bfloat16():
        pytest.skip("PyTorch multiplies bfloat16 here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "INT8_WEIGHTS", 0)
        patch.setattr(dispatch, "SMALL_WEIGHTS", 0)
        engine = engine_of(build(**variant), precision)

    together = memory(engine, sentences)

    for ids, of_sentence in zip(sentences, together, strict=True):
        assert_same_bits(memory(engine, [ids]), [of_sentence])
    engine.whole_encoder = None
    assert_same_bits(memory(engine, sentences), together)


@pytest.mark.parametrize("wrong", [-1, 23, 10**9])
def test_an_id_that_the_vocabulary_does_not_have_is_refused(build: Build, wrong: int) -> None:
    with pytest.raises(ConfigError, match=rf"{wrong}.*tokens 0 to 22"):
        memory(engine_of(build()), [[3, 4], [5, wrong, 3]])


def test_a_sentence_that_is_longer_than_all_before_gets_its_positions(build: Build) -> None:
    engine = engine_of(build())
    assert len(memory(engine, [[4, 3]])[0][0]) == 2
    (whole,) = memory(engine, [300 * [5]])
    engine.whole_encoder = None
    (separate,) = memory(engine, [300 * [5]])
    assert_same_bits([whole], [separate])
    assert not np.array_equal(whole[0][200], whole[0][299])
