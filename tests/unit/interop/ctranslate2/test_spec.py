"""What CTranslate2 would assume is said, and what it cannot compute is refused."""

import dataclasses
import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Activation, ModelConfig
from headway.errors import ConfigError
from headway.interop.ctranslate2 import spec as spec_module
from headway.interop.ctranslate2.spec import build_spec, check_expressible, num_positions
from headway.model.feed_forward import ACTIVATIONS, GATED_ACTIVATIONS

MakeBundle = Callable[..., Bundle]


@pytest.mark.parametrize(("layout", "first"), [("interleaved", 0), ("halved", 2)])
def test_sinusoids_are_written_down_from_the_first_position(
    make_bundle: MakeBundle, layout: str, first: int
) -> None:
    bundle = make_bundle(sinusoid_layout=layout, first_position=first)
    spec = build_spec(bundle)
    for stack in (spec.encoder, spec.decoder):
        table = stack.position_encodings.encodings
        assert table.shape == (4096, 14)
        assert table.dtype == np.float32
        ours = bundle.model.source_embedding.positions(4096)
        np.testing.assert_array_equal(table, ours.numpy())


def test_learned_positions_are_those_of_each_side(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(positions="learned", max_positions=37)
    spec = build_spec(bundle)
    for stack, embedding in (
        (spec.encoder, bundle.model.source_embedding),
        (spec.decoder, bundle.model.target_embedding),
    ):
        weight = embedding.positions.weight.detach().numpy()
        np.testing.assert_array_equal(stack.position_encodings.encodings, weight)


@pytest.mark.parametrize(("pieces", "rows"), [(512, 4096), (5000, 5000 + 50 + 1)])
def test_the_table_is_as_long_as_the_longest_sentence(
    make_bundle: MakeBundle, pieces: int, rows: int
) -> None:
    decoding = DecodingConfig(max_source_pieces=pieces, max_extra_pieces=50)
    bundle = dataclasses.replace(make_bundle(), decoding=decoding)
    assert num_positions(bundle) == rows
    assert num_positions(make_bundle(positions="learned", max_positions=37)) == 37


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_every_norm_has_its_beta(make_bundle: MakeBundle, norm_position: str) -> None:
    bundle = make_bundle(norm_position=norm_position)
    variables = build_spec(bundle).variables()
    betas = [value for name, value in variables.items() if name.endswith("/beta")]
    gammas = [value for name, value in variables.items() if name.endswith("/gamma")]
    norms = [m for m in bundle.model.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert len(betas) == len(gammas) == len(norms) == (8 if norm_position == "post" else 10)
    for ours, theirs in (("bias", betas), ("weight", gammas)):
        expected = sorted(getattr(norm, ours).sum().item() for norm in norms)
        assert sorted(float(value.sum()) for value in theirs) == pytest.approx(expected, abs=1e-5)


def test_the_configuration_says_how_sentences_begin_and_end(make_bundle: MakeBundle) -> None:
    config = build_spec(make_bundle(norm_epsilon=0.03)).config.to_dict()
    assert config == {
        "add_source_bos": False,
        "add_source_eos": True,
        "bos_token": "<s>",
        "decoder_start_token": "<s>",
        "eos_token": "</s>",
        "layer_norm_epsilon": 0.03,
        "multi_query_attention": False,
        "unk_token": "<unk>",
    }


@pytest.mark.parametrize("scaled", [True, False])
def test_both_embeddings_are_scaled_or_neither(make_bundle: MakeBundle, scaled: bool) -> None:
    spec = build_spec(make_bundle(scale_embeddings=scaled))
    assert spec.encoder.scale_embeddings is spec.decoder.scale_embeddings is scaled


@pytest.mark.parametrize(("d_k", "d_v", "width"), [(5, 4, 5), (3, 6, 6)])
def test_heads_of_two_widths_are_padded_and_scaled_by_the_width_of_a_key(
    make_bundle: MakeBundle, d_k: int, d_v: int, width: int
) -> None:
    spec = build_spec(make_bundle(d_k=d_k, d_v=d_v))
    own, cross = spec.decoder.layer[1].self_attention, spec.decoder.layer[1].attention
    assert own.head_dim == cross.head_dim == width
    assert own.queries_scale == cross.queries_scale == np.float32(1 / math.sqrt(d_k))
    assert own.linear[0].weight.shape == (3 * 3 * width, 14)
    assert cross.linear[0].weight.shape == (3 * width, 14)
    assert cross.linear[1].weight.shape == (2 * 3 * width, 14)
    assert own.linear[1].weight.shape == cross.linear[2].weight.shape == (14, 3 * width)
    keys_and_values = cross.linear[1].weight.reshape(2, 3, width, 14)
    filled = (keys_and_values != 0).all(axis=-1).sum(axis=-1)
    np.testing.assert_array_equal(filled, [[d_k] * 3, [d_v] * 3])


def test_heads_of_the_usual_width_are_left_to_the_usual_rule(make_bundle: MakeBundle) -> None:
    spec = build_spec(make_bundle(d_model=12, d_k=None, d_v=None))
    assert not hasattr(spec.encoder.layer[0].self_attention, "head_dim")


def test_what_has_no_bias_gets_none(make_bundle: MakeBundle) -> None:
    spec = build_spec(make_bundle(attention_bias=False, feed_forward_bias=False))
    biased = [name for name in spec.variables() if name.endswith("/bias")]
    assert biased == []


def test_the_gate_is_what_is_activated(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(activation="swiglu")
    ours = bundle.model.encoder.layers[0].feed_forward
    theirs = build_spec(bundle).encoder.layer[0].ffn
    assert ours.w_gate is not None
    np.testing.assert_array_equal(theirs.linear_0.weight, ours.w_gate.weight.detach().numpy())
    np.testing.assert_array_equal(theirs.linear_0_noact.weight, ours.w_1.weight.detach().numpy())


def test_every_activation_has_its_name_there() -> None:
    assert set(spec_module._ACTIVATIONS) == set(get_args(Activation))
    gated = {name for name, (_, gated) in spec_module._ACTIVATIONS.items() if gated}
    assert gated == set(GATED_ACTIVATIONS)
    assert set(spec_module._ACTIVATIONS) - gated == set(ACTIVATIONS)


def test_a_padding_piece_that_may_stand_in_a_sentence_is_refused(make_bundle: MakeBundle) -> None:
    with pytest.raises(ConfigError, match=r"pad_id is 7, .* Export a model with pad_id 0"):
        check_expressible(make_bundle(pad_id=7))


def test_two_epsilons_are_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    bundle.model.decoder.layers[1].feed_forward_residual.norm.eps = 0.01
    with pytest.raises(ConfigError, match=r"epsilons 1e-05, 0\.01 .* one for all\. Make the"):
        check_expressible(bundle)


def test_an_epsilon_that_is_not_the_configured_one_is_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(norm_epsilon=0.01)
    config = ModelConfig.parse(bundle.config.model_dump() | {"norm_epsilon": 0.02})
    with pytest.raises(ConfigError, match=r"epsilons 0\.01 and the configuration says 0\.02"):
        check_expressible(dataclasses.replace(bundle, config=config))


def test_a_token_that_is_read_as_zeros_has_a_row_of_zeros(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(zero_id=2)
    spec = build_spec(bundle)
    table = bundle.model.output_projection.weight.detach().numpy()
    assert not spec.decoder.embeddings.weight[2].any()
    np.testing.assert_array_equal(spec.decoder.embeddings.weight[3:], table[3:])
    np.testing.assert_array_equal(spec.decoder.projection.weight, table)
    assert table[2].any()


def test_an_ssru_is_refused(make_bundle: MakeBundle) -> None:
    with pytest.raises(ConfigError, match=r"has no decoder_past 'ssru'\. .* --to firefox"):
        check_expressible(make_bundle(decoder_past="ssru"))


def test_an_activation_that_it_lacks_is_refused(
    make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(spec_module._ACTIVATIONS, "glu")
    with pytest.raises(ConfigError, match=r"the activation 'glu'\. It has: geglu, gelu, "):
        check_expressible(make_bundle(activation="glu"))


def test_parts_whose_equations_it_does_not_know_are_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    bundle.model.encoder.layers[0].feed_forward.forward = lambda x: -x
    with pytest.raises(ConfigError, match=r"CTranslate2 computes .* with another forward"):
        check_expressible(bundle)
    bundle = make_bundle()
    bundle.model.decoder.register_forward_hook(lambda *_: None)
    with pytest.raises(ConfigError, match="decoder has hooks"):
        check_expressible(bundle)
