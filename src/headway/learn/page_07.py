"""The exercises of page 7, around a sub-layer."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.config import presets
from headway.learn.exercise import Exercise, Slip

Array = NDArray[np.float64]

# The first of the explorer's three words: its vector, and the output of its attention.
X = np.array([1.0, 2.0, 0.0, 1.0])
ATTENDED = np.array([0.8137, 0.8791, 0.1863, 1.1209])

LAYERS = 12
BASE = presets.base()


def layer_norm(x: Array, *, unbiased: bool = False) -> Array:
    """Subtract the mean and divide by the standard deviation; unbiased: that of n - 1."""
    return (x - x.mean()) / x.std(ddof=int(unbiased))


def feed_forward_parameters(*, biases: int = 1, matrices: int = 2) -> int:
    """Count the weights and biases of one feed-forward network of base."""
    return matrices * BASE.d_model * BASE.d_ff + biases * (BASE.d_ff + BASE.d_model)


def direct_path(sub_layers: int) -> float:
    """Return the gradient on the direct path of post-norm, relative to that of the output."""
    return math.sqrt(2) ** -sub_layers


def places_of_dropout(*, embeddings: int = 2, of_decoder: int = 3) -> int:
    """Count the dropouts of base; of_decoder: those in a layer of the decoder."""
    return embeddings + 2 * BASE.num_encoder_layers + of_decoder * BASE.num_decoder_layers


EXERCISES = [
    Exercise(
        "7.1",
        question={
            "en": "A token's vector is x = [1, 2, 0, 1], and the output of its attention is "
            "[0.8137, 0.8791, 0.1863, 1.1209]. Compute the four numbers after the residual "
            "connection and LayerNorm (γ = 1, β = 0, ε = 0). Give three decimals.",
            "ko": "어떤 토큰의 벡터가 x = [1, 2, 0, 1]이고 어텐션의 출력이 "
            "[0.8137, 0.8791, 0.1863, 1.1209]입니다. 잔차 연결과 층 정규화(γ = 1, β = 0, ε = 0)를 "
            "거친 수 네 개를 소수점 아래 세 자리까지 계산하세요.",
        },
        answer=lambda: layer_norm(X + ATTENDED),
        slips=[
            Slip(
                lambda: layer_norm(X + ATTENDED, unbiased=True),
                {
                    "en": "That divides the variance by n − 1 = 3, as torch.std does. LayerNorm "
                    "divides it by n = 4.",
                    "ko": "torch.std처럼 분산을 n − 1 = 3으로 나눈 값입니다. 층 정규화는 n = 4로 "
                    "나눕니다.",
                },
            ),
            Slip(
                lambda: layer_norm(ATTENDED),
                {
                    "en": "That is LayerNorm of the attention's output alone. Add x first: this is "
                    "the residual connection.",
                    "ko": "어텐션의 출력만 정규화한 값입니다. 먼저 x를 더하세요. 그것이 잔차 "
                    "연결입니다.",
                },
            ),
            Slip(
                lambda: X + ATTENDED,
                {
                    "en": "That is the sum x + Sublayer(x). LayerNorm comes after it.",
                    "ko": "합 x + Sublayer(x)입니다. 그다음에 층 정규화를 적용해야 합니다.",
                },
            ),
            Slip(
                lambda: X + layer_norm(ATTENDED),
                {
                    "en": "That normalizes before the addition. The paper does it after: "
                    "LayerNorm(x + Sublayer(x)).",
                    "ko": "더하기 전에 정규화한 값입니다. 논문은 더한 뒤에 정규화합니다. "
                    "LayerNorm(x + Sublayer(x))입니다.",
                },
            ),
            Slip(
                lambda: (X + ATTENDED - (X + ATTENDED).mean()) / (X + ATTENDED).var(),
                {
                    "en": "That is divided by the variance. Divide by its square root.",
                    "ko": "분산으로 나눈 값입니다. 분산의 제곱근으로 나누세요.",
                },
            ),
            Slip(
                lambda: X + ATTENDED - (X + ATTENDED).mean(),
                {
                    "en": "The mean is subtracted. Now divide by the standard deviation.",
                    "ko": "평균만 뺀 값입니다. 이제 표준편차로 나누세요.",
                },
            ),
        ],
        tolerance=0.0006,
        hint={
            "en": "Add, subtract the mean of the four numbers, and divide by the square root of "
            "the mean of the four squares.",
            "ko": "더하고, 네 수의 평균을 뺀 뒤, 제곱 네 개의 평균의 제곱근으로 나누세요.",
        },
    ),
    Exercise(
        "7.2",
        question={
            "en": "How many weights and biases has one feed-forward network of base "
            "(d_model 512, d_ff 2048)?",
            "ko": "base(d_model 512, d_ff 2048)의 피드포워드 신경망 하나에는 가중치와 편향이 모두 "
            "몇 개입니까?",
        },
        answer=lambda: feed_forward_parameters(),
        slips=[
            Slip(
                lambda: feed_forward_parameters(biases=0),
                {
                    "en": "Those are both matrices without their biases, b_1 and b_2.",
                    "ko": "편향 b_1과 b_2를 빼고 두 행렬만 센 수입니다.",
                },
            ),
            Slip(
                lambda: feed_forward_parameters(matrices=1, biases=0),
                {
                    "en": "That is W_1 alone. W_2 has as many weights.",
                    "ko": "W_1만 센 수입니다. W_2의 가중치도 그만큼 있습니다.",
                },
            ),
            Slip(
                lambda: feed_forward_parameters(biases=0) + 2 * BASE.d_ff,
                {
                    "en": "Both biases have 2048 numbers there. b_2 is added to the output, which "
                    "has 512.",
                    "ko": "두 편향을 모두 2048개로 센 수입니다. b_2는 512차원인 출력에 더합니다.",
                },
            ),
            Slip(
                lambda: feed_forward_parameters(biases=0) + 2 * BASE.d_model,
                {
                    "en": "Both biases have 512 numbers there. b_1 is added to the hidden layer, "
                    "which has 2048.",
                    "ko": "두 편향을 모두 512개로 센 수입니다. b_1은 2048차원인 은닉층에 더합니다.",
                },
            ),
        ],
        hint={
            "en": "W_1 is 512 × 2048 and W_2 is 2048 × 512. Each has a bias of the size of its "
            "result.",
            "ko": "W_1은 512 × 2048, W_2는 2048 × 512입니다. 편향의 크기는 각 결과의 차원과 "
            "같습니다.",
        },
    ),
    Exercise(
        "7.3",
        question={
            "en": f"A post-norm encoder has {LAYERS} layers. Suppose that each sub-layer's output "
            "is as large as its input and independent of it. By which factor does the gradient "
            "shrink on the direct path from the output to the input?",
            "ko": f"post-norm 인코더에 층이 {LAYERS}개 있습니다. 서브층마다 출력이 입력과 크기가 "
            "같고 서로 독립이라고 가정합니다. 기울기는 출력에서 입력까지 직접 경로를 지나며 몇 "
            "배가 "
            "됩니까?",
        },
        answer=lambda: direct_path(2 * LAYERS),
        slips=[
            Slip(
                lambda: direct_path(LAYERS),
                {
                    "en": "That is one LayerNorm in each layer. An encoder layer has two "
                    "sub-layers.",
                    "ko": "층마다 층 정규화를 한 번만 센 값입니다. 인코더 층에는 서브층이 둘 "
                    "있습니다.",
                },
            ),
            Slip(
                lambda: direct_path(4 * LAYERS),
                {
                    "en": "That divides by 2 at each sub-layer. The variance doubles, so LayerNorm "
                    "divides by √2.",
                    "ko": "서브층마다 2로 나눈 값입니다. 분산이 두 배가 되므로 층 정규화는 √2로 "
                    "나눕니다.",
                },
            ),
            Slip(
                lambda: direct_path(0),
                {
                    "en": "That holds for pre-norm, up to its last LayerNorm. In post-norm "
                    "LayerNorm lies on the direct path.",
                    "ko": "마지막 층 정규화를 빼면 pre-norm에서 맞는 값입니다. post-norm에서는 "
                    "직접 "
                    "경로 위에 층 정규화가 있습니다.",
                },
            ),
            Slip(
                lambda: 1 / direct_path(2 * LAYERS),
                {
                    "en": "That is the inverse: the gradient becomes smaller.",
                    "ko": "거꾸로 계산한 값입니다. 기울기는 작아집니다.",
                },
            ),
        ],
        tolerance=0.000002,
        hint={
            "en": f"There are {2 * LAYERS} sub-layers, and the LayerNorm of each divides by √2.",
            "ko": f"서브층은 {2 * LAYERS}개이고, 그때마다 층 정규화가 √2로 나눕니다.",
        },
    ),
    Exercise(
        "7.4",
        question={
            "en": "At how many places does base have a dropout? It has 6 encoder layers and 6 "
            "decoder layers. Count the embeddings of both sides, too.",
            "ko": "base에는 드롭아웃이 모두 몇 군데 있습니까? 인코더 층이 6개, 디코더 층이 "
            "6개입니다. "
            "양쪽 임베딩도 세세요.",
        },
        answer=lambda: places_of_dropout(),
        slips=[
            Slip(
                lambda: places_of_dropout(embeddings=0),
                {
                    "en": "Those are the sub-layers. Embedding plus position has one on each side, "
                    "too.",
                    "ko": "서브층만 센 수입니다. 양쪽의 임베딩과 위치 인코딩의 합에도 하나씩 "
                    "있습니다.",
                },
            ),
            Slip(
                lambda: places_of_dropout(of_decoder=2),
                {
                    "en": "That is two for each decoder layer. It has three sub-layers: one "
                    "published decoder leaves one out.",
                    "ko": "디코더 층마다 둘씩 센 수입니다. 디코더 층의 서브층은 셋입니다. 하나를 "
                    "빠뜨린 공개 코드도 있습니다.",
                },
            ),
            Slip(
                lambda: places_of_dropout(embeddings=1),
                {
                    "en": "One embedding is missing: the source and the target have one each.",
                    "ko": "임베딩 하나가 빠졌습니다. 원문과 번역문에 하나씩 있습니다.",
                },
            ),
            Slip(
                lambda: places_of_dropout(of_decoder=2, embeddings=0),
                {
                    "en": "That is two for each layer. A decoder layer has three sub-layers, and "
                    "the embeddings have a dropout, too.",
                    "ko": "층마다 둘씩 센 수입니다. 디코더 층의 서브층은 셋이고, 임베딩에도 "
                    "드롭아웃이 있습니다.",
                },
            ),
        ],
        hint={
            "en": "One for each sub-layer, two or three of them in a layer, and one for each "
            "embedding.",
            "ko": "층마다 둘 또는 셋인 서브층에 하나씩, 그리고 임베딩에 하나씩 있습니다.",
        },
    ),
]
