"""Exercises of page 2, From text to vectors (sections 3.4 and 5.1)."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headway.config import presets
from headway.learn.exercise import Exercise, Slip

if TYPE_CHECKING:
    from headway.inspection.translator import Translator

_SENTENCE = "저는 학생입니다."
_TOKEN, _DIMENSION = 0, 5
_WORD = "▁student"


def _scaled(translator: "Translator") -> float:
    trace = translator.trace(_SENTENCE, record="*source_embedding*")
    return float(trace["source_embedding.scaled"][_TOKEN, _DIMENSION])


def _width(translator: "Translator") -> int:
    return translator.bundle.config.d_model


def _in_the_table(translator: "Translator") -> float:
    (token_id, *_) = translator.bundle.source_tokenizer.encode(_SENTENCE)
    table = translator.bundle.model.source_embedding.tokens.weight.detach()
    return float(table[token_id, _DIMENSION])


def _table_size() -> int:
    config = presets.base()
    return config.source_vocab_size * config.d_model


def _similarities(translator: "Translator") -> NDArray[np.float64]:
    """Return the cosine of each token's vector with that of the word."""
    table = translator.bundle.model.target_embedding.tokens.weight.detach().double().numpy()
    directions = table / np.linalg.norm(table, axis=1, keepdims=True)
    return directions @ directions[translator.bundle.target_tokenizer.id(_WORD)]


def _nearest(translator: "Translator", place: int) -> str:
    """Return the token at a place of the ranking; the word itself has place 0."""
    order = np.argsort(-_similarities(translator))
    return translator.bundle.target_tokenizer.piece(int(order[place]))


EXERCISES = [
    Exercise(
        "2.1",
        question={
            "en": 'Trace "저는 학생입니다." and take dimension 5 of token 0 from '
            "`source_embedding.scaled`. Which number does the embedding table hold for this token "
            "in this dimension?",
            "ko": '"저는 학생입니다."의 트레이스에서 `source_embedding.scaled`의 토큰 0, 차원 5를 '
            "꺼내세요. 임베딩 표에서 이 토큰의 행, 같은 차원의 수는 얼마입니까?",
        },
        answer=_in_the_table,
        slips=[
            Slip(
                _scaled,
                {
                    "en": "That is `scaled`, the number after the factor √d_model.",
                    "ko": "그 수는 √d_model을 곱한 뒤의 값인 `scaled`입니다.",
                },
            ),
            Slip(
                lambda translator: _scaled(translator) * math.sqrt(_width(translator)),
                {
                    "en": "You multiplied once more. The way back is to divide by √d_model.",
                    "ko": "한 번 더 곱했습니다. 되돌리려면 √d_model로 나누어야 합니다.",
                },
            ),
            Slip(
                lambda translator: _scaled(translator) / _width(translator),
                {
                    "en": "You divided by d_model instead of its root.",
                    "ko": "제곱근이 아니라 d_model로 나누었습니다.",
                },
            ),
        ],
        tolerance=0.0002,
        hint={
            "en": "Divide by √128, or read the row of the token's number in the table.",
            "ko": "√128로 나누거나, 토큰 번호에 해당하는 행을 표에서 읽어 보세요.",
        },
    ),
    Exercise(
        "2.2",
        question={
            "en": "The base model has 37,000 tokens and d_model = 512. How many numbers does it "
            "save because source, target and output share one table?",
            "ko": "base 모델의 어휘는 37,000개이고 d_model = 512입니다. 원문, 번역문, 출력이 표 "
            "하나를 함께 쓰면 매개변수를 몇 개 아낍니까?",
        },
        answer=lambda: 2 * _table_size(),
        slips=[
            Slip(
                lambda: 3 * _table_size(),
                {
                    "en": "That is all three tables. One of them is still needed.",
                    "ko": "그 수는 표 세 개를 모두 합한 것입니다. 하나는 여전히 필요합니다.",
                },
            ),
            Slip(
                _table_size,
                {
                    "en": "That is one table. Three tables become one, so two are saved.",
                    "ko": "그 수는 표 하나의 크기입니다. 세 개가 하나로 줄어드니 두 개를 아낍니다.",
                },
            ),
        ],
        hint={
            "en": "One table has 37,000 × 512 numbers.",
            "ko": "표 하나에는 수가 37,000 × 512개 있습니다.",
        },
    ),
    Exercise(
        "2.3",
        question={
            "en": "Which token's vector has the largest cosine with that of `▁student`, apart from "
            "itself?",
            "ko": "`▁student`의 벡터와 코사인 유사도가 가장 큰 토큰은 무엇입니까? 자기 자신은 "
            "제외합니다.",
        },
        answer=lambda translator: _nearest(translator, 1),
        slips=[
            Slip(
                lambda translator: _nearest(translator, 0),
                {
                    "en": "That is the token itself, with cosine 1. Take the next one.",
                    "ko": "코사인이 1인 자기 자신입니다. 그다음 토큰을 고르세요.",
                },
            ),
        ],
        hint={
            "en": "Divide each row of the table by its length, then multiply by the row of "
            "`▁student`.",
            "ko": "표의 각 행을 그 길이로 나눈 다음 `▁student`의 행과 곱해 보세요.",
        },
    ),
]
