"""Passes that a GPU has recorded learn what passes of a CPU learn; for CUDA alone."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.config.run import RunConfig
from headway.model.embedding import InputEmbedding
from headway.model.transformer import Transformer
from headway.training import cuda_graphs
from headway.training.run import train

from .check_training import losses

MakeConfig = Callable[..., RunConfig]

# What a compiler does is its own business.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _cuda(device: str) -> None:
    if torch.device(device).type != "cuda":
        pytest.skip("CUDA graphs are of CUDA")


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the rows of each pass that was made by a recording."""
    rows: list[int] = []
    call = cuda_graphs._Recording.__call__

    def counted(self: cuda_graphs._Recording, batch: object, scale: float) -> torch.Tensor:
        rows.append(len(self.batch.source_ids))
        return call(self, batch, scale)  # type: ignore[arg-type]

    monkeypatch.setattr(cuda_graphs._Recording, "__call__", counted)
    return rows


def test_losses_are_those_of_the_cpu(
    make_config: MakeConfig,
    runs: dict[str, Path],
    device: str,
    tmp_path: Path,
    replays: list[int],
) -> None:
    # Sentences of less than 9 pieces are as long as they are, so that batches are the same ones.
    config = make_config(training={"compile": True, "parts": 2, "clip_norm": 100.0})
    train(config, tmp_path / "run", device=device)

    assert len(replays) > 10
    assert losses(tmp_path / "run") == pytest.approx(losses(runs["cpu"]), rel=1e-4)


class Waiting(InputEmbedding):
    """Waits for the GPU, which nothing that is recorded may."""

    def forward(self, ids: torch.Tensor, start: int = 0) -> torch.Tensor:
        hidden = super().forward(ids, start)
        return hidden * (2.0 if float(hidden.detach().sum()) == 0.5 else 1.0)


def test_a_part_that_waits_for_the_gpu_ends_the_recording_and_is_right(
    make_config: MakeConfig,
    runs: dict[str, Path],
    device: str,
    tmp_path: Path,
    replays: list[int],
) -> None:
    def wait(model: Transformer) -> None:
        model.source_embedding.__class__ = Waiting

    config = make_config(training={"compile": True})
    train(config, tmp_path / "run", change=wait, device=device)

    assert not replays
    assert losses(tmp_path / "run") == pytest.approx(losses(runs["cpu"]), rel=1e-4)
    assert "no longer recorded" in (tmp_path / "run" / "metrics.jsonl").read_text("utf-8")
