"""Validation is the plain mean loss, and scores greedy translations."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.data.batching import collate
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.decoding.translator import TextTranslator
from headway.evaluation.metrics import score_texts
from headway.training.validation import ValidationResult, Validator, exchange_sources

TEXTS = [Pair("one two three", "three two one"), Pair("four", "four"), Pair("five six", "one")]


def make_validator(
    pairs: list[EncodedPair], texts: list[Pair], batch_tokens: int = 30
) -> Validator:
    return Validator(
        pairs,
        texts,
        metrics=["chrf", "wer"],
        bleu_tokenize="13a",
        batch_tokens=batch_tokens,
    )


@torch.no_grad()
def loss_by_hand(bundle: Bundle, pairs: list[EncodedPair]) -> float:
    nll, pieces = 0.0, 0
    for pair in pairs:
        batch = collate([pair])
        log_probs = bundle.model.eval()(batch.source_ids, batch.target_ids).log_softmax(-1)[0]
        nll -= sum(float(log_probs[t, y]) for t, y in enumerate(batch.label_ids[0].tolist()))
        pieces += len(pair.target_ids) + 1
    return nll / pieces


@pytest.mark.parametrize("batch_tokens", [8, 30, 1000])
def test_the_loss_is_the_mean_over_pieces_whatever_the_batches(
    bundle: Bundle, pairs: list[EncodedPair], batch_tokens: int
) -> None:
    result = make_validator(pairs, [], batch_tokens)(bundle, "float32")

    assert result.loss == pytest.approx(loss_by_hand(bundle, pairs), rel=1e-5)
    assert result.perplexity == pytest.approx(math.exp(result.loss))
    assert result.scores == {}


def test_scores_are_those_of_greedy_translations(bundle: Bundle, pairs: list[EncodedPair]) -> None:
    result = make_validator(pairs, TEXTS)(bundle, "float32")

    sources = [pair.source for pair in TEXTS]
    found = TextTranslator(bundle).translate(sources, beam_size=1, mend_runaways=False)
    texts = [translation.text for translation in found]
    expected = score_texts(texts, [pair.target for pair in TEXTS], ["chrf", "wer"])
    assert result.scores == {score.name: score.value for score in expected}


def test_figures_alone_are_the_same_and_without_texts_nothing_is_translated(
    bundle: Bundle, pairs: list[EncodedPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    validator = make_validator(pairs, TEXTS)
    whole = validator(bundle, "float32")
    bundle.model.train()

    scored = validator.figures(bundle, "float32")
    monkeypatch.setattr(Validator, "_translations", lambda *_: pytest.fail("translated"))
    loss = make_validator(pairs, []).figures(bundle, "float32")

    assert loss == ValidationResult(whole.loss, {})
    assert scored == ValidationResult(whole.loss, whole.scores)


def test_dropout_is_off_and_nothing_random_is_drawn(
    bundle: Bundle, pairs: list[EncodedPair]
) -> None:
    validator = make_validator(pairs, TEXTS)
    before = torch.get_rng_state()

    first = validator(bundle, "float32")
    bundle.model.train()
    second = validator(bundle, "float32")

    assert first == second
    assert torch.equal(torch.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in bundle.model.parameters())


def test_lower_is_better_for_the_choice_of_the_best() -> None:
    worse = ValidationResult(loss=2.0, scores={"bleu": 10.0})
    better = ValidationResult(loss=1.0, scores={"bleu": 20.0})

    assert better.value("loss") < worse.value("loss")
    assert better.value("bleu") < worse.value("bleu")


def test_a_huge_loss_has_a_finite_perplexity() -> None:
    assert math.isfinite(ValidationResult(loss=1e6, scores={}).perplexity)


IDS = st.lists(st.integers(4, 9), min_size=1, max_size=5)


@given(st.lists(st.tuples(IDS, IDS), max_size=9))
def test_exchanging_moves_whole_sources_between_targets(rows: list[tuple[list, list]]) -> None:
    pairs = [EncodedPair(*row, line) for line, row in enumerate(rows, 1)]

    found = exchange_sources(pairs)

    if len({tuple(pair.source_ids) for pair in pairs}) < 2:
        assert found == []
        return
    assert Counter(tuple(pair.source_ids) for pair in found) == Counter(
        tuple(pair.source_ids) for pair in pairs
    )
    assert sorted(pair[1:] for pair in found) == sorted(pair[1:] for pair in pairs)
    changed = sum(pair.source_ids != pairs[pair.line - 1].source_ids for pair in found)
    assert changed >= 2


def test_text_that_is_misaligned_by_a_line_does_not_come_right_by_exchanging() -> None:
    sources = [[4 + index % 5, *([9] * (index * 3 % 7))] for index in range(20)]
    shifted = [EncodedPair(sources[i - 1], sources[i], i) for i in range(20)]

    assert sum(pair.source_ids == pair.target_ids for pair in exchange_sources(shifted)) < 3


def test_other_sources_are_worse_for_a_model_that_uses_them_and_the_same_for_one_that_does_not(
    bundle: Bundle, pairs: list[EncodedPair]
) -> None:
    validator = make_validator(pairs, [])
    with torch.no_grad():
        for layer in bundle.model.decoder.layers:
            layer.cross_attention.w_o.weight.mul_(30)

    own, others = validator(bundle, "float32").exchanged or (0.0, 0.0)

    assert own == pytest.approx(loss_by_hand(bundle, pairs), rel=1e-5)
    assert others == pytest.approx(loss_by_hand(bundle, exchange_sources(pairs)), rel=1e-5)
    assert abs(others - own) > 1e-3
    with torch.no_grad():
        for layer in bundle.model.decoder.layers:
            layer.cross_attention.w_o.weight.zero_()
    deaf = validator(bundle, "float32").exchanged or (0.0, 1.0)
    assert deaf[0] == pytest.approx(deaf[1], rel=1e-6)


def test_at_most_200_pairs_are_exchanged(bundle: Bundle, pairs: list[EncodedPair]) -> None:
    many = [pairs[index % 23] for index in range(207)]

    exchanged = make_validator(many, [])(bundle, "float32").exchanged

    assert exchanged is not None
    assert exchanged[0] == pytest.approx(loss_by_hand(bundle, many[:200]), rel=1e-5)


def test_one_output_for_five_sentences_is_noticed(bundle: Bundle, pairs: list[EncodedPair]) -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    texts = [Pair(word, word) for word in words]
    with torch.no_grad():  # nothing but the end symbol is likely
        bundle.model.output_projection.weight.zero_()

    same = make_validator(pairs, texts[:5])(bundle, "float32")

    assert same.same_output is not None
    assert make_validator(pairs, texts[:4])(bundle, "float32").same_output is None
    assert make_validator(pairs, [texts[0]] * 6)(bundle, "float32").same_output is None
