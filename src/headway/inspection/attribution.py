"""Attribution: how much each piece that was read contributes to one piece that was written.

f is the log-probability of a target piece, given the source and the pieces before it. With
`instead_of`, f is how much more probable it is than another piece. x_1 … x_n are the scaled
embeddings of the source and of the pieces before (section 3.4), START and END included; positions
stay as they are. The baseline is 0 for each of them: no word, but its place.

    gradient_x_input       x_i · df/dx_i.
    integrated_gradients   x_i · mean of df/dx_i on the straight line from 0 to x.
    occlusion              f(x) - f(x with x_i = 0).

Integrated gradients (Sundararajan et al. 2017) add up to f(x) - f(0), the completeness law of
their section 3. `Attribution.gap` is the error of that sum, because the line is cut into steps. The
other two obey no such law. No model is changed, and no gradient of a weight is computed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translator import TextTranslator, only_bundle
from headway.errors import ConfigError, require_type, suggest
from headway.model.modes import evaluating
from headway.model.probe import listen, stop_listening
from headway.model.transformer import Transformer

Method = Literal["gradient_x_input", "integrated_gradients", "occlusion"]
_AT_ONCE = 32  # sentences in one pass


@dataclass(frozen=True, slots=True)
class Attribution:
    """The contributions of all pieces to one target piece."""

    method: Method
    piece: str
    """The piece that is explained; `</s>` for the end."""
    instead_of: str | None
    source_pieces: tuple[str, ...]
    """S of them, `</s>` included."""
    source_scores: tuple[float, ...]
    """One for each source piece, in nats; above 0 it made the piece more probable."""
    prefix_pieces: tuple[str, ...]
    """T of them, `<s>` and the target pieces before the one that is explained."""
    prefix_scores: tuple[float, ...]
    value: float
    """f(x)."""
    baseline: float
    """f(0), without any word."""

    @property
    def gap(self) -> float:
        """Return f(x) - f(0) minus the sum of all scores."""
        return self.value - self.baseline - sum(self.source_scores) - sum(self.prefix_scores)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        lists = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }
        return lists | {"gap": self.gap}


def attribute(
    model: Bundle | TextTranslator,
    source: str,
    target: str | Sequence[str],
    place: int,
    *,
    method: Method = "integrated_gradients",
    instead_of: str | None = None,
    steps: int = 64,
) -> Attribution:
    """Return the attribution of target piece `place`, counted from 0.

    target: a text, or its pieces, such as `translation.pieces`; the place after the last is the end
    symbol. instead_of: another piece for that place. steps: those of integrated gradients; more
    steps make the gap smaller.
    """
    bundle = only_bundle(model, "An attribution")
    if method not in get_args(Method):
        raise ConfigError(f"There is no method '{method}'.", suggest(method, get_args(Method)))
    require_type("The sentence", source, str, "Give a string.")
    require_type("target", target, Iterable, "Give a text, or its tokens.")
    require_type("place", place, Integral, "Give the number of a target token, from 0.")
    require_type("steps", steps, Integral, "Give a whole number; 64 is usual.")
    if steps < 1:
        raise ConfigError(f"steps is {steps}, but must be at least 1.", "64 is usual.")
    maker, tokenizer = RequestMaker([bundle]), bundle.target_tokenizer
    ids = tokenizer.encode(target) if isinstance(target, str) else maker.text_ids(target)
    if not 0 <= place <= len(ids):
        raise ConfigError(
            f"place is {place}, but the target has places 0 to {len(ids)}.",
            "Choose one of these; the last is the end symbol.",
        )
    parts = maker.parts(source)
    if len(parts) > 1:
        raise ConfigError(
            f"The sentence has {len(parts)} parts, but attribution explains a translation of "
            "one part.",
            "Give the sentence of one part, or one that the model can take whole.",
        )
    source_ids, prefix_ids = [*chain.from_iterable(part.ids for part in parts), END_ID], ids[:place]
    alternative = None if instead_of is None else maker.target_ids([instead_of])[0]
    label = [*ids, END_ID][place]
    # Gradients are needed in any mode of the caller.
    with evaluating(bundle.model), torch.inference_mode(False), torch.enable_grad():
        question = _Question(bundle.model, source_ids, [START_ID, *prefix_ids], label, alternative)
        source_scores, prefix_scores = _METHODS[method](question, steps)
        value, baseline = question.values_along([1.0, 0.0])
    return Attribution(
        method=method,
        piece=tokenizer.piece(label),
        instead_of=instead_of,
        source_pieces=tuple(bundle.source_tokenizer.pieces(source_ids)),
        source_scores=tuple(source_scores.tolist()),
        prefix_pieces=tuple(tokenizer.pieces([START_ID, *prefix_ids])),
        prefix_scores=tuple(prefix_scores.tolist()),
        value=value,
        baseline=baseline,
    )


class _Question:
    """f as a function of the embeddings of one sentence; the target piece is fixed."""

    def __init__(
        self,
        model: Transformer,
        source_ids: Sequence[int],
        prefix_ids: Sequence[int],
        label: int,
        alternative: int | None,
    ) -> None:
        self.model, self.label, self.alternative = model, label, alternative
        device = model.output_projection.weight.device
        self.source_ids: Int[Tensor, "1 S"] = torch.tensor([source_ids], device=device)
        self.prefix_ids: Int[Tensor, "1 T"] = torch.tensor([prefix_ids], device=device)
        sides = (model.source_embedding, self.source_ids), (model.target_embedding, self.prefix_ids)
        self.source, self.prefix = (
            (embedding.tokens(ids) * embedding.scale).detach() for embedding, ids in sides
        )  # (1, S, d_model), (1, T, d_model)

    def values(
        self, source: Float[Tensor, "B S d_model"], prefix: Float[Tensor, "B T d_model"]
    ) -> Float[Tensor, " B"]:
        """Compute f with these in place of the scaled embeddings."""
        count, model = source.size(0), self.model
        instead: dict[nn.Module, Tensor] = {
            model.source_embedding: source,
            model.target_embedding: prefix,
        }

        def receive(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
            return instead.get(module, tensor) if name == "scaled" else tensor

        token = listen(receive)
        try:
            hidden = model.hidden(
                self.source_ids.expand(count, -1), self.prefix_ids.expand(count, -1)
            )
        finally:
            stop_listening(token)
        log_probs = model.output_projection(hidden[:, -1]).log_softmax(dim=-1)  # (B, V)
        value = log_probs[:, self.label]
        return value if self.alternative is None else value - log_probs[:, self.alternative]

    def along(self, share: Tensor) -> tuple[Tensor, Tensor]:
        """Return the embeddings times each of these numbers, (B, S, d_model), (B, T, d_model)."""
        share = share.to(self.source)[:, None, None]
        return share * self.source, share * self.prefix

    @torch.no_grad()
    def values_along(self, shares: Sequence[float]) -> list[float]:
        """Compute f at these shares of the line from 0 to the embeddings."""
        return self.values(*self.along(torch.tensor(shares))).tolist()

    def gradients(self, shares: Tensor) -> tuple[Tensor, Tensor]:
        """Return df/dx at each of these shares of the line, shapes as in `along`."""
        points = [point.requires_grad_() for point in self.along(shares)]
        source, prefix = torch.autograd.grad(self.values(*points).sum(), points)
        return source, prefix


def _gradient_x_input(question: _Question, steps: int) -> tuple[Tensor, Tensor]:
    source, prefix = question.gradients(torch.ones(1))
    return _products(question, source[0], prefix[0])


def _integrated_gradients(question: _Question, steps: int) -> tuple[Tensor, Tensor]:
    """Take the mean of the gradients by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)  # on [-1, 1], with the sum 2
    means = [torch.zeros_like(question.source[0]), torch.zeros_like(question.prefix[0])]
    for part in _parts(steps):
        shares = torch.from_numpy((nodes[part] + 1) / 2)
        for mean, gradient in zip(means, question.gradients(shares), strict=True):
            weight = torch.from_numpy(weights[part] / 2).to(gradient)
            mean += torch.einsum("b,bld->ld", weight, gradient)
    return _products(question, *means)


@torch.no_grad()
def _occlusion(question: _Question, steps: int) -> tuple[Tensor, Tensor]:
    length = question.source.size(1)
    count = length + question.prefix.size(1)
    whole = question.values(question.source, question.prefix)
    without = []
    for part in _parts(count):
        keep_mask = 1 - torch.eye(count)[part].to(question.source)  # (B, S + T)
        without.append(
            question.values(
                question.source * keep_mask[:, :length, None],
                question.prefix * keep_mask[:, length:, None],
            )
        )
    scores = whole - torch.cat(without)
    return scores[:length], scores[length:]


_METHODS: dict[str, Callable[[_Question, int], tuple[Tensor, Tensor]]] = {
    "gradient_x_input": _gradient_x_input,
    "integrated_gradients": _integrated_gradients,
    "occlusion": _occlusion,
}


def _products(question: _Question, source: Tensor, prefix: Tensor) -> tuple[Tensor, Tensor]:
    """Return the inner product of each embedding with its gradient, (S,) and (T,)."""
    return (question.source[0] * source).sum(dim=-1), (question.prefix[0] * prefix).sum(dim=-1)


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + _AT_ONCE) for start in range(0, count, _AT_ONCE))
