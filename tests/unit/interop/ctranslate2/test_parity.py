"""The check sees each trap of the format, and says where the two part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headway.bundle import Bundle
from headway.errors import BundleError, DataError
from headway.interop.ctranslate2 import exporting
from headway.interop.ctranslate2.exporting import export, write
from headway.interop.ctranslate2.parity import ParityExample, Peer, compare, examples
from headway.interop.ctranslate2.spec import build_spec

MakeBundle = Callable[..., Bundle]

VARIANTS: list[dict[str, Any]] = [
    {},
    {"d_k": 3, "d_v": 6},
    {"d_model": 12, "d_k": None, "d_v": None},
    {"d_model": 13, "d_k": 2, "d_v": 2},
    {"norm_position": "pre"},
    {"sinusoid_layout": "halved", "first_position": 2, "scale_embeddings": False},
    {"positions": "learned", "max_positions": 30},
    {"shared_embeddings": "target", "source_vocab_size": 29},
    {"shared_embeddings": "none", "target_vocab_size": 31, "output_bias": True},
    {"output_bias": True, "norm_epsilon": 0.3},
    {"attention_bias": False},
    {"feed_forward_bias": False},
    {"num_encoder_layers": 3, "num_decoder_layers": 1},
]
ACTIVATIONS = ["gelu", "gelu_tanh", "silu", "glu", "reglu", "geglu", "swiglu"]


@pytest.mark.parametrize(
    "changes", [*VARIANTS, *({"activation": name} for name in ACTIVATIONS)], ids=str
)
def test_every_variant_computes_the_same_there(
    make_bundle: MakeBundle, tmp_path: Path, changes: dict[str, Any]
) -> None:
    bundle = make_bundle(**changes)
    write(bundle, tmp_path)
    parity = compare(bundle, tmp_path, examples(bundle))
    assert parity.sentences == 24
    assert parity.ties == 0
    assert 0 < parity.largest_difference < 2e-5


def test_rows_without_a_piece_are_not_written(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = make_bundle(shared_embeddings="none", target_vocab_size=31, output_bias=True)
    with torch.no_grad():  # the best of all at every step, if it counted
        bundle.model.output_projection.bias[23:] = 50.0  # type: ignore[index]
    write(bundle, tmp_path)
    sample = examples(bundle)

    parity = compare(bundle, tmp_path, sample)

    assert (parity.ties, parity.largest_difference < 2e-5) == (0, True)
    found = [ids for ids in Peer(bundle, tmp_path, "float32").translate(sample) if ids]
    assert found
    assert max(map(max, found)) < 23


def _no_positions(spec: Any) -> None:
    # Then CTranslate2 makes those of tensor2tensor, from position 1.
    spec.encoder.position_encodings.encodings = "__optional"


def _target_positions_one_late(spec: Any) -> None:
    encodings = spec.decoder.position_encodings.encodings
    spec.decoder.position_encodings.encodings = encodings[1:]


def _no_beta(spec: Any) -> None:
    # Then CTranslate2 takes the norm for one without a mean.
    del spec.decoder.layer[0].attention.layer_norm.beta


def _usual_epsilon(spec: Any) -> None:
    spec.config.layer_norm_epsilon = 1e-5


def _pieces_in_another_order(spec: Any) -> None:
    tokens = spec._vocabularies["source"][0]
    tokens[9], tokens[10] = tokens[10], tokens[9]


def _a_piece_twice(spec: Any) -> None:
    spec._vocabularies["target"][0][11] = spec._vocabularies["target"][0][5]


def _scale_of_the_padded_head(spec: Any) -> None:
    del spec.encoder.layer[0].self_attention.queries_scale


def _scaled_source(spec: Any) -> None:
    spec.encoder.scale_embeddings = False


def _scaled_target(spec: Any) -> None:
    spec.decoder.scale_embeddings = False


def _no_source_end(spec: Any) -> None:
    spec.config.add_source_eos = False


def _source_start(spec: Any) -> None:
    spec.config.add_source_bos = True


def _another_start(spec: Any) -> None:
    spec.config.decoder_start_token = "</s>"


def _no_output_bias(spec: Any) -> None:
    spec.decoder.projection.bias = "__optional"


def _gate_and_hidden_swapped(spec: Any) -> None:
    ffn = spec.encoder.layer[0].ffn
    ffn.linear_0, ffn.linear_0_noact = ffn.linear_0_noact, ffn.linear_0


def _tanh_of_gelu(spec: Any) -> None:
    spec.encoder.activation = np.int8(1)


TRAPS: list[tuple[Callable[[Any], None], dict[str, Any]]] = [
    (_no_positions, {}),
    (_no_positions, {"sinusoid_layout": "halved"}),
    (_target_positions_one_late, {}),
    (_no_beta, {}),
    (_usual_epsilon, {"norm_epsilon": 0.01}),
    (_pieces_in_another_order, {}),
    (_a_piece_twice, {}),
    (_scale_of_the_padded_head, {"d_k": 3, "d_v": 6}),
    (_scaled_source, {}),
    (_scaled_target, {}),
    (_no_source_end, {}),
    (_source_start, {}),
    (_another_start, {}),
    (_no_output_bias, {"output_bias": True}),
    (_gate_and_hidden_swapped, {"activation": "reglu"}),
    (_tanh_of_gelu, {"activation": "gelu"}),
]


@pytest.mark.parametrize(("fall_in", "changes"), TRAPS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_model_that_fell_into_a_trap_is_refused(
    make_bundle: MakeBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fall_in: Callable[[Any], None],
    changes: dict[str, Any],
) -> None:
    def trapped(bundle: Bundle) -> Any:
        spec = build_spec(bundle)
        fall_in(spec)
        return spec

    monkeypatch.setattr(exporting, "build_spec", trapped)
    with pytest.raises(
        BundleError, match="CTranslate2 diverges from the bundle in random sentence"
    ):
        export(make_bundle(**changes), tmp_path / "out")
    assert not any(tmp_path.iterdir())


def test_a_long_source_is_not_cut(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = make_bundle(44, norm_position="pre", output_bias=True)
    with torch.no_grad():
        bundle.model.output_projection.bias[3] += 1.0  # type: ignore[index]
    write(bundle, tmp_path)
    whole = bundle.source_tokenizer.encode("a" * 1030 + "k" * 200)
    example, cut = ParityExample("whole", whole, [], 12), ParityExample("cut", whole[:1023], [], 12)
    compare(bundle, tmp_path, [example])
    peer = Peer(bundle, tmp_path, "float32")
    assert peer.translate([example]) != peer.translate([cut])


def test_a_long_translation_is_not_cut(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = make_bundle(output_bias=True)
    with torch.no_grad():  # a model that never ends by itself
        bundle.model.output_projection.bias[3] = -60.0  # type: ignore[index]
    write(bundle, tmp_path)
    example = ParityExample("long", [5], [6] * 270, 270)
    compare(bundle, tmp_path, [example])
    (translation,) = Peer(bundle, tmp_path, "float32").translate([example])
    assert len(translation) == 270


def test_an_empty_translation_is_one(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = make_bundle(output_bias=True)
    with torch.no_grad():
        bundle.model.output_projection.bias[3] = 60.0  # type: ignore[index]
    write(bundle, tmp_path)
    sample = examples(bundle, ["abc"])
    assert compare(bundle, tmp_path, sample).sentences == 25
    assert Peer(bundle, tmp_path, "float32").translate(sample) == [[]] * 25


def test_pieces_that_are_no_text_are_not_put_out(make_bundle: MakeBundle, tmp_path: Path) -> None:
    bundle = make_bundle(output_bias=True)
    with torch.no_grad():
        bundle.model.output_projection.bias[:3] = 60.0  # type: ignore[index]
    write(bundle, tmp_path)
    sample = examples(bundle)
    compare(bundle, tmp_path, sample)
    found = Peer(bundle, tmp_path, "float32").translate(sample)
    assert not {0, 1, 2} & {piece for translation in found for piece in translation}


@pytest.mark.parametrize("apart", [0.0, 1e-4, 1e-2])
def test_pieces_that_rounding_cannot_tell_apart_are_a_tie(
    make_bundle: MakeBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    bundle = make_bundle(shared_embeddings="none", output_bias=True)
    with torch.no_grad():  # 8 is as 7, but for so much
        projection = bundle.model.output_projection
        assert projection.bias is not None
        projection.weight[8] = projection.weight[7]
        projection.bias[7] = 20.0
        projection.bias[8] = 20.0 - apart
    write(bundle, tmp_path)
    monkeypatch.setattr(Peer, "greedy", lambda _, chunk: [[7, 8, 9] for _ in chunk])
    sample = [ParityExample("one", [4, 5], [], 3), ParityExample("two", [6], [], 3)]
    if apart < 1e-3:
        assert compare(bundle, tmp_path, sample).ties == 2
        return
    with pytest.raises(BundleError) as refused:
        compare(bundle, tmp_path, sample)
    assert str(refused.value) == (
        "CTranslate2 diverges from the bundle in one, at token 2 of the greedy translation: 'e' "
        "instead of 'd', which is more probable by 0.01 in log-probability. Nothing was written. "
        "Please report it with `headway info` of this bundle."
    )


@pytest.mark.parametrize("theirs", [[7], [7, 7, 7, 7]])
def test_a_translation_that_ends_elsewhere_is_another(
    make_bundle: MakeBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: list[int]
) -> None:
    bundle = make_bundle(output_bias=True)
    with torch.no_grad():
        bundle.model.output_projection.bias[7] = 60.0  # type: ignore[index]
    write(bundle, tmp_path)
    monkeypatch.setattr(Peer, "greedy", lambda _, chunk: [theirs for _ in chunk])
    with pytest.raises(BundleError, match=r"token (2|4) of .*('</s>' instead of 'd'|'d' inst)"):
        compare(bundle, tmp_path, [ParityExample("one", [4, 5], [], 3)])


@pytest.mark.parametrize("wrong", [1e-3, float("nan")])
@pytest.mark.parametrize("given", [True, False])
def test_a_log_probability_that_differs_is_named(
    make_bundle: MakeBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrong: float,
    given: bool,
) -> None:
    bundle = make_bundle()
    write(bundle, tmp_path)
    right = Peer.log_probs

    def disturbed(
        peer: Peer, chunk: list[ParityExample], targets: list[list[int]]
    ) -> list[list[float]]:
        rows = right(peer, chunk, targets)
        if (targets[0] == [9, 5, 7]) == given:  # not the translation that the model finds
            rows[0][1] += wrong
        return rows

    monkeypatch.setattr(Peer, "log_probs", disturbed)
    with pytest.raises(
        BundleError, match=r"in one, at token 2 of a given translation: '.' has the"
    ):
        compare(bundle, tmp_path, [ParityExample("one", [4, 6], [9, 5, 7], 3)])


def test_random_sentences_fit_into_learned_positions(make_bundle: MakeBundle) -> None:
    sample = examples(make_bundle(positions="learned", max_positions=9))
    assert {len(example.source) for example in sample} == {1, 2, 3, 5, 8}
    assert max(len(example.target) for example in sample) == 8
    assert {example.limit for example in sample} == {8}


def test_random_sentences_hold_every_piece_of_a_text(make_bundle: MakeBundle) -> None:
    sample = examples(make_bundle(shared_embeddings="none", target_vocab_size=31))
    for side in ("source", "target"):
        assert {p for e in sample for p in getattr(e, side)} == {1, *range(4, 23)}
    assert examples(make_bundle()) == examples(make_bundle())  # the same in every run


def test_texts_are_compared_too_but_blank_ones(make_bundle: MakeBundle) -> None:
    bundle = make_bundle()
    *_, one, two = examples(bundle, ["ab", "", "  ", "cde" * 20])
    assert one == ParityExample("sentence 1 ('ab')", [22, 4, 5], [], 3 + 50)  # ▁ a b
    assert two.name == f"sentence 4 ('{('cde' * 20)[:39]}…')"
    assert one.is_text
    assert not examples(bundle)[0].is_text


def test_a_text_beyond_the_positions_is_refused(make_bundle: MakeBundle) -> None:
    bundle = make_bundle(positions="learned", max_positions=9)
    assert len(examples(bundle, ["abcdefg"])[-1].source) == 8
    with pytest.raises(DataError, match=r"Sentence 2 of the sample has 9 tokens; .* 8 at most"):
        examples(bundle, ["a", "abcdefgh"])
