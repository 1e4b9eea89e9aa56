"""Validation is the plain mean loss, and scores greedy translations."""

import math

import pytest
import torch

from headway.bundle import Bundle
from headway.data.batching import collate
from headway.data.cleaning import EncodedPair
from headway.data.corpus import Pair
from headway.decoding.translator import Translator
from headway.evaluation.metrics import score_texts
from headway.training.validation import ValidationResult, Validator

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
        precision="float32",
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
    result = make_validator(pairs, [], batch_tokens)(bundle)

    assert result.loss == pytest.approx(loss_by_hand(bundle, pairs), rel=1e-5)
    assert result.perplexity == pytest.approx(math.exp(result.loss))
    assert result.scores == {}


def test_scores_are_those_of_greedy_translations(bundle: Bundle, pairs: list[EncodedPair]) -> None:
    result = make_validator(pairs, TEXTS)(bundle)

    found = Translator(bundle).translate([pair.source for pair in TEXTS], beam_size=1)
    texts = [translation.text for translation in found]
    expected = score_texts(texts, [pair.target for pair in TEXTS], ["chrf", "wer"])
    assert result.scores == {score.name: score.value for score in expected}


def test_dropout_is_off_and_nothing_random_is_drawn(
    bundle: Bundle, pairs: list[EncodedPair]
) -> None:
    validator = make_validator(pairs, TEXTS)
    before = torch.get_rng_state()

    first = validator(bundle)
    bundle.model.train()
    second = validator(bundle)

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
