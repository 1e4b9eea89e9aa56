"""Lines and whole texts on the wrong side are named with their lines."""

import pytest

from headway.data.corpus import Pair
from headway.data.exchanged import exchanged_as_a_whole, on_the_wrong_side
from headway.data.two_languages import TwoLanguages

from .made_languages import exchanged, translations


@pytest.fixture(scope="module")
def languages() -> TwoLanguages | None:
    return TwoLanguages.of(translations(300))


def _lines(pairs: list[Pair], languages: TwoLanguages | None) -> dict[str, tuple[int, ...]]:
    problems = on_the_wrong_side(pairs, languages)
    return {problem.id: problem.lines for problem in problems if problem.count}


def test_each_line_is_named_once(languages: TwoLanguages | None) -> None:
    pairs = translations(9, seed=1, least=6)
    pairs[2] = exchanged(pairs[2])
    pairs[4] = Pair(pairs[4].source, pairs[5].source)
    pairs[7] = Pair(pairs[6].target, pairs[7].target)
    assert _lines(pairs, languages) == {
        "exchanged": (3,),
        "wrong-language-target": (5,),
        "wrong-language-source": (8,),
    }
    assert _lines(pairs, None) == {}
    assert _lines([], languages) == {}


@pytest.mark.parametrize(("wrong", "is_whole"), [(8, True), (7, True), (6, False), (0, False)])
def test_a_text_is_exchanged_from_seven_tenths_on(
    wrong: int, is_whole: bool, languages: TwoLanguages | None
) -> None:
    pairs = translations(10, seed=1, least=6)
    mixed = [exchanged(pair) if row < wrong else pair for row, pair in enumerate(pairs)]
    # What tells nothing is neither right nor wrong.
    mixed += [Pair("12", "12"), Pair("", ""), Pair("Zofia", "Zofia")] * 9

    findings = exchanged_as_a_whole(mixed, languages, "corpus 2")

    assert [finding.lines for finding in findings] == [tuple(range(1, wrong + 1))] * is_whole
    if is_whole:
        assert findings[0].problem.endswith("as corpus 2 has them")
    assert exchanged_as_a_whole(mixed, None) == []


def test_two_lines_are_too_few_for_a_whole_text(languages: TwoLanguages | None) -> None:
    pairs = [exchanged(pair) for pair in translations(3, seed=1, least=6)]
    assert len(exchanged_as_a_whole(pairs, languages)) == 1
    assert exchanged_as_a_whole(pairs[:2], languages) == []
