"""The model in Keras is ours: same logits, no look into the future, padding changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.errors import ConfigError
from headway.interop.keras import (
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    from_bundle,
    look_ahead_mask,
    padding_mask,
    transformer,
    transformer_from_config,
)
from headway.interop.keras.backend import keras

from .examples import SOURCE, TARGET, logits

MakeBundle = Callable[..., Bundle]


VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm_position": "pre"},
    "two tables": {"shared_embeddings": "target", "output_bias": True},
    "three tables": {"shared_embeddings": "none", "output_bias": True, "source_vocab_size": 17},
    "no biases": {"attention_bias": False, "feed_forward_bias": False},
    "halved": {
        "sinusoid_layout": "halved",
        "first_position": 2,
        "scale_embeddings": False,
        "norm_epsilon": 1e-3,
    },
    "zeros": {"zero_id": 2},
    "zeros, two tables": {"zero_id": 2, "shared_embeddings": "target"},
    "other depth": {"num_encoder_layers": 3, "num_decoder_layers": 1, "pad_id": 3},
    "gelu": {"activation": "gelu"},
    "gelu_tanh": {"activation": "gelu_tanh"},
    "silu": {"activation": "silu"},
    "glu": {"activation": "glu"},
    "reglu": {"activation": "reglu"},
    "geglu": {"activation": "geglu"},
    "swiglu": {"activation": "swiglu"},
}


def our_logits(bundle: Bundle, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return bundle.model(torch.from_numpy(source), torch.from_numpy(target)).numpy()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_bundle_has_the_same_logits_in_keras_also_when_saved(
    variant: str, make_bundle: MakeBundle, tmp_path: Path
) -> None:
    bundle = make_bundle(**VARIANTS[variant])
    source = np.minimum(SOURCE, bundle.config.source_vocab_size - 1)

    model = from_bundle(bundle)

    found = logits(model, source, TARGET)
    np.testing.assert_allclose(found, our_logits(bundle, source, TARGET), atol=2e-5)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(again, source, TARGET), found)


def test_later_pieces_change_nothing_before_them(make_bundle: MakeBundle) -> None:
    model = from_bundle(make_bundle())
    changed = TARGET.copy()
    changed[:, 4:] = 15

    before, after = logits(model, SOURCE, TARGET), logits(model, SOURCE, changed)

    np.testing.assert_allclose(after[1, :4], before[1, :4], atol=1e-5)
    assert abs(after[1, 4:] - before[1, 4:]).max() > 1e-3


def test_padding_changes_nothing(make_bundle: MakeBundle) -> None:
    model = from_bundle(make_bundle())
    alone = logits(model, SOURCE[:1, :3], TARGET[:1, :3])
    together = logits(model, SOURCE, TARGET)
    np.testing.assert_allclose(together[:1, :3], alone, atol=1e-5)


def test_the_source_is_read(make_bundle: MakeBundle) -> None:
    model = from_bundle(make_bundle())
    other = SOURCE.copy()
    other[:, 1] = 12
    assert abs(logits(model, other, TARGET) - logits(model, SOURCE, TARGET)).max() > 1e-3


def test_every_sub_layer_and_both_embeddings_are_dropped_out() -> None:
    model = transformer_from_config(ModelConfig.parse({
        "d_model": 6, "d_ff": 5, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1,
        "dropout": 0.25, "source_vocab_size": 9, "target_vocab_size": 9,
    }))  # fmt: skip
    layers = [part for part in model._flatten_layers() if isinstance(part, keras.layers.Dropout)]
    rates = [layer.rate for layer in layers if layer.rate]
    assert rates == [0.25] * (2 + 2 + 3)


def test_the_plain_functions_fit_into_each_other() -> None:
    sizes = {"d_ff": 7, "d_model": 6, "num_heads": 2, "dropout": 0.1}
    source, target = map(keras.ops.convert_to_tensor, (SOURCE, TARGET))
    source_mask, target_mask = padding_mask(source), look_ahead_mask(target)

    memory = encoder(23, 2, **sizes)([source, source_mask])
    hidden = decoder(23, 2, **sizes)([target, memory, target_mask, source_mask])
    again = encoder_layer(**sizes)([memory, source_mask])
    last = decoder_layer(**sizes)([hidden, memory, target_mask, source_mask])

    assert tuple(memory.shape) == tuple(again.shape) == (2, 5, 6)
    assert tuple(hidden.shape) == tuple(last.shape) == (2, 7, 6)
    assert logits(transformer(23, 2, **sizes), SOURCE, TARGET).shape == (2, 7, 23)


def test_a_fresh_model_is_as_large_as_ours_and_starts_alike() -> None:
    from headway.model.accounting import count_parameters
    from headway.model.transformer import Transformer

    config = ModelConfig.parse({
        "d_model": 64, "d_ff": 96, "num_heads": 4, "num_encoder_layers": 1,
        "num_decoder_layers": 1, "source_vocab_size": 300, "target_vocab_size": 300,
    })  # fmt: skip
    ours, theirs = Transformer.from_config(config), transformer_from_config(config)

    assert theirs.count_params() == count_parameters(ours)
    table = keras.ops.convert_to_numpy(theirs.get_layer("tokens").table)
    assert table.std() == pytest.approx(64**-0.5, rel=0.05)
    layer = theirs.get_layer("encoder").get_layer("encoder_layer_0")
    found = keras.ops.convert_to_numpy(layer.get_layer("encoder_layer_0_w_1").kernel).std()
    expected = ours.encoder.layers[0].feed_forward.w_1.weight.detach().std()
    assert found == pytest.approx(float(expected), rel=0.1)


def test_every_weight_has_a_name_of_its_own(make_bundle: MakeBundle) -> None:
    # With equal names, Keras on PyTorch adds the gradients of all steps up.
    model = from_bundle(make_bundle(norm_position="pre", shared_embeddings="none"))
    paths = [variable.path for variable in model.weights]
    assert len(set(paths)) == len(paths)


def test_an_ssru_is_refused(make_bundle: MakeBundle) -> None:
    with pytest.raises(ConfigError, match="no decoder_past 'ssru'"):
        from_bundle(make_bundle(decoder_past="ssru"))


@pytest.mark.parametrize("tables", ["all", "target", "none"])
def test_a_token_that_is_read_as_zeros_is_scored_like_others(
    tables: str, make_bundle: MakeBundle
) -> None:
    # A fine-tune of a Marian model changes the row of its start symbol, because it is also a row
    # of the output.
    bundle = make_bundle(zero_id=2, shared_embeddings=tables)
    source = np.minimum(SOURCE, bundle.config.source_vocab_size - 1)
    source[:, 0] = 2
    target = TARGET.copy()
    target[:, [0, 3]] = 2

    before = logits(from_bundle(bundle), source, target)
    bundle.model.output_projection.weight.data[2] += 1
    after = logits(from_bundle(bundle), source, target)

    np.testing.assert_array_equal(np.delete(after, 2, axis=-1), np.delete(before, 2, axis=-1))
    assert abs(after[..., 2] - before[..., 2]).max() > 1e-3


def test_learned_positions_are_refused(make_bundle: MakeBundle) -> None:
    with pytest.raises(ConfigError, match="no learned positions"):
        from_bundle(make_bundle(positions="learned", max_positions=9))


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match="d_model 10 is not divisible by num_heads 4"):
        transformer(9, 1, d_ff=5, d_model=10, num_heads=4)
