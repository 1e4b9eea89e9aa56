"""Tracing: every intermediate by name, nothing changed, nothing left behind."""

import math
import threading

import pytest
import torch

from headway.config.model import ModelConfig
from headway.errors import TraceError
from headway.inspection.trace import Trace, trace
from headway.model.attention import MultiHeadAttention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer

B, T, S, H, D_MODEL, D_K, D_V = 2, 5, 7, 3, 8, 11, 13

ATTENTION_NAMES = [
    "projected_q",
    "q",
    "projected_k",
    "k",
    "projected_v",
    "v",
    "scores",
    "masked_scores",
    "weights",
    "heads",
    "concat",
    "output",
]


@pytest.fixture
def model() -> Transformer:
    config = ModelConfig(
        d_model=12,
        d_ff=19,
        num_heads=3,
        num_encoder_layers=2,
        num_decoder_layers=1,
        source_vocab_size=17,
        target_vocab_size=23,
        shared_embeddings="none",
    )
    return Transformer.from_config(config).eval()


def test_attention_names_every_intermediate_with_its_shape() -> None:
    attend = MultiHeadAttention(D_MODEL, H, D_K, D_V)
    query, other = torch.randn(B, T, D_MODEL), torch.randn(B, S, D_MODEL)

    with trace(attend) as seen:
        output = attend(query, other, other, torch.rand(B, 1, 1, S) > 0.2)

    assert seen.names() == ATTENTION_NAMES
    assert {name: tuple(seen[name].shape) for name in seen} == {
        "projected_q": (B, T, H * D_K),
        "q": (B, H, T, D_K),
        "projected_k": (B, S, H * D_K),
        "k": (B, H, S, D_K),
        "projected_v": (B, S, H * D_V),
        "v": (B, H, S, D_V),
        "scores": (B, H, T, S),
        "masked_scores": (B, H, T, S),
        "weights": (B, H, T, S),
        "heads": (B, H, T, D_V),
        "concat": (B, T, H * D_V),
        "output": (B, T, D_MODEL),
    }
    assert torch.equal(seen["output"], output)


def test_traced_tensors_satisfy_the_equations_of_attention() -> None:
    attend = MultiHeadAttention(D_MODEL, H, D_K, D_V).double()
    query = torch.randn(B, T, D_MODEL, dtype=torch.float64)
    other = torch.randn(B, S, D_MODEL, dtype=torch.float64)
    mask = torch.rand(B, 1, T, S) > 0.3
    mask[..., 0] = True

    with trace(attend) as seen:
        attend(query, other, other, mask)

    scores = seen["q"] @ seen["k"].mT / math.sqrt(D_K)
    assert torch.allclose(seen["scores"], scores, rtol=0, atol=1e-12)
    everywhere = mask.expand(B, H, T, S)
    assert (seen["masked_scores"][~everywhere] == -math.inf).all()
    assert torch.equal(seen["masked_scores"][everywhere], seen["scores"][everywhere])
    assert (seen["weights"][~everywhere] == 0).all()
    assert torch.allclose(seen["weights"].sum(-1), torch.ones(B, H, T, dtype=torch.float64))
    assert torch.allclose(seen["heads"], seen["weights"] @ seen["v"], rtol=0, atol=1e-12)
    heads = [seen["heads"][:, head] for head in range(H)]
    assert torch.equal(seen["concat"], torch.cat(heads, dim=-1))
    assert torch.allclose(seen["output"], attend.w_o(seen["concat"]), rtol=0, atol=1e-12)


def test_the_whole_model_is_traced_by_attribute_path(model: Transformer) -> None:
    source, target = torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T))

    with trace(model) as seen:
        logits = model(source, target)

    for path in (
        "encoder.layers.1.self_attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.0.cross_attention",
    ):
        assert [name.removeprefix(f"{path}.") for name in seen.names(f"{path}.*")] == (
            ATTENTION_NAMES
        )
    assert seen["decoder.layers.0.cross_attention.weights"].shape == (B, 3, T, S)
    assert torch.equal(seen["logits"], logits)
    assert torch.equal(seen["encoder.layers.1.input"], seen["encoder.layers.0.output"])
    assert torch.equal(seen["encoder.output"], seen["encoder.layers.1.output"])
    residual = "decoder.layers.0.feed_forward_residual"
    expected = (
        seen["decoder.layers.0.feed_forward.output"]
        + seen["decoder.layers.0.cross_attention_residual.norm"]
    )
    assert torch.allclose(seen[f"{residual}.sum"], expected, atol=1e-6)
    assert torch.equal(
        seen[f"{residual}.norm"],
        model.decoder.layers[0].feed_forward_residual.norm(seen[f"{residual}.sum"]),
    )
    assert torch.allclose(
        seen["source_embedding.output"],
        seen["source_embedding.scaled"] + seen["source_embedding.position"],
    )


def test_every_module_of_ours_names_something(model: Transformer) -> None:
    with trace(model) as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    ours = [
        path
        for path, part in model.named_modules()
        if type(part).__module__.startswith("headway.model")
        and type(part).__name__
        not in ("TokenEmbedding", "SinusoidalPositionalEncoding", "OutputProjection")
    ]
    silent = [path for path in ours if not seen.names(f"{path}.*" if path else "*")]
    assert silent == []


def test_tracing_changes_no_logit(model: Transformer) -> None:
    source, target = torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T))
    source[1, 4:] = 0

    before = model(source, target)
    with trace(model):
        during = model(source, target)

    assert torch.allclose(before, during, rtol=0, atol=1e-6)
    assert torch.equal(before, model(source, target))


def test_names_are_relative_to_the_traced_module(model: Transformer) -> None:
    with trace(model.decoder) as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    assert seen.names("layers.0.cross_attention.weights") == ["layers.0.cross_attention.weights"]
    assert seen.names("encoder*") == []


def test_nothing_is_recorded_after_the_block() -> None:
    feed = PositionwiseFeedForward(4, 6)
    x = torch.randn(1, 2, 4)
    with trace(feed) as seen:
        feed(x)
    before = seen["output"].clone()

    feed(x + 1)

    assert torch.equal(seen["output"], before)


def test_an_error_inside_the_block_ends_the_tracing() -> None:
    feed = PositionwiseFeedForward(4, 6)

    with pytest.raises(ZeroDivisionError), trace(feed) as seen:
        raise ZeroDivisionError
    feed(torch.randn(1, 2, 4))

    assert len(seen) == 0


def test_another_thread_is_not_heard() -> None:
    feed = PositionwiseFeedForward(4, 6)

    with trace(feed) as seen:
        thread = threading.Thread(target=lambda: feed(torch.randn(1, 2, 4)))
        thread.start()
        thread.join()

    assert len(seen) == 0


def test_an_unknown_name_answers_with_the_nearest() -> None:
    feed = PositionwiseFeedForward(4, 6)
    with trace(feed) as seen:
        feed(torch.randn(1, 2, 4))

    with pytest.raises(TraceError, match="Did you mean 'hidden'"):
        seen["hiden"]


def test_an_empty_trace_says_what_to_do() -> None:
    with pytest.raises(TraceError, match="inside the `with` block"):
        Trace()["weights"]


def test_a_trace_prints_names_and_shapes() -> None:
    feed = PositionwiseFeedForward(4, 6)
    with trace(feed) as seen:
        feed(torch.randn(1, 2, 4))

    assert repr(seen).split("\n") == [
        "Trace of 3 tensors",
        "  hidden  (1, 2, 6)",
        "  activated  (1, 2, 6)",
        "  output  (1, 2, 4)",
    ]
