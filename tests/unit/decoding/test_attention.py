"""The attention that is read is the module's own, of one layer, whatever it is read with."""

from collections.abc import Callable

import pytest
import torch

import headway
from headway.decoding.attention import AttentionReader
from headway.errors import ConfigError
from headway.model.transformer import Transformer

SOURCE = [5, 9, 4, 17, 3]
TARGETS = [(6, 7, 11), (), (8, 20, 6, 5, 9, 22), (7,)]


@pytest.mark.parametrize(("layer", "traced"), [(0, 0), (1, 1), (2, 2), (None, 2)])
def test_it_is_the_mean_over_heads_of_what_a_trace_of_the_sentence_alone_shows(
    build: Callable[..., Transformer], layer: int | None, traced: int
) -> None:
    model = build(num_decoder_layers=3)

    found = AttentionReader([model], layer)(SOURCE, TARGETS)

    for ids, weights in zip(TARGETS, found, strict=True):
        with torch.no_grad(), headway.trace(model) as seen:
            model(torch.tensor([SOURCE]), torch.tensor([[2, *ids]]))
        (expected,) = seen[f"decoder.layers.{traced}.cross_attention.weights"].mean(dim=1)
        assert weights.shape == (len(ids) + 1, len(SOURCE))
        torch.testing.assert_close(weights, expected)
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(ids) + 1))


def test_several_models_give_the_mean_each_of_its_own_last_layer(
    build: Callable[..., Transformer],
) -> None:
    models = [build(1, num_decoder_layers=1), build(2, num_decoder_layers=3)]
    each = [AttentionReader([model])(SOURCE, TARGETS) for model in models]

    both = AttentionReader(models)(SOURCE, TARGETS)

    for weights, one, other in zip(both, *each, strict=True):
        torch.testing.assert_close(weights, (one + other) / 2)
        assert not torch.allclose(one, other)


def test_a_layer_that_one_of_the_models_lacks_is_refused(build: Callable[..., Transformer]) -> None:
    models = [build(num_decoder_layers=3), build(num_decoder_layers=1)]
    with pytest.raises(
        ConfigError, match="attention_layer is 2, but the decoder has layers 0 to 0"
    ):
        AttentionReader(models, 2)


def test_reading_leaves_a_trace_of_somebody_else_alone(tiny: Transformer) -> None:
    with headway.trace(tiny) as seen:
        AttentionReader([tiny])(SOURCE, TARGETS)
        assert not seen
        tiny(torch.tensor([SOURCE]), torch.tensor([[2, 6]]))
        assert seen["logits"].shape == (1, 2, 23)


def test_an_attention_that_says_no_weights_is_refused(build: Callable[..., Transformer]) -> None:
    model = build(num_decoder_layers=2)
    model.decoder.layers[1].cross_attention.forward = lambda query, *_: query

    with pytest.raises(ConfigError, match=r"decoder\.layers\.1\.cross_attention, of class"):
        AttentionReader([model])(SOURCE, TARGETS)
