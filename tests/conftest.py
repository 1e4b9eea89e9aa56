"""Every test starts from its own seed and leaves PyTorch's settings as it found them."""

import errno
import gc
import os
import random
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings

from headway.config.model import ModelConfig
from headway.model.transformer import Transformer

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers side by side have a core each. With more threads than cores they wait for each other
    # in loops, and a test that takes 15 seconds takes 250.
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for processes that a test starts
    torch.set_num_threads(1)

# The same examples in every run: a failure on one machine is a failure on all.
settings.register_profile("headway", deadline=None, derandomize=True)
settings.load_profile("headway")

# Tests in a browser have a target and an extra of their own: `make test-browser`.
collect_ignore = [
    *([] if find_spec("playwright") else ["browser"]),
    *([] if find_spec("sphinx") else ["site"]),
]

Build = Callable[..., Transformer]

# All different, so that a swapped axis cannot pass.
SIZES: dict[str, Any] = {
    "d_model": 14,
    "d_ff": 19,
    "num_heads": 3,
    "d_k": 5,
    "d_v": 4,
    "num_encoder_layers": 1,
    "num_decoder_layers": 2,
    "source_vocab_size": 23,
    "target_vocab_size": 23,
}


@pytest.fixture(autouse=True)
def _own_seed_and_settings_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    seed = zlib.crc32(request.node.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(dtype)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    gc.unfreeze()  # commands freeze what they have loaded, because their process ends with it


@pytest.fixture(scope="session")
def sizes() -> dict[str, Any]:
    """Return the sizes of the small model that `build` builds."""
    return dict(SIZES)


@pytest.fixture(scope="session")
def build() -> Build:
    """Return a function that builds a small model with noise in every parameter.

    Fresh biases are zeros and fresh norms are ones: with those, a forgotten bias would not show.
    """

    def build_model(
        seed: int = 0, dtype: torch.dtype = torch.float32, **changes: Any
    ) -> Transformer:
        torch.manual_seed(seed)
        model = Transformer.from_config(ModelConfig.parse(SIZES | changes)).to(dtype)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        return model.eval()

    return build_model


@pytest.fixture
def tiny(build: Build) -> Transformer:
    """Return a small model in eval mode: 1 + 2 layers, 23 pieces, float32."""
    return build()


@pytest.fixture
def shut(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return what lets nobody look into a folder: root may always, so `stat` is replaced."""
    stat = Path.stat

    def shut_folder(folder: Path) -> None:
        def refusing(path: Path, **named: Any) -> os.stat_result:
            if folder in path.parents:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return stat(path, **named)

        monkeypatch.setattr(Path, "stat", refusing)

    return shut_folder
