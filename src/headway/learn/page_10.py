"""The exercises of page 10, translating and judging."""

import math
from collections import Counter
from collections.abc import Sequence

from headway.decoding.options import length_penalty
from headway.inspection.ablation import head_importance
from headway.inspection.translator import Translator
from headway.learn.exercise import Exercise, Slip

TOTAL, LENGTH, ALPHA = -0.480, 8, 0.6

# The two-step table of the page: first tokens, and the best token after each.
FIRST = {"The": 0.5, "A": 0.4}
SECOND = {"The": 0.4, "A": 0.9}

OUTPUT = ["yes", ",", "I", "am", "a", "student", "."]
REFERENCE = ["yes", ",", "I", "am", "a", "good", "student", "."]

SOURCE, TARGET, WORD = "저는 학생입니다.", "I am a student.", "▁student"
_CROSS = "decoder.cross_attention"


def precision(n: int) -> float:
    """Return the share of the output's n-grams that the reference has."""
    output, reference = (
        Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
        for tokens in (OUTPUT, REFERENCE)
    )
    return (output & reference).total() / output.total()


def brevity_penalty() -> float:
    """Return BLEU's factor for an output that is too short."""
    return min(1.0, math.exp(1 - len(REFERENCE) / len(OUTPUT)))


def geometric_mean(numbers: Sequence[float]) -> float:
    """Return the n-th root of the product of n numbers."""
    return math.prod(numbers) ** (1 / len(numbers))


PRECISIONS = [precision(n) for n in (1, 2, 3, 4)]


def needed_head(translator: Translator) -> list[int]:
    """Return layer and head of cross-attention whose absence costs the word most."""
    place = _row(translator)
    rises = head_importance(translator, [SOURCE], [TARGET], place=place).rises[_CROSS]
    return list(divmod(int(rises.argmax()), rises.size(1)))


def sharpest_head(translator: Translator) -> list[int]:
    """Return layer and head of cross-attention with the largest weight in the word's row."""
    trace = translator.trace(SOURCE, TARGET)
    row = _row(translator)
    largest = [
        trace[f"decoder.layers.{layer}.cross_attention.weights"][:, row].amax(-1)
        for layer in range(len(translator.bundle.model.decoder.layers))
    ]
    layer = max(range(len(largest)), key=lambda layer: float(largest[layer].max()))
    return [layer, int(largest[layer].argmax())]


def _row(translator: Translator) -> int:
    tokenizer = translator.bundle.target_tokenizer
    return tokenizer.pieces(tokenizer.encode(TARGET)).index(WORD)


