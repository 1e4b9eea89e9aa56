"""A figure as an element of a page."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from headway.errors import ConfigError
from headway.learn.figures.picture import DARK_INK, PAGE_INK, Picture, color_of, draw


def _square(words: str = "x", alt: str = "A square.") -> Picture:
    def paint(figure: Figure) -> None:
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.plot([0, 1], [0, 1])
        axes.text(0.5, 0.2, words, color=DARK_INK)

    return draw(2, 2, alt, paint)


def test_it_is_one_element_that_says_what_it_shows() -> None:
    picture = _square(alt='Q < K & "V"')
    element = ElementTree.fromstring(picture.svg)
    assert element.tag.endswith("}svg")
    assert (element.get("role"), element.get("aria-label")) == ("img", 'Q < K & "V"')
    assert repr(picture) == "Picture(alt='Q < K & \"V\"')"
    assert picture.svg in picture._repr_html_()


def test_the_ink_is_that_of_the_page_and_the_background_is_transparent() -> None:
    svg = _square().svg
    assert PAGE_INK not in svg
    assert "currentColor" in svg
    assert DARK_INK in svg  # on a background of its own
    assert "fill: #ffffff" not in svg


def test_the_same_figure_is_the_same_text() -> None:
    assert _square() == _square()


def test_names_of_elements_differ_between_figures() -> None:
    ids = [set(re.findall(r'\bid="([^"]+)"', _square(words).svg)) for words in ("a", "b")]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_every_reference_leads_to_an_element() -> None:
    svg = _square("가나다").svg
    ids = set(re.findall(r'\bid="([^"]+)"', svg))
    references = set(re.findall(r'href="#([^"]+)"', svg)) | set(re.findall(r"url\(#([^)]+)\)", svg))
    assert references
    assert references <= ids


def test_a_wide_figure_is_scrolled_on_a_phone_and_reachable_by_keyboard() -> None:
    def paint(figure: Figure) -> None:
        figure.add_axes((0, 0, 1, 1))

    for inches, scrolls in ((2, False), (9, True)):
        picture = draw(inches, 1, "Empty axes.", paint)
        width, least = map(float, re.findall(r"(?<=width: )([\d.]+)em", picture.svg))
        assert width == pytest.approx(6 * inches, abs=4)
        assert least == pytest.approx(0.55 * width, abs=0.01)
        assert ("tabindex" in picture._repr_html_()) is scrolls


def test_it_is_saved_as_a_file(tmp_path: Path) -> None:
    _square().save(tmp_path / "a.svg")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().get("aria-label") == "A square."


def test_a_figure_needs_a_description_and_a_box_a_known_color() -> None:
    with pytest.raises(ConfigError, match="no description"):
        _square(alt=" ")
    with pytest.raises(ConfigError, match=r"no color 'red'. Known: blue"):
        color_of("red")
