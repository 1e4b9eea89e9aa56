"""With copied weights the model is torch.nn.Transformer, in results and in gradients."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from headway.model.attention import MultiHeadAttention
from headway.model.probe import listen, stop_listening
from headway.model.residual import Residual
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]

TOLERANCE = {"rtol": 0.0, "atol": 1e-12}
WIDTHS = {"d_model": 12, "num_heads": 3, "d_k": None, "d_v": None, "d_ff": 19}
SOURCE = torch.tensor([[5, 9, 3, 0, 0], [7, 8, 22, 6, 3], [4, 3, 0, 0, 0]])
TARGET = torch.tensor(
    [[2, 11, 4, 0, 0, 0, 0], [2, 6, 6, 13, 21, 5, 4], [2, 0, 0, 0, 0, 0, 0]]
)  # fmt: skip


def reference(model: Transformer, *, norm_first: bool, activation: str) -> nn.Transformer:
    """Return nn.Transformer with the weights of our model.

    It ends both stacks with a norm; the paper's post-norm model has none there.
    """
    options = {
        "d_model": 12,
        "nhead": 3,
        "dim_feedforward": 19,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm_first,
    }
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**options), 2, enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), 3)
    theirs = nn.Transformer(
        12, 3, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    ).double()
    with torch.no_grad():
        for their_layer, our_layer in zip(
            [*encoder.layers, *decoder.layers],
            [*model.encoder.layers, *model.decoder.layers],
            strict=True,
        ):
            copy_layer(their_layer, our_layer)
        for their_stack, our_stack in ((encoder, model.encoder), (decoder, model.decoder)):
            if norm_first:
                their_stack.norm = our_stack.norm
    return theirs


def copy_layer(theirs: nn.Module, ours: nn.Module) -> None:
    copy_attention(theirs.self_attn, ours.self_attention)
    residuals = [ours.self_attention_residual, ours.feed_forward_residual]
    if hasattr(theirs, "multihead_attn"):
        copy_attention(theirs.multihead_attn, ours.cross_attention)
        residuals.insert(1, ours.cross_attention_residual)
    theirs.linear1, theirs.linear2 = ours.feed_forward.w_1, ours.feed_forward.w_2
    for number, residual in enumerate(residuals, start=1):
        assert isinstance(residual, Residual)
        setattr(theirs, f"norm{number}", residual.norm)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.out_proj.weight.copy_(ours.w_o.weight)
        if ours.w_q.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]))
            theirs.out_proj.bias.copy_(ours.w_o.bias)


@pytest.fixture(params=[False, True], ids=["explicit", "fused"], autouse=True)
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: request.param)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_the_model_equals_torch_nn_transformer(
    build: Build, norm_position: str, activation: str
) -> None:
    model = build(
        dtype=torch.float64,
        num_encoder_layers=2,
        num_decoder_layers=3,
        norm_position=norm_position,
        activation=activation,
        **WIDTHS,
    )
    theirs = reference(model, norm_first=norm_position == "pre", activation=activation)
    if norm_position == "post":
        assert model.encoder.norm is None
        assert model.decoder.norm is None
    source, target = model.source_embedding(SOURCE), model.target_embedding(TARGET)

    ours = model.hidden(SOURCE, TARGET)
    expected = theirs(
        source,
        target,
        tgt_mask=torch.ones(7, 7).triu(1).bool(),
        src_key_padding_mask=SOURCE == 0,
        tgt_key_padding_mask=TARGET == 0,
        memory_key_padding_mask=SOURCE == 0,
    )

    torch.testing.assert_close(ours, expected, **TOLERANCE)
    weight = torch.randn_like(ours)
    table = model.source_embedding.tokens.weight
    gradients = [torch.autograd.grad((y * weight).sum(), table)[0] for y in (ours, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-11)
    assert gradients[0].abs().max() > 0.1


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_attention_equals_torch_nn_multihead_attention_with_the_mask_flipped(bias: bool) -> None:
    ours = MultiHeadAttention(12, 3, bias=bias).double()
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).double()
    if bias:
        for projection in (ours.w_q, ours.w_k, ours.w_v, ours.w_o):
            nn.init.normal_(projection.bias)
    copy_attention(theirs, ours)
    query, memory = torch.randn(2, 7, 12).double(), torch.randn(2, 5, 12).double()
    mask = torch.rand(2, 1, 7, 5) > 0.4  # one mask a sentence, for all of its heads
    mask[..., 2] = True
    heard: dict[str, Tensor] = {}

    output = ours(query, memory, memory, mask)
    expected, expected_weights = theirs(
        query,
        memory,
        memory,
        attn_mask=~mask.expand(2, 3, 7, 5).flatten(0, 1),
        average_attn_weights=False,
    )

    torch.testing.assert_close(output, expected, **TOLERANCE)
    token = listen(lambda module, name, tensor: heard.setdefault(name, tensor))
    ours(query, memory, memory, mask)
    stop_listening(token)
    torch.testing.assert_close(heard["weights"], expected_weights, **TOLERANCE)
