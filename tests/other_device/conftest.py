"""What these checks compare: a run on the CPU and one on the device of plugin.py."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import RunConfig, parse_run_config

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]

MakeConfig = Callable[..., RunConfig]


@pytest.fixture(scope="session", autouse=True)
def _no_picture() -> Iterator[None]:
    """Leave out the picture of a run, which takes longer than all the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headway.training.run.draw_losses", lambda *_: None)
        yield


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    return pytestconfig.getoption("--device")


@pytest.fixture(scope="session")
def make_config(tmp_path_factory: pytest.TempPathFactory) -> MakeConfig:
    """Return a maker of small configurations; the target is the source backwards."""
    folder, draw = tmp_path_factory.mktemp("data"), random.Random(5)
    lines = [[draw.choice(WORDS) for _ in range(draw.randint(1, 6))] for _ in range(90)]
    for name, order in (("source", 1), ("target", -1)):
        text = "".join(" ".join(words[::order]) + "\n" for words in lines)
        (folder / name).write_text(text, encoding="utf-8")

    def make(**changes: dict[str, Any]) -> RunConfig:
        values: dict[str, dict[str, Any]] = {
            "data": {
                "directory": str(folder),
                "source": "source",
                "target": "target",
                "hold_out": 9,
            },
            "tokenizer": {"kind": "word", "vocabulary_size": 30},
            "model": {
                "d_model": 18,
                "d_ff": 28,
                "num_heads": 3,
                "num_encoder_layers": 2,
                "num_decoder_layers": 2,
                "dropout": 0.0,
            },
            "training": {
                "max_steps": 20,
                "batch_tokens": 120,
                "learning_rate": 0.01,
                "schedule": "cosine",
                "warmup_steps": 3,
                "validate_every_steps": 7,
                "checkpoint_every_steps": 5,
                "average_checkpoints": 2,
                "record_every_steps": 1,
                "precision": "float32",
            },
            "decoding": {"max_extra_pieces": 4, "beam_size": 2},
        }
        for section, settings in changes.items():
            values.setdefault(section, {}).update(settings)
        return parse_run_config(values)

    return make


@pytest.fixture(scope="session")
def runs(
    make_config: MakeConfig, device: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Return the folders of the same run on the CPU and on the other device."""
    from headway.training.run import train

    folder = tmp_path_factory.mktemp("runs")
    for name in ("cpu", device):
        train(make_config(), folder / name, device=name)
    return {"cpu": folder / "cpu", "there": folder / device}
