"""The choice of an engine and its precision."""

from collections.abc import Sequence
from typing import Literal, get_args

from headway.data.draft_counts import DraftCounts
from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.packed.backends import choose_backend
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.reference import ReferenceEngine
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.errors import ConfigError, suggest, warn
from headway.kernels.dispatch import Precision
from headway.model.customized import describe_customizations
from headway.model.transformer import Transformer

EngineName = Literal["auto", "packed", "reference"]
PrecisionName = Literal["auto", "float32", "bfloat16", "int8"]


def build_engine(
    model: Transformer,
    engine: EngineName = "auto",
    precision: PrecisionName = "float32",
    *,
    drafts: DraftCounts | None = None,
) -> Engine:
    """Make an engine of a model in eval mode.

    engine: "packed" is the fast engine, compiled by Numba on a CPU if Numba is installed.
    "reference" calls the model itself. "auto" is packed, except for a model with parts of the
    caller's own or with hooks: there it warns and is reference, because packed reads the weights
    and calls no part. precision: of the packed engine's matrix products; "auto" is the fastest on
    this machine that scores as float32 does (`headway.decoding.precision`). drafts: counts that a
    compiled greedy search guesses pieces by; they change no translation. Raises ConfigError if
    engine and precision do not fit each other, the model or its device.
    """
    if engine not in get_args(EngineName):
        raise ConfigError(f"There is no engine '{engine}'.", suggest(engine, get_args(EngineName)))
    if precision not in get_args(PrecisionName):
        raise ConfigError(
            f"There is no precision '{precision}'.", suggest(precision, get_args(PrecisionName))
        )
    if engine != "reference" and (changes := describe_customizations(model)):
        if engine == "packed" or precision not in ("auto", "float32"):
            raise ConfigError(
                f"The packed engine computes the paper's equations, but {changes}.",
                "Use engine='reference' in float32, which calls the parts of the model.",
            )
        warn(f"The reference engine translates, which is slower: {changes}.")
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
    chosen = automatic_precision(model) if precision == "auto" else precision
    return PackedEngine(model, choose_backend(device, chosen), drafts)


_OF_THE_MEMORY = ("cross_attention.w_k.weight", "cross_attention.w_v.weight")


def automatic_precision(model: Transformer) -> Precision:
    """Return the precision that "auto" is for a packed engine of this model."""
    from headway.decoding.precision import DecoderSize, fastest

    output = model.output_projection.weight
    d_ff, d_model = model.get_parameter("decoder.layers.0.feed_forward.w_1.weight").shape
    weights = sum(
        weight.numel()
        for name, weight in model.decoder.layers.named_parameters()
        # The memory's keys and values are computed once a sentence.
        if weight.dim() == 2 and not name.endswith(_OF_THE_MEMORY)
    )
    return fastest(output.device, DecoderSize(weights, d_model, d_ff, len(output)))


def computed_by(engine: Engine) -> str:
    """Return the engine and the precision that it computes in, such as `packed engine, int8`."""
    engines: Sequence[Engine] = engine.engines if isinstance(engine, EnsembleEngine) else [engine]
    packed = [single for single in engines if isinstance(single, PackedEngine)]
    if len(packed) < len(engines):
        return "reference engine, float32"
    precisions = {single.backend.precision for single in packed}
    return f"packed engine, {' and '.join(sorted(precisions))}"
