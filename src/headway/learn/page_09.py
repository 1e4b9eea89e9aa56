"""The exercises of page 9, training."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.learn.exercise import Exercise, Slip

Array = NDArray[np.float64]

D_MODEL, WARM_UP, STEP = 512, 4000, 100
VOCABULARY, SMOOTHING = 8, 0.1
LENGTHS = (3, 5, 2)  # tokens of three targets, without start and end symbols


def rate(step: int, d_model: int = D_MODEL, warm_up: int = WARM_UP) -> float:
    """Return the learning rate of equation 3."""
    return d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)


def smoothed_target(share_of: int = VOCABULARY - 1) -> Array:
    """Return the target of a right token, then of the others without padding.

    share_of: the number of tokens among which the smoothing is divided, the right one included.
    """
    target = np.full(VOCABULARY - 1, SMOOTHING / share_of)
    target[0] += 1 - SMOOTHING
    return target


def entropy(target: Array) -> float:
    """Return the lowest loss that a model can have with this target, in nats."""
    return float(-(target * np.log(target)).sum())


EXERCISES = [
    Exercise(
        "9.1",
        question={
            "en": f"What is the learning rate of the paper's base model (d_model = {D_MODEL}, "
            f"{WARM_UP} warm-up steps) at step {STEP}? Give three digits, such as 1.23e-5.",
            "ko": f"논문의 base 모델(d_model = {D_MODEL}, 워밍업 {WARM_UP}스텝)에서 {STEP}번째 "
            "스텝의 학습률은 얼마입니까? 1.23e-5처럼 유효숫자 세 자리로 쓰세요.",
        },
        answer=lambda: rate(STEP),
        slips=[
            Slip(
                lambda: D_MODEL**-0.5 * STEP**-0.5,
                {
                    "en": "That is d_model^−0.5 · step^−0.5, the branch after the warm-up. At step "
                    "100 the other one is smaller.",
                    "ko": "d_model^−0.5 · step^−0.5, 곧 워밍업이 끝난 뒤의 식입니다. 100번째 "
                    "스텝에서는 다른 쪽이 더 작습니다.",
                },
            ),
            Slip(
                lambda: STEP * WARM_UP**-1.5,
                {
                    "en": "The factor d_model^−0.5 is missing.",
                    "ko": "d_model^−0.5를 곱하지 않은 값입니다.",
                },
            ),
            Slip(
                lambda: rate(WARM_UP),
                {
                    "en": "That is the peak, the rate of step 4000.",
                    "ko": "꼭대기, 곧 4000번째 스텝의 학습률입니다.",
                },
            ),
            Slip(
                lambda: D_MODEL**-0.5 * STEP / WARM_UP,
                {
                    "en": "That divides by the warm-up steps. The exponent is −1.5, not −1.",
                    "ko": "워밍업 스텝 수로 나눈 값입니다. 지수는 −1이 아니라 −1.5입니다.",
                },
            ),
        ],
        tolerance=6e-8,
        hint={
            "en": f"step · warmup^−1.5 = {STEP} / {WARM_UP**1.5:,.0f}. Multiply by "
            f"{D_MODEL}^−0.5 = {D_MODEL**-0.5:.4f}.",
            "ko": f"step · warmup^−1.5 = {STEP} / {WARM_UP**1.5:,.0f}입니다. 여기에 "
            f"{D_MODEL}^−0.5 = {D_MODEL**-0.5:.4f}를 곱하세요.",
        },
    ),
    Exercise(
        "9.2",
        question={
            "en": f"The vocabulary has {VOCABULARY} tokens, one of which is padding, and ε is "
            f"{SMOOTHING}. Headway spreads ε over all tokens except padding. What is the target "
            "of the right token? Give four decimals.",
            "ko": f"어휘가 토큰 {VOCABULARY}개이고 그중 하나는 패딩이며 ε은 {SMOOTHING}입니다. "
            "Headway는 ε을 패딩을 뺀 모든 토큰에 고루 나눕니다. 정답 토큰의 목표 확률은 "
            "얼마입니까? 소수점 아래 네 자리까지 쓰세요.",
        },
        answer=lambda: smoothed_target()[0],
        slips=[
            Slip(
                lambda: 1 - SMOOTHING,
                {
                    "en": "That is 1 − ε alone. The right token gets its share of ε as well.",
                    "ko": "1 − ε뿐입니다. 정답 토큰도 ε을 나누어 받습니다.",
                },
            ),
            Slip(
                lambda: smoothed_target(VOCABULARY)[0],
                {
                    "en": "That divides ε by 8, so padding gets some of it, as in PyTorch's "
                    "label_smoothing.",
                    "ko": "ε을 8로 나눈 값입니다. PyTorch의 label_smoothing처럼 패딩도 몫을 "
                    "받습니다.",
                },
            ),
            Slip(
                lambda: smoothed_target()[1],
                {
                    "en": "That is the target of a wrong token.",
                    "ko": "정답이 아닌 토큰의 목표 확률입니다.",
                },
            ),
        ],
        tolerance=0.0003,
        hint={
            "en": "0.9, and one seventh of 0.1.",
            "ko": "0.9에 0.1의 7분의 1을 더하세요.",
        },
    ),
    Exercise(
        "9.3",
        question={
            "en": "With the target of 9.2, what is the lowest loss that a model can reach, in nats "
            "for a token? Give three decimals.",
            "ko": "9.2의 목표 확률을 쓸 때 모델이 이를 수 있는 가장 낮은 손실은 토큰당 몇 내트(nat)"
            "입니까? 소수점 아래 세 자리까지 쓰세요.",
        },
        answer=lambda: entropy(smoothed_target()),
        slips=[
            Slip(
                lambda: 0.0,
                {
                    "en": "Without smoothing it would be 0. Now a model that is certain pays for "
                    "the six other tokens, which have a target as well.",
                    "ko": "스무딩이 없다면 0입니다. 이제는 다른 여섯 토큰에도 목표 확률이 "
                    "있으므로, 하나만 확신하는 모델은 그만큼 대가를 치릅니다.",
                },
            ),
            Slip(
                lambda: -math.log(smoothed_target()[0]),
                {
                    "en": "That is −log of the right token's probability. The other six belong to "
                    "the sum.",
                    "ko": "정답 토큰 확률의 −log입니다. 나머지 여섯 토큰도 더해야 합니다.",
                },
            ),
            Slip(
                lambda: math.log(VOCABULARY - 1),
                {
                    "en": "That is the loss of a model that knows nothing: log 7.",
                    "ko": "아무것도 모르는 모델의 손실 log 7입니다.",
                },
            ),
            Slip(
                lambda: entropy(smoothed_target()) / math.log(2),
                {
                    "en": "That is in bits. Take the natural logarithm.",
                    "ko": "비트로 계산한 값입니다. 자연로그를 쓰세요.",
                },
            ),
        ],
        tolerance=0.0006,
        hint={
            "en": "The best model gives each token exactly its target: sum −target · log(target).",
            "ko": "가장 좋은 모델은 토큰마다 목표 확률을 그대로 냅니다. −목표 · log(목표)를 모두 "
            "더하세요.",
        },
    ),
    Exercise(
        "9.4",
        question={
            "en": "A batch has three targets of 3, 5 and 2 tokens, without START and END. Over how "
            "many labels is the loss a mean?",
            "ko": "배치에 있는 번역문 세 개는 시작 기호와 끝 기호를 빼고 각각 토큰 3개, 5개, "
            "2개입니다. 손실은 레이블 몇 개의 평균입니까?",
        },
        answer=lambda: sum(length + 1 for length in LENGTHS),
        slips=[
            Slip(
                lambda: sum(LENGTHS),
                {
                    "en": "The END of each row is a label, too: the model must learn to stop.",
                    "ko": "행마다 끝 기호도 레이블입니다. 멈추는 것도 배워야 하기 때문입니다.",
                },
            ),
            Slip(
                lambda: len(LENGTHS) * (max(LENGTHS) + 1),
                {
                    "en": "That counts all cells of the batch, padding among them.",
                    "ko": "패딩까지, 배치의 칸을 모두 센 값입니다.",
                },
            ),
            Slip(
                lambda: sum(length + 2 for length in LENGTHS),
                {
                    "en": "That counts START, which is an input only, never a label.",
                    "ko": "시작 기호까지 센 값입니다. 시작 기호는 입력일 뿐 레이블이 아닙니다.",
                },
            ),
            Slip(
                lambda: len(LENGTHS),
                {
                    "en": "That is the number of sentences. The mean is over tokens.",
                    "ko": "문장의 수입니다. 평균은 토큰에 대해 냅니다.",
                },
            ),
        ],
        hint={
            "en": "Each target has one label more than tokens: its END.",
            "ko": "번역문마다 레이블은 토큰보다 하나 많습니다. 끝 기호 때문입니다.",
        },
    ),
]
