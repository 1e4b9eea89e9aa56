"""Figures: rows ask, columns are looked at, and Hangul is Hangul."""

from pathlib import Path

import pytest
import torch

from headway.errors import ConfigError
from headway.inspection.figures import attention_grid
from headway.inspection.fonts import font_families, has_hangul

ROWS = ["▁I", "▁go", "</s>"]
COLUMNS = ["▁저는", "▁갑니다", ".", "</s>"]


def test_the_picture_shows_each_weight_where_it_belongs(tmp_path: Path) -> None:
    from matplotlib.image import imread

    weights = torch.zeros(1, 3, 4)
    weights[0, 0, 3] = 1.0  # the first row looks at the last column only
    attention_grid(weights, ROWS, COLUMNS, tmp_path / "planted.png")

    picture = imread(tmp_path / "planted.png")[..., :3]
    bright = (picture[..., 0] > 0.95) & (picture[..., 1] > 0.85) & (picture[..., 2] < 0.25)
    dark = (picture[..., 0] < 0.3) & (picture[..., 1] < 0.02) & (picture[..., 2] > 0.3)
    left = picture.shape[1] * 3 // 4  # without the color bar
    rows, columns = bright[:, :left].nonzero()
    dark_rows, dark_columns = dark[:, :left].nonzero()
    assert len(rows) > 100
    assert rows.max() < dark_rows.max()  # at the top
    assert columns.min() > dark_columns.min()  # at the right


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_kind_of_file_follows_its_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"heads.{suffix}"
    attention_grid(torch.rand(5, 3, 4).softmax(-1), ROWS, COLUMNS, path, title="제목")

    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_hangul_has_a_font() -> None:
    assert has_hangul()
    assert len(font_families()) == 2


def test_swapped_axes_are_an_error_and_not_a_picture(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="3 rows and 4 columns"):
        attention_grid(torch.rand(1, 4, 3), ROWS, COLUMNS, tmp_path / "wrong.png")
    assert not (tmp_path / "wrong.png").exists()
