"""One test for each mistake that published implementations make; each fails if we make it."""

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import torch

import headway
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.errors import ConfigError
from headway.inspection.trace import trace
from headway.model.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from headway.model.embedding import InputEmbedding
from headway.model.masks import look_ahead_mask, padding_mask, target_mask
from headway.model.positional_encoding import SinusoidalPositionalEncoding
from headway.model.residual import Residual
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import projected_cross_entropy
from headway.training.loss import label_smoothed_cross_entropy

Build = Callable[..., Transformer]

SOURCE = torch.tensor([[5, 9, 3, 0, 0], [7, 8, 22, 6, 3]])
TARGET = torch.tensor([[2, 11, 4, 0, 0, 0, 0], [2, 6, 6, 13, 21, 5, 4]])


def test_scores_are_scaled_by_the_width_of_a_head_and_not_of_the_model() -> None:
    attend = MultiHeadAttention(36, 4)  # sqrt(d_k) = 3, sqrt(d_model) = 6
    x = torch.randn(2, 5, 36)

    with trace(attend) as seen:
        attend(x, x, x)

    torch.testing.assert_close(seen["scores"] * 3, seen["q"] @ seen["k"].mT)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_a_mask_is_no_large_number_that_overflows_or_averages_over_padding(
    dtype: torch.dtype,
) -> None:
    # Scores of -30,000 are nearer to -1e4 or to the end of fp16 than to real words' scores.
    q, k = torch.full((3, 1), -300.0, dtype=dtype), torch.full((4, 1), 100.0, dtype=dtype)
    v = torch.tensor([[1.0], [3.0], [50.0], [70.0]], dtype=dtype)
    mask = torch.tensor([[True, True, False, False], [False] * 4, [True, False, False, False]])

    output, weights = scaled_dot_product_attention(q, k, v, mask)

    assert weights.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert output.flatten().tolist() == [2, 0, 1]
    assert fused_attention(q[None], k[None], v[None], mask).flatten().tolist() == [2, 0, 1]


@pytest.mark.parametrize("scale", [-8.0, 0.0, 3.0], ids=str)
def test_weights_are_shares_whatever_the_sign_of_the_scores(scale: float) -> None:
    q, k = torch.full((2, 1), scale), torch.tensor([[1.0], [-1.0], [0.1], [0.0]])

    _, weights = scaled_dot_product_attention(q, k, k)

    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2))


def test_a_head_is_a_part_of_each_token_and_not_some_of_the_tokens() -> None:
    attend = MultiHeadAttention(6, 2, bias=False)
    with torch.no_grad():
        for projection in (attend.w_q, attend.w_k, attend.w_v, attend.w_o):
            projection.weight.copy_(torch.eye(6))
    x = torch.randn(1, 5, 6)

    with trace(attend) as seen:
        attend(x, x, x, look_ahead_mask(5))

    for name in ("q", "k", "v"):
        torch.testing.assert_close(seen[name][0, 0], x[0, :, :3])
        torch.testing.assert_close(seen[name][0, 1], x[0, :, 3:])
    for position in range(5):  # a head attends to all earlier positions, and concat keeps order
        changed = x.clone()
        changed[:, position] += 1
        difference = (attend(changed, changed, changed, look_ahead_mask(5)) - seen["output"]).abs()
        difference = difference.amax(dim=(0, 2))
        assert (difference[:position] == 0).all()
        assert (difference[position:] > 1e-4).all()


def test_the_heads_together_are_as_wide_as_the_model_and_w_o_mixes_them() -> None:
    attend = MultiHeadAttention(12, 3)
    x = torch.randn(1, 5, 12)
    with trace(attend) as seen:
        attend(x, x, x)

    concat = seen["concat"].detach().requires_grad_()
    (gradient,) = torch.autograd.grad(attend.w_o(concat)[0, 0, 0], concat)

    assert concat.shape == seen["output"].shape == x.shape
    assert gradient[0, 0].view(3, 4).any(dim=-1).all()


