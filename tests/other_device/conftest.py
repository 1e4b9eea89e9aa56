"""What these checks compare: a run on the CPU and one on another device.

Without `--device` that is a device which is pretended (pretended.py); `--device cuda` or `mps`
takes a real one. They are no part of the usual collection, for a process has only one such device
and keeps it: tests/end_to_end/test_other_device.py runs them in a process of their own.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from headway import devices
from headway.config.run import RunConfig, parse_run_config

from . import pretended

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]

MakeConfig = Callable[..., RunConfig]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default=pretended.NAME, help="cuda, mps; else a pretended one")


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)
    if config.getoption("--device") == pretended.NAME:
        config.libraries = pretended.register()  # type: ignore[attr-defined]
        resolve = devices.resolve_device
        devices.resolve_device = lambda name: name if name == pretended.NAME else resolve(name)


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
