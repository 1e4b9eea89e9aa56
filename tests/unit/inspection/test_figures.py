"""Figures: rows are queries, columns are keys, and Hangul is Hangul."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.errors import ConfigError, MissingExtraError, TraceError
from headway.evaluation.alignment_error import parse_gold
from headway.inspection import fonts
from headway.inspection.ablation import HeadImportance
from headway.inspection.attribution import Attribution
from headway.inspection.figures import (
    alignment_grid,
    attention_grid,
    attribution_bars,
    head_importance_map,
    reads_and_writes,
    trace_attention,
)
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


def test_hangul_without_a_font_is_an_error_and_not_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fonts, "_FAMILIES", ("No Such Font",))
    weights = torch.rand(1, 3, 4)
    with pytest.raises(
        MissingExtraError, match=r"Hangul in '▁저는'.*pip install 'headway\[plot\]'"
    ):
        attention_grid(weights, ROWS, COLUMNS, tmp_path / "boxes.png")
    assert not (tmp_path / "boxes.png").exists()
    attention_grid(weights, ROWS, [*"abcd"], tmp_path / "latin.png")
    with pytest.raises(MissingExtraError, match="Hangul in '제목'"):
        attention_grid(weights, ROWS, [*"abcd"], tmp_path / "boxes.png", title="제목")


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'heads.jpg'.*\.pdf, \.png, \.svg"):
        attention_grid(torch.rand(1, 3, 4), ROWS, COLUMNS, tmp_path / "heads.jpg")


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[plot\]'"):
        attention_grid(torch.rand(1, 3, 4), ROWS, COLUMNS, tmp_path / "heads.png")


def test_a_row_of_the_decoder_names_what_it_reads_and_what_it_writes() -> None:
    assert reads_and_writes(ROWS) == ["<s> → ▁I", "▁I → ▁go", "▁go → </s>"]
    assert reads_and_writes([]) == []


def texts_of(path: Path) -> str:
    """Return the comments of an SVG: matplotlib writes each text beside its outlines."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")))


def test_an_alignment_shows_links_where_they_belong(tmp_path: Path) -> None:
    from matplotlib.image import imread

    # Three source and five target words; the one link is source 2, target 1.
    alignment_grid(((2, 1),), ["a", "b", "c"], [*"vwxyz"], tmp_path / "one.png")

    picture = imread(tmp_path / "one.png")[..., :3]
    blue = (picture[..., 2] > 0.6) & (picture[..., 0] < 0.2)
    rows, columns = blue.nonzero()
    assert len(rows) > 100
    height, width = picture.shape[:2]
    assert rows.mean() < height * 0.5  # the second of five from the top
    assert columns.mean() > width * 0.5  # the last of three


def test_an_alignment_beside_one_by_hand_tells_all_kinds_of_links(tmp_path: Path) -> None:
    path = tmp_path / "both.svg"
    alignment_grid(
        ((0, 0), (1, 1), (2, 0)),
        ["나는", "집에", "갑니다"],
        ["I", "go"],
        path,
        gold=parse_gold("0-0 1p1 2-1"),
        title="제목",
    )
    texts = texts_of(path)
    for text in ("aligned", "aligned, not by hand", "sure, by hand", "possible, by hand"):
        assert text in texts
    for text in ("나는", "갑니다", "go", "source word", "target word", "제목"):
        assert text in texts


@pytest.mark.parametrize(("link", "name"), [((3, 0), "source word 3"), ((0, 2), "target word 2")])
def test_links_beyond_the_words_are_an_error(
    tmp_path: Path, link: tuple[int, int], name: str
) -> None:
    with pytest.raises(ConfigError, match=name):
        alignment_grid((link,), ["a", "b", "c"], ["v", "w"], tmp_path / "wrong.png")


def test_a_map_of_heads_has_every_number_and_both_axes(tmp_path: Path) -> None:
    rises = {
        "encoder.self_attention": torch.tensor([[0.11, -0.22], [0.33, 0.0], [0.44, 0.05]]),
        "decoder.cross_attention": torch.tensor([[1.5, -0.07]]),
    }
    path = tmp_path / "heads.svg"

    head_importance_map(HeadImportance(rises, 1.0, 9), path, title="제목")

    texts = texts_of(path)
    for text in (
        "+0.11",
        "0.22",
        "+0.33",
        "+0.44",
        "+1.50",
        "0.07",
        *rises,
        "layer, from 0",
        "head, from 0",
    ):
        assert text in texts


def test_bars_name_the_question(tmp_path: Path) -> None:
    found = Attribution(
        "gradient_x_input", "▁go", "▁come", ("▁집에", "</s>"), (0.5, -0.2), ("<s>",), (0.1,), -1, -2
    )
    path = tmp_path / "bars.svg"

    attribution_bars(found, path)

    texts = texts_of(path)
    for text in ("why ▁go and not ▁come (gradient × input)", "▁집에", "source", "target before it"):
        assert text in texts


def test_a_trace_without_attention_says_what_to_record(tmp_path: Path, make: Any) -> None:
    seen = make().trace("나는 너를 본다", "I see", record="residual")
    with pytest.raises(TraceError, match="holds no cross-attention to draw"):
        trace_attention(seen, tmp_path / "a.png")


def test_swapped_axes_are_an_error_and_not_a_picture(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="3 rows and 4 columns"):
        attention_grid(torch.rand(1, 4, 3), ROWS, COLUMNS, tmp_path / "wrong.png")
    assert not (tmp_path / "wrong.png").exists()


def test_a_dollar_sign_begins_no_formula(tmp_path: Path) -> None:
    pieces = ["$x_$", "$", "a"]
    attention_grid(torch.rand(2, 3, 3), pieces, pieces, tmp_path / "a.svg", title="5 $ ^ $")
    assert (tmp_path / "a.svg").is_file()
