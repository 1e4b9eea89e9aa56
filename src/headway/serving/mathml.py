"""Formulas as MathML, for the explorer and the site."""

from typing import Literal

from latex2mathml.converter import convert


def mathml(latex: str, display: Literal["inline", "block"] = "block") -> str:
    """Return a formula of LaTeX as MathML, which browsers draw by themselves."""
    # The converter does not know `aligned`, and keeps the backslash of `\_` inside \text.
    latex = latex.replace("{aligned}", "{split}").replace(r"\_", "_")
    return convert(latex, display=display)
