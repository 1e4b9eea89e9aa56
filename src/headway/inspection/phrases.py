"""The words of an explanation, in English and Korean; the numbers come from the trace."""

import re
from typing import Literal, get_args

from headway.errors import ConfigError

Language = Literal["en", "ko"]

# Korean particles have one form after a consonant and another after a vowel.
_FORMS = {"을(를)": "을를", "은(는)": "은는", "이(가)": "이가", "(으)로": ("으로", "로")}
_BEHIND = re.compile(r"([가-힣0-9%])([”’»\"')\]]*)(을\(를\)|은\(는\)|이\(가\)|\(으\)로)")
_DIGITS = "영일이삼사오육칠팔구"
_RIEUL = 8  # the final consonant that 로 follows as it follows a vowel

PHRASES: dict[str, tuple[str, str]] = {
    "activation": (
        "the activation {kind} of the inner layer",
        "안쪽 층에 활성화 함수 {kind}를 적용한 값",
    ),
    "changed": (
        "The piece «{piece}» of step {step} changes most: its probability goes from {before} to "
        "{after}.",
        "가장 많이 달라진 것은 {step}단계의 조각 «{piece}»입니다. 확률 {before} → {after}.",
    ),
    "changed_best": (
        " The most probable piece there is now «{best}», with {share}.",
        " 이제 그 자리에서 가장 확률이 높은 조각은 «{best}»({share})입니다.",
    ),
    "column_of_concat": (
        "number {column} of concat is number {number} of head {head}",
        "concat의 {column}번 수는 {head}번 헤드의 {number}번 수",
    ),
    "column_of_projected": (
        "number {number} of head {head} is number {column} of {projected}",
        "{head}번 헤드의 {number}번 수는 {projected}의 {column}번 수",
    ),
    "contribution": (
        "what head {head} gathered for {asks}, times its own rows of W^O",
        "{head}번 헤드가 {asks}에 모아 준 값과 W^O에서 그 헤드의 행들을 곱해 더한 값",
    ),
    "denominator": (
        "the sum of the exponentials of all scores of the row, each less the largest",
        "행의 모든 점수에서 가장 큰 점수를 빼고 지수 함수를 적용해 더한 값",
    ),
    "edited": (
        "set by the edit {edit}; the equation does not hold here",
        "편집 {edit}(으)로 정해진 값이라 수식을 따르지 않음",
    ),
    "embedding": (
        "number {column} of the vector of the piece {place}",
        "조각 {place}의 벡터에서 {column}번 수",
    ),
    "embedding_scaled": (
        "number {column} of the vector of the piece {place}, times the root of d_model",
        "조각 {place}의 벡터에서 {column}번 수에 d_model의 제곱근을 곱한 값",
    ),
    "empty_row": (
        "{asks} may look at nothing, so that all its weights are 0",
        "{asks}에게는 볼 수 있는 곳이 없어 가중치가 모두 0",
    ),
    "forbidden": (
        "the mask forbids {asks} to look at {answers}",
        "마스크 때문에 {asks}에서 {answers}을(를) 볼 수 없음",
    ),
    "forbidden_weight": (
        "the mask forbids {asks} to look at {answers}, and the exponential of minus infinity is 0",
        "마스크 때문에 {asks}에서 {answers}을(를) 볼 수 없고, 음의 무한대의 지수 함수는 0",
    ),
    "gathered": (
        "the weights of {asks} in head {head}, each times number {number} of its value, summed",
        "{head}번 헤드에서 {asks}의 가중치와 값의 {number}번 수를 각각 곱해 더한 값",
    ),
    "largest": ("the largest of the row", "행에서 가장 큰 값"),
    "linear": (
        "{x} at {place}, times column {column} of {weight}, summed",
        "{place}에서 {x}에 {weight}의 {column}번 열을 곱해 더한 값",
    ),
    "linear_bias": (
        "{x} at {place}, times column {column} of {weight}, summed, and the bias",
        "{place}에서 {x}에 {weight}의 {column}번 열을 곱해 더하고 편향을 더한 값",
    ),
    "log_probability": (
        "the logit less the largest, less the logarithm of the sum",
        "로짓에서 가장 큰 값을 빼고, 합의 로그를 뺀 값",
    ),
    "may_look": (
        "there is a piece, and no padding or later row, so it may be looked at",
        "패딩도 아니고 뒤의 행도 아닌 조각이 있으므로 볼 수 있음",
    ),
    "may_not_look": (
        "there is padding or a later row, so it may not be looked at",
        "패딩이거나 뒤의 행이므로 볼 수 없음",
    ),
    "mean": ("the mean of the {count} numbers", "{count}개 수의 평균"),
    "normalized": (
        "the number less the mean, divided by the root of variance and epsilon; times gamma, plus "
        "beta",
        "수에서 평균을 빼고, 분산에 엡실론을 더한 값의 제곱근으로 나누고, 감마를 곱하고 베타를 "
        "더한 값",
    ),
    "not_masked": (
        "the mask lets {asks} look at {answers}: the score stays",
        "마스크가 {asks}에서 {answers}을(를) 볼 수 있게 하므로 점수 그대로",
    ),
    "piece_and_position": ("the piece and its position, added", "조각과 위치를 더한 값"),
    "position": (
        "number {column} of the encoding of position {place}",
        "위치 {place}의 인코딩에서 {column}번 수",
    ),
    "place": ("position {place}", "위치 {place}"),
    "rest": (
        " (the {shown} largest of {count} terms, and as the last number the sum of the others)",
        " ({count}개 항 가운데 큰 것 {shown}개, 마지막 수는 나머지의 합)",
    ),
    "residual": (
        "the way around the sub-layer and its output, added",
        "서브레이어를 돌아온 값과 서브레이어의 출력을 더한 값",
    ),
    "same": ("the same number as in {other}", "{other}의 값과 같은 수"),
    "score": (
        "the query of {asks} times the key of {answers}, summed over d_k = {d_k} numbers, divided "
        "by the root of d_k",
        "{asks}의 쿼리와 {answers}의 키를 d_k = {d_k}개 수끼리 곱해 더하고, d_k의 제곱근으로 나눈 "
        "값",
    ),
    "share": (
        "its own exponential, divided by the sum",
        "자신의 지수 함수 값을 합으로 나눈 값",
    ),
    "unchanged": (
        "Every row gives what it writes the very same probability as before.",
        "모든 행에서 쓸 조각의 확률이 전과 똑같습니다.",
    ),
    "variance": (
        "the mean of the squared distances from the mean",
        "평균과의 차이를 제곱해 평균한 값",
    ),
}


def check_language(language: str) -> None:
    """Raise ConfigError for a language without phrases."""
    if language not in get_args(Language):
        raise ConfigError(f"There is no language '{language}'.", "Choose en or ko.")


def say(phrase: str, language: Language, **fields: object) -> str:
    """Return a phrase with its fields filled in."""
    filled = PHRASES[phrase][get_args(Language).index(language)].format(**fields)
    return with_particles(filled) if language == "ko" else filled


def with_particles(text: str) -> str:
    """Choose the form of each particle that follows Hangul, a digit or a per cent sign.

    After other letters both forms stay, because their sound is not known.
    """
    return _BEHIND.sub(_chosen, text)


def _chosen(match: re.Match[str]) -> str:
    last, closing, particle = match.groups()
    syllable = "트" if last == "%" else _DIGITS[int(last)] if last.isdigit() else last
    final = (ord(syllable) - ord("가")) % 28
    is_open = final == 0 or (particle == "(으)로" and final == _RIEUL)
    return last + closing + _FORMS[particle][is_open]
