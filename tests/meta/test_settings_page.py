"""The page of all settings says what the settings are."""

import re
import tomllib

import pytest
from tests.meta.settings_page import PAGE, table_of, tables, written

from headway.config.run import RunConfig, load_run_config, parse_run_config
from headway.errors import ConfigError

TEXT = PAGE.read_text(encoding="utf-8")
# A setting, then what it is if unset, where that is a value, and what it takes.
ROW = re.compile(r"^\| `(\w+)` \| (?:`(.*?)`)? \| (.*?) \|", flags=re.MULTILINE)
RANGE = re.compile(r"a (?P<whole>whole )?number, (?P<bounds>.*)")
BOUND = re.compile(r"(at least|above|at most|below) (\S+)")


def test_every_table_stands_on_the_page_as_the_settings_make_it() -> None:
    assert [TEXT.count(f"<!-- table: {name} -->") for name in tables()] == [1] * len(tables())
    assert written(TEXT) == TEXT, "run `make settings`"


def test_the_defaults_of_the_page_make_the_default_configuration() -> None:
    lines: list[str] = []
    for name in RunConfig.model_fields:
        rows = ROW.findall(table_of(TEXT, name))
        lines += [f"[{name}]", *(f"{key} = {value}" for key, value, _ in rows if value)]
    assert parse_run_config(tomllib.loads("\n".join(lines))) == RunConfig()


def _ranges(section: str) -> list[tuple[str, str, float, float]]:
    """Return the setting, what its bound says, the bound, and a small step of its kind."""
    found: list[tuple[str, str, float, float]] = []
    for key, _, takes in ROW.findall(table_of(TEXT, section)):
        if number := RANGE.fullmatch(takes):
            bounds = re.sub(r"^(\S+) to (\S+)$", r"at least \1 and at most \2", number["bounds"])
            kind, step = (int, 1) if number["whole"] else (float, 1e-3)
            for words, value in BOUND.findall(bounds):
                found.append((key, words, kind(value.replace(",", "")), step))
    return found


@pytest.mark.parametrize("section", ["data", "tokenizer", "model", "training", "decoding"])
def test_numbers_are_taken_up_to_the_bounds_of_the_page_and_not_beyond(section: str) -> None:
    assert _ranges(section)
    for key, words, bound, step in _ranges(section):
        outwards = -step if words in ("at least", "above") else step
        values: dict[float, bool] = {bound: words.startswith("at"), bound + outwards: False}
        if section != "model":  # whose sizes must fit each other
            values[bound - outwards] = True
        for value, is_taken in values.items():
            if is_taken:
                own = {"d_k": 1, "d_v": 1} if section == "model" else {}
                assert parse_run_config({section: {**own, key: value}})
            else:
                with pytest.raises(ConfigError, match=key):
                    parse_run_config({section: {key: value}})


def test_the_example_of_the_page_is_a_configuration() -> None:
    (code,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    config = parse_run_config(tomllib.loads(code))
    assert (config.model.d_model, config.model.dropout) == (128, 0.2)
    assert load_run_config(None, ["training.patience=none"]).training.patience is None
