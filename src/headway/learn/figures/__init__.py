"""The figures of the ten pages, in one style, readable on light and dark pages.

Each function returns a `Picture`, which a notebook shows. Words are text, or text in both languages
as {"en": …, "ko": …}; each figure needs a description, `alt`, for readers who cannot see it.
"""

from headway.learn.figures.architecture import figure_one, sub_layer
from headway.learn.figures.attention import attention, heads_of_numbers
from headway.learn.figures.charts import bars, curves
from headway.learn.figures.flows import Arrow, Box, Frame, flow
from headway.learn.figures.matrices import heat_map
from headway.learn.figures.picture import Picture
from headway.learn.figures.products import Matrix, matrix_product

__all__ = [
    "Arrow",
    "Box",
    "Frame",
    "Matrix",
    "Picture",
    "attention",
    "bars",
    "curves",
    "figure_one",
    "flow",
    "heads_of_numbers",
    "heat_map",
    "matrix_product",
    "sub_layer",
]
