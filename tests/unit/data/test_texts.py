"""A list of texts in any form that has an order, and nothing else."""

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.data.texts import as_texts
from headway.errors import DataError

TEXTS = ["a b", "", "저는"]


class Series:
    """What pandas gives: its iteration is over values, and an index is beside them."""

    ndim = 1

    def __iter__(self) -> Any:
        return iter(TEXTS)


@pytest.mark.parametrize(
    "given",
    [TEXTS, tuple(TEXTS), np.array(TEXTS), deque(TEXTS), iter(TEXTS), Series()],
    ids=lambda given: type(given).__name__,
)
def test_every_ordered_form_is_taken(given: Any) -> None:
    assert as_texts(given, "sources") == TEXTS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("I am.", "sources is a single text"),
        (np.str_("I am."), "sources is a single text"),
        (None, "sources is None, not a list of texts"),
        (3, "sources is of type int, not"),
        (b"I am.", "sources is of type bytes, not"),
        (Path("text.en"), "Path, not a list of texts"),
        ({"I am.": 1}, "sources is of type dict, not"),
        ({"I am."}, "sources is of type set, not"),
        (np.array("I am."), "sources is of type ndarray with 0 axes, not"),
        (np.array([["I am."]]), "sources is of type ndarray with 2 axes, not"),
        ([None], r"Number 1 of sources \(counted from 1\) is None, not text"),
        (["a", float("nan")], "Number 2 of sources .* is of type float, not text"),
        (["a", b"b"], "is of type bytes, not text"),
        (
            [["a b"]],
            "is of type list, not text. Give one text for each sentence, not a list of lists",
        ),
    ],
    ids=str,
)
def test_all_else_is_refused_by_what_it_is(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_texts(given, "sources")