def test_each_part_of_a_layer_reads_the_output_of_the_one_before(build: Build) -> None:
    model = build(num_encoder_layers=2, num_decoder_layers=2)
    inputs: dict[str, torch.Tensor] = {}
    for name, module in model.named_modules():
        if name.endswith("feed_forward"):
            module.register_forward_pre_hook(
                lambda module, values, name=name: inputs.__setitem__(name, values[0])
            )

    with trace(model) as seen:
        model(SOURCE, TARGET)

    for side, before in (("encoder", "self_attention"), ("decoder", "cross_attention")):
        first, second = f"{side}.layers.0", f"{side}.layers.1"
        assert torch.equal(seen[f"{second}.input"], seen[f"{first}.output"])
        for layer in (first, second):
            # LayerNorm(x + Z), and not Z, the output of attention.
            normalized = seen[f"{layer}.{before}_residual.norm"]
            assert torch.equal(inputs[f"{layer}.feed_forward"], normalized)
            assert not torch.allclose(normalized, seen[f"{layer}.{before}.output"])


def test_the_direct_path_has_a_gradient_of_one_in_pre_norm_alone() -> None:
    def gradient(position: Literal["post", "pre"]) -> torch.Tensor:
        torch.manual_seed(0)
        x = y = torch.randn(1, 2, 96, requires_grad=True)
        residual = Residual(96, 0.0, position)
        for _ in range(12):
            y = residual(y, lambda z: torch.randn(z.shape))
        return torch.autograd.grad(y, x, torch.ones(96).cumsum(0).expand(1, 2, 96))[0]

    torch.testing.assert_close(gradient("pre"), torch.ones(96).cumsum(0).expand(1, 2, 96))
    # Each LayerNorm divides by the spread of a sum of two vectors of spread 1, the root of 2.
    shrunk = gradient("post").norm() / gradient("pre").norm()
    assert shrunk < 1.5 * 2.0**-6


def test_the_positional_table_is_made_of_sines_and_sized_by_a_length(build: Build) -> None:
    model = build(source_vocab_size=5, target_vocab_size=5)  # fewer pieces than positions
    encode = model.source_embedding.positions
    assert isinstance(encode, SinusoidalPositionalEncoding)

    table = encode(40)

    assert table[1, :2].tolist() == pytest.approx([math.sin(1), math.cos(1)])
    assert table.abs().sum(1).min() > 1  # no row is zero
    assert len(table.unique(dim=0)) == 40
    assert model(torch.full((1, 40), 4), torch.full((1, 38), 4)).shape == (1, 38, 5)


@pytest.mark.parametrize("fused", [False, True], ids=["explicit", "fused"])
def test_a_mask_has_one_polarity_everywhere_and_true_is_attend(
    fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: fused)
    attend = MultiHeadAttention(6, 2)
    x = torch.randn(1, 4, 6)
    ids = torch.tensor([[7, 7, 7, 0]])

    with_mask = attend(x, x, x, padding_mask(ids))
    with_look_ahead = attend(x, x, x, look_ahead_mask(4))
    with_both = attend(x, x, x, target_mask(ids))

    torch.testing.assert_close(with_mask, attend(x, x[:, :3], x[:, :3]))
    torch.testing.assert_close(with_look_ahead[:, :1], attend(x[:, :1], x[:, :1], x[:, :1]))
    torch.testing.assert_close(with_both[:, 3], with_mask[:, 3])
    for additive in (torch.zeros(1, 1, 1, 4), torch.tensor([[[[0, 0, 0, 1]]]])):
        with pytest.raises(ConfigError, match="must be boolean"):
            attend(x, x, x, additive)


def test_the_decoder_hides_future_and_padding_and_cross_attention_the_sources_padding(
    tiny: Transformer,
) -> None:
    with trace(tiny) as seen:
        tiny(SOURCE, TARGET)

    for layer in range(2):
        own = seen[f"decoder.layers.{layer}.self_attention.weights"]  # (B, H, T, T)
        cross = seen[f"decoder.layers.{layer}.cross_attention.weights"]  # (B, H, T, S)
        may_see = torch.ones(7, 7).tril().bool() & (TARGET != 0)[:, None]
        assert ((own > 0) == may_see[:, None]).all()
        assert ((cross > 0) == (SOURCE != 0)[:, None, None]).all()
    encoder = seen["encoder.layers.0.self_attention.weights"]
    assert ((encoder > 0) == (SOURCE != 0)[:, None, None]).all()


def test_dropout_falls_on_every_sub_layer_and_on_embedding_plus_position(build: Build) -> None:
    model = build(dropout=0.4, num_encoder_layers=2, num_decoder_layers=3).train()
    places = [part for part in model.modules() if isinstance(part, Residual | InputEmbedding)]
    assert [place.dropout for place in places] == [0.4] * (2 + 2 * 2 + 3 * 3)

    for place in places:
        place.dropout = 0.0
    quiet = model(SOURCE, TARGET)
    assert torch.equal(model(SOURCE, TARGET), quiet)

    for place in places:
        place.dropout = 0.4
        assert not torch.equal(model(SOURCE, TARGET), quiet)
        place.dropout = 0.0


