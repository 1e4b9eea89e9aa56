"""The exercises of page 4, scaled dot-product attention."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.learn.exercise import Exercise, Slip

Array = NDArray[np.float64]

# "I am good" as it is published: Q K^T for keys of width 64, three numbers of each value, and the
# weights that were printed.
PRODUCT = np.array([[110, 90, 80], [70, 99, 70], [90, 70, 100]], dtype=float)
D_K = 64
_D_MODEL = 512  # of 8 such heads
VALUES = np.array([[67.85, 91.2, 0.13], [13.13, 63.1, 0.025], [12.12, 96.1, 43.4]])
PUBLISHED_WEIGHTS = np.array([[0.90, 0.07, 0.03], [0.025, 0.95, 0.025], [0.21, 0.03, 0.76]])


def softmax(scores: Array, axis: int = -1) -> Array:
    """Return the weights of scores; they sum to 1 along the axis."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


SCORES = PRODUCT / math.sqrt(D_K)
WEIGHTS = softmax(SCORES)

_GOOD = 2  # the row of "good"
_WIDTH = 100

EXERCISES = [
    Exercise(
        "4.1",
        question={
            "en": "“I am good”: compute the three weights of row 3, the query of “good”. "
            "Its row of QK^T is 90, 70, 100, and d_k is 64. Give four decimals.",
            "ko": "“I am good”: 셋째 행, 곧 “good” 쿼리의 가중치 세 개를 계산하세요. "
            "QK^T의 셋째 행은 90, 70, 100이고 d_k는 64입니다. 소수점 아래 네 자리까지 쓰세요.",
        },
        answer=lambda: WEIGHTS[_GOOD],
        slips=[
            Slip(
                lambda: PUBLISHED_WEIGHTS[_GOOD],
                {
                    "en": "Those are the published numbers, and two of them are wrong: compute "
                    "exp(11.25 − 12.5), exp(8.75 − 12.5) and exp(0) yourself.",
                    "ko": "게시된 수치인데, 그중 둘이 틀렸습니다. exp(11.25 − 12.5), "
                    "exp(8.75 − 12.5), exp(0)을 직접 계산해 보세요.",
                },
            ),
            Slip(
                lambda: softmax(PRODUCT)[_GOOD],
                {
                    "en": "That is the softmax of the products without the division by √64 = 8.",
                    "ko": "√64 = 8로 나누지 않고 내적에 바로 소프트맥스를 적용한 값입니다.",
                },
            ),
            Slip(
                lambda: softmax(PRODUCT / D_K)[_GOOD],
                {
                    "en": "That is divided by d_k = 64. Divide by its square root, 8.",
                    "ko": "d_k = 64로 나눈 값입니다. 그 제곱근인 8로 나누세요.",
                },
            ),
            Slip(
                lambda: softmax(PRODUCT / math.sqrt(_D_MODEL))[_GOOD],
                {
                    "en": "That is divided by √512, the root of d_model. Divide by the root of "
                    "d_k, the width of one head: √64 = 8.",
                    "ko": "d_model의 제곱근 √512로 나눈 값입니다. 헤드 하나의 차원인 d_k의 제곱근, "
                    "√64 = 8로 나누세요.",
                },
            ),
            Slip(
                lambda: SCORES[_GOOD] / SCORES[_GOOD].sum(),
                {
                    "en": "That is each score divided by the sum of the scores. Softmax takes exp "
                    "of each score first.",
                    "ko": "점수를 점수의 합으로 나눈 값입니다. 소프트맥스는 먼저 각 점수에 exp를 "
                    "취합니다.",
                },
            ),
            Slip(
                lambda: softmax(SCORES, axis=0)[_GOOD],
                {
                    "en": "That is row 3 of a softmax along the columns. Each row must sum to 1, "
                    "so the softmax runs along the keys.",
                    "ko": "열 방향으로 소프트맥스를 적용한 결과의 셋째 행입니다. 행마다 합이 1이 "
                    "되도록 키 방향으로 적용해야 합니다.",
                },
            ),
            Slip(
                lambda: SCORES[_GOOD],
                {
                    "en": "Those are the scores, before the softmax. The weights come after it.",
                    "ko": "소프트맥스를 적용하기 전의 점수입니다. 가중치는 그다음에 나옵니다.",
                },
            ),
        ],
        tolerance=0.0006,
        hint={
            "en": "Divide by 8, subtract the largest score, take exp, and divide by the sum.",
            "ko": "8로 나누고, 가장 큰 점수를 뺀 뒤 exp를 취하고, 합으로 나누세요.",
        },
    ),
    Exercise(
        "4.2",
        question={
            "en": "“I am good”: compute the first number of the context vector of “I”. The first "
            "numbers of the three values are 67.85, 13.13 and 12.12. Give two decimals.",
            "ko": "“I am good”: “I”의 문맥 벡터에서 첫째 수를 계산하세요. 세 값 벡터의 첫째 수는 "
            "67.85, 13.13, 12.12입니다. 소수점 아래 두 자리까지 쓰세요.",
        },
        answer=lambda: WEIGHTS[0] @ VALUES[:, 0],
        slips=[
            Slip(
                lambda: PUBLISHED_WEIGHTS[0] @ VALUES[:, 0],
                {
                    "en": "That uses the published weights .90, .07, .03. The third is .0213, and "
                    "the first two are rounded.",
                    "ko": "게시된 가중치 .90, .07, .03으로 계산한 값입니다. 셋째는 .0213이 맞고, "
                    "앞의 둘은 반올림되어 있습니다.",
                },
            ),
            Slip(
                lambda: VALUES[:, 0].mean(),
                {
                    "en": "That is the plain mean of the three values. Each value counts as much "
                    "as its weight.",
                    "ko": "세 값의 단순 평균입니다. 값마다 가중치를 곱해 더해야 합니다.",
                },
            ),
            Slip(
                lambda: WEIGHTS[0] @ VALUES[0],
                {
                    "en": "That multiplies the weights with the numbers of one value. The weights "
                    "belong to the three tokens, so take the first number of each value.",
                    "ko": "가중치를 값 벡터 하나의 수들에 곱한 값입니다. 가중치는 토큰마다 "
                    "하나이므로, 값 벡터마다 첫째 수를 가져와야 합니다.",
                },
            ),
            Slip(
                lambda: WEIGHTS[:, 0] @ VALUES[:, 0],
                {
                    "en": "That uses the first column of the weights. A query's weights are a row.",
                    "ko": "가중치의 첫째 열을 쓴 값입니다. 한 쿼리의 가중치는 행입니다.",
                },
            ),
        ],
        tolerance=0.006,
        hint={
            "en": "The weights of “I” are .9045, .0742 and .0213.",
            "ko": "“I”의 가중치는 .9045, .0742, .0213입니다.",
        },
    ),
    Exercise(
        "4.3",
        question={
            "en": f"The numbers of q and k are independent, with mean 0 and variance 1. Both have "
            f"{_WIDTH} numbers. What is the standard deviation of q · k?",
            "ko": f"q와 k에는 수가 {_WIDTH}개씩 있습니다. 모두 서로 독립이고 평균은 0, 분산은 "
            "1입니다. q · k의 표준편차는 얼마입니까?",
        },
        answer=lambda: math.sqrt(_WIDTH),
        slips=[
            Slip(
                lambda: float(_WIDTH),
                {
                    "en": "That is the variance. The standard deviation is its square root.",
                    "ko": "분산입니다. 표준편차는 분산의 제곱근입니다.",
                },
            ),
            Slip(
                lambda: math.sqrt(_WIDTH) / math.sqrt(_WIDTH),
                {
                    "en": "That is the deviation after the division by √d_k. The question is about "
                    "q · k before it.",
                    "ko": "√d_k로 나눈 뒤의 표준편차입니다. 나누기 전의 q · k를 묻고 있습니다.",
                },
            ),
            Slip(
                lambda: 1 / math.sqrt(_WIDTH),
                {
                    "en": "That is the deviation of the mean of the products. A dot product is "
                    "their sum.",
                    "ko": "곱들의 평균이 갖는 표준편차입니다. 내적은 곱들의 합입니다.",
                },
            ),
        ],
        hint={
            "en": "Each product has variance 1, and variances of independent numbers add up.",
            "ko": "곱 하나의 분산은 1이고, 독립인 수들의 분산은 더해집니다.",
        },
    ),
]
