"""Which engine computes, and in which precision."""

from collections.abc import Sequence
from typing import Literal, get_args

from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.packed.backend import Precision
from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.reference import ReferenceEngine
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.errors import ConfigError, suggest, warn
from headway.model.customized import changes_in_words
from headway.model.transformer import Transformer

EngineName = Literal["auto", "packed", "reference"]
PrecisionName = Literal["auto", "float32", "bfloat16", "int8"]


def build_engine(
    model: Transformer, engine: EngineName = "auto", precision: PrecisionName = "float32"
) -> Engine:
    """Make an engine of a model in eval mode.

    engine: packed is the fast one, compiled by Numba on a CPU where that is installed; reference
    is the module itself. auto takes packed, but warns and takes reference where parts of the model
    are not this package's own, or have hooks: packed reads their weights and does not call them.
    precision: of the packed engine's products; auto takes what was measured to be the fastest on
    this machine, once, see `headway.decoding.precision`. Raises ConfigError when the two do not go
    together, or not with the model or its device.
    """
    if engine not in get_args(EngineName):
        raise ConfigError(f"There is no engine '{engine}'.", suggest(engine, get_args(EngineName)))
    if precision not in get_args(PrecisionName):
        raise ConfigError(
            f"There is no precision '{precision}'.", suggest(precision, get_args(PrecisionName))
        )
    if engine != "reference" and (others := changes_in_words(model)):
        if engine == "packed" or precision not in ("auto", "float32"):
            raise ConfigError(
                f"The packed engine computes the paper's equations, but {others}.",
                "Use engine='reference' in float32, which calls the model's own parts.",
            )
        warn(f"The reference engine translates, which is slower: {others}.")
        if fault := find_stepwise_mismatch(model):
            warn(fault)
        engine = "reference"
    if engine == "reference":
        if precision not in ("auto", "float32"):
            raise ConfigError(
                f"The reference engine computes in float32, not in {precision}.",
                "Use the packed engine for it.",
            )
        return ReferenceEngine(model)
    device = model.output_projection.weight.device
    return PackedEngine(model, choose_backend(device, _choose(model, precision)))


def _choose(model: Transformer, precision: PrecisionName) -> Precision:
    if precision != "auto":
        return precision
    from headway.decoding.precision import fastest

    device = model.output_projection.weight.device
    d_ff, d_model = model.get_parameter("decoder.layers.0.feed_forward.w_1.weight").shape
    return fastest(device, d_model, d_ff)


def computed_by(engine: Engine) -> str:
    """Return the engine and its precision, such as `packed engine, int8`.

    For precision "auto" it is the one that was chosen.
    """
    engines: Sequence[Engine] = engine.engines if isinstance(engine, EnsembleEngine) else [engine]
    packed = [each for each in engines if isinstance(each, PackedEngine)]
    if len(packed) < len(engines):
        return "reference engine, float32"
    precisions = {each.backend.precision for each in packed}
    return f"packed engine, {' and '.join(sorted(precisions))}"
