"""A model with parts of its author's own, and the file of their code."""

from pathlib import Path

import pytest
import torch

from headway.bundle import save_bundle

from ..conftest import MakeBundle

CODE = """\
from headway.model.feed_forward import PositionwiseFeedForward


class Squared(PositionwiseFeedForward):
    def forward(self, x):
        return super().forward(x) ** 2


def change(model):
    for layer in model.encoder.layers:
        part = layer.feed_forward
        layer.feed_forward = Squared(part.w_1.in_features, part.w_1.out_features)
"""


@pytest.fixture
def plain(make_bundle: MakeBundle, tmp_path: Path) -> Path:
    """Return the folder of a bundle of Headway's own parts."""
    save_bundle(tmp_path / "plain", make_bundle())
    return tmp_path / "plain"


@pytest.fixture
def changed(make_bundle: MakeBundle, tmp_path: Path) -> Path:
    """Return the folder of a bundle whose encoder has parts of another class."""
    names: dict[str, object] = {}
    exec(CODE, names)
    bundle = make_bundle()
    names["change"](bundle.model)  # type: ignore[operator]
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.normal_()
    save_bundle(tmp_path / "changed", bundle)
    return tmp_path / "changed"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Return the file of the code; a run of it leaves a mark beside it."""
    mark = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    (tmp_path / "mine.py").write_text(mark + CODE)
    return tmp_path / "mine.py"
