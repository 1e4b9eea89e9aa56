"""The words of an explanation, in English and Korean; the numbers come from the trace."""

from typing import Literal, get_args

from headway.errors import ConfigError

Language = Literal["en", "ko"]

# No Korean particle follows a field if its form depends on the sound before it: the sound of a
# token is unknown.
PHRASES: dict[str, tuple[str, str]] = {
    "activation": (
        "the activation {kind} of the inner layer",
        "은닉층에 활성화 함수 {kind} 적용",
    ),
    "activation_of_cell": (
        "the activation relu of the cell",
        "셀에 활성화 함수 relu 적용",
    ),
    "cell": (
        "the kept part of the cell before, and the new part of the candidate, added",
        "앞 위치의 셀에서 유지한 몫에 새 내용의 몫을 더한 값",
    ),
    "changed": (
        "The token «{piece}» of step {step} changes most: its probability goes from {before} to "
        "{after}.",
        "가장 많이 달라진 것은 {step}번째 스텝의 토큰 «{piece}»입니다. 확률 {before} → {after}.",
    ),
    "changed_best": (
        " The most probable token there is now «{best}», with {share}.",
        " 이제 그 자리에서 확률이 가장 높은 토큰은 «{best}»({share})입니다.",
    ),
    "column_of_concat": (
        "number {column} of concat is number {number} of head {head}",
        "concat의 {column}번 성분은 헤드 {head}의 {number}번 성분",
    ),
    "column_of_projected": (
        "number {number} of head {head} is number {column} of {projected}",
        "헤드 {head}의 {number}번 성분은 {projected}의 {column}번 성분",
    ),
    "contribution": (
        "the output of head {head} for {asks}, times that head's rows of W^O",
        "{asks}에서 헤드 {head}의 출력에 W^O의 그 헤드 행들을 곱해 더한 값",
    ),
    "denominator": (
        "the sum of the exponentials of all scores of the row, each minus the largest",
        "행의 모든 점수에서 가장 큰 점수를 빼고 지수 함수를 적용해 더한 값",
    ),
    "edited": (
        "set by the edit {edit}; the equation does not hold here",
        "편집으로 정한 값이라 수식을 따르지 않음: {edit}",
    ),
    "embedding": (
        "number {column} of the embedding of the token {place}",
        "토큰 {place}의 임베딩에서 {column}번 성분",
    ),
    "embedding_scaled": (
        "number {column} of the embedding of the token {place}, times the root of d_model",
        "토큰 {place}의 임베딩에서 {column}번 성분에 d_model의 제곱근을 곱한 값",
    ),
    "empty_row": (
        "{asks} may attend to nothing, so all its weights are 0",
        "{asks}에서 볼 수 있는 위치가 없어 가중치가 모두 0",
    ),
    "forbidden": (
        "the mask forbids {asks} to attend to {answers}",
        "마스크로 가려짐: 쿼리 {asks}, 키 {answers}",
    ),
    "forbidden_weight": (
        "the mask forbids {asks} to attend to {answers}; the exponential of minus infinity is 0",
        "마스크로 가려짐: 쿼리 {asks}, 키 {answers}. 음의 무한대의 지수 함수 값은 0",
    ),
    "gathered": (
        "the weights of {asks} in head {head}, each times number {number} of its value, summed",
        "헤드 {head}에서 {asks}의 가중치와 값 벡터의 {number}번 성분을 각각 곱해 더한 값",
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
        "the logit minus the largest, minus the logarithm of the sum",
        "로짓에서 가장 큰 값을 빼고, 합의 로그를 뺀 값",
    ),
    "may_look": (
        "there is a token, and no padding or later row, so queries may attend to it",
        "패딩도 뒤의 행도 아닌 토큰이므로 볼 수 있음",
    ),
    "may_not_look": (
        "there is padding or a later row, so queries may not attend to it",
        "패딩이거나 뒤의 행이므로 볼 수 없음",
    ),
    "mean": ("the mean of the {count} numbers", "숫자 {count}개의 평균"),
    "normalized": (
        "the number minus the mean, divided by the root of variance plus epsilon; times gamma, "
        "plus beta",
        "평균을 빼고, 분산에 ε을 더한 값의 제곱근으로 나누고, 스케일 γ를 곱하고 시프트 β를 더한 값",
    ),
    "not_masked": (
        "the mask lets {asks} attend to {answers}: the score stays",
        "가려지지 않았으므로 점수 그대로: 쿼리 {asks}, 키 {answers}",
    ),
    "piece_and_position": (
        "the token embedding and the positional encoding, added",
        "토큰 임베딩과 위치 인코딩을 더한 값",
    ),
    "position": (
        "number {column} of the encoding of position {place}",
        "위치 {place}의 인코딩에서 {column}번 성분",
    ),
    "place": ("position {place}", "위치 {place}"),
    "rest": (
        " (the {shown} largest of {count} terms, and as the last number the sum of the others)",
        " ({count}개 항 가운데 큰 것 {shown}개, 마지막 수는 나머지의 합)",
    ),
    "residual": (
        "the residual connection: the input of the sub-layer, added to its output",
        "잔차 연결: 서브층을 거치지 않은 입력을 출력에 더한 값",
    ),
    "same": ("the same number as in {other}", "{other}의 값과 같은 수"),
    "score": (
        "the query of {asks} times the key of {answers}, summed over d_k = {d_k} numbers, divided "
        "by the root of d_k",
        "{asks}의 쿼리와 {answers}의 키를 내적하여(d_k = {d_k}) d_k의 제곱근으로 나눈 값",
    ),
    "share": (
        "its exponential divided by the sum",
        "지수 함수 값을 합으로 나눈 값",
    ),
    "sigmoid": ("the sigmoid of it", "이 값에 시그모이드 함수 적용"),
    "unchanged": (
        "Every row gives its token exactly the same probability as before.",
        "모든 행에서 출력 토큰의 확률이 전과 똑같습니다.",
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
    return PHRASES[phrase][get_args(Language).index(language)].format(**fields)
