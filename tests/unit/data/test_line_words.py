"""Words are those of the script, each once and without case."""

import pytest

from headway.data.line_words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Größe: 3,5 km_h (GRÖSSE)", ["grösse", "3", "5", "km", "h"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # marks belong to words
        ("저는 학생입니다.", ["저는", "학생입니다"]),
        ("水を飲む、水。", ["水", "を", "飲", "む"]),  # no spaces: each character is one
        ("«…» !?", []),
    ],
)
def test_words_are_those_of_the_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected
