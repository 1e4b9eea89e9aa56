"""A small model learns to copy and to turn round sequences it has never seen.

Copying fails when the target is not shifted (the loss reaches zero, the translation is noise),
when a mask lets the decoder see what is to come, or when cross-attention reads the wrong side or
position; turning round also needs the source's last symbols first.
"""

import random
from pathlib import Path

import pytest

from headway.bundle import load_bundle
from headway.config.run import RunConfig, parse_run_config
from headway.decoding.translator import TextTranslator
from headway.evaluation.metrics import score_texts
from headway.training.reporting import Reporter
from headway.training.run import train

LETTERS = "abcdefgh"


def write_text(folder: Path, order: int) -> list[list[str]]:
    """Write different sequences of 2 to 6 letters for training and validation; return new ones."""
    rng = random.Random(2)
    chosen: set[tuple[str, ...]] = set()
    while len(chosen) < 2800:
        chosen.add(tuple(rng.choice(LETTERS) for _ in range(rng.randint(2, 6))))
    lines = [list(line) for line in sorted(chosen)]
    rng.shuffle(lines)
    for name, part in (("train", lines[:2500]), ("valid", lines[2500:2600])):
        for side, step in (("source", 1), ("target", order)):
            text = "".join(" ".join(line[::step]) + "\n" for line in part)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")
    return lines[2600:]


def make_config(folder: Path, **changes: dict[str, object]) -> RunConfig:
    values: dict[str, dict[str, object]] = {
        "data": {
            "directory": str(folder),
            "source": "train.source",
            "target": "train.target",
            "valid_source": "valid.source",
            "valid_target": "valid.target",
        },
        "tokenizer": {"kind": "word", "vocabulary_size": 50},
        "model": {
            "d_model": 48,
            "d_ff": 96,
            "num_heads": 4,
            "num_encoder_layers": 1,
            "num_decoder_layers": 2,
            "dropout": 0.0,
        },
        "training": {
            "max_steps": 300,
            "batch_tokens": 700,
            "warmup_steps": 80,
            "learning_rate": 0.004,
            "schedule": "linear",
            "validate_every_steps": 300,
            "validation_sentences": 0,
            "average_checkpoints": 1,
            "precision": "float32",
        },
        "evaluation": {"metrics": ["exact"]},
        "decoding": {"max_extra_pieces": 5},
    }
    for section, settings in changes.items():
        values[section] |= settings
    return parse_run_config(values)


def learn(folder: Path, order: int, **changes: dict[str, object]) -> float:
    """Train and return the share of new sequences that come out right, greedily."""
    new = write_text(folder, order)
    train(make_config(folder, **changes), folder / "run", reporter=Reporter(quiet=True))
    translator = TextTranslator(load_bundle(folder / "run"))
    found = translator.translate([" ".join(line) for line in new], beam_size=1)
    (score,) = score_texts(
        [translation.text for translation in found],
        [" ".join(line[::order]) for line in new],
        ["exact"],
    )
    return score.value


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)


@pytest.mark.parametrize(
    ("order", "changes"),
    [(1, {}), (-1, {"model": {"norm_position": "pre"}})],
    ids=["copy", "reverse-pre-norm"],
)
def test_sequences_never_seen_come_out_right(
    tmp_path: Path, order: int, changes: dict[str, dict[str, object]]
) -> None:
    assert learn(tmp_path, order, **changes) > 95.0  # percent
