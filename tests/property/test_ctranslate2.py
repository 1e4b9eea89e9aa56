"""Whatever the architecture, CTranslate2 finds the same greedy pieces and log-probabilities."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import train_tokenizer
from headway.interop.ctranslate2.exporting import write
from headway.interop.ctranslate2.parity import TOLERANCE, compare, examples
from headway.model.feed_forward import ACTIVATIONS, GATED_ACTIVATIONS
from headway.model.transformer import Transformer

TOKENIZER = train_tokenizer(["abcdefghijklm"], kind="char", vocabulary_size=40)

booleans = st.booleans()
architectures = st.fixed_dictionaries(
    {
        "d_model": st.integers(2, 9).map(lambda half: 2 * half),
        "d_ff": st.integers(1, 21),
        "num_heads": st.integers(1, 4),
        "d_k": st.integers(1, 7),
        "d_v": st.integers(1, 7),
        "num_encoder_layers": st.integers(1, 3),
        "num_decoder_layers": st.integers(1, 3),
        "activation": st.sampled_from([*ACTIVATIONS, *GATED_ACTIVATIONS]),
        "attention_bias": booleans,
        "feed_forward_bias": booleans,
        "output_bias": booleans,
        "norm_position": st.sampled_from(["post", "pre"]),
        "norm_epsilon": st.sampled_from([1e-6, 1e-5, 0.1]),
        "positions": st.sampled_from(["sinusoidal", "learned"]),
        "sinusoid_layout": st.sampled_from(["interleaved", "halved", "split"]),
        "first_position": st.sampled_from([0, 2]),
        "max_positions": st.integers(3, 41),
        "scale_embeddings": booleans,
        "shared_embeddings": st.sampled_from(["all", "target", "none"]),
    }
)


@settings(max_examples=12)
@given(architectures, st.integers(0, 3), st.integers(0, 2**31))
def test_any_small_model_computes_the_same(
    build: Callable[..., Transformer], changes: dict[str, Any], rows: int, seed: int
) -> None:
    size = len(TOKENIZER) + rows  # of some pieces, the model knows more than the tokenizer
    changes |= {"source_vocab_size": size, "target_vocab_size": size, "dropout": 0.1}
    bundle = Bundle(ModelConfig.parse(changes), build(seed, **changes), TOKENIZER, TOKENIZER)
    with tempfile.TemporaryDirectory() as folder:
        write(bundle, folder)
        parity = compare(bundle, Path(folder), examples(bundle))
    assert parity.sentences == 24
    assert parity.ties <= 1
    assert parity.largest_difference < TOLERANCE
