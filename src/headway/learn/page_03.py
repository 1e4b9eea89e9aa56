"""Exercises of page 3, Where a word stands (section 3.5)."""

import math
from typing import TYPE_CHECKING

from headway.learn.exercise import Exercise, Slip
from headway.model.positional_encoding import sinusoid_table

if TYPE_CHECKING:
    from headway.inspection.translator import Translator

_SENTENCE = "저는 학생입니다."
_TOKEN, _DIMENSION = 2, 1
_WIDTH = 6


def _angle(position: int, exponent: float) -> float:
    return position / 10000**exponent


def _row_product(width: int, one: int, other: int) -> float:
    table = sinusoid_table(max(one, other) + 1, width)
    return float(table[one] @ table[other])


def _product_of_zeros(width: int) -> float:
    """Return the product of two rows of the table whose angles were all set to zero."""
    row = [math.sin(0), math.cos(0)] * (width // 2)
    return sum(number * number for number in row)


def _of_token(translator: "Translator", name: str, token: int = _TOKEN) -> float:
    trace = translator.trace(_SENTENCE, record="*source_embedding*")
    return float(trace[f"source_embedding.{name}"][token, _DIMENSION])


EXERCISES = [
    Exercise(
        "3.1",
        question={
            "en": "What is PE(2, 3), the number at position 2 in dimension 3, for d_model = 6?",
            "ko": "d_model = 6일 때 PE(2, 3), 곧 위치 2, 차원 3의 값은 얼마입니까?",
        },
        answer=lambda: float(sinusoid_table(3, _WIDTH)[2, 3]),
        slips=[
            Slip(
                lambda: math.sin(_angle(2, 2 / _WIDTH)),
                {
                    "en": "That is the sine. Dimension 3 is odd, so it holds a cosine.",
                    "ko": "사인을 계산했습니다. 차원 3은 홀수이므로 코사인입니다.",
                },
            ),
            Slip(
                lambda: math.cos(_angle(2, 3 / _WIDTH)),
                {
                    "en": "You took exponent 3/6. Dimensions 2 and 3 share 2i = 2, so it is 2/6.",
                    "ko": "지수를 3/6으로 계산했습니다. 차원 2와 3은 2i = 2를 함께 쓰므로 "
                    "2/6입니다.",
                },
            ),
            Slip(
                lambda: math.cos(math.radians(_angle(2, 2 / _WIDTH))),
                {
                    "en": "You took degrees. The angle is in radians.",
                    "ko": "각도를 도(°)로 계산했습니다. 단위는 라디안입니다.",
                },
            ),
        ],
        tolerance=0.00004,
        hint={
            "en": "Dimension 3 is 2i + 1 with i = 1: cos(2 / 10000^(2/6)).",
            "ko": "차원 3은 i = 1일 때의 2i + 1입니다. cos(2 / 10000^(2/6))을 계산해 보세요.",
        },
    ),
    Exercise(
        "3.2",
        question={
            "en": "For d_model = 512, what is the dot product of any row of the table with itself?",
            "ko": "d_model = 512일 때, 표의 아무 행이나 자기 자신과 내적하면 얼마입니까?",
        },
        answer=lambda: _row_product(512, 7, 7),
        slips=[
            Slip(
                lambda: 512,
                {
                    "en": "Two dimensions share one angle, and sin² + cos² is 1 for each pair.",
                    "ko": "두 차원이 각도 하나를 함께 씁니다. sin² + cos²은 쌍마다 1입니다.",
                },
            ),
            Slip(
                lambda: math.sqrt(_row_product(512, 7, 7)),
                {
                    "en": "That is the length of the row, the root of its product with itself.",
                    "ko": "그 값은 행의 길이, 곧 자기 자신과의 내적의 제곱근입니다.",
                },
            ),
        ],
        hint={
            "en": "Add sin² + cos² over all pairs of dimensions.",
            "ko": "차원의 쌍마다 sin² + cos²을 더해 보세요.",
        },
    ),
    Exercise(
        "3.3",
        question={
            "en": "A published class fills its array of angles with zeros before it takes sines "
            "and cosines. For d_model = 6, what is then the dot product of rows 0 and 5?",
            "ko": "어떤 공개 코드는 사인과 코사인을 구하기 전에 각도 배열을 0으로 채웁니다. "
            "d_model = 6이면 이때 행 0과 행 5의 내적은 얼마입니까?",
        },
        answer=lambda: _product_of_zeros(_WIDTH),
        slips=[
            Slip(
                lambda: _row_product(_WIDTH, 0, 5),
                {
                    "en": "That is the product in the right table. With zeros, all rows are equal.",
                    "ko": "그 값은 올바른 표에서의 내적입니다. 각도가 0이면 모든 행이 같아집니다.",
                },
            ),
            Slip(
                lambda: 0 * _WIDTH,
                {
                    "en": "The angles are zero, but cos(0) is 1.",
                    "ko": "각도는 0이지만 cos(0)은 1입니다.",
                },
            ),
            Slip(
                lambda: _WIDTH,
                {
                    "en": "Only the cosines are 1; sin(0) is 0.",
                    "ko": "1이 되는 것은 코사인뿐입니다. sin(0)은 0입니다.",
                },
            ),
        ],
        hint={
            "en": "Each row is sin(0), cos(0), sin(0), cos(0), and so on.",
            "ko": "모든 행이 sin(0), cos(0), sin(0), cos(0), …입니다.",
        },
    ),
    Exercise(
        "3.4",
        question={
            "en": 'In the trace of "저는 학생입니다.", what does the first encoder layer read for '
            "token 2 in dimension 1? Compute it from `scaled` and the formula.",
            "ko": '"저는 학생입니다."의 트레이스에서, 인코더 첫 층의 입력은 토큰 2, 차원 1에서 '
            "얼마입니까? `scaled`와 공식으로 계산하세요.",
        },
        answer=lambda translator: _of_token(translator, "output"),
        slips=[
            Slip(
                lambda translator: _of_token(translator, "scaled"),
                {
                    "en": "The position is missing: add cos(2).",
                    "ko": "위치가 빠졌습니다. cos(2)를 더하세요.",
                },
            ),
            Slip(
                lambda translator: _of_token(translator, "scaled") + math.cos(_TOKEN - 1),
                {
                    "en": "Positions count from 0, so token 2 has position 2.",
                    "ko": "위치는 0부터 셉니다. 토큰 2의 위치는 2입니다.",
                },
            ),
            Slip(
                lambda translator: _of_token(translator, "scaled") + math.sin(_TOKEN),
                {
                    "en": "Dimension 1 is odd, so it holds a cosine.",
                    "ko": "차원 1은 홀수이므로 코사인입니다.",
                },
            ),
        ],
        hint={
            "en": "PE(2, 1) = cos(2), in radians.",
            "ko": "PE(2, 1) = cos(2)이며 단위는 라디안입니다.",
        },
    ),
]
