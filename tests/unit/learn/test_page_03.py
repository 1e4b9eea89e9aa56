"""The answers of page 3, worked out by hand."""

import math
from collections.abc import Callable

import pytest

from headway.inspection.translator import Translator
from headway.learn.checking import judge
from headway.learn.exercise import Exercise, computed
from headway.learn.page_03 import EXERCISES

CELL, PRODUCT, ZEROS, READ = EXERCISES


def test_one_cell_by_hand() -> None:
    assert computed(CELL.answer) == pytest.approx(math.cos(2 / 10000 ** (2 / 6)))
    assert judge(CELL, 0.9957)[0]


def test_a_row_times_itself_is_half_the_width() -> None:
    assert computed(PRODUCT.answer) == pytest.approx(256)


def test_a_table_of_zeros_has_ones_in_its_cosines() -> None:
    assert computed(ZEROS.answer) == 3


def test_the_first_layer_reads_the_sum(
    translator: Translator, holds: Callable[[Exercise], None]
) -> None:
    holds(READ)
    trace = translator.trace("저는 학생입니다.")
    scaled = float(trace["source_embedding.scaled"][2, 1])
    assert READ.answer(translator) == pytest.approx(scaled + math.cos(2), abs=1e-6)
