"""Boxes and arrows: where an arrow goes."""

import pytest

from headway.errors import ConfigError
from headway.learn.figures.flows import Arrow, Box, Frame, _route, flow

BOXES = {
    "low": Box("low", 0, 0, width=2, height=0.4),
    "middle": Box("middle", 0, 1, width=3, height=0.4),
    "high": Box("high", 0, 2, width=2, height=0.4),
    "far": Box("far", 5, 1.5, width=2, height=0.4),
}


@pytest.mark.parametrize(
    ("arrow", "corners"),
    [
        (Arrow("low", "middle"), [(0, 0.2), (0, 0.8)]),
        (Arrow("middle", "low"), [(0, 0.8), (0, 0.2)]),
        (Arrow("high", "far"), [(1, 2), (2.5, 2), (2.5, 1.5), (4, 1.5)]),
        (Arrow("far", "high"), [(4, 1.5), (2.5, 1.5), (2.5, 2), (1, 2)]),
        (Arrow("low", "high", route="left"), [(0, 0.3), (-1.72, 0.3), (-1.72, 2), (-1, 2)]),
        (Arrow("low", "high", route="right"), [(0, 0.3), (1.72, 0.3), (1.72, 2), (1, 2)]),
        (Arrow("low", "middle", route="straight"), [(0, 0.2), (0, 0.8)]),
    ],
)
def test_an_arrow_goes_from_edge_to_edge(arrow: Arrow, corners: list[tuple[float, float]]) -> None:
    route = _route(arrow, BOXES)
    assert [pytest.approx(point) for point in corners] == route


def test_a_flow_is_drawn_with_its_frames() -> None:
    plain = flow(BOXES, [Arrow("low", "middle", "up")], alt="Boxes.")
    framed = flow(BOXES, [Arrow("low", "middle", "up")], alt="Boxes.", frames=[Frame(["low"], "N")])
    assert len(framed.svg) > len(plain.svg)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no box 'top'. Known: low, middle, high, far"):
        flow(BOXES, [Arrow("low", "top")], alt="x")
    with pytest.raises(ConfigError, match="no box 'top'"):
        flow(BOXES, [], alt="x", frames=[Frame(["top"])])
    with pytest.raises(ConfigError, match=r"no route 'up'. Known: auto"):
        flow(BOXES, [Arrow("low", "high", route="up")], alt="x")
    with pytest.raises(ConfigError, match="There are no boxes"):
        flow({}, [], alt="x")
