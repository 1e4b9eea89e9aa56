"""The texts of the catalog: a line for each intermediate of each part of a model.

`$asks`, `$keys` and `$side` are the sentences that a part works on; `$x` and the like are the names
of its inputs. `headway.inspection.catalog` fills them in. Axes are written `name:letter`.
"""

from typing import NamedTuple


class Line(NamedTuple):
    """One intermediate of a part."""

    name: str
    axes: str
    equation: str
    latex: str
    english: str
    korean: str
    derived: bool = False
    """Not recorded, but computed from recorded tensors on request."""


ATTENTION = (
    Line("projected_q", "batch:B query:$A projected:H*d_k", "x W^Q$bq, x = $x", r"x W^Q$bq",
         "The queries of all heads at each $asks position, side by side.",
         "$asks_ko 각 위치에서 모든 헤드의 쿼리를 나란히 이어 붙인 벡터입니다."),
    Line("q", "batch:B head:H query:$A d_k:d_k",
         "q[h] = columns h·d_k … (h+1)·d_k − 1 of projected_q",
         r"Q_h = \left(x W^Q$bq\right)_{h d_k,\dots,(h+1) d_k-1}",
         "The queries: d_k numbers for each head and $asks position.",
         "쿼리(query): 헤드와 $asks_ko 위치마다 숫자 d_k개입니다."),
    Line("projected_k", "batch:B key:$K projected:H*d_k", "y W^K$bk, y = $y", r"y W^K$bk",
         "The keys of all heads at each $keys position, side by side.",
         "$keys_ko 각 위치에서 모든 헤드의 키를 나란히 이어 붙인 벡터입니다."),
    Line("k", "batch:B head:H key:$K d_k:d_k",
         "k[h] = columns h·d_k … (h+1)·d_k − 1 of projected_k",
         r"K_h = \left(y W^K$bk\right)_{h d_k,\dots,(h+1) d_k-1}",
         "The keys: d_k numbers for each head and $keys position.",
         "키(key): 헤드와 $keys_ko 위치마다 숫자 d_k개입니다."),
    Line("projected_v", "batch:B key:$K projected:H*d_v", "y W^V$bv, y = $y", r"y W^V$bv",
         "The values of all heads at each $keys position, side by side.",
         "$keys_ko 각 위치에서 모든 헤드의 값을 나란히 이어 붙인 벡터입니다."),
    Line("v", "batch:B head:H key:$K d_v:d_v",
         "v[h] = columns h·d_v … (h+1)·d_v − 1 of projected_v",
         r"V_h = \left(y W^V$bv\right)_{h d_v,\dots,(h+1) d_v-1}",
         "The values: d_v numbers for each head and $keys position.",
         "값(value): 헤드와 $keys_ko 위치마다 숫자 d_v개입니다."),
    Line("scores", "batch:B head:H query:$A key:$K", "q k^T / √d_k",
         r"\frac{Q_h K_h^\top}{\sqrt{d_k}}",
         "How well each query fits each key, before the mask.",
         "마스크를 적용하기 전의 점수로, 각 쿼리가 각 키와 얼마나 잘 맞는지 나타냅니다."),
    Line("masked_scores", "batch:B head:H query:$A key:$K",
         "scores where the mask is True, −∞ elsewhere",
         r"\begin{cases}\text{scores}&\text{mask}\\-\infty&\text{otherwise}\end{cases}",
         "The scores, with minus infinity where the query may not attend.",
         "쿼리가 볼 수 없는 위치를 음의 무한대로 바꾼 점수입니다."),
    Line("weights", "batch:B head:H query:$A key:$K",
         "exp(masked_scores) / Σ_key exp(masked_scores)",
         r"\operatorname{softmax}\left(\text{masked\_scores}\right)",
         "How much each query attends to each key: a row sums to 1, a masked key has 0.",
         "각 쿼리가 각 키를 얼마나 참조하는지 나타내는 가중치입니다. 한 행의 합은 1이고, 가려진 "
         "키의 가중치는 정확히 0입니다."),
    Line("heads", "batch:B head:H query:$A d_v:d_v", "weights v",
         r"\mathrm{head}_h = "
         r"\operatorname{softmax}\left(\frac{Q_h K_h^\top}{\sqrt{d_k}}\right) V_h",
         "The output of each head: the average of the values, with these weights.",
         "각 헤드의 출력: 값을 가중치로 평균한 결과입니다."),
    Line("concat", "batch:B query:$A concat:H*d_v", "heads[0] | … | heads[H − 1]",
         r"\operatorname{Concat}(\mathrm{head}_0, \dots, \mathrm{head}_{H-1})",
         "The outputs of all heads, side by side.",
         "모든 헤드의 출력을 나란히 이어 붙인 벡터입니다."),
    Line("output", "batch:B query:$A d_model:d_model", "concat W^O$bo",
         r"\operatorname{Concat}(\mathrm{head}_0, \dots, \mathrm{head}_{H-1}) W^O$bo",
         "The output of attention at each $asks position.",
         "$asks_ko 각 위치에서 어텐션의 출력입니다."),
    Line("contributions", "batch:B head:H query:$A d_model:d_model",
         "heads[h] W^O[rows h·d_v … (h+1)·d_v − 1]",
         r"\mathrm{head}_h W^O_{h d_v,\dots,(h+1) d_v-1}",
         "The part of the output that each head adds. All parts and the bias sum to the output.",
         "헤드 하나가 출력에 더하는 몫입니다. 모든 헤드의 몫과 편향을 더하면 출력이 됩니다.",
         derived=True),
)  # fmt: skip

