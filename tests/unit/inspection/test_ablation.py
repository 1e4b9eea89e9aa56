"""Ablation: a head that is switched off is a head without weights, and nothing stays behind."""

import copy
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from headway.bundle import Bundle
from headway.errors import ConfigError, DataError, TraceError
from headway.evaluation.scoring import perplexity, score_pairs
from headway.inspection.ablation import (
    KINDS,
    Head,
    head_importance,
    heads_of,
    without_heads,
)
from headway.model.attention import MultiHeadAttention
from headway.model.probe import listening, probe

SOURCES = ["너는 학교에 갑니다.", "나는 학생입니다.", ""]
TARGETS = ["You go to school.", "the cat", "I"]
D_V = 4


def without_weights(bundle: Bundle, head: Head) -> Bundle:
    """Return a copy in which this head's columns of W^O are zeros."""
    model = copy.deepcopy(bundle.model)
    columns = slice(head.number * D_V, (head.number + 1) * D_V)
    with torch.no_grad():
        model.get_submodule(head.attention).w_o.weight[:, columns] = 0
    return replace(bundle, model=model)


def loss(bundle: Bundle) -> float:
    scores = score_pairs(bundle, SOURCES, TARGETS)
    return -sum(s.log_prob for s in scores) / sum(s.num_pieces for s in scores)


def inputs(bundle: Bundle) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(4, len(bundle.source_tokenizer), (2, 7)), torch.randint(4, 30, (2, 5))


def test_every_head_has_its_name(bundle: Bundle) -> None:
    heads = heads_of(bundle.model)

    assert len(heads) == len(set(heads)) == (3 + 2 + 2) * 3
    assert heads[0] == Head("encoder.layers.0.self_attention", 0)
    assert heads[-1] == Head("decoder.layers.1.cross_attention", 2)


def test_without_a_head_is_without_its_columns_of_w_o(bundle: Bundle) -> None:
    source, target = inputs(bundle)
    for head in heads_of(bundle.model):
        with torch.no_grad(), without_heads(bundle.model, [head]):
            ours = bundle.model(source, target)
        with torch.no_grad():
            expected = without_weights(bundle, head).model(source, target)
            usual = bundle.model(source, target)

        assert torch.allclose(ours, expected, rtol=0, atol=1e-5)
        assert not torch.allclose(ours, usual, rtol=0, atol=1e-3), head


def test_several_heads_go_at_once(bundle: Bundle) -> None:
    source, target = inputs(bundle)
    off = [
        Head("decoder.layers.0.cross_attention", 2),
        Head("decoder.layers.0.cross_attention", 0),
        Head("encoder.layers.2.self_attention", 1),
    ]
    poor = bundle
    for head in off:
        poor = without_weights(poor, head)

    with torch.no_grad(), without_heads(bundle.model, off):
        ours = bundle.model(source, target)

    with torch.no_grad():
        assert torch.allclose(ours, poor.model(source, target), rtol=0, atol=1e-5)


