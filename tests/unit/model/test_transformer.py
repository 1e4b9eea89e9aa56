"""The whole model joins its parts as Figure 1 draws them."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from headway.errors import ConfigError
from headway.model.cache import DecoderCache
from headway.model.embedding import TokenEmbedding
from headway.model.masks import padding_mask, target_mask
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from headway.model.probe import listen, stop_listening
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]

SOURCE = torch.tensor([[5, 9, 3, 0, 0], [7, 8, 22, 6, 3]])
TARGET = torch.tensor([[2, 11, 4, 0, 0, 0, 0], [2, 6, 6, 13, 21, 5, 4]])


def test_logits_are_embedding_encoder_decoder_and_projection_in_turn(tiny: Transformer) -> None:
    logits = tiny(SOURCE, TARGET)

    source_mask = padding_mask(SOURCE)
    memory = tiny.encoder(tiny.source_embedding(SOURCE), source_mask)
    hidden = tiny.decoder(tiny.target_embedding(TARGET), memory, target_mask(TARGET), source_mask)
    torch.testing.assert_close(logits, hidden @ tiny.output_projection.weight.T)
    assert logits.shape == (2, 7, 23)


def test_depths_of_encoder_and_decoder_may_differ(build: Build) -> None:
    model = build(num_encoder_layers=3, num_decoder_layers=1)

    assert (len(model.encoder.layers), len(model.decoder.layers)) == (3, 1)


@pytest.mark.parametrize(
    ("sharing", "tables"), [("all", 1), ("target", 2), ("none", 3)], ids=["all", "target", "none"]
)
def test_tables_are_shared_as_configured(build: Build, sharing: str, tables: int) -> None:
    model = build(shared_embeddings=sharing)

    source, target, output = (
        model.source_embedding.tokens.weight,
        model.target_embedding.tokens.weight,
        model.output_projection.weight,
    )
    assert len({source, target, output}) == tables
    assert (source is target) == (sharing == "all")
    assert (target is output) == (sharing != "none")


def test_vocabularies_may_differ_when_tables_do(build: Build) -> None:
    model = build(shared_embeddings="target", source_vocab_size=31)

    assert model(torch.tensor([[30, 3]]), torch.tensor([[2, 22, 5]])).shape == (1, 3, 23)


@pytest.mark.parametrize(
    ("changes", "read", "expected"),
    [
        ({"positions": "learned", "max_positions": 17},
         lambda m: m.target_embedding.positions.weight.shape, (17, 14)),
        ({"sinusoid_layout": "halved"}, lambda m: m.source_embedding.positions.layout, "halved"),
        ({"first_position": 2}, lambda m: m.target_embedding.positions.first, 2),
        ({"dropout": 0.3}, lambda m: m.source_embedding.dropout, 0.3),
        ({"dropout": 0.3},
         lambda m: m.decoder.layers[1].cross_attention_residual.dropout, 0.3),
        ({"attention_dropout": 0.2}, lambda m: m.decoder.layers[0].cross_attention.dropout, 0.2),
        ({"activation_dropout": 0.2}, lambda m: m.encoder.layers[0].feed_forward.dropout, 0.2),
        ({"activation": "geglu"}, lambda m: m.encoder.layers[0].feed_forward.activation, "geglu"),
        ({"attention_bias": False}, lambda m: m.encoder.layers[0].self_attention.w_o.bias, None),
        ({"feed_forward_bias": False}, lambda m: m.decoder.layers[0].feed_forward.w_1.bias, None),
        ({"output_bias": True}, lambda m: m.output_projection.bias.shape, (23,)),
        ({"scale_embeddings": False}, lambda m: m.target_embedding.scale, 1.0),
        ({"norm_epsilon": 1e-3},
         lambda m: m.decoder.layers[0].feed_forward_residual.norm.eps, 1e-3),
        ({"norm_position": "pre"}, lambda m: m.encoder.norm is not None, True),
        ({"norm_position": "pre", "norm_epsilon": 1e-3}, lambda m: m.decoder.norm.eps, 1e-3),
        ({"norm_position": "post"}, lambda m: m.decoder.norm, None),
        ({"pad_id": 7}, lambda m: m.pad_id, 7),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_each_setting_reaches_its_part(
    build: Build, changes: dict[str, Any], read: Callable[[Any], Any], expected: Any
) -> None:
    assert read(build(**changes)) == expected


def test_positions_of_the_two_sides_are_trained_apart(build: Build) -> None:
    model = build(positions="learned")

    source, target = model.source_embedding.positions, model.target_embedding.positions
    assert isinstance(source, LearnedPositionalEncoding)
    assert isinstance(target, LearnedPositionalEncoding)
    assert source.weight is not target.weight


def test_base_is_the_paper() -> None:
    from headway.config import presets

    with torch.device("meta"):
        model = Transformer.from_config(presets.base())

    layer = model.decoder.layers[5]
    assert len(model.encoder.layers) == len(model.decoder.layers) == 6
    assert layer.self_attention.w_q.weight.shape == (512, 512)
    assert (layer.self_attention.num_heads, layer.self_attention.d_k) == (8, 64)
    assert layer.self_attention.d_v == 64
    assert layer.feed_forward.w_1.weight.shape == (2048, 512)
    assert layer.feed_forward.activation == "relu"
    assert layer.feed_forward_residual.norm_position == "post"
    assert layer.feed_forward_residual.dropout == model.source_embedding.dropout == 0.1
    assert layer.self_attention.dropout == layer.feed_forward.dropout == 0.0
    assert isinstance(model.source_embedding.positions, SinusoidalPositionalEncoding)
    assert model.source_embedding.positions.layout == "interleaved"
    assert model.output_projection.weight is model.source_embedding.tokens.weight


def named_by(model: Transformer) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return the logits and what the model itself, not its parts, gives a name."""
    named: dict[str, torch.Tensor] = {}

    def listener(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> torch.Tensor:
        if module is model:
            named[name] = tensor
        return tensor

    token = listen(listener)
    try:
        return model(SOURCE, TARGET), named
    finally:
        stop_listening(token)


def test_masks_and_logits_have_names(tiny: Transformer) -> None:
    logits, named = named_by(tiny)

    assert {name: tuple(tensor.shape) for name, tensor in named.items()} == {
        "source_mask": (2, 1, 1, 5),
        "target_mask": (2, 1, 7, 7),
        "logits": (2, 7, 23),
    }
    assert torch.equal(logits, named["logits"])
    assert torch.equal(logits, tiny(SOURCE, TARGET))


@pytest.mark.parametrize("pad_id", [0, 6], ids=["usual", "another"])
def test_both_masks_hide_the_padding_of_this_model(build: Build, pad_id: int) -> None:
    _, named = named_by(build(pad_id=pad_id))

    assert torch.equal(named["source_mask"], padding_mask(SOURCE, pad_id))
    assert torch.equal(named["target_mask"], target_mask(TARGET, pad_id))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (SOURCE[0], TARGET, r"source_ids have shape \(5,\)"),
        (SOURCE, TARGET[0], r"target_ids have shape \(7,\)"),
        (SOURCE.float(), TARGET, "source_ids .* type torch.float32"),
        (SOURCE[:1], TARGET, "1 source and 2 target sentences"),
        (SOURCE, TARGET + 20, "the vocabulary has tokens 0 to 22"),
    ],
    ids=["flat source", "flat target", "real numbers", "other batch", "unknown ids"],
)
def test_ids_that_cannot_be_read_are_refused(
    tiny: Transformer, source: torch.Tensor, target: torch.Tensor, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny(source, target)


def test_a_cached_call_takes_one_position(tiny: Transformer) -> None:
    mask = padding_mask(SOURCE)
    memory = tiny.encode(SOURCE, mask)

    with pytest.raises(ConfigError, match="decodes one position, not 7"):
        tiny.decode(TARGET, memory, mask, DecoderCache(2))


def test_gradients_reach_every_parameter(build: Build) -> None:
    model = build(shared_embeddings="none", output_bias=True, positions="learned")

    model(SOURCE, TARGET).logsumexp(-1).sum().backward()

    for name, parameter in model.named_parameters():
        # A bias on the keys adds the same to a whole row of scores, which softmax ignores.
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > (0 if not name.endswith("w_k.bias") else -1), name


def test_a_shared_table_learns_from_all_three_uses(build: Build) -> None:
    model = build(shared_embeddings="all")

    def gradient(source: list[int], target: list[int]) -> torch.Tensor:
        model.zero_grad()
        model(torch.tensor([source]), torch.tensor([target]))[0, 0, 9].backward()
        assert isinstance(model.source_embedding.tokens, TokenEmbedding)
        grad = model.source_embedding.tokens.weight.grad
        assert grad is not None
        return grad.abs().sum(1)

    touched = gradient([5, 6], [2, 7]) > 0

    # The logit of piece 9 at the first position: source 5 and 6, target 2 (7 lies in the future).
    assert touched.nonzero().flatten().tolist() == [2, 5, 6, 9]


@pytest.mark.parametrize("sharing", ["all", "target", "none"])
def test_a_call_with_other_weights_leaves_the_model_as_it_was(build: Build, sharing: str) -> None:
    model = build(shared_embeddings=sharing)
    before = model(SOURCE, TARGET)
    zeros = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}

    assert (torch.func.functional_call(model, zeros, (SOURCE, TARGET)) == 0).all()

    assert torch.equal(model(SOURCE, TARGET), before)
    tables = model.target_embedding.tokens.weight, model.output_projection.weight
    assert (tables[0] is tables[1]) == (sharing != "none")


@pytest.mark.parametrize("training", [True, False])
def test_each_sentence_may_have_its_own_gradient(build: Build, training: bool) -> None:
    model = build(dropout=0.0).train(training)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def loss(weights: dict[str, torch.Tensor], source: Any, target: Any) -> torch.Tensor:
        ids = source[None], target[None]
        return torch.func.functional_call(model, weights, ids).square().mean()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(weights, SOURCE, TARGET)

    for row, ids in enumerate(zip(SOURCE, TARGET, strict=True)):
        alone = torch.func.grad(loss)(weights, *ids)
        for name, gradient in alone.items():
            torch.testing.assert_close(each[name][row], gradient, atol=1e-5, rtol=1e-4)


def test_making_a_model_does_not_import_a_compiler() -> None:
    code = (
        "import sys; from headway import Transformer, presets; "
        "Transformer.from_config(presets.tiny(40)); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_sizes_in_place_of_parts_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^source_embedding is 512, .*from_config builds"):
        Transformer(512, 8, 6, 6, 2048)  # type: ignore[arg-type]
