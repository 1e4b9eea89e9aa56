"""Every name of a trace is an equation, and all equations hold, in every layer and variant.

The wiring is written out here once more, by hand: which tensor goes into which.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.inspection.trace import Trace, trace
from headway.model import attention
from headway.model.attention import MultiHeadAttention
from headway.model.cache import DecoderCache
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {"num_encoder_layers": 3},
    "pre": {"norm_position": "pre", "num_encoder_layers": 3},
    "pre, gated": {"norm_position": "pre", "activation": "swiglu", "attention_bias": False},
    "gelu, halved": {"activation": "gelu", "sinusoid_layout": "halved"},
    "gated, learned": {"activation": "reglu", "positions": "learned", "feed_forward_bias": False},
    "ssru": {"decoder_past": "ssru"},
    "ssru, pre": {"decoder_past": "ssru", "norm_position": "pre"},
    "separate": {
        "shared_embeddings": "none", "scale_embeddings": False, "output_bias": True,
        "source_vocab_size": 29,
    },
}  # fmt: skip
by_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
SOURCE = torch.tensor([[5, 9, 4, 17, 3, 0, 0], [6, 4, 8, 9, 21, 11, 3]])
TARGET = torch.tensor([[2, 7, 19, 5, 8, 10], [2, 4, 6, 0, 0, 0]])
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "reglu": lambda x: x.clamp(min=0),
    "swiglu": lambda x: x / (1 + torch.exp(-x)),
}


def run(model: Transformer, source: Tensor = SOURCE, target: Tensor = TARGET) -> Trace:
    with torch.no_grad(), trace(model) as seen:
        model(source, target)
    return seen


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected.expand_as(found), rtol=0, atol=1e-10)


def layers(model: Transformer) -> Iterator[tuple[str, str]]:
    for stack, many in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        yield from ((stack, f"{stack}.layers.{number}") for number in range(len(many)))


def sublayers(
    seen: Trace, stack: str, layer: str, pre: bool
) -> Iterator[tuple[str, Tensor, Tensor, Tensor]]:
    """Yield each sub-layer with what goes around it, into it, and into its LayerNorm."""
    x = seen[f"{layer}.input"]
    past = "ssru" if f"{layer}.ssru.cell" in seen else "self_attention"
    names = (past, "cross_attention", "feed_forward")
    for name in names if stack == "decoder" else ("self_attention", "feed_forward"):
        total, norm = (seen[f"{layer}.{name}_residual.{last}"] for last in ("sum", "norm"))
        yield name, x, norm if pre else x, x if pre else total
        x = total if pre else norm
    assert torch.equal(x, seen[f"{layer}.output"])


@by_variant
def test_attention_is_equation_1_in_every_layer(build: Build, variant: dict[str, Any]) -> None:
    model = build(dtype=torch.float64, **variant)
    seen, pre = run(model), variant.get("norm_position") == "pre"
    count = 0
    for stack, layer in layers(model):
        for name, _, reads, _ in sublayers(seen, stack, layer, pre):
            if not name.endswith("attention"):
                continue
            answers = seen["encoder.output"] if name == "cross_attention" else reads
            own_mask = stack == "decoder" and name == "self_attention"
            mask = seen["target_mask" if own_mask else "source_mask"]
            part = model.get_submodule(f"{layer}.{name}")
            assert isinstance(part, MultiHeadAttention)
            check_attention(seen, f"{layer}.{name}", part, reads, answers, mask)
            count += 1
    many = 1 if "decoder_past" in variant else 2
    assert count == len(model.encoder.layers) + many * len(model.decoder.layers)


def check_attention(
    seen: Trace, path: str, part: MultiHeadAttention, x: Tensor, y: Tensor, mask: Tensor
) -> None:
    def of(name: str) -> Tensor:
        return seen[f"{path}.{name}"]

    for name, w, reads in (("q", part.w_q, x), ("k", part.w_k, y), ("v", part.w_v, y)):
        bias = 0 if w.bias is None else w.bias
        close(of(f"projected_{name}"), reads @ w.weight.T + bias)
        width = w.out_features // 3
        for head in range(3):
            columns = of(f"projected_{name}")[..., head * width : (head + 1) * width]
            assert torch.equal(of(name)[:, head], columns)
    close(of("scores"), torch.einsum("bhtd,bhsd->bhts", of("q"), of("k")) / math.sqrt(5))
    forbidden = ~mask.expand_as(of("scores"))
    assert forbidden.any()
    assert (of("masked_scores")[forbidden] == -math.inf).all()
    assert torch.equal(of("masked_scores")[~forbidden], of("scores")[~forbidden])
    assert (of("weights")[forbidden] == 0).all()  # exactly
    powers = of("scores").exp() * ~forbidden
    close(of("weights"), powers / powers.sum(-1, keepdim=True))
    close(of("weights").sum(-1), torch.ones(()).double())
    close(of("heads"), torch.einsum("bhts,bhsd->bhtd", of("weights"), of("v")))
    assert torch.equal(of("concat"), torch.cat([of("heads")[:, head] for head in range(3)], -1))
    bias = torch.zeros(14).double() if part.w_o.bias is None else part.w_o.bias
    close(of("output"), of("concat") @ part.w_o.weight.T + bias)
    close(of("contributions").sum(1) + bias, of("output"))
    for head in range(3):
        alone = of("heads")[:, head] @ part.w_o.weight[:, head * 4 : (head + 1) * 4].T
        close(of("contributions")[:, head], alone)


@by_variant
def test_add_and_norm_and_feed_forward_in_every_layer(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(dtype=torch.float64, **variant)
    seen, pre = run(model), variant.get("norm_position") == "pre"
    for stack, layer in layers(model):
        for name, around, reads, normalized in sublayers(seen, stack, layer, pre):
            frame = f"{layer}.{name}_residual"
            close(seen[f"{frame}.sum"], around + seen[f"{layer}.{name}.output"])
            norm = model.get_submodule(f"{frame}.norm")
            mean = normalized.sum(-1) / 14
            variance = ((normalized - mean[..., None]) ** 2).sum(-1) / 14  # biased
            close(seen[f"{frame}.mean"], mean)
            close(seen[f"{frame}.variance"], variance)
            root = (variance[..., None] + 1e-5).sqrt()
            expected = (normalized - mean[..., None]) / root * norm.weight + norm.bias
            close(seen[f"{frame}.norm"], expected)
            if name == "feed_forward":
                part = model.get_submodule(f"{layer}.{name}")
                assert isinstance(part, PositionwiseFeedForward)
                check_feed_forward(seen, f"{layer}.{name}", part, reads)


def check_feed_forward(seen: Trace, path: str, part: PositionwiseFeedForward, x: Tensor) -> None:
    def affine(linear: torch.nn.Linear, x: Tensor) -> Tensor:
        product = x @ linear.weight.T
        return product if linear.bias is None else product + linear.bias

    hidden, activated = seen[f"{path}.hidden"], seen[f"{path}.activated"]
    close(hidden, affine(part.w_1, x))
    activation = ACTIVATIONS[part.activation]
    if part.w_gate is None:
        close(activated, activation(hidden))
    else:
        gate = seen[f"{path}.gate"]
        close(gate, affine(part.w_gate, x))
        close(activated, activation(gate) * hidden)
    close(seen[f"{path}.output"], affine(part.w_2, activated))


@pytest.mark.parametrize("position", ["post", "pre"])
def test_an_ssru_mixes_its_cell_with_a_candidate_in_every_layer(
    build: Build, position: str
) -> None:
    model = build(dtype=torch.float64, decoder_past="ssru", norm_position=position)
    seen = run(model)
    for stack, layer in layers(model):
        for name, _, reads, _ in sublayers(seen, stack, layer, position == "pre"):
            if name != "ssru":
                continue
            part = model.get_submodule(f"{layer}.ssru")
            path = f"{layer}.ssru"
            close(seen[f"{path}.candidate"], reads @ part.w_x.weight.T)
            before = reads @ part.w_f.weight.T + part.w_f.bias
            close(seen[f"{path}.forget"], 1 / (1 + torch.exp(-before)))
            cell = torch.zeros(2, 14).double()
            for t in range(6):
                forget, candidate = seen[f"{path}.forget"][:, t], seen[f"{path}.candidate"][:, t]
                cell = forget * cell + (1 - forget) * candidate
                close(seen[f"{path}.cell"][:, t], cell)
            close(seen[f"{path}.output"], seen[f"{path}.cell"].clamp(min=0))


@by_variant
def test_what_leaves_a_layer_enters_the_next_from_embedding_to_probability(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(dtype=torch.float64, **variant)
    seen = run(model)
    scale = 1.0 if variant.get("scale_embeddings") is False else math.sqrt(14)
    for side, ids, stack in (("source", SOURCE, "encoder"), ("target", TARGET, "decoder")):
        embedding = model.get_submodule(f"{side}_embedding")
        close(seen[f"{side}_embedding.scaled"], embedding.tokens.weight[ids] * scale)
        position = torch.stack([embedding.positions(1, at)[0] for at in range(ids.size(1))])
        close(seen[f"{side}_embedding.position"], position)
        total = seen[f"{side}_embedding.scaled"] + seen[f"{side}_embedding.position"]
        close(seen[f"{side}_embedding.output"], total)
        below = seen[f"{side}_embedding.output"]
        for own, layer in layers(model):
            if own == stack:
                assert torch.equal(seen[f"{layer}.input"], below)
                below = seen[f"{layer}.output"]
        if variant.get("norm_position") == "pre":
            norm = model.get_submodule(f"{stack}.norm")
            below = F.layer_norm(below, (14,), norm.weight, norm.bias, 1e-5)
        close(seen[f"{stack}.output"], below)
    projection = model.output_projection
    logits = seen["decoder.output"] @ projection.weight.T
    close(seen["logits"], logits if projection.bias is None else logits + projection.bias)
    close(seen["probabilities"].sum(-1), torch.ones(()).double())
    close(seen["probabilities"], seen["logits"].exp() / seen["logits"].exp().sum(-1, keepdim=True))
    close(seen["log_probs"], seen["probabilities"].log())
    assert torch.equal(seen["source_mask"][:, 0, 0], SOURCE != 0)
    for query in range(6):
        for key in range(6):
            may = (TARGET[:, key] != 0) & (key <= query)
            assert torch.equal(seen["target_mask"][:, 0, query, key], may)


@by_variant
def test_tracing_changes_no_bit_of_the_logits_and_fused_attention_agrees(
    build: Build, variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for dtype in (torch.float32, torch.float64):
        model = build(dtype=dtype, **variant)
        before = model(SOURCE, TARGET)

        assert torch.equal(run(model)["logits"], before)
        assert torch.equal(model(SOURCE, TARGET), before)

    monkeypatch.setattr(attention, "use_fused_kernel", lambda device: True)
    close(model(SOURCE, TARGET), run(model)["logits"])


def beginning(tensor: Tensor, axes: Sequence[Any], lengths: dict[str, int]) -> Tensor:
    """Return the tensor without what lies behind these lengths of the axes S and T."""
    for dim, axis in enumerate(axes):
        if axis.letter in lengths:
            tensor = tensor.narrow(dim, 0, lengths[axis.letter])
    return tensor


@by_variant
@settings(max_examples=8)
@given(position=st.integers(1, 5), piece=st.integers(4, 22))
def test_a_changed_piece_leaves_all_that_was_computed_before_it_untouched(
    build: Build, variant: dict[str, Any], position: int, piece: int
) -> None:
    model = build(dtype=torch.float64, **variant)
    source, target = SOURCE[1:], torch.tensor([[2, 7, 19, 5, 8, 10]])
    changed = target.clone()
    changed[0, position] = piece if piece != target[0, position] else 4 + piece % 3

    one, other = run(model, source, target), run(model, source, changed)

    for name in one.names():
        length = {"T": position}
        close(
            beginning(other[name], other[name].axes, length),
            beginning(one[name], one[name].axes, length),
        )
    assert not torch.equal(one["decoder.layers.0.input"], other["decoder.layers.0.input"])


@by_variant
@settings(max_examples=8)
@given(more=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_padding_and_the_rest_of_the_batch_change_no_tensor(
    build: Build, variant: dict[str, Any], more: tuple[int, int]
) -> None:
    model = build(dtype=torch.float64, **variant)
    together = run(model, F.pad(SOURCE, (0, more[0])), F.pad(TARGET, (0, more[1])))
    for row, lengths in enumerate(({"S": 5, "T": 6}, {"S": 7, "T": 3})):
        alone = run(
            model, SOURCE[row : row + 1, : lengths["S"]], TARGET[row : row + 1, : lengths["T"]]
        )
        for name in together.names():
            tensor, axes = together[name], together[name].axes
            own = tensor[row : row + 1] if axes[0].name == "batch" else tensor
            close(beginning(own, axes, lengths), alone[name])


@by_variant
def test_decoding_step_by_step_computes_the_rows_of_the_trace(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(dtype=torch.float64, **variant)
    source, target = SOURCE[1:], torch.tensor([[2, 7, 19, 5, 8, 10]])
    whole = run(model, source, target)
    cache, compared = DecoderCache(len(model.decoder.layers)), 0
    for position in range(target.size(1)):
        with torch.no_grad(), trace(model) as step:
            model.decode(
                target[:, position : position + 1],
                whole["encoder.output"],
                whole["source_mask"],
                cache,
            )
        for name in step.names("decoder.*"):
            axes = [axis.name for axis in step[name].axes]
            dim = next((axes.index(own) for own in ("query", "target") if own in axes), None)
            if dim is None:  # a key or a value: of the newest row, or of the whole memory
                continue
            row = whole[name].narrow(dim, position, 1)
            if "key" in axes and "self_attention" in name:
                row = row[..., : position + 1]
            close(step[name], row)
            compared += 1
    assert compared > 6 * 2 * 20
