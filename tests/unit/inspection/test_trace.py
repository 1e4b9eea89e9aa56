"""Tracing: every intermediate by name, nothing changed, nothing left behind."""

import math
import threading

import pytest
import torch

from headway.config.model import ModelConfig
from headway.errors import ConfigError, TraceError
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


def test_tracing_changes_no_bit_of_the_logits(model: Transformer) -> None:
    source, target = torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T))
    source[1, 4:] = 0

    before = model(source, target)
    with trace(model):
        during = model(source, target)

    assert torch.equal(before, during)
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


def test_a_derived_name_that_is_misspelt_answers_with_the_nearest(model: Transformer) -> None:
    with trace(model) as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    with pytest.raises(TraceError, match=r"Did you mean .*'probabilities'"):
        seen["probabilites"]
    with pytest.raises(TraceError, match=r"The trace has no 'encoder_residual\.mean'"):
        seen["encoder_residual.mean"]
    with pytest.raises(TraceError, match=r"'decoder.layers.0.cross_attention.contributions'"):
        seen["decoder.layers.0.cross_attention.contribution"]


def test_one_name_with_a_star_stacks_the_layers(model: Transformer) -> None:
    with trace(model) as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    stacked = seen["encoder.layers.*.self_attention.weights"]

    assert [axis.name for axis in stacked.axes] == ["layer", "batch", "head", "query", "key"]
    assert stacked.axes[0].pieces == tuple(seen.names("encoder.layers.*.self_attention.weights"))
    for number in range(2):
        own = seen[f"encoder.layers.{number}.self_attention.weights"]
        assert torch.equal(stacked.at(layer=number), own)
    derived = seen["encoder.layers.*.self_attention.contributions"]
    assert torch.equal(derived[1], seen["encoder.layers.1.self_attention.contributions"])
    with pytest.raises(TraceError, match="matches 4 tensors of 3 shapes"):
        seen["*.weights"]
    with pytest.raises(TraceError, match=r"The trace has no '\*.wieghts'"):
        seen["*.wieghts"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("attention", ["encoder.layers.0.self_attention.weights"]),
        ("residual", ["encoder.layers.0.input", "encoder.output", "source_embedding.output"]),
        (["logits", "encoder.layers.*.feed_forward.hidden"], ["logits"]),
        ("*_mask", ["source_mask", "target_mask"]),
    ],
)
def test_only_what_is_wanted_is_recorded(
    model: Transformer, record: str | list[str], expected: list[str]
) -> None:
    with trace(model, record=record) as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    assert set(expected) <= set(seen)
    assert len(seen) < 25
    if "logits" not in seen:
        with pytest.raises(
            TraceError, match="'log_probs' is computed from 'logits', which was not"
        ):
            seen["log_probs"]


def test_nothing_to_record_is_refused(model: Transformer) -> None:
    with pytest.raises(ConfigError, match="names nothing"), trace(model, record=[]):
        pass


def test_what_several_names_share_counts_once() -> None:
    attend = MultiHeadAttention(D_MODEL, H, D_K, D_V)
    with trace(attend) as seen:
        attend(torch.randn(B, T, D_MODEL), torch.randn(B, S, D_MODEL), torch.randn(B, S, D_MODEL))

    shared = {"q", "k", "v", "masked_scores"}  # views, and what no mask changed
    expected = sum(seen[name].nbytes for name in seen if name not in shared)
    assert seen.nbytes == expected


def test_two_traces_are_equal_when_all_their_bits_are(model: Transformer) -> None:
    source, target = torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T))
    traces = []
    for ids in (target, target, target + 0 * target, target.roll(1, 1)):
        with trace(model) as seen:
            model(source, ids)
        traces.append(seen)

    one, again, other, different = traces
    assert one.equals(again)
    assert one.equals(other)
    assert not one.equals(different)
    assert one != again
    assert len({one, again}) == 2


def test_a_trace_prints_names_and_shapes() -> None:
    feed = PositionwiseFeedForward(4, 6)
    with trace(feed) as seen:
        feed(torch.randn(1, 2, 4))

    assert repr(seen).split("\n") == [
        "Trace of 3 tensors, 128 bytes",
        "  hidden     (batch=1, position=2, d_ff=6)",
        "  activated  (batch=1, position=2, d_ff=6)",
        "  output     (batch=1, position=2, d_model=4)",
    ]


def test_layers_of_one_shape_share_a_line(model: Transformer) -> None:
    with trace(model, record="*.weights") as seen:
        model(torch.randint(4, 17, (B, S)), torch.randint(4, 23, (B, T)))

    assert repr(seen).split("\n")[1:] == [
        "  encoder.layers.0…1.self_attention.weights  (batch=2, head=3, query=7, key=7)",
        "  decoder.layers.0.self_attention.weights    (batch=2, head=3, query=5, key=5)",
        "  decoder.layers.0.cross_attention.weights   (batch=2, head=3, query=5, key=7)",
    ]


def test_a_table_has_the_numbers_in_a_nutshell(model: Transformer) -> None:
    source = torch.randint(4, 17, (B, S))
    source[0, 5:] = 0
    with trace(model) as seen:
        model(source, torch.randint(4, 23, (B, T)))

    head, first, _ = seen.table("encoder.layers.*.masked_scores").split("\n")
    assert head.split() == ["name", "axes", "min", "max", "mean"]
    scores = seen["encoder.layers.0.self_attention.masked_scores"]
    finite = scores[scores.isfinite()]
    smallest, largest = f"{finite.min():.4g}", f"{finite.max():.4g}"
    mean = f"{finite.double().mean():.4g}"
    expected = [smallest, largest, mean, f"({2 * 3 * 7}", "not", "finite)"]
    assert first.split(")  ")[1].split() == expected
    assert "probabilities" in seen.table("probabilities")


def test_what_is_no_module_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="A str is given"), trace("encoder"):  # type: ignore[arg-type]
        pass
