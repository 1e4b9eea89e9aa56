"""Weights go to Keras and come back bit for bit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headway.bundle import Bundle, load_bundle, save_bundle
from headway.errors import BundleError, ConfigError
from headway.interop.keras import from_bundle, to_bundle
from headway.interop.keras.backend import keras

from .test_transformer import VARIANTS

MakeBundle = Callable[..., Bundle]
OF_TEXT = {
    "config": {"data": {}},
    "several_sentences": 0.75,
    "usual_sentences": 3,
    "source_script": "LATIN",
    "target_script": "HANGUL",
    "examples": ["a b"],
}


@pytest.mark.parametrize("variant", ["paper", "pre-norm", "two tables", "three tables", "swiglu"])
def test_there_and_back_again(variant: str, make_bundle: MakeBundle, tmp_path: Path) -> None:
    changes = {**VARIANTS[variant], "source_vocab_size": 23}
    save_bundle(tmp_path / "ours", make_bundle(**changes))

    to_bundle(from_bundle(tmp_path / "ours"), tmp_path / "back")

    for name in ("model.safetensors", "config.json", "tokenizer.model", "manifest.json"):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes()
    assert load_bundle(tmp_path / "back").config == load_bundle(tmp_path / "ours").config


def test_a_short_table_of_positions_goes_there_and_back(
    make_bundle: MakeBundle, tmp_path: Path
) -> None:
    bundle = make_bundle(max_positions=9)
    to_bundle(from_bundle(bundle), tmp_path / "back")
    assert load_bundle(tmp_path / "back").config == bundle.config


def test_other_weights_do_not_inherit_scores(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = replace(make_bundle(), card="# Card\n\nBLEU 41.0\n", record={"steps": 7, **OF_TEXT})
    model = from_bundle(bundle)
    model.set_weights([weights + 1e-6 for weights in model.get_weights()])

    to_bundle(model, tmp_path / "once")
    to_bundle(model, tmp_path / "twice", like=tmp_path / "once")
    to_bundle(from_bundle(bundle), tmp_path / "same")

    once = load_bundle(tmp_path / "once")
    assert once.record == OF_TEXT
    assert once.card.startswith("> These weights come from Keras.")
    assert once.card.endswith("\n\n# Card\n\nBLEU 41.0\n")
    assert load_bundle(tmp_path / "twice").card == once.card
    same = load_bundle(tmp_path / "same")
    assert (same.card, same.record) == (bundle.card, bundle.record)


def test_neither_model_changes_with_the_other(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    model = from_bundle(bundle)
    before = [weights.copy() for weights in model.get_weights()]
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.add_(1)
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)

    ours = [parameter.clone() for parameter in bundle.model.parameters()]
    model.set_weights([0 * weights for weights in before])
    for parameter, other in zip(bundle.model.parameters(), ours, strict=True):
        assert torch.equal(parameter, other)


def test_a_model_that_keras_loaded_needs_a_bundle_to_be_like(
    make_bundle: MakeBundle, tmp_path: Path
) -> None:
    save_bundle(tmp_path / "ours", make_bundle())
    from_bundle(tmp_path / "ours").save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")

    with pytest.raises(ConfigError, match="like=BUNDLE"):
        to_bundle(model, tmp_path / "back")
    to_bundle(model, tmp_path / "back", like=tmp_path / "ours")

    name = "model.safetensors"
    assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes()


@pytest.mark.parametrize(
    ("model", "like", "message"),
    [
        ({"num_decoder_layers": 3}, {"num_decoder_layers": 2}, "decoder_layer_2"),
        ({"norm_position": "pre"}, {}, "does not know: encoder_norm"),
        ({"num_heads": 2}, {"num_heads": 4}, "computes something else"),
        ({"activation": "gelu"}, {}, "computes something else"),
    ],
    ids=["layers", "norm", "heads", "activation"],
)
def test_another_configuration_is_refused_and_nothing_is_written(
    model: dict[str, object], like: dict[str, object], message: str,
    make_bundle: MakeBundle, tmp_path: Path,
) -> None:  # fmt: skip
    even = {"d_model": 8, "num_heads": 2, "d_k": None, "d_v": None}
    theirs = from_bundle(make_bundle(**even | model))
    with pytest.raises(BundleError, match=message):
        to_bundle(theirs, tmp_path / "back", like=make_bundle(**even | like))
    assert not (tmp_path / "back").exists()


def test_a_bundle_of_another_size_is_refused(make_bundle: MakeBundle, tmp_path: Path) -> None:
    model = from_bundle(make_bundle())
    with pytest.raises(BundleError, match="has shape"):
        to_bundle(model, tmp_path / "back", like=make_bundle(d_ff=18))
    with pytest.raises(BundleError, match="The Keras model has no layer 'decoder_layer_2'"):
        to_bundle(model, tmp_path / "back", like=make_bundle(num_decoder_layers=3))
    assert not (tmp_path / "back").exists()


def test_parts_whose_equations_keras_does_not_know_are_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    bundle.model.encoder.layers[0].feed_forward.forward = lambda x: -x
    with pytest.raises(ConfigError, match=r"The model in Keras computes .* with another forward"):
        from_bundle(bundle)
