"""The exercises of page 8, the whole model."""

from typing import TYPE_CHECKING

from headway.config import presets
from headway.learn.exercise import Exercise, Slip

if TYPE_CHECKING:
    from headway.inspection.translator import Translator

BASE = presets.base()
MILLIONS = 65_000_000  # parameters of base in Table 3
STEPS = 20

_SENTENCE, _TRANSLATION = "저는 학생입니다.", "I am a student."
_LAYER = "decoder.layers.0"


def parameters_of_attention(*, biases: bool = True) -> int:
    """Count the parameters of one attention of base: four projections."""
    return 4 * (BASE.d_model**2 + biases * BASE.d_model)


def parameters_of_feed_forward(*, biases: bool = True) -> int:
    """Count the parameters of one feed-forward network of base: two projections."""
    return 2 * BASE.d_model * BASE.d_ff + biases * (BASE.d_ff + BASE.d_model)


ATTENTION, FEED_FORWARD = parameters_of_attention(), parameters_of_feed_forward()
NORM = 2 * BASE.d_model


def parameters_of_layers(
    *, cross_attention: bool = True, biases: bool = True, norms: bool = True
) -> int:
    """Count the parameters of all layers of base, without its embeddings."""
    attention = parameters_of_attention(biases=biases)
    feed_forward = parameters_of_feed_forward(biases=biases)
    norm = NORM * norms
    encoder = attention + feed_forward + 2 * norm
    decoder = encoder + cross_attention * (attention + norm)
    return BASE.num_encoder_layers * encoder + BASE.num_decoder_layers * decoder


def parameters(*, tables: int = 1, layers: int | None = None) -> int:
    """Count the parameters of base; tables: those of embeddings and output, 1 if shared."""
    size = BASE.source_vocab_size * BASE.d_model
    return tables * size + (parameters_of_layers() if layers is None else layers)


def vocabulary(*, tables: int = 1, layers: int | None = None) -> float:
    """Return the tokens with which base has the parameters of Table 3."""
    of_layers = parameters_of_layers() if layers is None else layers
    return (MILLIONS - of_layers) / (tables * BASE.d_model)


def _shape(translator: "Translator", name: str) -> list[int]:
    trace = translator.trace(_SENTENCE, _TRANSLATION)
    return list(trace[f"{_LAYER}.{name}"].shape)


