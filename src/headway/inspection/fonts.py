"""Fonts that can draw Hangul."""

import importlib.metadata
from pathlib import Path

from matplotlib import font_manager

# What a system may have, best first; the first one comes with `pip install headway[plot]`.
_FAMILIES = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "UnDotum",
    "Baekmuk Dotum",
)


def font_families() -> list[str]:
    """Return the families to draw with: a Latin one, and one with Hangul where there is any."""
    _register_installed_package()
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *[family for family in _FAMILIES if family in installed][:1]]


def has_hangul() -> bool:
    """Tell whether Hangul will be drawn as Hangul."""
    return len(font_families()) > 1


def _register_installed_package() -> None:
    """Make known the font that the package koreanize-matplotlib carries."""
    try:
        package = importlib.metadata.distribution("koreanize-matplotlib")
    except importlib.metadata.PackageNotFoundError:
        return
    path = Path(str(package.locate_file("koreanize_matplotlib/fonts/NanumGothic.ttf")))
    if path.is_file() and "NanumGothic" not in font_manager.get_font_names():
        font_manager.fontManager.addfont(path)
