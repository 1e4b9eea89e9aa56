"""Trace: every named intermediate of a pass, by attribute path."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from headway.errors import ConfigError, TraceError, require_type, suggest
from headway.errors.elsewhere import INTERMEDIATES
from headway.inspection.catalog import (
    ALL_NAMES,
    catalog,
    find_row,
    matching,
    model_names,
    pattern_of,
)
from headway.inspection.derived import derive
from headway.inspection.edit import Edits, check_edits, check_kinds
from headway.inspection.explain import explain
from headway.inspection.explanation import Explanation
from headway.inspection.model_kind import Variant, variant_of
from headway.inspection.named_tensor import Axis, TracedTensor, named
from headway.inspection.phrases import Language
from headway.inspection.saving import describe, read_file, write_file
from headway.inspection.sentence import TracedSentence
from headway.inspection.table import summary, table
from headway.inspection.traced_pass import TracedPass
from headway.model.probe import listen, stop_listening
from headway.model.transformer import Transformer

PRESETS: dict[str, tuple[str, ...]] = {
    "all": ("*",),
    "attention": ("*weights",),
    "residual": ("*_embedding.output", "*.input", "*.sum", "*.norm", "encoder.output",
                 "decoder.output"),
}  # fmt: skip
"""Names that `record` takes instead of globs."""


class Trace(TracedPass):
    """The intermediates of the latest pass, by names like `encoder.layers.0.output`.

    A name is the attribute path of a module, relative to the traced one, and the intermediate's own
    name; `headway.inspection.catalog` describes each one. If a module runs more than once, as in
    decoding step by step, the trace keeps the latest tensor. A trace also computes values that it
    can derive from recorded ones: contributions of heads, mean and variance of a LayerNorm,
    probabilities.
    """

    def __init__(
        self,
        module: nn.Module | None = None,
        sentence: TracedSentence | None = None,
        variant: Variant | None = None,
    ) -> None:
        """Start empty; module is the traced one, sentence the one that it reads and writes."""
        self.module = module
        self.sentence = sentence
        self.variant = variant_of(module) if isinstance(module, Transformer) else variant
        self.edits: dict[str, str] = {}
        self._tensors: dict[str, TracedTensor] = {}

    def names(self, pattern: str = "*", *, derived: bool = False) -> list[str]:
        """Return the recorded names that match, in the order of computation.

        pattern: `*` matches any characters, as in `*.cross_attention.weights`. derived: include the
        names of derived values.
        """
        return matching(self._known if derived else list(self._tensors), pattern)

    def __getitem__(self, name: str) -> TracedTensor:
        """Return a tensor; with `*` those of several layers, stacked along a first axis `layer`.

        Raises TraceError with the nearest names for an unknown name.
        """
        if not isinstance(name, str):
            raise TraceError(
                f"A tensor of a trace has a name, but {name!r} is of type {type(name).__name__}.",
                "`names()` lists them.",
            )
        if name in self._tensors:
            return self._tensors[name]
        if "*" in name:
            return self._stacked(name)
        derived = derive(name, self._tensors, self.module, self.variant)
        if derived is not None:
            return named(derived, name, self._axes(self._derived_axes(name)))
        if not self._tensors:
            raise TraceError(
                f"The trace is empty, so there is no '{name}'.",
                "Call the traced module inside the `with` block.",
            )
        hint = suggest(INTERMEDIATES.get(name, name), self._known, ALL_NAMES)
        raise TraceError(f"The trace has no '{name}'.", hint)

    def __contains__(self, name: object) -> bool:
        """Return True if a tensor of this name was recorded."""
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        """Iterate over the recorded names."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """Return the number of recorded tensors."""
        return len(self._tensors)

    def __eq__(self, other: object) -> bool:
        """Return True if both are the same object; `equals` compares their content."""
        return self is other

    def __hash__(self) -> int:
        """Return a hash of this object's identity."""
        return id(self)

    @property
    def nbytes(self) -> int:
        """Return the memory of the recorded tensors in bytes; shared memory counts once."""
        sizes: dict[int, int] = {}
        limits: dict[int, int] = {}
        for tensor in self._tensors.values():
            storage = tensor.untyped_storage()
            place = storage.data_ptr()
            sizes[place] = sizes.get(place, 0) + tensor.nbytes
            limits[place] = storage.nbytes()  # a view of a larger table counts as itself
        return sum(min(sizes[place], limits[place]) for place in sizes)

    def equals(self, other: "Trace") -> bool:
        """Return True if both have the same names, axes, sentence and numbers, bit for bit."""
        return (
            list(self) == list(other)
            and (self.sentence, self.edits) == (other.sentence, other.edits)
            and all(
                tensor.axes == other[name].axes
                and tensor.dtype == other[name].dtype
                and torch.equal(_bits(tensor), _bits(other[name]))
                for name, tensor in self.items()
            )
        )

    def put(self, name: str, tensor: Tensor, axes: Sequence[Axis]) -> None:
        """Keep a tensor, the latest of its name, and attach the sentence's pieces to its axes."""
        self._tensors.pop(name, None)  # so that names have the order of the latest pass
        self._tensors[name] = named(tensor, name, self._axes(axes))

    def explain(
        self,
        name: str,
        *index: int | str,
        language: Language = "en",
        terms: int = 8,
        **where: int | str,
    ) -> Explanation:
        """Work one number out, in words and with its numbers.

        index, where: its place, by the order or the names of its axes: `explain(name, 1, "▁I", 0)`
        or `explain(name, head=1, query="▁I", key=0)`. language: en or ko. terms: how many terms of
        a longer sum are shown, with the sum of the others. Raises TraceError if the trace does not
        have the numbers that this one was made from.
        """
        return explain(self, name, index, where, language=language, terms=terms)

    def save(self, path: str | Path) -> None:
        """Write the trace without the model; the name ends in .safetensors, .json or .npz.

        In JSON a number that is not finite is null, and a list has its kind and place
        (`headway.inspection.saving`).
        """
        write_file(path, self, describe(self, self.sentence, self.variant, self.edits))

    @classmethod
    def load(cls, path: str | Path, module: nn.Module | None = None) -> "Trace":
        """Read a trace; with its module, numbers that are made with weights can be explained, too.

        Raises TraceError if the file is no trace, or one of another kind of model.
        """
        tensors, about = read_file(path)
        trace = cls(module, about["sentence"], about["variant"])
        if about["variant"] is not None and trace.variant != about["variant"]:
            raise TraceError(
                f"{path} is the trace of another kind of model: {about['variant']}.",
                "Give the model that it came from, or none.",
            )
        for name, axes in about["axes"].items():
            trace.put(name, tensors[name], axes)
        trace.edits = about["edits"]
        return trace

    def table(self, pattern: str = "*") -> str:
        """Return name, axes, smallest, largest and mean number of each tensor, one a line."""
        names = self.names(pattern) or self.names(pattern, derived=True)
        return table({name: self[name] for name in names})

    def __repr__(self) -> str:
        """Show sentence, names and axes; layers of the same shape share a line."""
        return summary(self._tensors, self.sentence, self.edits, self.nbytes)

    @property
    def _known(self) -> list[str]:
        """Return the names to suggest: recorded ones, and those derived from them."""
        rows = catalog(self.variant) if self.variant else {}
        parts = dict.fromkeys(name.rpartition(".")[0] for name in self._tensors)
        derived = [row.pattern.rpartition(".") for row in rows.values() if row.derived]
        more = [
            f"{part}.{last}".lstrip(".")
            for part in parts
            for pattern, _, last in derived
            if pattern == pattern_of(f"{part}.").rstrip(".")
        ]
        return [*self._tensors, *more]

    def _derived_axes(self, name: str) -> tuple[Axis, ...]:
        row = catalog(self.variant).get(pattern_of(name))
        if row is not None:
            return row.axes
        # A part that was traced by itself: only contributions of heads are derived from it.
        *lead, _ = self._tensors[name.replace("contributions", "heads")].axes
        return (*lead, Axis("d_model", "d_model"))

    def _axes(self, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        if self.sentence is None:
            return tuple(axes)
        return tuple(self.sentence.attach(axis) for axis in axes if axis.name != "batch")

    def _stacked(self, pattern: str) -> TracedTensor:
        names = self.names(pattern) or self.names(pattern, derived=True)
        if not names:
            raise TraceError(
                f"The trace has no '{pattern}'.", suggest(pattern, self._known, ALL_NAMES)
            )
        tensors = [self[name] for name in names]
        shapes = {tuple(tensor.shape) for tensor in tensors}
        if len(shapes) > 1:
            raise TraceError(
                f"'{pattern}' matches {len(names)} tensors of {len(shapes)} shapes.",
                f"Choose one with names('{pattern}'), or a pattern whose shapes agree.",
            )
        layer = Axis("layer", "N", tuple(names))
        return named(torch.stack([*tensors]), pattern, (layer, *tensors[0].axes))


class TraceRecorder:
    """Hears the intermediates of one module and its parts, edits them and records them."""

    def __init__(
        self, trace: Trace, module: nn.Module, patterns: Sequence[str], edits: Edits
    ) -> None:
        """Record the names that match one of the patterns into `trace`."""
        self.trace = trace
        self.module = module
        self.patterns = patterns
        self.edits = edits
        self.unused = set(edits)
        self.heard: list[str] = []
        self._paths = {part: path for path, part in module.named_modules()}

    def __call__(self, module: nn.Module, name: str, tensor: Tensor, /) -> Tensor:
        """Receive one intermediate; return it after the edits."""
        path = self._paths.get(module)
        if path is None:
            return tensor
        full = f"{path}.{name}" if path else name
        row = find_row(self.module, module, name, full)
        # A part may be called with other leading axes than those of its row.
        axes = row.axes if row is not None and len(row.axes) == tensor.dim() else ()
        self.heard.append(full)
        sentence = self.trace.sentence
        tensor = self._edited(full, tensor, axes)
        if any(matching([full], pattern) for pattern in self.patterns):
            hide = sentence and axes and axes[0].name == "batch"
            self.trace.put(full, tensor[0] if hide else tensor, axes)
        return tensor

    def _edited(self, name: str, tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
        sentence = self.trace.sentence
        texts = []
        for pattern, edit in self.edits.items():
            if matching([name], pattern):
                placed = axes if sentence is None else [sentence.attach(axis) for axis in axes]
                tensor = edit.apply(name, tensor, placed)
                texts.append(edit.describe())
                self.unused.discard(pattern)
        if texts:
            self.trace.edits[name] = ", then ".join(texts)
        return tensor


@contextmanager
def trace(
    module: nn.Module,
    *,
    record: str | Sequence[str] = "all",
    edit: Edits | None = None,
    sentence: TracedSentence | None = None,
) -> Iterator[Trace]:
    """Record the intermediates of this module and its parts inside the `with` block.

    Works on any module of Headway. On a CPU it changes no bit of a result. Elsewhere results may
    differ in rounding: a fused kernel never holds the weights, so attention takes the plain form of
    equation 1 while it is traced. In training mode the tensors are those before dropout.

    record: `all`, `attention` (the weights), `residual` (the stream between sub-layers), or globs.
    edit: changes inside the block, by name (`headway.inspection.edit`). sentence: the one sentence
    of a batch, which hides the axis of the batch.

    >>> import torch
    >>> from headway.model.attention import MultiHeadAttention
    >>> attend, x = MultiHeadAttention(d_model=8, num_heads=2), torch.ones(1, 3, 8)
    >>> with trace(attend) as seen:
    ...     output = attend(x, x, x)
    >>> seen["weights"].shape
    torch.Size([1, 2, 3, 3])
    >>> [axis.name for axis in seen["weights"].axes]
    ['batch', 'head', 'query', 'key']

    Elsewhere: attention_weights, attn_weights, plot_attention_weights, showgraph, visualize_head.
    """
    with _recording(module, record_patterns(record), edit or {}, sentence) as recorded:
        yield recorded


@contextmanager
def edited(
    module: nn.Module, edit: Edits, *, sentence: TracedSentence | None = None
) -> Iterator[None]:
    """Apply edits to all passes inside the `with` block, and record nothing.

    A trace that is opened inside hears the edited pass.
    """
    with _recording(module, (), edit, sentence, lasting=True):
        yield


@contextmanager
def _recording(
    module: nn.Module,
    patterns: Sequence[str],
    edit: Edits,
    sentence: TracedSentence | None,
    *,
    lasting: bool = False,
) -> Iterator[Trace]:
    if not isinstance(module, nn.Module):
        raise ConfigError(
            f"A {type(module).__name__} is given to trace, not a module.",
            "Give a model or a part of one; a Translator has its own `trace`.",
        )
    check_kinds(edit)
    edits = dict(edit)
    recorded = Trace(module, sentence)
    if recorded.variant is not None and isinstance(module, Transformer):
        names = model_names(module, recorded.variant)
        check_edits(edits, names, model_names(module, recorded.variant, derived=True))
    recorder = TraceRecorder(recorded, module, patterns, edits)
    token = listen(recorder, lasting=lasting)
    try:
        yield recorded
    finally:
        stop_listening(token)
    # The names of a part, or of a pass of a part, are known only now.
    if recorder.unused and recorder.heard:
        unused = min(recorder.unused)
        raise TraceError(
            f"This pass had no '{unused}', so nothing was edited there.",
            suggest(unused, recorder.heard, ALL_NAMES),
        )


def _bits(tensor: Tensor) -> Tensor:
    """Return the bytes of a tensor: NaN equals itself, and 0 is not -0."""
    return tensor.detach().cpu().contiguous().view(torch.uint8)


def record_patterns(record: str | Sequence[str]) -> tuple[str, ...]:
    """Return the globs of a preset, or the globs themselves."""
    if isinstance(record, str) and record in PRESETS:
        return PRESETS[record]
    remedy = "Give all, attention, residual, or globs of names."
    require_type("record", record, Iterable, remedy)
    for pattern in () if isinstance(record, str) else record:
        require_type("A glob of names", pattern, str, remedy)
    patterns = (record,) if isinstance(record, str) else tuple(record)
    if not patterns:
        raise ConfigError(
            "record names nothing to record.", f"Use {', '.join(PRESETS)}, or globs of names."
        )
    return patterns