def test_nothing_is_left_behind_not_even_by_an_exception(bundle: Bundle) -> None:
    source, target = inputs(bundle)
    before = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    with torch.no_grad():
        usual = bundle.model(source, target)

        with pytest.raises(ConfigError), without_heads(bundle.model, heads_of(bundle.model)):
            bundle.model(source, target[0])  # no batch

        assert not listening()
        assert torch.equal(bundle.model(source, target), usual)
    after = bundle.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_another_thread_keeps_its_heads(bundle: Bundle) -> None:
    source, target = inputs(bundle)
    found: list[torch.Tensor] = []

    def work() -> None:
        with torch.no_grad():
            found.append(bundle.model(source, target))

    work()
    with without_heads(bundle.model, heads_of(bundle.model)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert torch.equal(found[0], found[1])


def test_importance_is_the_rise_of_the_loss_without_each_head(bundle: Bundle) -> None:
    found = head_importance(bundle, SOURCES, TARGETS)

    assert list(found.rises) == list(KINDS)
    assert [tuple(table.shape) for table in found.rises.values()] == [(3, 3), (2, 3), (2, 3)]
    assert found.loss == pytest.approx(loss(bundle), abs=1e-5)
    assert found.num_pieces == sum(s.num_pieces for s in score_pairs(bundle, SOURCES, TARGETS))
    for kind, table in found.rises.items():
        side, name = kind.split(".")
        for layer, row in enumerate(table.tolist()):
            for number, rise in enumerate(row):
                poor = without_weights(bundle, Head(f"{side}.layers.{layer}.{name}", number))
                assert rise == pytest.approx(loss(poor) - loss(bundle), abs=2e-5)


def test_importance_does_not_depend_on_batches(bundle: Bundle) -> None:
    together = head_importance(bundle, SOURCES, TARGETS)
    alone = head_importance(bundle, SOURCES, TARGETS, batch_tokens=1)

    assert together.loss == pytest.approx(alone.loss, abs=1e-6)
    for kind in KINDS:
        assert torch.allclose(together.rises[kind], alone.rises[kind], rtol=0, atol=1e-5)


def test_the_places_of_one_sentence_add_up_to_all_of_it(bundle: Bundle) -> None:
    whole = head_importance(bundle, SOURCES[:1], TARGETS[:1])
    parts = [
        head_importance(bundle, SOURCES[:1], TARGETS[:1], place=place)
        for place in range(whole.num_pieces)
    ]

    assert all(part.num_pieces == 1 for part in parts)
    assert sum(part.loss for part in parts) == pytest.approx(
        whole.loss * whole.num_pieces, abs=1e-5
    )
    for kind in KINDS:
        total = torch.stack([part.rises[kind] for part in parts]).sum(0)
        assert torch.allclose(total, whole.rises[kind] * whole.num_pieces, rtol=0, atol=1e-4)


def test_a_head_that_says_nothing_is_worth_nothing(bundle: Bundle) -> None:
    head = Head("decoder.layers.1.cross_attention", 1)

    found = head_importance(without_weights(bundle, head), SOURCES, TARGETS)

    rises = found.rises["decoder.cross_attention"]
    assert float(rises[1, 1]) == pytest.approx(0, abs=1e-6)
    assert (rises[1, [0, 2]].abs() > 1e-5).all()


def test_the_table_and_the_json_have_every_number(bundle: Bundle) -> None:
    found = head_importance(bundle, SOURCES, TARGETS)

    lines = found.table().split("\n")
    assert lines[0].startswith(f"loss {found.loss:.4f} nats a token, over {found.num_pieces}")
    for kind, table in found.rises.items():
        start = lines.index(f"{kind}: rise without the head") + 2
        for layer, row in enumerate(table.tolist()):
            shown = [f"{rise:+.4f}" for rise in row]
            assert lines[start + layer].split() == [str(layer), *shown]
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert perplexity(score_pairs(bundle, SOURCES, TARGETS)) == pytest.approx(
        2.718281828459045 ** values["loss"], rel=1e-4
    )


def test_wrong_questions_are_one_sentence(bundle: Bundle) -> None:
    with pytest.raises(TraceError, match=r"Did you mean 'decoder\.layers\.1\.cross_attention'"):
        enter(bundle, Head("decoder.layers.1.crossattention", 0))
    with pytest.raises(TraceError, match=r"no head 3 in encoder.*heads 0 to 2"):
        enter(bundle, Head("encoder.layers.0.self_attention", 3))
    with pytest.raises(ConfigError, match="place is 9, but the shortest target has places 0 to"):
        head_importance(bundle, SOURCES, TARGETS, place=9)
    with pytest.raises(DataError, match="no pair"):
        head_importance(bundle, [], [])
    assert not listening()


def enter(bundle: Bundle, head: Head) -> None:
    with without_heads(bundle.model, [head]):
        pass


class Silent(MultiHeadAttention):
    """Computes, and tells nobody what."""

    def forward(self, query, key, value, mask=None, cache=None):  # type: ignore[no-untyped-def]
        k, v = self.keys_and_values(key, value)
        q = self.w_q(query).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(heads.transpose(1, 2).flatten(2))


def test_an_attention_without_a_word_of_its_heads_is_not_worth_nothing(bundle: Bundle) -> None:
    model = copy.deepcopy(bundle.model)
    plain = model.decoder.layers[1].cross_attention
    silent = Silent(plain.d_model, plain.num_heads, d_k=plain.d_k, d_v=plain.d_v)
    silent.load_state_dict(plain.state_dict())
    model.decoder.layers[1].cross_attention = silent.eval()
    source, target = inputs(bundle)
    head = Head("decoder.layers.1.cross_attention", 2)

    with (
        pytest.raises(TraceError, match=r"cross_attention, of class Silent, has no .*heads"),
        torch.no_grad(),
        without_heads(model, [head]),
    ):
        model(source, target)
    with pytest.raises(TraceError, match="of class Silent"):
        head_importance(replace(bundle, model=model), SOURCES, TARGETS)
    with without_heads(model, [head]):  # in which no pass is made
        pass
    with torch.no_grad(), without_heads(model, [Head("encoder.layers.0.self_attention", 1)]):
        model(source, target)
    assert not listening()


class Other(torch.nn.Module):
    """An attention that is none of ours, and says what its heads are."""

    def __init__(self, inner: MultiHeadAttention) -> None:
        super().__init__()
        self.num_heads = inner.num_heads
        self.inner = inner

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *_: Any
    ) -> Tensor:
        k, v = self.inner.keys_and_values(key, value)
        q = self.inner.w_q(query).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        heads = probe(self, "heads", heads)
        return self.inner.w_o(heads.transpose(1, 2).flatten(2))


def test_an_attention_of_any_class_may_say_its_heads(bundle: Bundle) -> None:
    model = copy.deepcopy(bundle.model)
    layer = model.decoder.layers[1]
    layer.cross_attention = Other(layer.cross_attention)  # type: ignore[assignment, arg-type]
    own = replace(bundle, model=model)

    ours, before = (head_importance(some, SOURCES, TARGETS) for some in (own, bundle))

    assert ours.loss == pytest.approx(before.loss, abs=1e-5)
    for kind in KINDS:
        torch.testing.assert_close(ours.rises[kind], before.rises[kind], atol=1e-5, rtol=0)
    layer.cross_attention.num_heads = None  # type: ignore[assignment]
    with pytest.raises(TraceError, match=r"cross_attention, of class Other, does not say how ma"):
        head_importance(own, SOURCES, TARGETS)


def test_a_layer_at_several_places_is_off_at_all_of_them(bundle: Bundle) -> None:
    model = copy.deepcopy(bundle.model)
    model.encoder.layers[1] = model.encoder.layers[0]
    shared = replace(bundle, model=model)

    rises = head_importance(shared, SOURCES, TARGETS).rises["encoder.self_attention"]

    assert torch.equal(rises[0], rises[1])
    for head in range(3):
        without = without_weights(shared, Head("encoder.layers.0.self_attention", head))
        assert rises[0, head].item() == pytest.approx(loss(without) - loss(shared), abs=1e-5)
