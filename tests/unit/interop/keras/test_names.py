"""Names of other code lead to those of the Keras form."""

import importlib

import pytest

from headway.errors.elsewhere import KERAS, ROWS

keras_form = importlib.import_module(KERAS)


def test_every_name_that_a_row_gives_is_public_here() -> None:
    names = {row.here.rpartition(".")[2] for row in ROWS if row.here.startswith(KERAS)}
    assert len(names) >= 10
    assert names <= set(keras_form.__all__)


def test_a_name_of_other_code_leads_to_this_form_and_else_to_the_model() -> None:
    with pytest.raises(
        AttributeError, match=r"Use headway\.interop\.keras\.padding_mask\. True means a real"
    ):
        keras_form.create_padding_mask  # noqa: B018
    with pytest.raises(ImportError, match=r"Use headway\.interop\.keras\.look_ahead_mask\."):
        from headway.interop.keras import masking2  # type: ignore[attr-defined] # noqa: F401
    with pytest.raises(AttributeError, match=r"Use headway\.model\.Residual\. It is called"):
        keras_form.AddNorm  # noqa: B018
    with pytest.raises(AttributeError, match=r"Did you mean 'encoder_layer'\?"):
        keras_form.encoder_layers  # noqa: B018


def test_an_argument_of_other_code_gets_the_right_one() -> None:
    with pytest.raises(TypeError, match=r"encoder_layer\(\) has no argument 'dff'.*'d_ff'\?"):
        keras_form.encoder_layer(dff=8, d_model=6, num_heads=2)
    with pytest.raises(TypeError, match=r"transformer\(\) has no argument 'rate'.*'dropout'\?"):
        keras_form.transformer(30, 1, 8, 6, 2, rate=0.1)
