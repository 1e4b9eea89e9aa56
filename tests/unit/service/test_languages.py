"""Codes, directions, and the ways from one language to another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ConfigError
from headway.service.languages import Direction, Routes, check_pivot, code_of, parse_direction

CODES = st.sampled_from(["ko", "en", "de", "fr", "pt-BR"])
MODELS = st.lists(st.tuples(CODES, CODES).filter(lambda pair: pair[0] != pair[1]), max_size=6)


@given(MODELS, st.none() | CODES, CODES, CODES)
def test_a_way_begins_and_ends_where_it_should(
    pairs: list[tuple[str, str]], pivot: str | None, source: str, target: str
) -> None:
    models = {str(number): Direction(*pair) for number, pair in enumerate(pairs)}
    routes = Routes(models, pivot)
    chain = routes.models(source, target)
    if chain is None:
        assert Direction(source, target) not in models.values()
        return
    assert len(chain) <= 2
    at = source
    for name in chain:
        assert models[name].source == at
        at = models[name].target
    assert at == target
    assert len(chain) < 2 or models[chain[0]].target == pivot
    assert target in routes.targets(source)
    assert source in routes.sources(target)


def test_other_ways_to_write_a_code_are_the_same() -> None:
    assert {code_of(text) for text in ("zh", "ZH-Hans", "chinese", "zh_CN")} == {"zh"}
    assert {code_of(text) for text in ("zt", "zh-Hant", "zh-tw")} == {"zh-Hant"}
    assert {code_of(text) for text in ("pb", "pt-BR", "PT_br")} == {"pt-BR"}


@pytest.mark.parametrize("text", ["", "de", "de-de", "source-target", "de-", "x-y"])
def test_what_is_no_direction_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="de-en"):
        parse_direction(text)


def test_a_pivot_must_join_two_models() -> None:
    directions = [Direction("ko", "en"), Direction("en", "de")]
    assert check_pivot("English", directions) == "en"
    with pytest.raises(ConfigError, match="No model translates into"):
        check_pivot("ko", directions)
