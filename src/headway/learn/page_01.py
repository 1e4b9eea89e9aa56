"""Exercises of page 1, Why attention (sections 1, 2 and 4, Table 1)."""

from headway.config import presets
from headway.learn.exercise import Exercise, Slip
from headway.model.accounting import MultiplyAdds, multiply_adds

_LENGTH, _WIDTH = 70, 512
_REACH, _KERNEL = 81, 3


def _self_attention() -> int:
    return _LENGTH**2 * _WIDTH


def _recurrent() -> int:
    return _LENGTH * _WIDTH**2


def _stacked_layers() -> int:
    """Return how many layers reach 81 tokens if each adds two to what the last one sees."""
    layers, seen = 0, 1
    while seen < _REACH:
        layers, seen = layers + 1, seen + _KERNEL - 1
    return layers


def _dilated_layers() -> int:
    """Return how many layers reach 81 tokens if each sees three times as many as the last one."""
    layers, seen = 0, 1
    while seen < _REACH:
        layers, seen = layers + 1, seen * _KERNEL
    return layers


def _costs() -> MultiplyAdds:
    return multiply_adds(presets.base(), _LENGTH, _LENGTH)


EXERCISES = [
    Exercise(
        "1.1",
        question={
            "en": "A sentence has n = 70 tokens, a layer has d = 512. By Table 1, a recurrent "
            "layer needs how many times as many operations as a self-attention layer?",
            "ko": "문장의 길이는 n = 70, 층의 차원은 d = 512입니다. 표 1에 따르면 순환 층의 "
            "연산량은 셀프 어텐션 층의 몇 배입니까?",
        },
        answer=lambda: _recurrent() / _self_attention(),
        slips=[
            Slip(
                lambda: _self_attention() / _recurrent(),
                {
                    "en": "That is the inverse: the share of self-attention in the recurrent cost.",
                    "ko": "거꾸로 나누었습니다. 그 값은 순환 층에 대한 셀프 어텐션 층의 "
                    "비율입니다.",
                },
            ),
            Slip(
                lambda: (_WIDTH / _LENGTH) ** 2,
                {
                    "en": "You squared the ratio. n²·d and n·d² differ in one factor n and one d.",
                    "ko": "비율을 제곱했습니다. n²·d와 n·d²은 n 하나와 d 하나만 다릅니다.",
                },
            ),
        ],
        hint={
            "en": "Divide n·d² by n²·d.",
            "ko": "n·d²을 n²·d로 나누어 보세요.",
        },
    ),
    Exercise(
        "1.2",
        question={
            "en": "Convolutions of width k = 3 are stacked. After how many layers does one "
            "position depend on all of n = 81 tokens? Give two numbers: without gaps, and "
            "dilated, where each layer sees three times as many tokens as the one below.",
            "ko": "너비 k = 3인 합성곱을 쌓습니다. 한 위치가 n = 81개 토큰 모두에 의존하려면 몇 "
            "층이 필요합니까? 두 수를 쓰세요. 첫째는 간격이 없는 합성곱, 둘째는 층마다 아래층의 "
            "세 배를 보는 팽창 합성곱(dilated convolution)입니다.",
        },
        answer=lambda: [_stacked_layers(), _dilated_layers()],
        slips=[
            Slip(
                lambda: [_REACH // _KERNEL, _dilated_layers()],
                {
                    "en": "The first is n / k. Each further layer adds only k − 1 tokens: its "
                    "windows overlap.",
                    "ko": "첫째 수는 n / k입니다. 창이 서로 겹치므로 층이 하나 늘 때마다 k − 1개만 "
                    "늘어납니다.",
                },
            ),
            Slip(
                lambda: [_dilated_layers(), _stacked_layers()],
                {
                    "en": "Both numbers are right, in the wrong order.",
                    "ko": "두 수는 맞지만 순서가 바뀌었습니다.",
                },
            ),
        ],
        hint={
            "en": "One layer sees 3 tokens. Two layers without gaps see 5; two dilated ones see 9.",
            "ko": "한 층은 토큰 3개를 봅니다. 간격이 없으면 두 층은 5개, 팽창 합성곱이면 9개를 "
            "봅니다.",
        },
    ),
    Exercise(
        "1.3",
        question={
            "en": "In the base model with 70 tokens on both sides, which share of all "
            "multiply-adds is QKᵀ and weights times V? Use `multiply_adds(presets.base(), 70, "
            "70)`.",
            "ko": "base 모델에서 양쪽 길이가 70일 때, 전체 곱셈-덧셈 가운데 QKᵀ와 가중치·V가 "
            "차지하는 비율은 얼마입니까? `multiply_adds(presets.base(), 70, 70)`을 쓰세요.",
        },
        answer=lambda: _costs().attention / _costs().total,
        slips=[
            Slip(
                lambda: (_costs().attention + _costs().projections) / _costs().total,
                {
                    "en": "That includes the projections W^Q, W^K, W^V and W^O, which cost "
                    "O(n·d²).",
                    "ko": "그 값에는 비용이 O(n·d²)인 W^Q, W^K, W^V, W^O도 들어 있습니다.",
                },
            ),
            Slip(
                lambda: _costs().attention / (_costs().total - _costs().output),
                {
                    "en": "That leaves out the logits, which are part of the total.",
                    "ko": "로짓 계산이 빠졌습니다. 이것도 전체에 들어갑니다.",
                },
            ),
        ],
        tolerance=0.0005,
        hint={
            "en": "Divide the field `attention` by `total`.",
            "ko": "`attention` 필드를 `total`로 나누어 보세요.",
        },
    ),
]
