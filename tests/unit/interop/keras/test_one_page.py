"""The plain Keras source on one page computes the same as our Keras model, part by part."""

import ast
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from headway.bundle import Bundle
from headway.interop.keras import (
    MultiHeadAttention,
    PositionalEncoding,
    attention,
    from_bundle,
    look_ahead_mask,
    padding_mask,
)
from headway.interop.keras.backend import keras

from .examples import SOURCE, TARGET, logits

ROOT = Path(__file__).parents[4]
SOURCE_FILE = ROOT / "examples" / "keras_one_page.py"
ops = keras.ops


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("keras_one_page", SOURCE_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape: int) -> Any:
    return ops.convert_to_tensor(np.random.default_rng(7).standard_normal(shape, np.float32))


def copy_weights(model: keras.Model, bundle: Bundle) -> None:
    """Fill the model from our tensors, which have the order of its layers."""
    state = bundle.model.state_dict()
    order = ["source_embedding", "encoder", "target_embedding", "decoder", "output_projection"]
    names = [name for part in order for name in state if name.startswith(part)]
    for variable, name in zip(model.weights, names, strict=True):
        array = state[name].numpy()
        variable.assign(array.T if variable.path.endswith("kernel") else array)


@pytest.mark.parametrize(("tables", "depth"), [("none", 2), ("all", 1)])
def test_the_same_weights_give_the_same_logits(
    tables: str, depth: int, page: ModuleType, make_bundle: Callable[..., Bundle]
) -> None:
    sizes = {"d_model": 12, "num_heads": 3, "d_k": 4, "d_v": 4}
    sizes |= {"num_encoder_layers": depth, "num_decoder_layers": depth}
    bundle = make_bundle(shared_embeddings=tables, **sizes)
    config = bundle.config
    model = page.transformer(
        config.target_vocab_size, depth, config.d_ff, config.d_model, config.num_heads, length=40
    )
    copy_weights(model, bundle)

    ours = logits(from_bundle(bundle), SOURCE, TARGET)

    real = TARGET != 0
    np.testing.assert_allclose(logits(model, SOURCE, TARGET)[real], ours[real], atol=2e-5)


def test_positions_attention_and_masks_are_ours(page: ModuleType) -> None:
    x = normal(2, 11, 10)
    theirs, ours = (
        ops.convert_to_numpy(encoding(11, 10)(x))
        for encoding in (page.PositionalEncoding, PositionalEncoding)
    )
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-6)

    source, target = ops.convert_to_tensor(SOURCE), ops.convert_to_tensor(TARGET)
    assert (ops.convert_to_numpy(page.padding_mask(source) == padding_mask(source))).all()
    assert (ops.convert_to_numpy(page.look_ahead_mask(target) == look_ahead_mask(target))).all()

    q, k, v = normal(2, 3, 7), normal(2, 5, 7), normal(2, 5, 4)
    mask = ops.convert_to_tensor(np.random.default_rng(0).random((2, 3, 5)) > 0.6)
    mask = ops.logical_and(mask, ops.convert_to_tensor([[[True], [False], [True]]]))
    for allowed in (None, mask):
        for theirs, ours in zip(
            page.attention(q, k, v, allowed), attention(q, k, v, allowed), strict=True
        ):
            np.testing.assert_allclose(
                ops.convert_to_numpy(theirs), ops.convert_to_numpy(ours), atol=1e-6
            )


def test_heads_are_ours_and_a_width_they_do_not_divide_is_refused(page: ModuleType) -> None:
    theirs, ours = page.MultiHeadAttention(12, 3), MultiHeadAttention(12, 3)
    x = normal(2, 5, 12)
    inputs = {"query": x, "key": x, "value": x, "mask": look_ahead_mask(SOURCE)}
    expected = ours(inputs)
    theirs(inputs)  # makes the weights
    theirs.set_weights(ours.get_weights())

    np.testing.assert_allclose(
        ops.convert_to_numpy(theirs(inputs)), ops.convert_to_numpy(expected), atol=1e-6
    )
    with pytest.raises(ValueError, match="7 heads do not divide d_model 100"):
        page.MultiHeadAttention(100, 7)


def test_every_sub_layer_and_both_embeddings_have_a_dropout(page: ModuleType) -> None:
    model = page.transformer(23, 1, 7, 6, 2, dropout=0.3)
    parts = model._flatten_layers()
    dropouts = [part for part in parts if isinstance(part, keras.layers.Dropout)]
    assert [part.rate for part in dropouts] == [0.3] * (2 + 2 + 3)


def test_both_pages_show_the_whole_source_in_its_order() -> None:
    tree = ast.parse(SOURCE_FILE.read_text(encoding="utf-8"))
    kinds = ast.ClassDef, ast.FunctionDef
    parts = [node.name for node in tree.body if isinstance(node, kinds)]
    for language in ("en", "ko"):
        text = (ROOT / "docs" / language / "keras" / "one-page.md").read_text(encoding="utf-8")
        shown = re.findall(
            r"^```\{literalinclude\} \S+/keras_one_page\.py\n(?::\S+: .*\n)*?:pyobject: (\w+)$",
            text,
            flags=re.MULTILINE,
        )
        assert shown == parts, language
