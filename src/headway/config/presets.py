"""Named sizes: tiny, small, base, big, student, and every row of the paper's Table 3."""

from typing import Any, NamedTuple

from headway.config.model import Architecture, ModelConfig
from headway.errors import ConfigError, require_type, suggest

_BIG = Architecture(d_model=1024, d_ff=4096, num_heads=16, dropout=0.3)

ARCHITECTURES: dict[str, Architecture] = {
    "tiny": Architecture(
        d_model=128, d_ff=256, num_heads=4, num_encoder_layers=4, num_decoder_layers=4
    ),
    "small": Architecture(
        d_model=256, d_ff=1024, num_heads=4, num_encoder_layers=4, num_decoder_layers=4
    ),
    "base": Architecture(),
    "big": _BIG,
    # As Marian trains it, so that `headway export --to firefox` can write it.
    "student": Architecture(
        d_model=256,
        d_ff=1536,
        num_encoder_layers=6,
        num_decoder_layers=2,
        decoder_past="ssru",
        output_bias=True,
        norm_epsilon=1e-6,
        sinusoid_layout="halved",
        zero_id=2,
    ),
}


class Table3Row(NamedTuple):
    """A variation of the base model as Table 3 lists it; all other settings are those of base."""

    architecture: Architecture
    label_smoothing: float
    train_steps: int
    millions: float | None
    """Parameters in millions as the paper prints them; None if it prints none."""


def _row(
    changes: dict[str, Any],
    millions: float | None = None,
    label_smoothing: float = 0.1,
    train_steps: int = 100_000,
) -> Table3Row:
    return Table3Row(Architecture().replace(changes), label_smoothing, train_steps, millions)


def _layers(count: int) -> dict[str, int]:
    return {"num_encoder_layers": count, "num_decoder_layers": count}


TABLE_3: dict[str, Table3Row] = {
    "base": _row({}, 65),
    "A-1-head": _row({"num_heads": 1, "d_k": 512, "d_v": 512}),
    "A-4-heads": _row({"num_heads": 4, "d_k": 128, "d_v": 128}),
    "A-16-heads": _row({"num_heads": 16, "d_k": 32, "d_v": 32}),
    "A-32-heads": _row({"num_heads": 32, "d_k": 16, "d_v": 16}),
    "B-d_k-16": _row({"d_k": 16}, 58),
    "B-d_k-32": _row({"d_k": 32}, 60),
    "C-2-layers": _row(_layers(2), 36),
    "C-4-layers": _row(_layers(4), 50),
    "C-8-layers": _row(_layers(8), 80),
    "C-d_model-256": _row({"d_model": 256, "d_k": 32, "d_v": 32}, 28),
    "C-d_model-1024": _row({"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
    "C-d_ff-1024": _row({"d_ff": 1024}, 53),
    "C-d_ff-4096": _row({"d_ff": 4096}, 90),
    "D-dropout-0.0": _row({"dropout": 0.0}),
    "D-dropout-0.2": _row({"dropout": 0.2}),
    "D-smoothing-0.0": _row({}, label_smoothing=0.0),
    "D-smoothing-0.2": _row({}, label_smoothing=0.2),
    "E-learned-positions": _row({"positions": "learned"}),
    "big": Table3Row(_BIG, 0.1, 300_000, 213),
}


def architecture(name: str) -> Architecture:
    """Return a preset by name: tiny, small, base, big, student, or a row of Table 3."""
    require_type("A preset", name, str, "Give a name, such as 'tiny'.")
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]
    if name in TABLE_3:
        return TABLE_3[name].architecture
    hint = suggest(name, list(dict.fromkeys([*ARCHITECTURES, *TABLE_3])))
    if not hint.startswith("Did you mean"):
        sizes, rows = (
            ", ".join(ARCHITECTURES),
            ", ".join(row for row in TABLE_3 if row not in ARCHITECTURES),
        )
        hint = f"Choose {sizes}, or a row of the paper's Table 3: {rows}."
    raise ConfigError(f"There is no preset '{name}'.", hint)


def paper_training(name: str) -> dict[str, Any]:
    """Return the paper's training settings of a preset that differ from those of `base`."""
    if name not in TABLE_3:
        return {}
    row, base_row = TABLE_3[name], TABLE_3["base"]
    values: dict[str, Any] = {}
    if row.label_smoothing != base_row.label_smoothing:
        values["label_smoothing"] = row.label_smoothing
    if row.train_steps != base_row.train_steps:
        values["max_steps"] = row.train_steps
    if name == "big":
        values["average_checkpoints"] = 20  # section 6.1
    return values


_SMALL_TRAINING: dict[str, Any] = {
    "batch_tokens": 8192,
    "learning_rate": 0.001,
    "warmup_steps": 4000,
    "max_steps": 60_000,
    "validate_every_steps": 1000,
    "patience": 10,
    "clip_norm": 1.0,
}

# For `headway train` without a configuration file: a laptop finishes in hours, not months.
STARTER_TRAINING: dict[str, dict[str, Any]] = {
    "tiny": {
        "batch_tokens": 4096,
        "learning_rate": 0.002,
        "warmup_steps": 2000,
        "max_steps": 30_000,
        "validate_every_steps": 500,
        "patience": 10,
        "clip_norm": 1.0,
    },
    "small": _SMALL_TRAINING,
    "student": _SMALL_TRAINING,
}

# For `headway train --from` without a configuration file: a short run at a lower rate.
FINE_TUNING: dict[str, Any] = {
    "batch_tokens": 4096,
    "learning_rate": 0.0005,
    "warmup_steps": 200,
    "max_steps": 5_000,
    "validate_every_steps": 200,
    "patience": 5,
    "clip_norm": 1.0,
}


def tiny(vocab_size: int) -> ModelConfig:
    """Return a size for a laptop and a small corpus: 4 + 4 layers of width 128."""
    return architecture("tiny").with_vocabulary(vocab_size)


def small(vocab_size: int) -> ModelConfig:
    """Return a size between tiny and base: 4 + 4 layers of width 256."""
    return architecture("small").with_vocabulary(vocab_size)


def base(vocab_size: int = 37_000) -> ModelConfig:
    """Return the paper's base model: 6 + 6 layers of width 512."""
    return architecture("base").with_vocabulary(vocab_size)


def big(vocab_size: int = 37_000) -> ModelConfig:
    """Return the paper's big model: 6 + 6 layers of width 1024."""
    return architecture("big").with_vocabulary(vocab_size)


def student(vocab_size: int) -> ModelConfig:
    """Return a size for fast translation: 6 + 2 layers of width 256, with an SSRU."""
    return architecture("student").with_vocabulary(vocab_size)
