"""The loss of a batch: that of the logits, in the precision asked for, by the usual kernels."""

import pytest
import torch

from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.model.transformer import Transformer
from headway.training.loss import label_smoothed_cross_entropy
from headway.training.objective import autocast, batch_loss, without_cudnn_attention


def test_the_loss_is_that_of_the_logits(model: Transformer, pairs: list[EncodedPair]) -> None:
    batch = collate(pairs)
    model = model.double().eval()

    sums = batch_loss(model, batch, 0.1, "float32")

    logits = model(batch.source_ids, batch.target_ids).flatten(0, 1)
    expected = label_smoothed_cross_entropy(logits, batch.label_ids.flatten(), 0.1, 0)
    torch.testing.assert_close(sums.loss, expected.loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(sums.nll, expected.nll, rtol=1e-12, atol=0)


def test_bfloat16_lowers_products_and_float32_does_not() -> None:
    x = torch.ones(3, 2)

    with autocast("bfloat16", "cpu"):
        assert (x @ x.T).dtype == torch.bfloat16
    with autocast("float32", "cpu"):
        assert (x @ x.T).dtype == torch.float32


@pytest.mark.parametrize(
    ("wanted", "others", "within"),
    [(True, True, False), (True, False, True), (False, True, False), (False, False, False)],
)
def test_attention_that_plans_for_each_shape_is_left_out_where_there_is_another(
    model: Transformer, pairs: list[EncodedPair], wanted: bool, others: bool, within: bool
) -> None:
    switches = torch.backends.cuda
    seen = []
    model.encoder.register_forward_hook(lambda *_: seen.append(switches.cudnn_sdp_enabled()))
    before = switches.cudnn_sdp_enabled(), switches.mem_efficient_sdp_enabled()
    try:
        switches.enable_cudnn_sdp(wanted)
        switches.enable_mem_efficient_sdp(others)
        batch_loss(model, collate(pairs), 0.1, "bfloat16")
        after = switches.cudnn_sdp_enabled()
    finally:
        switches.enable_cudnn_sdp(before[0])
        switches.enable_mem_efficient_sdp(before[1])

    assert seen == [within]
    assert after == wanted


def test_the_choice_of_attention_is_given_back_after_an_error() -> None:
    switches = torch.backends.cuda
    before = switches.cudnn_sdp_enabled()

    def fail() -> None:
        with without_cudnn_attention():
            assert switches.cudnn_sdp_enabled() < before
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert switches.cudnn_sdp_enabled() == before
