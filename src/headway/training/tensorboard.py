"""Event files for TensorBoard, in addition to metrics.jsonl."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.errors import MissingExtraError, RunError
from headway.runtime.atomic_files import remedy_for


def require_tensorboard() -> None:
    """Raise MissingExtraError if TensorBoard is not installed."""
    try:
        import torch.utils.tensorboard  # noqa: F401  # it imports the package tensorboard
    except ImportError as error:
        raise MissingExtraError(
            "training.tensorboard is true, but TensorBoard is not installed.",
            "pip install 'headway[tensorboard]', or leave training.tensorboard false.",
        ) from error


class EventFiles:
    """Write the records of updates and validations as scalars."""

    def __init__(self, folder: Path, step: int) -> None:
        """Begin a file in the folder, which replaces events after `step` of earlier files."""
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self.folder = folder
        with _writing(folder):
            self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def steps(self, record: dict[str, Any]) -> None:
        """Add a record of updates."""
        self._add(
            record["step"],
            {
                "train/loss": record["loss"],
                "train/rate": record["rate"],
                "train/gradient_norm": record["gradient_norm"],
                "train/target_tokens_per_second": record["target_tokens_per_second"],
            },
        )

    def validation(self, record: dict[str, Any]) -> None:
        """Add a validation."""
        values = {f"validation/{key}": record[key] for key in ("loss", "perplexity")}
        values |= {f"validation/{name}": value for name, value in record["scores"].items()}
        self._add(record["step"], values)

    def close(self) -> None:
        """Write pending events and end the file."""
        with _writing(self.folder):
            self._writer.close()

    def _add(self, step: int, values: dict[str, float]) -> None:
        with _writing(self.folder):
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
            self._writer.flush()  # so that a full disk is noticed here, and readers see it


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn any error of writing into a RunError.

    If TensorFlow is installed, TensorBoard writes with it, and its errors are not OSError.
    """
    try:
        yield
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(
            f"{folder} cannot be written ({reason}).",
            remedy_for(
                error,
                "Free some space, mend the permissions, or set training.tensorboard to false; then "
                "continue with --resume.",
            ),
        ) from error
