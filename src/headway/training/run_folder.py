"""The folder of a run: its files, its lock, and the protection of other files."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from headway.bundle import OwnParts, change_in
from headway.bundle_folder import check_place, settle, strangers
from headway.config.run import RunConfig, dump_run_config, load_run_config
from headway.config.training import TrainingConfig
from headway.data.corpus import Pair
from headway.data.draft_counts import DraftCounts
from headway.data.encodable import encodable
from headway.data.shortlist import Shortlist
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError, DataError, RunError, permitted
from headway.home import expanded
from headway.json_text import to_json
from headway.runtime.atomic_files import PARTIAL, write_atomically, writing
from headway.runtime.locks import lock_file
from headway.saved_bundle import AVERAGED, BEST, CODE, DRAFTS, REPORT, SHORTLIST
from headway.training.languages import are_read_alike, with_begun_languages
from headway.training.schedule import falls_to_end
from headway.training.start_from import inherit

# Settings that a continued run may change: its length, the place of its text, its records, the
# handling of updates that are not finite, and the division of weights among processes.
CHANGEABLE = {
    ("data", "directory"),
    ("data", "shards"),
    ("training", "max_steps"),
    ("training", "max_epochs"),
    ("training", "patience"),
    ("training", "checkpoint_every_steps"),
    ("training", "not_finite"),
    ("training", "shard"),
    ("training", "tensorboard"),
}


_COPY = "Copy the whole folder of the run again, or start another run with --out."


class RunFolder:
    """Paths and records of one run.

    config.toml        the resolved configuration
    source.model, target.model   the tokenizers
    parts.py           code of the model that it started from, if that had some
    shortlist.safetensors, drafts.safetensors   of that model, if it had them
    data.json          checksums of the text, reports of cleaning
    valid.source, valid.target   the validation text of data.hold_out, line by line
    encoded/           the text in pieces, while several processes train without data.shards
    metrics.jsonl      one JSON object a line: steps, validations, diagnoses
    tensorboard/       the same for TensorBoard, if configured
    checkpoints/       last.safetensors to continue from, weights-*.safetensors to average
    best/, averaged/   bundles
    report.json        scores of the finished run
    loss.png           loss, scores and rate over the steps
    """

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is written yet."""
        self.path = expanded(path)
        self.config = self.path / "config.toml"
        self.code = self.path / CODE
        self.shortlist = self.path / SHORTLIST
        self.drafts = self.path / DRAFTS
        self.data = self.path / "data.json"
        self.encoded = self.path / "encoded"
        self.metrics = self.path / "metrics.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.checkpoint = self.checkpoints / "last.safetensors"
        self.best = self.path / BEST
        self.averaged = self.path / AVERAGED
        self.report = self.path / REPORT
        self.picture = self.path / "loss.png"
        self.tensorboard = self.path / "tensorboard"
        self.lock = self.path / ".lock"

    def has_begun(self) -> bool:
        """Return True if a run began here; RunError if this user may not read the folder."""
        with permitted(self.path, RunError):
            return self.config.exists()

    def check_free(self) -> None:
        """Raise RunError if the folder holds anything already, or cannot be made."""
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            raise RunError(
                f"The name of the folder {str(self.path)!a} is not UTF-8.",
                "Choose another one with --out.",
            ) from None
        begun = self.has_begun()
        if not self.path.exists():
            self._check_place()
            return
        if not self.path.is_dir():
            raise RunError(f"{self.path} is a file.", "Choose a folder with --out.")
        with permitted(self.path, RunError):
            if all(self._is_scrap(path) for path in self.path.iterdir()):
                return
        content = "another run" if begun else "something else"
        raise RunError(
            f"The folder {self.path} holds {content} already.",
            "Choose another folder with --out"
            + (", or continue that run with --resume." if begun else "."),
        )

    def _check_place(self) -> None:
        """Refuse a folder that cannot be made, before hours of preparation."""
        above = next(parent for parent in self.path.absolute().parents if parent.exists())
        if not above.is_dir():
            problem = f"{above} is a file"
        elif not os.access(above, os.W_OK | os.X_OK):
            problem = f"{above} may not be written to by this user"
        else:
            return
        raise RunError(
            f"The folder {self.path} cannot be made: {problem}.", "Choose another one with --out."
        )

    def begin(self, config: RunConfig) -> None:
        """Make the folder a run, which can be continued from now on."""
        self.check_free()
        self.remove_leftovers()
        self.write_config(config)

    def resume(self, config: RunConfig | None) -> RunConfig:
        """Return the configuration to continue with; ConfigError if it would be another run."""
        begun = self._begun_config()
        if config is None:
            return begun
        config = with_begun_languages(inherit(config, begun), begun)
        if difference := _first_difference(begun, config):
            if difference.startswith("training.max_steps:"):
                raise ConfigError(
                    f"This run began with another {difference}, and its rate "
                    "falls to zero at that step.",
                    "Continue with its own configuration, or begin another run with its weights: "
                    f"{from_its_weights(self.path)}",
                )
            raise ConfigError(
                f"This run began with another {difference}.",
                "Continue with its own configuration, or start another run with --out.",
            )
        return config

    def _begun_config(self) -> RunConfig:
        if not self.has_begun():
            if any(self.path.glob("seed-*/config.toml")):
                raise RunError(
                    f"The folder {self.path} holds runs of several seeds.",
                    "Continue them with --seeds N and --resume, or one of them by its folder.",
                )
            raise RunError(
                f"The folder {self.path} holds no run to continue.",
                "Check --out, or start without --resume.",
            )
        return load_run_config(self.config)

    def write_config(self, config: RunConfig) -> None:
        """Save the resolved configuration."""
        self._write(self.config, dump_run_config(config).encode())

    def write_training(self, training: TrainingConfig) -> None:
        """Save the configuration with other settings of the training."""
        self.write_config(self._begun_config().model_copy(update={"training": training}))

    def write_tokenizers(self, source: Tokenizer, target: Tokenizer) -> None:
        """Keep the tokenizers, so that a continued run cuts text as it did before."""
        self._write(self.path / "target.model", target.to_bytes())
        self._write(self.path / "source.model", source.to_bytes())

    def read_tokenizers(self) -> tuple[Tokenizer, Tokenizer] | None:
        """Return the kept tokenizers, or None if the run was stopped before it had any."""
        source, target = self.path / "source.model", self.path / "target.model"
        if not source.exists():  # it is written last
            if self.checkpoint.exists():
                raise RunError(f"{source} is missing, although the run has a checkpoint.", _COPY)
            return None
        return Tokenizer.from_file(source), Tokenizer.from_file(target)

    def write_code(self, code: bytes) -> None:
        """Keep the code of the model that the run started from."""
        self._write(self.code, code)

    def write_learned(self, files: dict[str, bytes]) -> None:
        """Keep the shortlist and the drafts of the model that the run started from."""
        for name, content in files.items():
            self._write(getattr(self, name), content)

    def learned(self, sizes: tuple[int, int]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the kept shortlist and drafts, by name, and the record of each.

        sizes: of the vocabularies. Raises RunError for a damaged file.
        """
        fields: dict[str, Any] = {}
        for path, read in ((self.shortlist, Shortlist), (self.drafts, DraftCounts)):
            if path.exists():
                try:
                    fields[path.stem] = read.from_bytes(path.read_bytes(), *sizes)
                except DataError as error:
                    raise RunError(f"{path} is damaged: {error.message}", _COPY) from None
        return fields, self.read_json(self.data).get("learned", {}) if fields else {}

    def change(self, *, trust_code: bool) -> OwnParts | None:
        """Return the change by the kept code; None without code, BundleError without trust."""
        if not self.code.exists():
            return None
        return change_in(self.code.read_bytes(), self.code, trust_code=trust_code)

    def check_whole(self) -> None:
        """Raise RunError if a part of the run is missing, or another file is in the way.

        A run that was stopped before its first checkpoint has made at most one validation.
        """
        if self.checkpoint.exists():
            if not self.data.exists():
                raise RunError(f"{self.data} is missing, although the run has a checkpoint.", _COPY)
        else:
            validations = [record for record in self.records() if record["kind"] == "validation"]
            if self.report.exists() or self.averaged.exists() or len(validations) > 1:
                raise RunError(
                    f"{self.checkpoint} is missing, although the run has made steps: it would "
                    "begin again at step 0 and overwrite its results.",
                    _COPY,
                )
        for bundle in (self.best, self.averaged):
            check_place(bundle)

    def remove_leftovers(self) -> None:
        """Remove files and folders that a killed process had not finished."""
        for folder in (self.path, self.checkpoints):
            for path in folder.glob(f".*{PARTIAL}"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for bundle in (self.best, self.averaged):
            if bundle.is_dir():
                settle(bundle)

    def strangers(self) -> list[Path]:
        """Return the paths in the folder that are not of the run."""
        names = {path.name for path in vars(self).values() if path.parent == self.path}
        names |= {"source.model", "target.model", "valid.source", "valid.target"}
        unknown = [path for path in self.path.iterdir() if path.name not in names]
        bundles = [bundle for bundle in (self.best, self.averaged) if bundle.is_dir()]
        return [path for path in unknown if not self._is_scrap(path)] + [
            path for bundle in bundles for path in strangers(bundle)
        ]

    def drop_encoded(self) -> None:
        """Remove the encoded text of a finished run."""
        shutil.rmtree(self.encoded, ignore_errors=True)

    def _is_scrap(self, path: Path) -> bool:
        """Return True for a leftover of a process that was killed before its run began."""
        if path == self.checkpoints:
            return path.is_dir() and not any(path.iterdir())
        return path == self.lock or (path.name.startswith(".") and path.name.endswith(PARTIAL))

    def write_held_out(self, pairs: Sequence[Pair]) -> None:
        """Write the held-out pairs, so that other models can be scored on them."""
        for side in ("source", "target"):
            lines = (encodable(getattr(pair, side)) + "\n" for pair in pairs)
            self._write(self.path / f"valid.{side}", "".join(lines).encode())

    def write_json(self, path: Path, values: dict[str, Any]) -> None:
        """Save a record in one step."""
        text = to_json(values, indent=2)
        self._write(path, f"{text}\n".encode())

    def read_json(self, path: Path) -> dict[str, Any]:
        """Return a saved record; RunError if it is missing or damaged."""
        try:
            values = json.loads(path.read_bytes())
        except OSError as error:
            raise RunError(f"{path} cannot be read ({error.strerror or error}).", _COPY) from None
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise RunError(f"{path} is damaged: it holds no JSON object.", _COPY)
        return values

    def origin(self) -> dict[str, Any]:
        """Return the origin of a fine-tune from data.json, or an empty dict."""
        record = self.read_json(self.data) if self.data.exists() else {}
        return {"started_from": record["started_from"]} if "started_from" in record else {}

    def known_length(self) -> int:
        """Return the tokens of a source that the model which it started from takes; 0 without."""
        record = self.read_json(self.data) if self.data.exists() else {}
        return int(record.get("max_source_pieces", 0))

    def _write(self, path: Path, data: bytes) -> None:
        with writing_run(path):
            write_atomically(path, data)

    def forget_metrics_after(self, step: int) -> None:
        """Drop the records of steps that a resumed run will repeat."""
        if self.metrics.exists():
            remaining_lines = [line for line, record in self._recorded() if record["step"] <= step]
            self._write(self.metrics, b"".join(line + b"\n" for line in remaining_lines))

    def records(self) -> list[dict[str, Any]]:
        """Return the records in metrics.jsonl; RunError names a damaged line."""
        return [record for _, record in self._recorded()] if self.metrics.exists() else []

    def _recorded(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        try:
            # A stop cut off everything after the last line end, perhaps within a character.
            *lines, _ = self.metrics.read_bytes().split(b"\n")
        except OSError as error:
            raise RunError(
                f"{self.metrics} cannot be read ({error.strerror or error}).", _COPY
            ) from None
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                whole = isinstance(record["step"], int) and isinstance(record["kind"], str)
            except (ValueError, TypeError, KeyError, RecursionError):
                record, whole = {}, False
            if not whole:
                raise RunError(
                    f"Line {number} of {self.metrics} is no record of a training: "
                    f"{line[:60].decode(errors='replace')!r}.",
                    "Correct or remove that line, then continue with --resume.",
                )
            yield line, record

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and lock it, so that no second process trains in it."""
        with writing_run(self.path):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            file = self.lock.open("a")
        with file:
            try:
                lock_file(file, wait=False)
            except BlockingIOError:
                raise RunError(
                    f"Another process is training in {self.path}.",
                    "Wait for it, or choose another folder with --out.",
                ) from None
            except OSError as error:
                raise RunError(
                    f"{self.path} cannot be locked ({error.strerror or error}), so a second "
                    "process could train in it unnoticed.",
                    "Choose a folder on a file system with locks with --out.",
                ) from error
            yield


def writing_run(path: Path) -> AbstractContextManager[None]:
    """Turn a full disk, or a folder without permission, into a RunError."""
    remedy = "Free some space or mend the permissions, then continue with --resume."
    return writing(path, RunError, remedy)


def from_its_weights(run: Path) -> str:
    """Return the command that begins another run with the text and the weights of this one."""
    config = quote(str(run / "config.toml"))
    return f"headway train {config} --from {quote(str(run))} --out ANOTHER"


def _first_difference(old: RunConfig, new: RunConfig) -> str | None:
    changeable = set(CHANGEABLE)
    if are_read_alike(old.data, new.data):
        changeable |= {("data", "source_language"), ("data", "target_language")}
    if falls_to_end(old.training):
        # Here max_steps decides rates, also of steps that have been made.
        changeable.remove(("training", "max_steps"))
    for section, values in new.model_dump(exclude={"recipe"}).items():
        before = getattr(old, section).model_dump()
        for key, value in values.items():
            if (section, key) not in changeable and before[key] != value:
                return f"{section}.{key}: {before[key]!r}, now {value!r}"
    return None
