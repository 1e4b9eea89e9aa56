"""The score of a pair is the sum of log-softmax at its labels, whatever the batch."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import END_ID, START_ID, Tokenizer, train_tokenizer
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, DataError
from headway.evaluation import scoring
from headway.evaluation.scoring import PairScore, perplexity, score_pairs
from headway.model.transformer import Transformer

WORDS = ["one", "two", "three", "four", "five"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=9)


def make_bundle(source: Tokenizer, target: Tokenizer, **changes: Any) -> Bundle:
    sizes = {
        "d_model": 14,
        "d_ff": 19,
        "num_heads": 3,
        "d_k": 5,
        "d_v": 4,
        "num_encoder_layers": 1,
        "num_decoder_layers": 2,
        "dropout": 0.3,
        "shared_embeddings": "none",
        "output_bias": True,
        "source_vocab_size": source.vocabulary_size,
        "target_vocab_size": target.vocabulary_size,
    }
    config = ModelConfig.parse(sizes | changes)
    torch.manual_seed(5)
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return Bundle(config, model.eval(), source, target)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    source = train_tokenizer([" ".join(WORDS)], kind="word", vocabulary_size=30)
    target = train_tokenizer([" ".join(WORDS), "six seven"], kind="word", vocabulary_size=30)
    return make_bundle(source, target)


def test_a_translation_scores_what_its_search_said_also_with_rows_that_have_no_piece() -> None:
    tokenizer = train_tokenizer([" ".join(WORDS)], kind="word", vocabulary_size=30)
    pieces = tokenizer.vocabulary_size
    padded = make_bundle(tokenizer, tokenizer, target_vocab_size=pieces + 7)
    texts = ["one two three", "five four"]

    found = TextTranslator(padded).translate(texts, beam_size=1)
    scores = score_pairs(padded, texts, [translation.text for translation in found])

    # Written and cut again, a translation is the same pieces here: a word is one.
    assert [score.log_prob for score in scores] == pytest.approx(
        [translation.hypotheses[0].log_prob for translation in found], abs=1e-4
    )


@torch.no_grad()
def by_hand(bundle: Bundle, source: str, target: str) -> tuple[float, int]:
    """Sum log P(y_t | y_<t, x), END included, one pair at a time and without a batch."""
    source_ids = [*bundle.source_tokenizer.encode(source), END_ID]
    target_ids = [START_ID, *bundle.target_tokenizer.encode(target), END_ID]
    logits = bundle.model.eval()(torch.tensor([source_ids]), torch.tensor([target_ids[:-1]]))
    log_probs = logits[0].double().log_softmax(-1)
    labels = target_ids[1:]
    return sum(float(log_probs[t, label]) for t, label in enumerate(labels)), len(labels)


@settings(max_examples=40)
@given(pairs=PAIRS, batch_tokens=st.integers(1, 60))
def test_a_score_is_the_sum_of_log_softmax_whatever_the_batch(
    bundle: Bundle, pairs: list[tuple[str, str]], batch_tokens: int
) -> None:
    sources, targets = zip(*pairs, strict=True)

    scores = score_pairs(bundle, sources, targets, batch_tokens)

    assert len(scores) == len(pairs)
    for score, (source, target) in zip(scores, pairs, strict=True):
        log_prob, num_pieces = by_hand(bundle, source, target)
        assert score.log_prob == pytest.approx(log_prob, rel=1e-5)
        assert score.num_pieces == num_pieces


def test_the_order_is_that_of_the_input(bundle: Bundle) -> None:
    targets = ["one two three", "", "one", "one two three four five", "one two"]

    scores = score_pairs(bundle, ["one"] * 5, targets, batch_tokens=8)

    assert [score.num_pieces for score in scores] == [4, 1, 2, 6, 3]


def test_blank_sides_are_their_end_symbols(bundle: Bundle) -> None:
    (score,) = score_pairs(bundle, [""], ["  "])

    assert score.num_pieces == 1
    assert score.log_prob == pytest.approx(by_hand(bundle, "", "")[0], rel=1e-6)
    assert score.log_prob < 0


def test_probabilities_of_all_endings_sum_to_one(bundle: Bundle) -> None:
    # P(END | START) + sum over pieces y of P(y | START) is 1; P(y END) / P(END | START y) = P(y).
    sources = ["two one"]
    total = math.exp(score_pairs(bundle, sources, [""])[0].log_prob)
    with torch.no_grad():
        start = bundle.model(
            torch.tensor([[*bundle.source_tokenizer.encode(sources[0]), END_ID]]),
            torch.tensor([[START_ID]]),
        ).softmax(-1)[0, 0]

    assert total == pytest.approx(float(start[END_ID]), rel=1e-5)
    for word in WORDS:
        (index,) = bundle.target_tokenizer.encode(word)
        (score,) = score_pairs(bundle, sources, [word])
        assert math.exp(score.log_prob) < float(start[index])


def test_a_translator_scores_as_its_bundle(bundle: Bundle) -> None:
    sources, targets = ["one two", "three"], ["two one", "five"]

    assert score_pairs(TextTranslator(bundle), sources, targets) == score_pairs(
        bundle, sources, targets
    )


def test_translations_have_the_scores_that_the_search_gave_them(bundle: Bundle) -> None:
    brief = make_bundle(bundle.source_tokenizer, bundle.target_tokenizer)
    with torch.no_grad():
        assert brief.model.output_projection.bias is not None
        brief.model.output_projection.bias[:END_ID] -= 100.0  # no unknown piece: text forgets it
        brief.model.output_projection.bias[END_ID] += 2.0
    found = TextTranslator(brief).translate("one three five", beam_size=5, n_best=5).hypotheses
    assert {len(hypothesis.pieces) for hypothesis in found} > {0, 1}

    scores = score_pairs(brief, ["one three five"] * 5, [hypothesis.text for hypothesis in found])

    for score, hypothesis in zip(scores, found, strict=True):
        assert score.log_prob == pytest.approx(hypothesis.log_prob, rel=1e-4)


def test_dropout_is_off(bundle: Bundle) -> None:
    bundle.model.train()

    assert score_pairs(bundle, ["one"], ["two"]) == score_pairs(bundle, ["one"], ["two"])


def test_logits_are_computed_a_part_at_a_time(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, targets = ["one"] * 7, ["two three"] * 7
    expected = score_pairs(bundle, sources, targets)
    monkeypatch.setattr(scoring, "_ROWS", 4)

    for score, whole in zip(score_pairs(bundle, sources, targets), expected, strict=True):
        assert score.log_prob == pytest.approx(whole.log_prob, rel=1e-6)


def test_nothing_to_score_gives_nothing(bundle: Bundle) -> None:
    assert score_pairs(bundle, [], []) == []


def test_different_numbers_are_refused(bundle: Bundle) -> None:
    with pytest.raises(DataError, match="There are 2 sources and 1 targets"):
        score_pairs(bundle, ["one", "two"], ["one"])


def test_a_text_alone_is_refused_and_not_taken_letter_by_letter(bundle: Bundle) -> None:
    for sides in (("one", ["one"]), (["one"], "one"), ("one", "two")):
        with pytest.raises(DataError, match="is a single text"):
            score_pairs(bundle, *sides)


def test_a_pair_beyond_a_learned_table_is_named(bundle: Bundle) -> None:
    learned = make_bundle(
        bundle.source_tokenizer, bundle.target_tokenizer, positions="learned", max_positions=4
    )
    assert len(score_pairs(learned, ["one"], ["one two three"])) == 1

    with pytest.raises(ConfigError, match="Pair 2 takes 5 positions, but the model has 4"):
        score_pairs(learned, ["one", "one"], ["one", "one two three four"])


@given(st.lists(st.tuples(st.floats(-50, 0), st.integers(1, 20)), min_size=1, max_size=9))
def test_perplexity_is_the_exponential_of_the_mean(values: list[tuple[float, int]]) -> None:
    scores = [PairScore(log_prob, count) for log_prob, count in values]

    mean = -sum(log_prob for log_prob, _ in values) / sum(count for _, count in values)

    assert perplexity(scores) == pytest.approx(math.exp(mean), rel=1e-9)


def test_a_uniform_model_has_the_vocabulary_as_its_perplexity(bundle: Bundle) -> None:
    uniform = make_bundle(bundle.source_tokenizer, bundle.target_tokenizer)
    with torch.no_grad():
        uniform.model.output_projection.weight.zero_()
        assert uniform.model.output_projection.bias is not None
        uniform.model.output_projection.bias.zero_()

    scores = score_pairs(uniform, ["one", ""], ["two three", "four"])

    assert perplexity(scores) == pytest.approx(bundle.config.target_vocab_size, rel=1e-5)


def test_perplexity_of_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to score"):
        perplexity([])
