"""The folder of a run: what it holds, who may write to it, and what a new run must not touch."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.bundle import write_atomically
from headway.config.run import RunConfig, dump_run_config, load_run_config
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError, RunError

# Settings that a continued run may change: they say how long, not what.
CHANGEABLE = {
    ("training", "max_steps"),
    ("training", "max_epochs"),
    ("training", "patience"),
    ("training", "checkpoint_every_steps"),
}


class RunFolder:
    """Paths and records of one run.

    config.toml        the resolved configuration
    source.model, target.model   the tokenizers
    data.json          checksums of the text, what cleaning dropped
    metrics.jsonl      one JSON object a line: steps and validations
    checkpoints/       last.safetensors to continue from, weights-*.safetensors to average
    best/, averaged/   bundles
    report.json        scores of the finished run
    """

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is written yet."""
        self.path = Path(path)
        self.config = self.path / "config.toml"
        self.data = self.path / "data.json"
        self.metrics = self.path / "metrics.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.checkpoint = self.checkpoints / "last.safetensors"
        self.best = self.path / "best"
        self.averaged = self.path / "averaged"
        self.report = self.path / "report.json"
        self.picture = self.path / "loss.png"

    def begin(self, config: RunConfig) -> None:
        """Make the folder for a new run; RunError if it holds anything already."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            what = "another run" if self.config.exists() else "something else"
            raise RunError(
                f"The folder {self.path} holds {what} already.",
                "Continue that run with --resume, or choose another folder with --out.",
            )
        try:
            self.checkpoints.mkdir(parents=True)
            self.write_config(config)
        except OSError as error:
            raise RunError(
                f"The folder {self.path} cannot be made ({error.strerror}).",
                "Choose another one with --out.",
            ) from error

    def resume(self, config: RunConfig | None) -> RunConfig:
        """Return the configuration to continue with; RunError if it would be another run."""
        if not self.config.exists():
            raise RunError(
                f"The folder {self.path} holds no run to continue.",
                "Check --out, or start without --resume.",
            )
        own = load_run_config(self.config)
        if config is None:
            return own
        if difference := _first_difference(own, config):
            raise ConfigError(
                f"This run began with another {difference}.",
                "Continue with its own configuration, or start another run with --out.",
            )
        self.write_config(config)
        return config

    def write_config(self, config: RunConfig) -> None:
        """Save the resolved configuration."""
        write_atomically(self.config, dump_run_config(config).encode())

    def write_tokenizers(self, source: Tokenizer, target: Tokenizer) -> None:
        """Keep the tokenizers, so that a continued run cuts text as it did before."""
        write_atomically(self.path / "target.model", target.to_bytes())
        write_atomically(self.path / "source.model", source.to_bytes())

    def read_tokenizers(self) -> tuple[Tokenizer, Tokenizer] | None:
        """Return the kept tokenizers, or None when the run was stopped before it had any."""
        source, target = self.path / "source.model", self.path / "target.model"
        if not source.exists():  # it is written last
            return None
        return Tokenizer.from_file(source), Tokenizer.from_file(target)

    def remove_leftovers(self) -> None:
        """Remove files and folders that a killed process was in the middle of writing."""
        for folder in (self.path, self.checkpoints):
            for path in folder.glob(".*-*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def write_json(self, path: Path, values: dict[str, Any]) -> None:
        """Save a record in one step."""
        text = json.dumps(values, indent=2, ensure_ascii=False)
        write_atomically(path, f"{text}\n".encode())

    def forget_metrics_after(self, step: int) -> None:
        """Drop the records of steps that a resumed run is going to repeat."""
        if not self.metrics.exists():
            return
        kept = []
        for line in self.metrics.read_text(encoding="utf-8").split("\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the line that the stop cut off
            if record["step"] <= step:
                kept.append(line + "\n")
        write_atomically(self.metrics, "".join(kept).encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run, so that no second process trains in the same folder."""
        with open(self.path / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunError(
                    f"Another process is training in {self.path}.",
                    "Wait for it, or choose another folder with --out.",
                ) from None
            file.write(str(os.getpid()))
            yield


def _first_difference(old: RunConfig, new: RunConfig) -> str | None:
    for section, values in new.model_dump(exclude={"recipe"}).items():
        before = getattr(old, section).model_dump()
        for key, value in values.items():
            if (section, key) not in CHANGEABLE and before[key] != value:
                return f"{section}.{key}: {before[key]!r}, now {value!r}"
    return None
