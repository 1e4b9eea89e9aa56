"""Other translations are compared only as far as they are worth the same."""

import pytest

from headway.bench.quality import Judge

EXACT = ["the cat sat on the mat today", "a dog ran very far away", "it rains", "yes"]


def test_without_references_only_the_same_text_counts() -> None:
    judge = Judge(EXACT)
    assert judge.accepts(EXACT, gains=False)
    assert judge.quality(EXACT).changed == 0
    other = ["the cat sat on a mat today", *EXACT[1:]]
    assert not judge.accepts(other, gains=True)
    assert judge.quality(other).changed == 0.25
    assert judge.quality(other).bleu < 99.9


def test_blank_translations_are_equal_too() -> None:
    judge = Judge(["", ""])
    assert judge.quality(["", ""]).bleu == 100
    assert judge.accepts(["", ""], gains=False)


def test_with_references_other_words_count_if_they_are_worth_the_same() -> None:
    references = ["the dog sat on the mat today", *EXACT[1:]]
    judge = Judge(EXACT, references)
    as_wrong = ["the bat sat on the mat today", *EXACT[1:]]
    quality = judge.quality(as_wrong)
    assert quality.changed == 0.25
    assert quality.bleu == pytest.approx(judge.float32.bleu)
    worse = ["the cat sat on the mat", *EXACT[1:]]
    assert not judge.accepts(worse, gains=True)


def test_only_a_peer_may_be_better() -> None:
    references = ["the dog sat on the mat today", *EXACT[1:]]
    judge = Judge(EXACT, references)
    assert judge.accepts(references, gains=True)
    assert not judge.accepts(references, gains=False)
