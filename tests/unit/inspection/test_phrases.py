"""Korean phrases: particles agree with the sound before them."""

import pytest

from headway.inspection.phrases import PHRASES, say, with_particles

# The browser tests hold the page to the same.
SETTLED = {
    "학생을(를)": "학생을", "사과을(를)": "사과를", "나이(가)": "나가", "밥이(가)": "밥이",
    "책은(는)": "책은", "너은(는)": "너는", "집(으)로": "집으로", "서울(으)로": "서울로",
    "학교(으)로": "학교로", "0.61이(가)": "0.61이", "2은(는)": "2는", "10(으)로": "10으로",
    "7(으)로": "7로", "8을(를)": "8을", "50%(으)로": "50%로", "“조각”을(를)": "“조각”을",
    "«나»이(가)": "«나»가", "student을(를)": "student을(를)",
    "a을(를) 쓰고 힘이(가)": "a을(를) 쓰고 힘이",
}  # fmt: skip


@pytest.mark.parametrize("given", SETTLED)
def test_particles_agree_with_the_sound_before_them(given: str) -> None:
    assert with_particles(given) == SETTLED[given]


def test_phrases_say_them() -> None:
    (phrase,) = [name for name, (_, korean) in PHRASES.items() if "{edit}(으)로" in korean]

    assert say(phrase, "ko", edit="0").startswith("편집 0으로 ")
    assert say(phrase, "ko", edit="하나").startswith("편집 하나로 ")