SSRU = (
    Line("candidate", "batch:B $side:$L d_model:d_model", "x W_x, x = $x", r"x W_x",
         "The new content that each $side position offers to the cell.",
         "$side_ko 각 위치가 셀에 넣으려는 새 내용입니다."),
    Line("forget", "batch:B $side:$L d_model:d_model", "1 / (1 + exp(−(x W_f + b_f))), x = $x",
         r"f_t = \sigma\left(x W_f + b_f\right)",
         "How much of the cell is kept at each $side position: 1 keeps all, 0 takes the candidate.",
         "$side_ko 각 위치에서 셀을 얼마나 유지하는지 나타냅니다. 1이면 그대로 두고, 0이면 새 "
         "내용으로 바꿉니다."),
    Line("cell", "batch:B $side:$L d_model:d_model",
         "forget[t] · cell[t − 1] + (1 − forget[t]) · candidate[t]",
         r"c_t = f_t \odot c_{t-1} + (1 - f_t) \odot x_t W_x",
         "The memory of this and all earlier $side positions, in one vector.",
         "이 위치와 앞의 모든 위치를 기억하는 벡터 하나입니다."),
    Line("output", "batch:B $side:$L d_model:d_model", "max(0, cell)", r"\max(0, c_t)",
         "The output of the recurrence at each $side position.",
         "$side_ko 각 위치에서 순환 층의 출력입니다."),
)  # fmt: skip

FEED_FORWARD = (
    Line("hidden", "batch:B $side:$L d_ff:d_ff", "x W_1$b1, x = $x", r"x W_1$b1",
         "The inner layer, of d_ff dimensions, at each $side position, before the activation.",
         "$side_ko 각 위치에서 d_ff차원인 은닉층의 값으로, 활성화 함수를 적용하기 전입니다."),
    Line("gate", "batch:B $side:$L d_ff:d_ff", "x W_gate$bg, x = $x", r"x W_{gate}$bg",
         "The gate before the activation; the inner layer is multiplied by it.",
         "활성화 함수를 거쳐 은닉층에 곱해질 게이트입니다."),
    Line("activated", "batch:B $side:$L d_ff:d_ff", "$activation", "$activation_latex",
         "The inner layer after the activation.",
         "활성화 함수를 적용한 은닉층의 값입니다."),
    Line("output", "batch:B $side:$L d_model:d_model", "activated W_2$b2",
         r"\text{activated}\, W_2$b2",
         "The output of the feed-forward network at each $side position.",
         "$side_ko 각 위치에서 피드포워드 신경망의 출력입니다."),
)  # fmt: skip

_NORM = "γ (z − mean) / √(variance + ε) + β, z = $normalized"
_NORM_LATEX = r"\gamma \frac{z - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"
RESIDUAL = (
    Line("sum", "batch:B $side:$L d_model:d_model", "x + $sublayer, x = $x",
         r"x + \operatorname{Sublayer}(\cdot)",
         "Residual connection: the input of the sub-layer, added to its output.",
         "잔차 연결: 서브층을 거치지 않은 입력을 서브층의 출력에 더한 값입니다."),
    Line("norm", "batch:B $side:$L d_model:d_model", _NORM, _NORM_LATEX,
         "Each position normalized to mean 0 and variance 1, then scaled and shifted.",
         "위치마다 평균 0, 분산 1로 정규화한 뒤 스케일 γ를 곱하고 시프트 β를 더한 벡터입니다."),
    Line("mean", "batch:B $side:$L", "Σ_i z_i / d_model, z = $normalized",
         r"\mu = \frac{1}{d_{model}} \sum_i z_i",
         "The mean over all dimensions, which LayerNorm subtracts.",
         "모든 차원의 평균이며, 층 정규화가 이 값을 뺍니다.", derived=True),
    Line("variance", "batch:B $side:$L", "Σ_i (z_i − mean)² / d_model, z = $normalized",
         r"\sigma^2 = \frac{1}{d_{model}} \sum_i (z_i - \mu)^2",
         "The variance over all dimensions, divided by d_model and not by d_model - 1.",
         "모든 차원의 분산입니다. d_model - 1이 아니라 d_model로 나눕니다.", derived=True),
)  # fmt: skip

EMBEDDING = (
    Line("scaled", "batch:B $side:$L d_model:d_model", "$scaled", "$scaled_latex",
         "The embedding of each $side token.",
         "$side_ko 각 토큰의 임베딩 벡터입니다."),
    Line("position", "$side:$L d_model:d_model", "$position", "$position_latex",
         "The positional encoding, by which positions differ; the same for every sentence.",
         "위치 인코딩(positional encoding): 위치를 구별하는 벡터로, 어느 문장에서나 같습니다."),
    Line("output", "batch:B $side:$L d_model:d_model", "scaled + position",
         r"\text{scaled} + PE",
         "Token embedding and positional encoding added: the input of the first layer.",
         "토큰 임베딩과 위치 인코딩을 더한 벡터로, 첫 층의 입력입니다."),
)  # fmt: skip

