"""Fonts that can draw Hangul."""

import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

from matplotlib import font_manager

from headway.errors import MissingExtraError

# Families with Hangul, best first; the first one comes with `pip install headway[plot]`.
_FAMILIES = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "UnDotum",
    "Baekmuk Dotum",
)
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))


def font_families() -> list[str]:
    """Return the families to draw with: a Latin one and, if installed, one with Hangul."""
    _register_installed_package()
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *[family for family in _FAMILIES if family in installed][:1]]


def has_hangul() -> bool:
    """Return True if a font with Hangul is installed."""
    return len(font_families()) > 1


def check_hangul(texts: Iterable[str]) -> None:
    """Raise MissingExtraError if no font has the Hangul of these texts, which would be boxes."""
    hangul_text = next((text for text in texts if _with_hangul(text)), None)
    if hangul_text is not None and not has_hangul():
        raise MissingExtraError(
            f"No font here can draw the Hangul in '{hangul_text}'.",
            "pip install 'headway[plot]' brings NanumGothic; any of these is as good: "
            f"{', '.join(_FAMILIES[1:])}.",
        )


def _with_hangul(text: str) -> bool:
    return any(low <= ord(letter) <= high for letter in text for low, high in _HANGUL)


def _register_installed_package() -> None:
    """Register the font of the package koreanize-matplotlib."""
    try:
        package = importlib.metadata.distribution("koreanize-matplotlib")
    except importlib.metadata.PackageNotFoundError:
        return
    path = Path(str(package.locate_file("koreanize_matplotlib/fonts/NanumGothic.ttf")))
    if path.is_file() and "NanumGothic" not in font_manager.get_font_names():
        font_manager.fontManager.addfont(path)
