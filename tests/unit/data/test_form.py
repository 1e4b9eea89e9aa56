"""Text of another form than training text is named, by side, with the lines that are unlike it."""

import random
from collections.abc import Callable

import pytest

from headway.data.corpus import Pair
from headway.data.form import Form
from headway.sample_corpus import build_sample_corpus

from .made_languages import translations


def plain(count: int, seed: int = 0) -> list[Pair]:
    """Return sentences with commas, as they are written."""
    return [
        Pair(pair.source.replace(" ", ", ", 1), pair.target) for pair in translations(count, seed)
    ]


def tokenized(text: str) -> str:
    return text.replace(",", " ,").replace(".", " .")


def unlike(pairs: list[Pair], train: list[Pair] | None = None) -> dict[str, tuple[int, ...]]:
    findings = Form(train or plain(300)).unlike(pairs)
    return {finding.id: finding.lines for finding in findings}


def test_text_like_training_text_is_not_named() -> None:
    assert unlike(plain(100, seed=1)) == {}
    corpus = build_sample_corpus()
    train = [Pair(pair.korean, pair.english) for pair in corpus.train[:500]]
    assert unlike([Pair(pair.korean, pair.english) for pair in corpus.test_unseen], train) == {}
    tokenized_too = [Pair(tokenized(s), tokenized(t)) for s, t in plain(300)]
    assert unlike(tokenized_too[:100], tokenized_too) == {}


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("tokenized", tokenized),
        ("capitals", str.lower),
        ("capitals", str.upper),
        ("end-marks", lambda text: text.rstrip(".")),
    ],
)
def test_each_change_of_a_side_is_named_and_nothing_else(
    side: str, id: str, change: Callable[[str], str]
) -> None:
    def changed(pair: Pair, n: int) -> Pair:
        return pair._replace(**{side: change(getattr(pair, side))}) if n % 2 else pair

    pairs = [changed(pair, n) for n, pair in enumerate(plain(200, seed=1), start=1)]
    whole = [changed(pair, 1) for pair in plain(200, seed=1)]

    found = unlike(pairs if change is not str.lower else whole)

    lines = tuple(range(1, 201, 1 if change is str.lower else 2))
    assert found == {f"{id}-{side}": lines}
    # And the other way round: the usual text is what these lines are not like.
    assert unlike(plain(200, seed=1), whole) == {f"{id}-{side}": tuple(range(1, 201))}


def test_a_third_of_the_lines_may_differ_and_few_lines_tell_nothing() -> None:
    rng = random.Random(1)
    pairs = [
        Pair(tokenized(source) if rng.random() < 0.25 else source, target)
        for source, target in plain(200, seed=1)
    ]
    assert unlike(pairs) == {}
    assert unlike([Pair(tokenized(s), t.lower()) for s, t in plain(49)]) == {}
    assert unlike([]) == {}
    assert unlike(plain(60), [Pair("", "")]) == {}


def test_the_share_of_both_texts_is_said() -> None:
    pairs = [Pair(tokenized(s), t) if n % 4 else Pair(s, t) for n, (s, t) in enumerate(plain(200))]
    (finding,) = Form(plain(300)).unlike(pairs)
    assert finding.problem == (
        "source with a space before . and , in 75% of lines (training text: 0%)"
    )
    assert finding.count == 150


def test_spaces_before_other_punctuation_are_french() -> None:
    french = [Pair(s.replace(".", " !"), t) for s, t in plain(100)]
    assert unlike(french, french) == {}
    assert "tokenized-source" not in unlike(french)


def test_letters_without_case_have_no_capitals() -> None:
    korean = [Pair("저는 학생입니다.", "I am a student.")] * 100
    assert unlike(korean, korean) == {}
    assert unlike([Pair("저는 학생입니다.", "i am a student.")] * 100, korean) == {
        "capitals-target": tuple(range(1, 101))
    }