LAYER = (
    Line("input", "batch:B $side:$L d_model:d_model",
         "$embedding.output in layer 0, else the output of the layer below",
         r"x^{(l)} = \text{output}^{(l-1)}",
         "The input of the layer at each $side position.",
         "$side_ko 각 위치에서 층의 입력입니다."),
    Line("output", "batch:B $side:$L d_model:d_model", "$last", r"\text{$last_latex}",
         "The output of the layer at each $side position.",
         "$side_ko 각 위치에서 층의 출력입니다."),
)  # fmt: skip

STACK = (
    Line("output", "batch:B $side:$L d_model:d_model", "$stack", "$stack_latex",
         "$stack_english", "$stack_korean"),
)  # fmt: skip

TRANSFORMER = (
    Line("source_mask", "batch:B any_head:1 any_query:1 key:S", "source_ids ≠ pad_id",
         r"\text{source\_ids} \neq \text{pad}",
         "True where the source has a token and no padding: every query may attend there.",
         "원문에서 패딩이 아닌 토큰의 위치가 True이며, 모든 쿼리가 볼 수 있습니다."),
    Line("target_mask", "batch:B any_head:1 query:T key:T",
         "key ≤ query and target_ids[key] ≠ pad_id",
         r"j \leq i \wedge \text{target\_ids}_j \neq \text{pad}",
         "True where a row of the target may attend: to itself and earlier rows, never later ones.",
         "번역문의 행이 볼 수 있는 위치가 True입니다. 자기 자신과 앞의 행만 볼 수 있고, 뒤의 행은 "
         "볼 수 없습니다."),
    Line("logits", "batch:B target:T vocabulary:V", "decoder.output E^T$b", r"z = x E^\top$b",
         "A score for each token of the vocabulary, as the token that follows each row.",
         "각 행 다음에 올 토큰으로서 어휘의 모든 토큰이 받은 점수입니다."),
    Line("log_probs", "batch:B target:T vocabulary:V", "logits − log Σ_vocabulary exp(logits)",
         r"z - \log \sum_v \exp z_v",
         "The logarithm of the probability of each token.",
         "각 토큰의 확률에 로그를 취한 값입니다.", derived=True),
    Line("probabilities", "batch:B target:T vocabulary:V", "exp(logits) / Σ_vocabulary exp(logits)",
         r"\operatorname{softmax}(z)",
         "The probability of each token of the vocabulary as the next one.",
         "어휘의 모든 토큰에 대해, 그 토큰이 다음에 올 확률입니다.", derived=True),
)  # fmt: skip

ACTIVATIONS = {
    "relu": ("max(0, hidden)", r"\max(0, x)"),
    "gelu": ("hidden · Φ(hidden)", r"x \Phi(x)"),
    "gelu_tanh": (
        "½ hidden (1 + tanh(√(2/π) (hidden + 0.044715 hidden³)))",
        r"\tfrac12 x \left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715 x^3)\right)\right)",
    ),
    "silu": ("hidden / (1 + exp(−hidden))", r"\frac{x}{1 + e^{-x}}"),
    "glu": ("hidden / (1 + exp(−gate))", r"\sigma(g) \odot x"),
    "reglu": ("max(0, gate) · hidden", r"\max(0, g) \odot x"),
    "geglu": ("gate · Φ(gate) · hidden", r"g\,\Phi(g) \odot x"),
    "swiglu": ("gate · hidden / (1 + exp(−gate))", r"g\,\sigma(g) \odot x"),
}

POSITIONS = {
    "interleaved": (
        "sin($pos / 10000^(i / d_model)) for even i, "
        "cos($pos / 10000^((i − 1) / d_model)) for odd i",
        r"\begin{array}{l}PE_{(pos,2i)}=\sin($pos/10000^{2i/d_{model}})\\"
        r"PE_{(pos,2i+1)}=\cos($pos/10000^{2i/d_{model}})\end{array}",
    ),
    "halved": (
        "sin($pos / 10000^(i / (d_model/2 − 1))) for i < d_model/2, cos of the same for the others",
        r"\begin{array}{l}PE_{(pos,i)}=\sin($pos/10000^{i/(d_{model}/2-1)})\\"
        r"PE_{(pos,d_{model}/2+i)}=\cos($pos/10000^{i/(d_{model}/2-1)})\end{array}",
    ),
    "split": (
        "sin($pos / 10000^(2i / d_model)) for i < d_model/2, cos of the same for the others",
        r"\begin{array}{l}PE_{(pos,i)}=\sin($pos/10000^{2i/d_{model}})\\"
        r"PE_{(pos,d_{model}/2+i)}=\cos($pos/10000^{2i/d_{model}})\end{array}",
    ),
    "learned": ("row pos of a trained table", r"P_{pos}"),
}
