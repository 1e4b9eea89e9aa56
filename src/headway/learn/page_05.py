"""The exercises of page 5, masks."""

import numpy as np
from numpy.typing import NDArray

from headway.learn.exercise import Exercise, Slip

# <s> I am a <pad>, as the decoder reads it; 0 is padding.
TARGET = np.array([2, 45, 46, 26, 0])
# A source of five tokens and two of padding, which a target of six tokens reads.
SOURCE = np.array([61, 17, 40, 9, 3, 0, 0])
TARGET_LENGTH = 6
SCORES = np.array([1.0, 2.0, 3.0])


def target_mask() -> NDArray[np.bool_]:
    """Return the decoder's mask of TARGET, (T, T); True = may attend."""
    length = len(TARGET)
    return np.tril(np.ones((length, length), dtype=bool)) & (TARGET != 0)


def open_cells() -> int:
    """Count the open cells of the decoder's mask."""
    return int(target_mask().sum())


def open_cells_without_padding_mask() -> int:
    """Count the open cells of the look-ahead mask alone."""
    return len(TARGET) * (len(TARGET) + 1) // 2


def open_cells_without_look_ahead() -> int:
    """Count the open cells of the padding mask alone."""
    return len(TARGET) * int((TARGET != 0).sum())


def open_cells_without_padded_row() -> int:
    """Count the open cells if the row of the padding is closed, too."""
    return int(target_mask()[TARGET != 0].sum())


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of one row of scores."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def open_cells_of_cross_attention() -> int:
    """Count the open cells of a mask of the source's padding, for each query of the target."""
    return TARGET_LENGTH * int((SOURCE != 0).sum())


EXERCISES = [
    Exercise(
        "5.1",
        question={
            "en": "The decoder reads <s> I am a <pad>. How many of the 25 cells of its mask are "
            "open, with both conditions of this page?",
            "ko": "디코더가 <s> I am a <pad>를 읽습니다. 이 페이지의 두 조건을 모두 적용하면, "
            "마스크의 칸 25개 가운데 몇 개가 열려 있습니까?",
        },
        answer=open_cells,
        slips=[
            Slip(
                open_cells_without_padding_mask,
                {
                    "en": "That is the look-ahead mask alone. The column of <pad> is closed, too.",
                    "ko": "룩어헤드 마스크만 적용한 값입니다. <pad>의 열도 닫혀 있습니다.",
                },
            ),
            Slip(
                open_cells_without_look_ahead,
                {
                    "en": "That is the padding mask alone. The future is closed, too.",
                    "ko": "패딩 마스크만 적용한 값입니다. 뒤에 올 토큰도 가려야 합니다.",
                },
            ),
            Slip(
                open_cells_without_padded_row,
                {
                    "en": "That closes the row of <pad> as well. A mask is about keys: the row of "
                    "<pad> stays open, and its result is not used.",
                    "ko": "<pad>의 행까지 닫은 값입니다. 마스크는 키에 대한 것이므로 <pad>의 행은 "
                    "열어 두고, 그 결과를 쓰지 않을 뿐입니다.",
                },
            ),
        ],
        tolerance=0.01,
        hint={
            "en": "Count row by row: the row of <s> has one open cell.",
            "ko": "행마다 세어 보세요. <s>의 행에서 열린 칸은 하나입니다.",
        },
    ),
    Exercise(
        "5.2",
        question={
            "en": "A row has the scores 1, 2, 3, and no key is permitted. The code fills all three "
            "with −10000, then takes the softmax. Which weights come out? Give three decimals.",
            "ko": "어떤 행의 점수는 1, 2, 3이고, 허용된 키가 하나도 없습니다. 코드가 세 점수를 "
            "모두 −10000으로 바꾼 뒤 소프트맥스를 적용하면 가중치는 얼마입니까? 소수점 아래 세 "
            "자리까지 쓰세요.",
        },
        answer=lambda: softmax(np.full(3, -1e4)),
        slips=[
            Slip(
                lambda: np.zeros(3),
                {
                    "en": "Zeros would be right, and Headway gives them. But a softmax always "
                    "shares out 1, and −10000 is an ordinary number.",
                    "ko": "0이 되어야 옳고 Headway는 0을 줍니다. 그러나 소프트맥스는 언제나 1을 "
                    "나누어 주며, −10000은 평범한 수입니다.",
                },
            ),
            Slip(
                lambda: softmax(SCORES - 1e4),
                {
                    "en": "That is right for code that adds −10000: the scores' differences stay, "
                    "as if there were no mask. This code fills.",
                    "ko": "−10000을 더하는 코드라면 맞습니다. 점수의 차이가 그대로 남아 마스크가 "
                    "없는 것과 같습니다. 여기서는 값을 바꿔 넣습니다.",
                },
            ),
        ],
        hint={
            "en": "All three scores are now equal.",
            "ko": "이제 세 점수가 모두 같습니다.",
        },
    ),
    Exercise(
        "5.3",
        question={
            "en": "The source has five tokens and two of padding, the target six tokens without "
            "padding. How many of the 6 × 7 cells are open in cross-attention?",
            "ko": "원문은 토큰 다섯 개와 패딩 두 개, 번역문은 패딩 없이 토큰 여섯 개입니다. "
            "크로스 어텐션의 6 × 7칸 가운데 몇 개가 열려 있습니까?",
        },
        answer=open_cells_of_cross_attention,
        slips=[
            Slip(
                lambda: TARGET_LENGTH * len(SOURCE),
                {
                    "en": "That leaves the padding open. Its two columns are closed.",
                    "ko": "패딩을 가리지 않은 값입니다. 패딩의 두 열은 닫혀 있습니다.",
                },
            ),
            Slip(
                lambda: int((np.tri(TARGET_LENGTH, len(SOURCE), dtype=bool) & (SOURCE != 0)).sum()),
                {
                    "en": "That hides a future, but the source has none: it is complete before the "
                    "decoder begins.",
                    "ko": "뒤에 올 토큰을 가린 값입니다. 원문은 디코더가 시작하기 전에 이미 "
                    "완성되어 있으므로 가릴 미래가 없습니다.",
                },
            ),
            Slip(
                lambda: TARGET_LENGTH * (TARGET_LENGTH + 1) // 2,
                {
                    "en": "That is the mask of the decoder's self-attention. In cross-attention "
                    "the keys come from the source.",
                    "ko": "디코더 셀프 어텐션의 마스크입니다. 크로스 어텐션의 키는 원문에서 "
                    "옵니다.",
                },
            ),
        ],
        tolerance=0.01,
        hint={
            "en": "Each query of the target may use each real token of the source.",
            "ko": "번역문의 모든 쿼리는 원문의 실제 토큰을 모두 쓸 수 있습니다.",
        },
    ),
]