def test_self_and_cross_attention_have_their_own_weights_and_rows_ask(tiny: Transformer) -> None:
    with trace(tiny) as seen:
        tiny(SOURCE, TARGET)

    for layer in range(2):
        own = seen[f"decoder.layers.{layer}.self_attention.weights"]
        cross = seen[f"decoder.layers.{layer}.cross_attention.weights"]
        assert own.shape == (2, 3, 7, 7)  # batch, heads, target asks, target answers
        assert cross.shape == (2, 3, 7, 5)  # batch, heads, target asks, source answers
        assert (own.triu(1) == 0).all()
        for weights in (own, cross):
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_the_decoder_reads_the_target_shifted_and_cannot_see_what_it_must_predict(
    tiny: Transformer,
) -> None:
    batch = collate([EncodedPair([5, 9], [11, 4, 6], 1), EncodedPair([7], [13], 2)])
    assert batch.target_ids.tolist() == [[2, 11, 4, 6], [2, 13, 0, 0]]
    assert batch.label_ids.tolist() == [[11, 4, 6, 3], [13, 3, 0, 0]]

    logits = tiny(batch.source_ids, batch.target_ids)
    for position in range(4):
        changed = batch.target_ids.clone()
        changed[:, position] = 15
        difference = (tiny(batch.source_ids, changed) - logits).abs().amax(dim=(0, 2))
        # The label of position t is the input of t + 1: nothing before it may know.
        assert (difference[:position] == 0).all()
        assert difference[position] > 1e-3


def test_the_loss_counts_real_target_pieces_only_and_gives_padding_no_mass() -> None:
    logits = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([3, 5, 0, 0])
    smoothing, pad = 0.1, 0

    loss, nll = label_smoothed_cross_entropy(logits, labels, smoothing, pad)
    alone = label_smoothed_cross_entropy(logits[:2], labels[:2], smoothing, pad)
    (gradient,) = torch.autograd.grad(loss, logits)

    assert (loss.item(), nll.item()) == pytest.approx((alone.loss.item(), alone.nll.item()))
    # The gradient is softmax minus target: nothing for padding, 0.9 + 0.02 for the true piece,
    # 0.1 / 5 for each of the other real pieces.
    target = torch.zeros(4, 6, dtype=torch.float64)
    target[:2, 1:] = 0.1 / 5
    target[0, 3] = target[1, 5] = 0.9 + 0.1 / 5
    expected = (logits.softmax(-1) - target) * (labels != pad)[:, None]
    torch.testing.assert_close(gradient, expected)

    hidden = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    projected = projected_cross_entropy(hidden, weight, None, labels, smoothing, pad, chunk=3)
    plain = label_smoothed_cross_entropy(hidden @ weight.T, labels, smoothing, pad)
    torch.testing.assert_close(projected.loss, plain.loss)
    for ours, theirs in zip(
        torch.autograd.grad(projected.loss, (hidden, weight)),
        torch.autograd.grad(plain.loss, (hidden, weight)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_a_trace_sees_a_layer_whose_forward_is_called_directly() -> None:
    attend = MultiHeadAttention(6, 2)
    x = torch.randn(1, 4, 6)

    with trace(attend) as called:
        attend(x, x, x)
    with trace(attend) as forward:
        attend.forward(x, x, x)

    assert forward.names() == called.names()
    assert torch.equal(forward["weights"], called["weights"])


# An SSRU never sees later positions, and padding comes last, so it needs no mask of the target.
_NOT_NEEDED = {"ssru.py": {"target_mask"}}


@pytest.mark.parametrize("room", ["model", "interop/keras"])
def test_every_argument_of_a_layer_is_used(room: str) -> None:
    checked = 0
    for path in (Path(headway.__file__).parent / room).glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if getattr(function, "name", None) not in ("__init__", "forward", "call"):
                continue
            assert isinstance(function, ast.FunctionDef)
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            arguments = {argument.arg for argument in function.args.args} - {"self"}
            arguments -= _NOT_NEEDED.get(path.name, set())
            assert arguments <= used, f"{path.name}: {function.name} ignores {arguments - used}"
            checked += len(arguments)
    assert checked > 20