EXERCISES = [
    Exercise(
        "10.1",
        question={
            "en": f"A finished hypothesis has {LENGTH} tokens, END included, and its "
            f"log-probabilities sum to {TOTAL:.3f}. What is its score with the length penalty of "
            f"α = {ALPHA}? Give three decimals.",
            "ko": f"끝난 가설의 토큰이 끝 기호까지 {LENGTH}개이고 로그 확률의 합이 "
            f"{TOTAL:.3f}입니다. α = {ALPHA}인 길이 페널티를 적용하면 점수는 얼마입니까? "
            "소수점 아래 세 자리까지 쓰세요.",
        },
        answer=lambda: TOTAL / length_penalty(LENGTH, ALPHA),
        slips=[
            Slip(
                lambda: TOTAL * length_penalty(LENGTH, ALPHA),
                {
                    "en": "That multiplies by the penalty. The sum is divided by it.",
                    "ko": "페널티를 곱한 값입니다. 합을 페널티로 나누세요.",
                },
            ),
            Slip(
                lambda: TOTAL / LENGTH,
                {
                    "en": "That is the mean of a token. The penalty is ((5 + n) / 6)^α.",
                    "ko": "토큰당 평균입니다. 페널티는 ((5 + n) / 6)^α입니다.",
                },
            ),
            Slip(
                lambda: TOTAL / length_penalty(LENGTH - 1, ALPHA),
                {
                    "en": "That is for 7 tokens. The 8 already include END, and all of them count.",
                    "ko": "토큰 7개로 계산한 값입니다. 끝 기호까지 8개를 모두 셉니다.",
                },
            ),
            Slip(
                lambda: TOTAL / length_penalty(LENGTH, 1.0),
                {
                    "en": "That is with α = 1.",
                    "ko": "α = 1로 계산한 값입니다.",
                },
            ),
        ],
        tolerance=0.0006,
        hint={
            "en": "(13 / 6)^0.6 = 1.590.",
            "ko": "(13 / 6)^0.6 = 1.590입니다.",
        },
    ),
    Exercise(
        "10.2",
        question={
            "en": "The first token is “The” with probability 0.5 or “A” with 0.4. After “The” the "
            "best next token has 0.4, after “A” it has 0.9; then the sentence ends. Give the "
            "probability of the sentence that greedy search writes, and of the best sentence.",
            "ko": "첫 토큰은 확률 0.5로 “The”, 0.4로 “A”입니다. “The” 다음에 가장 좋은 토큰의 "
            "확률은 0.4, “A” 다음은 0.9이고, 문장은 거기서 끝납니다. 그리디 탐색으로 얻는 문장의 "
            "확률과 가장 좋은 문장의 확률을 쓰세요.",
        },
        answer=lambda: [
            FIRST["The"] * SECOND["The"],
            max(FIRST[word] * SECOND[word] for word in FIRST),
        ],
        slips=[
            Slip(
                lambda: [FIRST["A"] * SECOND["A"]] * 2,
                {
                    "en": "Greedy search takes “The”, because it does not look ahead.",
                    "ko": "그리디 탐색은 앞을 내다보지 않으므로 “The”를 고릅니다.",
                },
            ),
            Slip(
                lambda: [FIRST["The"] + SECOND["The"], FIRST["A"] + SECOND["A"]],
                {
                    "en": "Those are sums. Probabilities of steps are multiplied; their logarithms "
                    "are added.",
                    "ko": "더한 값입니다. 스텝의 확률은 곱하고, 로그는 더합니다.",
                },
            ),
        ],
        hint={
            "en": "Multiply the probabilities along each path.",
            "ko": "경로마다 확률을 곱하세요.",
        },
    ),
    Exercise(
        "10.3",
        question={
            "en": f"The output is “{' '.join(OUTPUT)}”, and the reference is "
            f"“{' '.join(REFERENCE)}”. Tokens are separated by spaces. Compute BLEU by hand. Give "
            "two decimals.",
            "ko": f"출력은 “{' '.join(OUTPUT)}”이고 참조 번역은 “{' '.join(REFERENCE)}”입니다. "
            "토큰은 공백으로 나뉩니다. BLEU를 손으로 계산하여 소수점 아래 두 자리까지 쓰세요.",
        },
        answer=lambda: 100 * brevity_penalty() * geometric_mean(PRECISIONS),
        slips=[
            Slip(
                lambda: 100 * geometric_mean(PRECISIONS),
                {
                    "en": "The brevity penalty is missing: the output is one token too short.",
                    "ko": "간결성 페널티(brevity penalty)가 빠졌습니다. 출력이 토큰 하나만큼 "
                    "짧습니다.",
                },
            ),
            Slip(
                lambda: 100 * brevity_penalty() * sum(PRECISIONS) / len(PRECISIONS),
                {
                    "en": "That is the arithmetic mean of the four precisions. BLEU takes the "
                    "geometric one.",
                    "ko": "네 정밀도의 산술 평균입니다. BLEU는 기하 평균을 씁니다.",
                },
            ),
            Slip(
                lambda: 100 * brevity_penalty() * PRECISIONS[0],
                {
                    "en": "That counts single tokens only. Pairs, triples and fours count as well.",
                    "ko": "토큰 하나짜리만 센 값입니다. 둘, 셋, 넷이 이어진 것도 셉니다.",
                },
            ),
            Slip(
                lambda: 100 * len(OUTPUT) / len(REFERENCE) * geometric_mean(PRECISIONS),
                {
                    "en": "The brevity penalty is exp(1 − 8/7), not 7/8.",
                    "ko": "간결성 페널티는 7/8이 아니라 exp(1 − 8/7)입니다.",
                },
            ),
        ],
        tolerance=0.006,
        hint={
            "en": "The precisions are 7/7, 5/6, 3/5 and 2/4, and their product is 1/4.",
            "ko": "정밀도는 7/7, 5/6, 3/5, 2/4이고, 곱은 1/4입니다.",
        },
    ),
    Exercise(
        "10.4",
        question={
            "en": "“저는 학생입니다.” → “I am a student.”: which head of the demonstration's "
            "cross-attention does “student” need most? Give layer and head, from 0, such as "
            "[0, 2].",
            "ko": "“저는 학생입니다.” → “I am a student.”: 데모 모델의 크로스 어텐션에서 "
            "“student”에 가장 필요한 헤드는 무엇입니까? 층과 헤드를 0부터 세어 [0, 2]처럼 쓰세요.",
        },
        answer=needed_head,
        slips=[
            Slip(
                sharpest_head,
                {
                    "en": "That head has the largest weight in this row. But without it the loss "
                    "rises less than without another one.",
                    "ko": "이 행에서 가중치가 가장 큰 헤드입니다. 그러나 이 헤드를 꺼도 다른 "
                    "헤드를 껐을 때보다 손실이 덜 오릅니다.",
                },
            ),
        ],
        hint={
            "en": "Compare head_importance(translator, [source], [target], place=3).",
            "ko": "head_importance(translator, [source], [target], place=3)을 견주어 보세요.",
        },
    ),
]