EXERCISES = [
    Exercise(
        "8.1",
        question={
            "en": f"How many parameters has base with {BASE.source_vocab_size:,} tokens? It has 6 "
            "encoder layers and 6 decoder layers, biases in all projections except the last "
            "linear layer, and one table for source, target and output.",
            "ko": f"어휘가 {BASE.source_vocab_size:,}개일 때 base의 매개변수는 모두 몇 개입니까? "
            "인코더와 디코더가 6층씩이고, 마지막 선형 변환을 뺀 모든 투영에 편향이 있으며, 원문과 "
            "번역문과 출력이 표 하나를 함께 씁니다.",
        },
        answer=lambda: parameters(),
        slips=[
            Slip(
                lambda: parameters(tables=0),
                {
                    "en": "Those are the layers. Add the table of the embeddings.",
                    "ko": "층만 센 수입니다. 임베딩 표를 더하세요.",
                },
            ),
            Slip(
                lambda: parameters(tables=2),
                {
                    "en": "That has two tables. Source, target and output share one.",
                    "ko": "표를 둘로 센 수입니다. 원문, 번역문, 출력이 하나를 함께 씁니다.",
                },
            ),
            Slip(
                lambda: parameters(tables=3),
                {
                    "en": "That has three tables. Source, target and output share one.",
                    "ko": "표를 셋으로 센 수입니다. 원문, 번역문, 출력이 하나를 함께 씁니다.",
                },
            ),
            Slip(
                lambda: parameters(layers=parameters_of_layers(cross_attention=False)),
                {
                    "en": "There the decoder layers are like encoder layers. Each has a "
                    "cross-attention, too, with its LayerNorm.",
                    "ko": "디코더 층을 인코더 층과 똑같이 센 수입니다. 디코더 층에는 크로스 "
                    "어텐션과 그 "
                    "층 정규화가 더 있습니다.",
                },
            ),
            Slip(
                lambda: parameters(layers=parameters_of_layers(norms=False)),
                {
                    "en": "The LayerNorms are missing. Each has γ and β.",
                    "ko": "층 정규화가 빠졌습니다. 하나마다 γ와 β가 있습니다.",
                },
            ),
            Slip(
                lambda: parameters(layers=parameters_of_layers(biases=False)),
                {
                    "en": "The biases of attention and feed-forward are missing.",
                    "ko": "어텐션과 피드포워드의 편향이 빠졌습니다.",
                },
            ),
        ],
        hint={
            "en": f"An attention has {ATTENTION:,} parameters, a feed-forward network "
            f"{FEED_FORWARD:,}, a LayerNorm {NORM:,}.",
            "ko": f"매개변수는 어텐션 하나에 {ATTENTION:,}개, 피드포워드 신경망 하나에 "
            f"{FEED_FORWARD:,}개, 층 정규화 하나에 {NORM:,}개입니다.",
        },
    ),
    Exercise(
        "8.2",
        question={
            "en": "With how many tokens would base have 65 million parameters? All else is as in "
            "8.1. Answer to the nearest thousand.",
            "ko": "base의 매개변수가 6,500만 개가 되려면 어휘가 몇 개여야 합니까? 나머지는 8.1과 "
            "같습니다. 천 단위로 반올림해서 답하세요.",
        },
        answer=lambda: vocabulary(),
        slips=[
            Slip(
                lambda: vocabulary(tables=3),
                {
                    "en": "That divides by three tables. There is only one.",
                    "ko": "표를 셋으로 보고 나눈 값입니다. 표는 하나뿐입니다.",
                },
            ),
            Slip(
                lambda: vocabulary(tables=2),
                {
                    "en": "That divides by two tables. There is only one.",
                    "ko": "표를 둘로 보고 나눈 값입니다. 표는 하나뿐입니다.",
                },
            ),
            Slip(
                lambda: vocabulary(layers=0),
                {
                    "en": "That is 65 million divided by 512. Subtract the layers first.",
                    "ko": "6,500만을 512로 나눈 값입니다. 먼저 층의 매개변수를 빼세요.",
                },
            ),
            Slip(
                lambda: (MILLIONS - parameters()) / BASE.d_model,
                {
                    "en": "That is the number of tokens to add to 37,000.",
                    "ko": "37,000개에 더해야 하는 토큰의 수입니다.",
                },
            ),
        ],
        tolerance=500,
        hint={
            "en": f"The layers have {parameters_of_layers():,} parameters. Each token adds a row "
            f"of {BASE.d_model}.",
            "ko": f"층의 매개변수는 {parameters_of_layers():,}개입니다. 토큰이 하나 늘면 "
            f"{BASE.d_model}개짜리 행이 하나 늡니다.",
        },
    ),
    Exercise(
        "8.3",
        question={
            "en": f'The demonstration reads "{_SENTENCE}" and writes "{_TRANSLATION}". Which shape '
            f"has `{_LAYER}.cross_attention.weights` in the trace? Give a list.",
            "ko": f'데모 모델이 "{_SENTENCE}"를 읽고 "{_TRANSLATION}"를 출력합니다. 트레이스에서 '
            f"`{_LAYER}.cross_attention.weights`의 모양은 무엇입니까? 리스트로 답하세요.",
        },
        answer=lambda translator: _shape(translator, "cross_attention.weights"),
        slips=[
            Slip(
                lambda translator: [
                    _shape(translator, "cross_attention.weights")[axis] for axis in (0, 2, 1)
                ],
                {
                    "en": "Queries and keys have changed places: the target has the queries, and "
                    "the source has the keys.",
                    "ko": "쿼리와 키가 바뀌었습니다. 쿼리는 번역문에서, 키는 원문에서 옵니다.",
                },
            ),
            Slip(
                lambda translator: _shape(translator, "self_attention.weights"),
                {
                    "en": "That is the shape in self-attention, where the keys come from the "
                    "target, too.",
                    "ko": "셀프 어텐션의 모양입니다. 거기서는 키도 번역문에서 옵니다.",
                },
            ),
            Slip(
                lambda translator: _shape(translator, "cross_attention.heads"),
                {
                    "en": "Those are the heads after the values are mixed: heads, queries, d_v.",
                    "ko": "값을 섞은 뒤인 heads의 모양으로, 헤드, 쿼리, d_v입니다.",
                },
            ),
        ],
        hint={
            "en": "Heads, queries, keys. The decoder's rows begin with `<s>`, the source ends with "
            "`</s>`.",
            "ko": "헤드, 쿼리, 키입니다. 디코더의 행은 `<s>`로 시작하고, 원문은 `</s>`로 끝납니다.",
        },
    ),
    Exercise(
        "8.4",
        question={
            "en": f"A model writes {STEPS} tokens, one at each step. Without a cache, how many "
            "rows go through each decoder layer altogether?",
            "ko": f"모델이 스텝마다 하나씩 토큰 {STEPS}개를 출력합니다. 캐시가 없으면 디코더의 층 "
            "하나를 지나는 행은 모두 몇 개입니까?",
        },
        answer=lambda: sum(range(1, STEPS + 1)),
        slips=[
            Slip(
                lambda: STEPS,
                {
                    "en": "That is the number with a cache, one row at each step.",
                    "ko": "캐시가 있을 때의 수입니다. 그때는 스텝마다 한 행입니다.",
                },
            ),
            Slip(
                lambda: STEPS**2,
                {
                    "en": f"That has {STEPS} rows at each step. The first step has one row.",
                    "ko": f"스텝마다 {STEPS}행으로 센 수입니다. 첫 스텝은 한 행입니다.",
                },
            ),
            Slip(
                lambda: sum(range(STEPS)),
                {
                    "en": "The first step has a row already, that of `<s>`.",
                    "ko": "첫 스텝에도 `<s>`의 행이 하나 있습니다.",
                },
            ),
        ],
        hint={
            "en": "Step 1 has one row, step 2 has two, and so on.",
            "ko": "스텝 1에는 한 행, 스텝 2에는 두 행이 있습니다. 그다음도 같습니다.",
        },
    ),
]
