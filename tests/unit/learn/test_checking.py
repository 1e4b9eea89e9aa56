"""What `learn.check` says."""

from collections.abc import Iterator

import pytest

from headway import learn
from headway.errors import ConfigError
from headway.learn import checking
from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import Exercise, Slip

SCORES = Exercise(
    "4.2",
    question={"en": "How much?", "ko": "얼마입니까?"},
    answer=lambda: 62.596,
    slips=[
        Slip(lambda: 500.77, {"en": "The root is missing.", "ko": "제곱근이 빠졌습니다."}),
        Slip(lambda: 62.35, {"en": "That is unrounded.", "ko": "반올림 전입니다."}),
    ],
    hint={"en": "Divide.", "ko": "나누어 보세요."},
)
ROW = Exercise("4.3", {"en": "Which row?", "ko": "어느 행입니까?"}, lambda: [0.2187, 0.018, 0.7633])
WORD = Exercise("4.4", {"en": "Which?", "ko": "무엇입니까?"}, lambda: "key")


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    learn.speak("en")


@pytest.mark.parametrize(
    ("exercise", "answer", "expected"),
    [
        (SCORES, 62.596, (True, "Right.")),
        (SCORES, 62.6, (True, "Right. With more digits: 62.5960.")),
        (SCORES, 500.77, (False, "The root is missing.")),
        (SCORES, 500.8, (False, "The root is missing.")),
        (SCORES, 62.35, (False, "That is unrounded.")),
        (SCORES, 63, (False, "That is rounded too far to judge. Give more digits.")),
        (SCORES, -62.6, (False, "The size is right, but not the sign.")),
        (SCORES, 6259.6, (False, "Not right. Divide.")),
        (SCORES, 1.0, (False, "Not right. Divide.")),
        (SCORES, "62.6", (False, "Write a number without quotes.")),
        (SCORES, "much", (False, "The answer is one number. You gave a text in quotes.")),
        (SCORES, None, (False, "The answer is one number. You gave a value of type NoneType.")),
        (SCORES, True, (False, "The answer is one number. You gave a value of type bool.")),
        (ROW, [0.2], (False, "The answer is a list of 3 numbers. You gave a list of 1 number.")),
        (SCORES, [1, 2], (False, "The answer is one number. You gave a list of 2 numbers.")),
        (ROW, [0.2187, 0.018, 0.7633], (True, "Right.")),
        (ROW, [0.22, 0.018, 0.763], (True, "Right. With more digits: 0.2187, 0.0180, 0.7633.")),
        (
            ROW,
            [21.87, 1.8, 76.33],
            (False, "That is the answer in percent. Give it as a share of 1."),
        ),
        (ROW, [0.21, 0.03, 0.76], (False, "Not right: 2 of 3 differ, the first at index 0.")),
        (ROW, 0.2187, (False, "The answer is a list of 3 numbers. You gave one number.")),
        (WORD, "Key", (True, "Right.")),
        (WORD, 3, (False, "The answer is a text in quotes. You gave one number.")),
        (
            ROW,
            [[0.2, 0.8]],
            (
                False,
                "The answer is a list of 3 numbers. You gave numbers in an array of shape (1, 2).",
            ),
        ),
    ],
)  # fmt: skip
def test_the_sentence_fits_the_answer(
    exercise: Exercise, answer: object, expected: tuple[bool, str]
) -> None:
    assert judge(exercise, answer) == expected


def test_a_slip_that_fits_exactly_goes_before_a_rounded_answer() -> None:
    exercise = Exercise("1.1", "?", lambda: 2.46, [Slip(lambda: 2.5, "slip")], tolerance=0.001)
    assert judge(exercise, 2.5) == (False, "slip")


def test_a_rounded_answer_goes_before_a_rounded_slip() -> None:
    exercise = Exercise("1.1", "?", lambda: 2.46, [Slip(lambda: 2.54, "slip")], tolerance=0.001)
    assert judge(exercise, 2.5)[0] is True


def test_every_sentence_exists_in_korean() -> None:
    learn.speak("ko")
    for exercise, answer in ((SCORES, 500.77), (SCORES, 63), (ROW, [1, 2, 3]), (WORD, None)):
        _, sentence = judge(exercise, answer)
        assert any("가" <= letter <= "힣" for letter in sentence)
    assert {frozenset(words) for words in checking._SENTENCES.values()} == {frozenset(("en", "ko"))}


@pytest.fixture
def _three_exercises(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {exercise.number: exercise for exercise in (SCORES, ROW, WORD)}
    monkeypatch.setattr(checking, "_exercises", lambda: known)


@pytest.mark.usefixtures("_three_exercises")
def test_check_prints_the_question_or_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert learn.check("4.2") is None
    assert learn.check("4.2", ...) is None
    assert learn.check("4.2", 62.596) is True
    assert learn.check("4.2", 500.77) is False
    assert capsys.readouterr().out.splitlines() == [
        "4.2  How much?",
        "4.2  How much?",
        "Right.",
        "The root is missing.",
    ]


@pytest.mark.parametrize("words", ["word " * 60, "단어 " * 60, "x" * 100 + " y"])
def test_a_long_sentence_is_wrapped_between_words(words: str) -> None:
    text = words.strip()
    lines = checking._wrapped(text).split("\n")
    assert " ".join(lines) == text
    assert len(lines) > 1
    longest = max(map(checking._columns, lines))
    assert longest <= 76 or " " not in max(lines, key=len)
    assert checking._columns("단어 a") == 6
    indented = checking._wrapped(text, indent=5).split("\n")
    assert all(line.startswith("     ") for line in indented[1:])


@pytest.mark.usefixtures("_three_exercises")
def test_an_unknown_number_names_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no exercise '4.9'. Page 4 has 4.2, 4.3, 4.4\."):
        learn.check("4.9", 1)
    with pytest.raises(ConfigError, match=r"no exercise '7.1'. There are 4.2, 4.3, 4.4\."):
        learn.check("7.1", 1)
    with pytest.raises(ConfigError, match=r'of type float. Write it in quotes: .*"4.3", answer'):
        learn.check(4.3, 1)  # type: ignore[arg-type]


@pytest.mark.usefixtures("_three_exercises")
def test_a_wrong_number_is_told_in_korean() -> None:
    learn.speak("ko")
    with pytest.raises(ConfigError, match=r"4.9'번 연습 문제는 없습니다. 4쪽에는 4.2, 4.3, 4.4번"):
        learn.check("4.9", 1)
    with pytest.raises(ConfigError, match=r"없습니다. 있는 번호: 4.2, 4.3, 4.4\."):
        learn.check("7.1", 1)
    with pytest.raises(ConfigError, match=r'float입니다. 따옴표 안에 쓰세요: .*"4.3", answer'):
        learn.check(4.3, 1)  # type: ignore[arg-type]


def test_each_page_numbers_its_own_exercises() -> None:
    for number, exercise in checking._exercises().items():
        assert find_exercise(number) is exercise
        page = int(number.partition(".")[0])
        module = __import__(f"headway.learn.page_{page:02d}", fromlist=["EXERCISES"])
        assert exercise in module.EXERCISES
        assert [entry.number for entry in module.EXERCISES] == [
            f"{page}.{place + 1}" for place in range(len(module.EXERCISES))
        ]
