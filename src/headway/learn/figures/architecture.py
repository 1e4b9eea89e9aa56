"""Figure 1 of the paper, and one sub-layer of it."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

from headway.errors import ConfigError, suggest
from headway.learn.figures.flows import Arrow, Box, Frame, flow
from headway.learn.figures.picture import Picture
from headway.learn.language import Words

_ADD_NORM: Words = {"en": "Add & Norm", "ko": "잔차 연결 + 층 정규화"}
_FEED_FORWARD: Words = {"en": "Feed-forward", "ko": "피드포워드"}
_EMBEDDING: Words = {"en": "Embedding · √d + position", "ko": "임베딩 · √d + 위치 인코딩"}
_ALT: Words = {
    "en": "Figure 1: at the left an encoder layer with self-attention and feed-forward, at the "
    "right a decoder layer with masked self-attention, cross-attention to the encoder output "
    "and feed-forward; each is followed by Add & Norm. Linear and softmax are on top.",
    "ko": "그림 1. 왼쪽 인코더 층은 셀프 어텐션과 피드포워드, 오른쪽 디코더 층은 마스크드 셀프 "
    "어텐션, 인코더 출력에 대한 크로스 어텐션, 피드포워드로 이루어집니다. 서브층마다 잔차 연결과 "
    "층 정규화가 따릅니다. 맨 위에는 선형 변환과 소프트맥스가 있습니다.",
}

# From the bottom up: name, words, color, distance to the block below.
_ENCODER: tuple[tuple[str, Words, str, float], ...] = (
    ("source_embedding", _EMBEDDING, "grey", 0.55),
    ("encoder.self_attention", {"en": "Self-attention", "ko": "셀프 어텐션"}, "blue", 0.85),
    ("encoder.self_attention_residual", _ADD_NORM, "green", 0.5),
    ("encoder.feed_forward", _FEED_FORWARD, "orange", 0.6),
    ("encoder.feed_forward_residual", _ADD_NORM, "green", 0.5),
)
_DECODER: tuple[tuple[str, Words, str, float], ...] = (
    ("target_embedding", _EMBEDDING, "grey", 0.55),
    (
        "decoder.self_attention",
        {"en": "Masked self-attention", "ko": "마스크드 셀프 어텐션"},
        "blue",
        0.85,
    ),
    ("decoder.self_attention_residual", _ADD_NORM, "green", 0.5),
    ("decoder.cross_attention", {"en": "Cross-attention", "ko": "크로스 어텐션"}, "blue", 0.6),
    ("decoder.cross_attention_residual", _ADD_NORM, "green", 0.5),
    ("decoder.feed_forward", _FEED_FORWARD, "orange", 0.6),
    ("decoder.feed_forward_residual", _ADD_NORM, "green", 0.5),
    ("output_projection", {"en": "Linear", "ko": "선형 변환"}, "grey", 0.7),
    ("probabilities", {"en": "Softmax", "ko": "소프트맥스"}, "grey", 0.5),
)
_APART, _WIDTH = 3.3, 2.0


def figure_one(
    *, notes: Mapping[str, Words] | None = None, chosen: Collection[str] = (), alt: Words = _ALT
) -> Picture:
    """Draw Figure 1; blocks have the names of Headway's parts, such as "encoder.self_attention".

    notes: small words in a block, such as a shape. chosen: blocks that keep
    their color while all others are grey. Raises ConfigError for an unknown block.
    """
    boxes = _blocks(notes or {}, chosen)
    frames = [
        Frame([name for name, *_ in _ENCODER if name.startswith("encoder.")], "N ×", "left"),
        Frame([name for name, *_ in _DECODER if name.startswith("decoder.")], "× N", "right"),
    ]
    return flow(boxes, _arrows(), alt=alt, frames=frames)


def _blocks(notes: Mapping[str, Words], chosen: Collection[str]) -> dict[str, Box]:
    stretched = 1.3 if notes else 1.0
    boxes = _stack(_ENCODER, 0.0, stretched) | _stack(_DECODER, _APART, stretched)
    for name in (*notes, *chosen):
        if name not in boxes:
            raise ConfigError(f"Figure 1 has no block {name!r}.", suggest(name, boxes))
    for name, box in boxes.items():
        color = box.color if not chosen or name in chosen or box.color == "none" else "grey"
        note = notes.get(name, "")
        boxes[name] = replace(box, color=color, note=note, height=0.5 if note else box.height)
    return boxes


def _stack(
    blocks: tuple[tuple[str, Words, str, float], ...], x: float, stretched: float
) -> dict[str, Box]:
    is_encoder = x == 0
    words: Words = (
        {"en": "source tokens", "ko": "원문 토큰"}
        if is_encoder
        else {"en": "target tokens, shifted right", "ko": "한 칸 밀어 넣은 번역문 토큰"}
    )
    boxes = {"source" if is_encoder else "target": Box(words, x, 0, "none", _WIDTH, 0.25)}
    y = 0.0
    for name, words_of_block, color, distance in blocks:
        y += distance * stretched
        boxes[name] = Box(words_of_block, x, y, color, _WIDTH)
    return boxes


def _arrows() -> list[Arrow]:
    arrows = []
    for first, blocks, side in (("source", _ENCODER, "left"), ("target", _DECODER, "right")):
        names = [first, *(name for name, *_ in blocks)]
        arrows += [Arrow(*pair) for pair in pairwise(names)]
        # The residual connection starts at the block before the sub-layer.
        arrows += [
            Arrow(names[place - 2], name, route=side)
            for place, name in enumerate(names)
            if name.endswith("_residual")
        ]
    return [*arrows, Arrow("encoder.feed_forward_residual", "decoder.cross_attention")]


def sub_layer(
    words: Words, *, alt: Words, norm_position: str = "post", color: str = "blue"
) -> Picture:
    """Draw a sub-layer with its residual connection and LayerNorm, from the bottom up.

    norm_position: "post" as in the paper, or "pre", as in `ModelConfig`.
    """
    if norm_position not in ("post", "pre"):
        raise ConfigError(
            f"norm_position is {norm_position!r}.", "Choose 'post', as in the paper, or 'pre'."
        )
    norm = Box("LayerNorm", 0, 0, "green")
    parts = {
        "input": Box("x", 0, 0, "none", 1.7, 0.25),
        "sub_layer": Box(words, 0, 0, color),
        "dropout": Box({"en": "Dropout", "ko": "드롭아웃"}, 0, 0, "grey"),
        "add": Box("+", 0, 0, "green", 0.36, 0.36),
    }
    order = ["input", "sub_layer", "dropout", "add", "norm", "output"]
    if norm_position == "pre":
        order = ["input", "norm", "sub_layer", "dropout", "add", "output"]
    output = {"post": "LayerNorm(x + Sublayer(x))", "pre": "x + Sublayer(LayerNorm(x))"}
    parts |= {"norm": norm, "output": Box(output[norm_position], 0, 0, "none", 2.2, 0.25)}
    boxes = {name: replace(parts[name], y=0.62 * place) for place, name in enumerate(order)}
    arrows = [Arrow(*pair) for pair in pairwise(order)]
    around: Words = {"en": "residual connection", "ko": "잔차 연결"}
    return flow(boxes, [*arrows, Arrow("input", "add", around, "right")], alt=alt)
