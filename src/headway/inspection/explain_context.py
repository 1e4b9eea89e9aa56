"""The context of an explanation: numbers of the trace and weights of its model, by name."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from headway.errors import TraceError
from headway.inspection.explanation import ExplanationStep, join, number, weighted_sum
from headway.inspection.model_kind import Variant
from headway.inspection.phrases import Language, say
from headway.inspection.traced_pass import TracedPass
from headway.model.transformer import Transformer

Numbers = list[float]


class Working:
    """One number to explain: its name, its place, and everything it may be made from."""

    def __init__(
        self,
        trace: TracedPass,
        name: str,
        place: Mapping[str, int],
        language: Language,
        terms: int,
    ) -> None:
        """Explain the number of this name at this place."""
        self.trace = trace
        self.name = name
        self.place = place
        self.language: Language = language
        self.terms = terms
        self.axes = trace[name].axes
        self.path, _, self.last = name.rpartition(".")

    def beside(self, last: str) -> str:
        """Return the name of another intermediate of the same part."""
        return f"{self.path}.{last}" if self.path else last

    def tensor(self, name: str) -> Tensor:
        """Return a tensor of the trace without the axis of the batch."""
        tensor = self.trace[name]
        batch = bool(tensor.axes) and tensor.axes[0].name == "batch"
        return (tensor[self.place.get("batch", 0)] if batch else tensor.detach()).double()

    def row(self, name: str, *index: int) -> Numbers:
        """Return a row of a tensor of the trace, as numbers."""
        return self.tensor(name)[index].tolist()

    def module(self, path: str | None = None) -> nn.Module:
        """Return a part of the model, by default the one that computed the number."""
        if self.trace.module is None:
            raise TraceError(
                f"'{self.name}' is computed with the model's weights, which a trace from a "
                "file does not have.",
                "Load it together with its model: `Trace.load(path, module=model)`.",
            )
        return self.trace.module.get_submodule(self.path if path is None else path)

    def input_ids(self, side: str) -> Sequence[int]:
        """Return the ids that the model reads on one side, source or target."""
        if self.trace.sentence is None:
            raise TraceError(
                f"'{self.name}' is computed from ids, which the trace of a module does not have.",
                "Use `translator.trace`, which knows its sentence.",
            )
        return getattr(self.trace.sentence, f"{side}_ids")

    def pad_id(self) -> int:
        """Return the id of padding."""
        model = self.module("")
        assert isinstance(model, Transformer)
        return model.pad_id

    @property
    def variant(self) -> Variant:
        """Return the variant of the model, which decides the equations."""
        if self.trace.variant is None:
            raise TraceError(
                f"'{self.name}' is computed from the input of the traced part, which its trace "
                "does not have.",
                "Trace the whole Transformer.",
            )
        return self.trace.variant

    def say(self, phrase: str, **fields: object) -> str:
        """Return a phrase in the language asked for."""
        return say(phrase, self.language, **fields)

    def label(self, axis: str, place: int | None = None) -> str:
        """Return the label of a place along an axis of the number's tensor."""
        place = self.place[axis] if place is None else place
        for candidate in self.axes:
            if candidate.name == axis and candidate.pieces:
                return f"«{candidate.label(place)}»"
        return self.say("place", place=place)

    def linear(
        self, layer: nn.Module, weight_name: str, column: int, x_name: str, row: int
    ) -> ExplanationStep:
        """Return the step y_j = Σ_i x_i W_ij + b_j of a projection."""
        weight, bias = layer.weight, layer.bias
        assert isinstance(weight, Tensor)
        x, w = self.row(x_name, row), weight[column].detach().double().tolist()
        text, note, value, size = weighted_sum(x, w, self.language, self.terms)
        phrase = "linear"
        if isinstance(bias, Tensor):
            phrase, added = "linear_bias", float(bias[column].item())
            text, value, size = join([text, number(added)]), value + added, size + abs(added)
        axis = next(axis.name for axis in self.axes if axis.name in _ROWS)
        words = self.say(
            phrase, x=x_name, place=self.label(axis, row), column=column, weight=weight_name
        )
        return ExplanationStep(words + note, text, value, size)

    def same(self, origin: str, *index: int) -> list[ExplanationStep]:
        """Return the step that says that the number is the same as one of another name."""
        value = float(self.tensor(origin)[index].item())
        return [ExplanationStep(self.say("same", other=origin), "", value, abs(value))]


_ROWS = ("query", "key", "source", "target")

Explain = Callable[[Working], list[ExplanationStep]]
"""Works the number out; the value of the last step is the number."""
