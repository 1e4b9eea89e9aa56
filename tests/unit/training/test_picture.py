"""The losses are drawn from the record; without matplotlib the run goes on and says so."""

import sys
from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.training.picture import draw_losses, panels


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return [
        {"kind": "step", "step": 50, "loss": 3.0, "rate": 0.1},
        {"kind": "validation", "step": 60, "loss": 2.5, "scores": {}},
        {"kind": "step", "step": 100, "loss": 2.0, "rate": 0.2},
    ]


def test_a_picture_is_drawn(records: list[dict[str, Any]], tmp_path: Path) -> None:
    said: list[str] = []

    draw_losses(records, tmp_path / "loss.png", said.append)

    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert not said
    assert {path.name for path in tmp_path.iterdir()} == {"loss.png"}


def test_of_nothing_there_is_no_picture(tmp_path: Path) -> None:
    said: list[str] = []

    draw_losses([], tmp_path / "loss.png", said.append)

    assert said == ["No loss picture: metrics.jsonl has no record."]
    assert not (tmp_path / "loss.png").exists()


def validation(step: int, **scores: float) -> dict[str, object]:
    return {"kind": "validation", "step": step, "loss": 7 / step, "scores": scores}


def update(step: int) -> dict[str, object]:
    return {"kind": "step", "step": step, "loss": 9 / step, "rate": 0.001 * step}


def shape(records: list[dict[str, object]]) -> list[tuple[str, list[str]]]:
    return [
        (panel.axis.split()[0], [curve.label.split()[0] if curve.label else "" for curve in curves])
        for panel in panels(records)
        for curves in [panel.curves]
    ]


def test_all_scores_share_a_panel_for_they_have_one_unit() -> None:
    losses = ("loss", ["training", "validation"])
    plain = [update(2), update(4), validation(4)]

    assert shape(plain) == [losses, ("rate", [""])]
    assert shape([*plain, validation(6, bleu=20.5, chrf=40.0)]) == [
        losses,
        ("score", ["BLEU", "chrF"]),
        ("rate", [""]),
    ]
    assert shape([*plain, validation(6, exact=50.0, ter=70.0, wer=25.0)]) == [
        losses,
        ("score", ["TER", "exact", "word"]),
        ("rate", [""]),
    ]
    assert shape([validation(3)]) == [("loss", ["validation"])]
    assert shape([]) == [("loss", [])]


def test_curves_have_the_steps_and_values_of_their_records() -> None:
    records = [update(2), update(4), validation(4, chrf=30.0), validation(6, bleu=5.5, chrf=40.0)]
    records.append({"kind": "diagnosis", "step": 6, "problem": "x", "message": "y"})

    loss, scores, rate = panels(records)

    assert [curve[1:3] for curve in loss.curves] == [([2, 4], [4.5, 2.25]), ([4, 6], [1.75, 7 / 6])]
    assert [curve[1:3] for curve in scores.curves] == [([6], [5.5]), ([4, 6], [30.0, 40.0])]
    assert [curve[1:3] for curve in rate.curves] == [([2, 4], [0.002, 0.004])]


def test_records_of_earlier_versions_are_drawn_in_percent_too() -> None:
    new = validation(6, exact=75.0, bleu=5.5) | {"unit": "%"}

    _, scores = panels([validation(4, exact=0.5, bleu=4.5), new])

    assert [curve[2] for curve in scores.curves] == [[4.5, 5.5], [50.0, 75.0]]


def test_a_validation_has_its_color_also_when_nothing_else_is_there() -> None:
    both, alone = panels([update(2), validation(2)]), panels([validation(2)])

    assert both[0].curves[1].color == alone[0].curves[0].color == 1


@pytest.mark.parametrize("count", [0, 1, 60])
def test_any_number_of_validations_can_be_drawn(tmp_path: Path, count: int) -> None:
    records = [update(2), *(validation(step, bleu=step) for step in range(1, count + 1))]

    draw_losses(records, tmp_path / "loss.png", print)

    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_says_what_to_install(
    records: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said: list[str] = []

    draw_losses(records, tmp_path / "loss.png", said.append)

    assert said == [
        "No loss picture: Figures need matplotlib, which is not installed. "
        "Install it with: pip install 'headway[plot]'."
    ]
    assert not (tmp_path / "loss.png").exists()


@pytest.mark.parametrize(
    "error", [ValueError("Key backend"), AttributeError("_ARRAY_API not found"), OSError("font")]
)
def test_no_error_of_matplotlib_ends_a_run(
    error: Exception,
    records: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    said: list[str] = []

    draw_losses(records, tmp_path / "loss.png", said.append)

    assert said == [f"No loss picture: matplotlib failed ({type(error).__name__}: {error})."]
    assert not (tmp_path / "loss.png").exists()


def test_a_picture_that_cannot_be_written_is_an_error_of_the_run(
    records: list[dict[str, Any]], tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        draw_losses(records, tmp_path / "absent" / "loss.png", print)
