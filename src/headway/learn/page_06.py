"""The exercises of page 6, several heads."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.learn.exercise import Exercise, Slip

D_MODEL, HEADS = 512, 8
# The layer of a published example whose scores are divided by the wrong root.
WIDE_D_MODEL, WIDE_HEADS = 200, 5
LENGTH, FEW_HEADS = 12, 3
TOKENS = np.arange(1, 13).reshape(3, 4)  # three tokens of four numbers, to be split in two heads


def parameters(matrices: int = 4, heads: int = 1, *, bias: bool = True) -> int:
    """Count the weights of one attention of base.

    heads: how often each matrix of d_model x d_model is there.
    """
    return matrices * heads * (D_MODEL * D_MODEL + (D_MODEL if bias else 0))


def split(tokens: NDArray[np.int_], heads: int) -> NDArray[np.int_]:
    """Split (L, d_model) into (heads, L, d): cut the width, then bring the heads to the front."""
    return tokens.reshape(len(tokens), heads, -1).swapaxes(0, 1)


def split_at_once(tokens: NDArray[np.int_], heads: int) -> NDArray[np.int_]:
    """Split (L, d_model) into (heads, L, d) by a reshape alone, which mixes the tokens."""
    return tokens.reshape(heads, len(tokens), -1)


def split_alternating(tokens: NDArray[np.int_], heads: int) -> NDArray[np.int_]:
    """Split (L, d_model) into (heads, L, d), every other number to the same head."""
    return tokens.reshape(len(tokens), -1, heads).transpose(2, 0, 1)


def tokens_that_reach(output: int, length: int, heads: int, *, at_once: bool) -> int:
    """Count the input tokens that influence one output token of an attention without a mask.

    A head mixes all of its rows. at_once: heads are split by a reshape alone, and joined so, too.
    """
    owners = np.repeat(np.arange(length)[:, None], heads, axis=1)  # a column per part of a token
    rows = (split_at_once if at_once else split)(owners, heads)
    mixed = [set(head.flat) for head in rows if output in head]
    return len(set().union(*mixed))


EXERCISES = [
    Exercise(
        "6.1",
        question={
            "en": "How many weights and biases has one multi-head attention of base "
            "(d_model 512, 8 heads), with biases in all four projections?",
            "ko": "base(d_model 512, 헤드 8개)의 멀티 헤드 어텐션 하나에는 가중치와 편향이 모두 "
            "몇 개입니까? 네 투영 모두에 편향이 있습니다.",
        },
        answer=lambda: parameters(),
        slips=[
            Slip(
                lambda: parameters(bias=False),
                {
                    "en": "That is without the biases. The paper has none; here each of the four "
                    "projections has 512.",
                    "ko": "편향을 뺀 값입니다. 논문에는 편향이 없지만, 여기서는 네 투영에 512개씩 "
                    "있습니다.",
                },
            ),
            Slip(
                lambda: parameters(matrices=3),
                {
                    "en": "That counts W^Q, W^K and W^V. W^O is missing.",
                    "ko": "W^Q, W^K, W^V만 센 값입니다. W^O가 빠졌습니다.",
                },
            ),
            Slip(
                lambda: parameters(matrices=3, heads=HEADS) + parameters(matrices=1),
                {
                    "en": "That gives each head matrices of 512 × 512. A head's matrices are "
                    "512 × 64; the eight together are one of 512 × 512.",
                    "ko": "헤드마다 512 × 512 행렬을 둔 값입니다. 헤드 하나의 행렬은 512 × "
                    "64이고, 여덟을 합쳐야 512 × 512 하나가 됩니다.",
                },
            ),
        ],
        tolerance=0.5,
        hint={
            "en": "Four matrices of 512 × 512 and four biases of 512.",
            "ko": "512 × 512 행렬 네 개와 길이 512인 편향 네 개입니다.",
        },
    ),
    Exercise(
        "6.2",
        question={
            "en": "The numbers 1 to 12 are three tokens of width 4, row by row. Split them into "
            "two heads. Which numbers has the first head? Give three rows of two.",
            "ko": "1부터 12까지의 수를 행마다 네 개씩, 곧 4차원 토큰 세 개로 놓았습니다. 헤드 두 "
            "개로 나누면 첫째 헤드에는 어떤 수가 있습니까? 두 개씩 세 행으로 쓰세요.",
        },
        answer=lambda: split(TOKENS, 2)[0],
        slips=[
            Slip(
                lambda: split_at_once(TOKENS, 2)[0],
                {
                    "en": "That is view(B, H, L, d) at once: the head has the first token whole, "
                    "and half of the second. Use view(B, L, H, d), then transpose.",
                    "ko": "곧바로 view(B, H, L, d)를 한 결과입니다. 헤드가 첫째 토큰 전체와 둘째 "
                    "토큰의 절반을 갖습니다. view(B, L, H, d)를 한 뒤 transpose를 하세요.",
                },
            ),
            Slip(
                lambda: split(TOKENS, 2)[1],
                {"en": "That is the second head.", "ko": "둘째 헤드입니다."},
            ),
            Slip(
                lambda: split_alternating(TOKENS, 2)[0],
                {
                    "en": "That gives every other number to the head. A head has neighbouring "
                    "columns.",
                    "ko": "수를 하나씩 번갈아 나눈 결과입니다. 한 헤드의 열은 서로 이웃합니다.",
                },
            ),
        ],
        tolerance=0.01,
        hint={
            "en": "Each token gives its first two numbers to the first head.",
            "ko": "토큰마다 앞의 두 수가 첫째 헤드로 갑니다.",
        },
    ),
    Exercise(
        "6.3",
        question={
            "en": "A layer with d_model 200 and 5 heads divides its scores by √200. By which "
            "factor are the scores too small? Give two decimals.",
            "ko": "d_model이 200이고 헤드가 5개인 층이 점수를 √200으로 나눕니다. 옳은 점수는 이 "
            "점수의 몇 배입니까? 소수점 아래 두 자리까지 쓰세요.",
        },
        answer=lambda: math.sqrt(WIDE_D_MODEL) / math.sqrt(WIDE_D_MODEL / WIDE_HEADS),
        slips=[
            Slip(
                lambda: WIDE_D_MODEL / (WIDE_D_MODEL / WIDE_HEADS),
                {
                    "en": "That is 200 / 40. The scores are divided by the roots.",
                    "ko": "200 / 40입니다. 점수는 제곱근으로 나눕니다.",
                },
            ),
            Slip(
                lambda: math.sqrt(WIDE_D_MODEL / WIDE_HEADS) / math.sqrt(WIDE_D_MODEL),
                {
                    "en": "That is the wrong score divided by the right one. The question is for "
                    "the inverse.",
                    "ko": "틀린 점수를 옳은 점수로 나눈 값입니다. 그 역수를 묻고 있습니다.",
                },
            ),
            Slip(
                lambda: math.sqrt(WIDE_D_MODEL),
                {
                    "en": "That is √200 itself. Compare it with the right root, √40.",
                    "ko": "√200 자체입니다. 옳은 제곱근 √40과 견주어 보세요.",
                },
            ),
        ],
        tolerance=0.006,
        hint={
            "en": "A key of one head has 200 / 5 = 40 numbers.",
            "ko": "헤드 하나의 키는 200 / 5 = 40개의 수입니다.",
        },
    ),
    Exercise(
        "6.4",
        question={
            "en": f"Heads are split and joined by view(B, H, L, d) alone. There are {LENGTH} "
            f"tokens and {FEW_HEADS} heads. How many input tokens can influence the third output "
            f"token?",
            "ko": f"view(B, H, L, d)만으로 헤드를 나누고 합칩니다. 토큰은 {LENGTH}개, 헤드는 "
            f"{FEW_HEADS}개입니다. 셋째 출력 토큰에 영향을 줄 수 있는 입력 토큰은 몇 개입니까?",
        },
        answer=lambda: tokens_that_reach(2, LENGTH, FEW_HEADS, at_once=True),
        slips=[
            Slip(
                lambda: tokens_that_reach(2, LENGTH, FEW_HEADS, at_once=False),
                {
                    "en": "That is right for the right split, where every head has a part of every "
                    "token. Here a head has whole tokens, and few of them.",
                    "ko": "바르게 나누었을 때의 답입니다. 그때는 헤드마다 모든 토큰의 일부가 "
                    "있습니다. 여기서는 헤드 하나에 토큰 몇 개가 통째로 들어갑니다.",
                },
            ),
            Slip(
                lambda: tokens_that_reach(2, LENGTH, LENGTH, at_once=True),
                {
                    "en": "Only itself? A head of this split has more than one token.",
                    "ko": "자기 자신뿐입니까? 이렇게 나눈 헤드 하나에는 토큰이 둘 이상 있습니다.",
                },
            ),
            Slip(
                lambda: FEW_HEADS,
                {
                    "en": "That is the number of heads. Divide the tokens among them.",
                    "ko": "헤드의 개수입니다. 토큰을 헤드 수로 나누어 보세요.",
                },
            ),
        ],
        tolerance=0.1,
        hint={
            "en": "The numbers lie token after token in memory. A head gets its share in one go.",
            "ko": "메모리에는 수가 토큰 순서대로 놓여 있고, 헤드는 그중 이어진 한 구간을 "
            "가져갑니다.",
        },
    ),
]
