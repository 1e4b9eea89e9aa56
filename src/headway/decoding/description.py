"""One line on a Translator, and names of its arguments in other libraries."""

from collections.abc import Sequence

from headway.bundle import Bundle, summary
from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.packed.engine import PackedEngine
from headway.spelling import hinted

names_of_others = hinted(
    beam="beam_size", nbest="n_best", num_beams="beam_size", num_return_sequences="n_best"
)
"""Lets a method refuse an argument that the command line or another library has."""


def computed_by(engine: Engine) -> str:
    """Return the engine and its precision, such as `packed engine, int8`.

    The precision is the one that computes: where `auto` was asked for, the one that it chose.
    """
    engines: Sequence[Engine] = engine.engines if isinstance(engine, EnsembleEngine) else [engine]
    if all(isinstance(each, PackedEngine) for each in engines):
        precisions = {each.backend.precision for each in engines if isinstance(each, PackedEngine)}
        return f"packed engine, {' and '.join(sorted(precisions))}"
    return "reference engine, float32"


def description(bundle: Bundle, models: int, engine: Engine) -> str:
    """Return languages, sizes, the number of models, and what computes."""
    ensemble = [f"ensemble of {models} models"] if models > 1 else []
    return ", ".join([*summary(bundle), *ensemble, computed_by(engine)])
