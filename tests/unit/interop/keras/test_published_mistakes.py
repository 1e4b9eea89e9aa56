"""One test in Keras for each mistake that published implementations make."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headway.bundle import Bundle
from headway.data.encoded import EncodedPair
from headway.errors import ConfigError
from headway.interop.keras import (
    BatchDataset,
    LabelSmoothedCrossEntropy,
    MultiHeadAttention,
    PositionalEncoding,
    attention,
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    from_bundle,
    look_ahead_mask,
    padding_mask,
)
from headway.interop.keras.backend import keras

from .examples import SOURCE, TARGET, logits

MakeBundle = Callable[..., Bundle]
ops = keras.ops


class Seen(list[Any]):
    """The weights of every call of equation 1, in order; symbolic ones while a model is built."""

    def arrays(self) -> list[np.ndarray]:
        return [ops.convert_to_numpy(weights) for weights in self]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    weights = Seen()

    def watched(*arguments: Any) -> Any:
        result = attention(*arguments)
        weights.append(result[1])
        return result

    monkeypatch.setitem(MultiHeadAttention.call.__globals__, "attention", watched)
    return weights


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_scores_are_scaled_by_the_width_of_a_head_and_not_of_the_model(seen: Seen) -> None:
    attend = MultiHeadAttention(36, 4)  # sqrt(d_k) = 3, sqrt(d_model) = 6
    x = ops.convert_to_tensor(normal(2, 5, 36))

    attend({"query": x, "key": x, "value": x})

    q, k = (ops.convert_to_numpy(project(x)) for project in (attend.w_q, attend.w_k))
    q, k = (y.reshape(2, 5, 4, 9).transpose(0, 2, 1, 3) for y in (q, k))
    scores = np.exp(q @ k.swapaxes(-1, -2) / 3)
    np.testing.assert_allclose(seen.arrays()[0], scores / scores.sum(-1, keepdims=True), rtol=1e-4)


def test_a_head_is_a_part_of_each_token_and_not_some_of_the_tokens(seen: Seen) -> None:
    attend = MultiHeadAttention(6, 2, bias=False)
    attend.build({})
    for projection in (attend.w_q, attend.w_k, attend.w_v, attend.w_o):
        projection.kernel.assign(np.eye(6, dtype=np.float32))
    x = normal(1, 5, 6)
    mask = look_ahead_mask(ops.ones((1, 5), dtype="int32"))

    def attended(x: np.ndarray) -> np.ndarray:
        return ops.convert_to_numpy(attend({"query": x, "key": x, "value": x, "mask": mask}))

    output = attended(x)
    for position in range(5):  # a head attends to all earlier positions, and concat keeps order
        changed = x.copy()
        changed[:, position] += 1
        difference = abs(attended(changed) - output).max(axis=(0, 2))
        assert difference[:position].max(initial=0) == 0
        assert (difference[position:] > 1e-4).all()
    for head, columns in enumerate((x[0, :, :3], x[0, :, 3:])):
        together = seen.arrays()[0][0, head] @ columns
        np.testing.assert_allclose(output[0, :, 3 * head : 3 * head + 3], together, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_mask_is_no_large_number_that_overflows_or_averages_over_padding(dtype: str) -> None:
    # Scores of -30,000 are nearer to -1e4 or to the end of float16 than to real words' scores.
    q, k, v = (
        ops.cast(ops.convert_to_tensor(np.array(values, np.float32)[:, None]), dtype)
        for values in ([-300] * 3, [100] * 4, [1, 3, 50, 70])
    )
    mask = np.array([[True, True, False, False], [False] * 4, [True, False, False, False]])

    output, weights = attention(q, k, v, ops.convert_to_tensor(mask))

    weights = ops.convert_to_numpy(ops.cast(weights, "float32"))
    assert weights.tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert ops.convert_to_numpy(ops.cast(output, "float32"))[:, 0].tolist() == [2, 0, 1]


def test_the_positional_table_is_made_of_sines_and_sized_by_a_length(
    make_bundle: MakeBundle,
) -> None:
    table = ops.convert_to_numpy(PositionalEncoding(40, 6)(np.zeros((1, 40, 6), np.float32)))[0]
    assert table[1, :2].tolist() == pytest.approx([math.sin(1), math.cos(1)])
    assert abs(table).sum(1).min() > 1  # no row is zero
    assert len(np.unique(table, axis=0)) == 40

    model = from_bundle(make_bundle())  # 23 pieces, fewer than the sentence is long
    long = np.full((1, 40), 4, np.int32)
    assert np.isfinite(logits(model, long, long[:, :38])).all()


def test_a_mask_has_one_polarity_everywhere_and_true_is_attend() -> None:
    attend = MultiHeadAttention(6, 2)
    x = ops.convert_to_tensor(normal(1, 4, 6))
    ids = ops.convert_to_tensor(np.array([[7, 7, 7, 0]], np.int32))

    def attended(query: Any, key: Any, mask: Any = None) -> np.ndarray:
        inputs = {"query": query, "key": key, "value": key}
        inputs |= {} if mask is None else {"mask": mask}
        return ops.convert_to_numpy(attend(inputs))

    with_mask = attended(x, x, padding_mask(ids))
    with_look_ahead = attended(x, x, look_ahead_mask(ids))

    np.testing.assert_allclose(with_mask, attended(x, x[:, :3]), atol=5e-6)
    np.testing.assert_allclose(with_look_ahead[:, :1], attended(x[:, :1], x[:, :1]), atol=5e-6)
    np.testing.assert_allclose(with_look_ahead[:, 3], with_mask[:, 3], atol=5e-6)
    for additive in (np.zeros((1, 1, 1, 4), np.float32), np.array([[[[0, 0, 0, 1]]]], np.int32)):
        with pytest.raises(ConfigError, match="must be boolean"):
            attended(x, x, ops.convert_to_tensor(additive))


def test_the_decoder_hides_future_and_padding_and_cross_attention_the_sources_padding(
    make_bundle: MakeBundle, seen: Seen
) -> None:
    model = from_bundle(make_bundle(num_encoder_layers=2, num_decoder_layers=2))
    seen.clear()  # what building the model has seen

    model([ops.convert_to_tensor(SOURCE), ops.convert_to_tensor(TARGET)])

    weights = seen.arrays()
    assert len(weights) == 2 + 2 * 2
    real = (SOURCE != 0)[:, None, None]
    may_see = np.tri(7, dtype=bool) & (TARGET != 0)[:, None]
    for encoder_self in weights[:2]:
        assert ((encoder_self > 0) == real).all()
    for decoder_self, cross in (weights[2:4], weights[4:]):
        assert ((decoder_self > 0) == may_see[:, None]).all()
        assert ((cross > 0) == real).all()


def test_dropout_falls_on_every_sub_layer_and_on_embedding_plus_position() -> None:
    # With all of it dropped, a layer only normalizes: once for every sub-layer.
    sizes = {"d_ff": 7, "d_model": 6, "num_heads": 2, "dropout": 1 - 1e-7}
    x = normal(2, 5, 6)
    ids, tensor = ops.convert_to_tensor(SOURCE), ops.convert_to_tensor(x)
    padding, ahead = padding_mask(ids), look_ahead_mask(ids)

    encoded = encoder_layer(**sizes)([tensor, padding], training=True)
    decoded = decoder_layer(**sizes)([tensor, tensor, ahead, padding], training=True)
    memory = encoder(23, 1, **sizes)([ids, padding], training=True)
    hidden = decoder(23, 1, **sizes)([ids, tensor, ahead, padding], training=True)

    def normalized(y: np.ndarray) -> np.ndarray:
        return (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)

    twice = normalized(normalized(x))
    np.testing.assert_allclose(ops.convert_to_numpy(encoded), twice, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(decoded), normalized(twice), atol=1e-5)
    for embedded in (memory, hidden):
        assert not ops.convert_to_numpy(embedded).any()


def test_self_and_cross_attention_have_their_own_weights_and_rows_ask(seen: Seen) -> None:
    layer = decoder_layer(d_ff=7, d_model=6, num_heads=3, dropout=0.0)
    x, memory = ops.convert_to_tensor(normal(2, 7, 6)), ops.convert_to_tensor(normal(2, 5, 6))
    seen.clear()

    layer([x, memory, look_ahead_mask(TARGET), padding_mask(SOURCE)])

    own, cross = seen.arrays()
    assert own.shape == (2, 3, 7, 7)  # batch, heads, target asks, target answers
    assert cross.shape == (2, 3, 7, 5)  # batch, heads, target asks, source answers
    assert not np.triu(own, 1).any()
    for weights in (own, cross):
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_the_decoder_reads_the_target_shifted_and_cannot_see_what_it_must_predict(
    make_bundle: MakeBundle,
) -> None:
    pairs = [EncodedPair([5, 9], [11, 4, 6], 1), EncodedPair([5, 9], [11, 4, 6], 2)]
    (source, target), labels = BatchDataset(pairs, max_tokens=8, multiple=1)[0]
    assert target.tolist() == [[2, 11, 4, 6]] * 2
    assert labels.tolist() == [[11, 4, 6, 3]] * 2

    model = from_bundle(make_bundle())
    before = logits(model, source, target)
    for position in range(4):
        changed = target.copy()
        changed[:, position] = 15
        difference = abs(logits(model, source, changed) - before).max(axis=(0, 2))
        # The label of position t is the input of t + 1: nothing before it may know.
        assert difference[:position].max(initial=0) < 1e-6
        assert difference[position] > 1e-3


def test_the_loss_counts_real_target_pieces_only_and_gives_padding_no_mass() -> None:
    scores, labels = normal(2, 2, 6), np.array([[3, 0], [5, 0]], np.int32)
    loss = LabelSmoothedCrossEntropy(0.1)

    def value(scores: np.ndarray, labels: np.ndarray) -> float:
        return float(loss(ops.convert_to_tensor(labels), ops.convert_to_tensor(scores)))

    # By the definition: 0.9 + 0.02 for the true piece, 0.1 / 5 for every other but padding.
    wanted = np.full((2, 6), 0.1 / 5)
    wanted[:, 0] = 0
    wanted[[0, 1], [3, 5]] += 0.9
    log_probs = scores[:, 0] - np.log(np.exp(scores[:, 0]).sum(-1, keepdims=True))
    assert value(scores, labels) == pytest.approx(-(wanted * log_probs).sum() / 2, rel=1e-5)
    assert value(scores[:, :1], labels[:, :1]) == pytest.approx(value(scores, labels), rel=1e-6)
