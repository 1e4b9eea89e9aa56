"""The pages of all settings, English and Korean, say what the settings are."""

import re
import tomllib

import pytest
from tests.meta.pages import LANGUAGES
from tests.meta.settings_page import meanings, page_of, table_of, tables, written

from headway.config.run import RunConfig, load_run_config, parse_run_config
from headway.errors import ConfigError

TEXTS = {language: page_of(language).read_text(encoding="utf-8") for language in LANGUAGES}
TEXT = TEXTS["en"]
# A setting, then what it is if unset, where that is a value, and what it takes.
ROW = re.compile(r"^\| `(\w+)` \| (?:`(.*?)`)? \| (.*?) \|", flags=re.MULTILINE)
RANGE = re.compile(r"(integer|number) (.*)")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_is_on_the_page_as_the_settings_make_it(language: str) -> None:
    text = TEXTS[language]
    assert [text.count(f"<!-- table: {name} -->") for name in tables()] == [1] * len(tables())
    assert written(language, text) == text, "run `make settings`"


def test_every_setting_has_a_korean_meaning() -> None:
    lacking = [
        f"{name}.{setting}"
        for name, (head, *_) in tables().items()
        if head[-1] == "meaning"
        for setting, meaning in meanings(table_of(TEXTS["ko"], name)).items()
        if not re.search("[가-힣]", meaning)
    ]
    assert lacking == [], "write their meanings on the Korean page"


def test_the_defaults_of_the_page_make_the_default_configuration() -> None:
    lines: list[str] = []
    for name in RunConfig.model_fields:
        rows = ROW.findall(table_of(TEXT, name))
        lines += [f"[{name}]", *(f"{key} = {value}" for key, value, _ in rows if value)]
    assert parse_run_config(tomllib.loads("\n".join(lines))) == RunConfig()


def _ranges(section: str) -> list[tuple[str, str, float, float]]:
    """Return the setting, the sign of its bound, the bound, and a small step of its kind."""
    ranges: list[tuple[str, str, float, float]] = []
    for setting, _, takes in ROW.findall(table_of(TEXT, section)):
        if found := RANGE.fullmatch(takes):
            kind, step = (int, 1) if found[1] == "integer" else (float, 1e-3)
            for bound in found[2].split(", "):
                sign, value = bound.split()
                ranges.append((setting, sign, kind(value.replace(",", "")), step))
    return ranges


@pytest.mark.parametrize("section", ["data", "tokenizer", "model", "training", "decoding"])
def test_numbers_are_taken_up_to_the_bounds_of_the_page_and_not_beyond(section: str) -> None:
    assert _ranges(section)
    for key, sign, bound, step in _ranges(section):
        outwards = -step if sign in "≥>" else step
        values: dict[float, bool] = {bound: sign in "≥≤", bound + outwards: False}
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
