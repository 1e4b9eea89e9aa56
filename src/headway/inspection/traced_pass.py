"""The interface of a trace for the modules that read one."""

from abc import abstractmethod
from collections.abc import Mapping

from torch import nn

from headway.inspection.model_kind import Variant
from headway.inspection.named_tensor import TracedTensor
from headway.inspection.sentence import TracedSentence


class TracedPass(Mapping[str, TracedTensor]):
    """Traced tensors by name; `Trace` implements it."""

    module: nn.Module | None
    """The traced module; None for a trace that was read without it."""
    sentence: TracedSentence | None
    """The sentence that was translated; None for the trace of a module."""
    variant: Variant | None
    """The kind of the model; None for the trace of a part."""
    edits: dict[str, str]
    """The edits of each edited tensor, as they are written in Python."""

    @abstractmethod
    def names(self, pattern: str = "*", *, derived: bool = False) -> list[str]:
        """Return the names that match, in the order of computation."""
