"""What is written is read back, and an unknown key is never let through."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from headway.config.run import RunConfig, dump_run_config, load_run_config
from headway.errors import ConfigError

SECTIONS = {name: field.annotation for name, field in RunConfig.model_fields.items()}
text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)


def values_of(annotation: Any, lower: float, upper: float) -> st.SearchStrategy[Any]:
    """Return a strategy for a type between bounds that every setting of it allows."""
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(max(int(lower), 0), int(min(upper, 10**9)))
    if annotation is float:
        return st.floats(lower, min(upper, 1e12), exclude_min=True, exclude_max=True)
    if annotation is str:
        return text
    if annotation == list[str]:
        return st.lists(text, min_size=1, max_size=3)
    if get_origin(annotation) is list:  # of sections
        return st.lists(section_of(get_args(annotation)[0]), max_size=3)
    options = get_args(annotation)  # X | None
    assert type(None) in options, annotation
    return st.none() | values_of(options[0], lower, upper)


def section_of(section: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for settings of a section; the bounds are read from the section."""
    fields = {}
    for name, field in section.model_fields.items():
        lower, upper = 0.0, 1e12
        for bound in field.metadata:
            lower = max(lower, getattr(bound, "ge", None) or getattr(bound, "gt", None) or 0.0)
            upper = getattr(bound, "lt", None) or getattr(bound, "le", None) or upper
        fields[name] = values_of(field.annotation, lower, upper)
    widths = {}
    if "num_heads" in fields:  # with both widths given, any d_model goes
        widths = {name: values_of(int, 1, 99) for name in ("d_k", "d_v")}
    needed = {n: fields[n] for n, field in section.model_fields.items() if field.is_required()}
    needed |= widths
    optional = {name: field for name, field in fields.items() if name not in needed}
    return st.fixed_dictionaries(needed, optional=optional)


run_values = st.fixed_dictionaries(
    {}, optional={name: section_of(section) for name, section in SECTIONS.items()}
)


@settings(max_examples=60)
@given(values=run_values)
def test_a_configuration_that_is_written_and_read_is_the_same(
    values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = RunConfig.parse(values)
    path: Path = tmp_path_factory.mktemp("run") / "config.toml"

    path.write_text(dump_run_config(config), encoding="utf-8")

    assert load_run_config(path) == config


@given(section=st.sampled_from(sorted(SECTIONS)), key=text)
def test_an_unknown_key_is_always_refused(section: str, key: str) -> None:
    if key in SECTIONS[section].model_fields:
        return
    with pytest.raises(ConfigError, match="There is no setting"):
        RunConfig.parse({section: {key: 1}})


@given(data=st.data(), section=st.sampled_from(sorted(SECTIONS)))
def test_a_misspelt_key_suggests_the_right_one(data: st.DataObject, section: str) -> None:
    right = data.draw(st.sampled_from(sorted(SECTIONS[section].model_fields)))
    position = data.draw(st.integers(0, len(right) - 1))
    wrong = right[:position] + right[position + 1 :]
    if wrong in SECTIONS[section].model_fields or len(right) < 4:
        return
    with pytest.raises(ConfigError) as error:
        RunConfig.parse({section: {wrong: 1}})

    assert f"'{section}.{right}'" in error.value.remedy
