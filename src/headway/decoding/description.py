"""What a Translator shows of itself where it is printed, and says where it is called wrongly."""

from typing import Any, TypeVar

from headway.bundle import summary
from headway.spelling import hinted

_T = TypeVar("_T")
_OTHERS = {
    "beam": "beam_size",
    "nbest": "n_best",
    "num_beams": "beam_size",
    "num_return_sequences": "n_best",
}
"""Names of the command line, and of other libraries."""


def described_and_hinted(kind: type[_T]) -> type[_T]:
    """Give the Translator its `repr`, and its methods errors that name the argument meant."""
    setattr(kind, "__repr__", _described)  # noqa: B010 - a class has one of another type
    for name in ("translate", "stream", "alternatives", "search"):
        setattr(kind, name, hinted(**_OTHERS)(vars(kind)[name]))
    load = vars(kind)["load"].__func__
    kind.load = classmethod(hinted(dtype="precision")(load))  # pyright: ignore
    return kind


def _described(translator: Any) -> str:
    """Return one line: languages, sizes, and engine, precision and device."""
    _, _, precision, others = translator._made_of
    engine = "packed" if translator._copies_weights else "reference"
    ensemble = [f"ensemble of {1 + len(others)} models"] if others else []
    parts = [*summary(translator.bundle), *ensemble, f"{engine} engine", precision]
    return f"{type(translator).__name__}({', '.join(parts)}, {translator.device})"
