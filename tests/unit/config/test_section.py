"""A section is strict and frozen, and its errors name the key, the value and the remedy."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"labl_smoothing": 3},
            "There is no setting 'labl_smoothing'. Did you mean 'label_smoothing'?",
        ),
        (
            {"max_steps": "many"},
            "'max_steps' is 'many' (str), but must be a valid integer. "
            "Change it in the configuration or with --set.",
        ),
        (
            {"max_steps": 0},
            "'max_steps' is 0 (int), but must be greater than or equal to 1. "
            "Change it in the configuration or with --set.",
        ),
        (
            {"schedule": "noam"},
            "'schedule' is 'noam' (str), but must be 'inverse_sqrt', 'linear', 'cosine' or "
            "'constant'. Change it in the configuration or with --set.",
        ),
    ],
    ids=["unknown key", "wrong type", "out of range", "unknown choice"],
)
def test_an_error_names_what_was_given_and_what_is_allowed(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        TrainingConfig.parse(values)

    assert str(error.value) == message


@pytest.mark.parametrize(
    ("values", "start"),
    [
        (
            {"model": {"d_modell": 8}},
            "There is no setting 'model.d_modell'. Did you mean 'model.d_model'",
        ),
        (
            {"data": {"max_steps": 5}},
            "There is no setting 'data.max_steps'. Did you mean 'training.max_steps'?",
        ),
        (
            {"dropout": 0.1},
            "There is no setting 'dropout'. Did you mean 'model.dropout'?",
        ),
        ({"preset": "tiny"}, "There is no setting 'preset'. Did you mean 'model.preset'?"),
        ({"data": {"preset": "tiny"}}, "There is no setting 'data.preset'. Did you mean 'model.pr"),
        ({"modle": {}}, "There is no setting 'modle'. Did you mean 'model'?"),
        ({"training": {"zzz": 1}}, "There is no setting 'training.zzz'. Known: "),
        ({"data": {"max_pieces": 1.5}}, "'data.max_pieces' is 1.5 (float), but must be"),
        (
            {"tokenizer": {"new_pieces": "x"}},
            "'tokenizer.new_pieces' is 'x' (str), but must be a list. Change it in the "
            """configuration or with --set 'tokenizer.new_pieces=["one", "two"]'.""",
        ),
        (
            {"evaluation": {"metrics": ["bleu", 3]}},
            "Entry 2 of 'evaluation.metrics' is 3 (int), but must be a valid string. Change it in "
            "the configuration.",
        ),
        (
            {"data": {"corpora": [{"source": "a"}, {"source": "b", "tagg": "<2>"}]}},
            "There is no setting 'tagg' in entry 2 of 'data.corpora'. Did you mean 'tag'",
        ),
        (
            {"data": {"corpora": [{"target": "a"}]}},
            "'source' in entry 1 of 'data.corpora' is missing. Set it in the configuration.",
        ),
        (
            {"data": {"corpora": [{"source": "a"}, {"source": "b", "weight": 2**63}]}},
            "'weight' in entry 2 of 'data.corpora' does not fit into 64 bits. Give a smaller",
        ),
        (
            {"data": {"corpora": {"source": "a"}}},
            "'data.corpora' is {'source': 'a'} (dict), but must be a list. Write "
            "[[data.corpora]] over each of its entries",
        ),
        ({"model": 3}, "'model' is 3 (int), but must be"),
    ],
    ids=[
        "key",
        "key of another section",
        "key outside of its section",
        "preset outside of its section",
        "preset in another section",
        "section",
        "no near name",
        "type",
        "no list",
        "inside a list",
        "key inside a list",
        "missing inside a list",
        "too large inside a list",
        "one table for a list",
        "no table",
    ],
)
def test_an_error_inside_a_section_has_the_full_name(values: dict[str, Any], start: str) -> None:
    with pytest.raises(ConfigError) as error:
        RunConfig.parse(values)

    assert str(error.value).startswith(start)


def test_where_a_section_stands_is_part_of_the_name() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'decoding\.speed'"):
        RunConfig.parse({"speed": 3}, "decoding")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_steps", True),
        ("max_steps", 3.0),
        ("label_smoothing", "0.1"),
        ("label_smoothing", 1.0),
        ("label_smoothing", -0.1),
        ("clip_norm", 0.0),
        ("learning_rate", math.inf),
        ("learning_rate", math.nan),
        ("seed", -1),
        ("max_steps", None),
    ],
    ids=str,
)
def test_nothing_is_converted_or_let_through(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^'{key}' is "):
        TrainingConfig.parse({key: value})


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    assert TrainingConfig.parse({"clip_norm": 5, "label_smoothing": 0}).clip_norm == 5.0


def test_a_section_cannot_be_changed_but_replaced_and_is_checked_again() -> None:
    config = TrainingConfig()

    with pytest.raises(ValidationError, match="frozen"):
        config.max_steps = 3
    assert config.replace({"max_steps": 3}).max_steps == 3
    assert config.max_steps == 100_000
    with pytest.raises(ConfigError, match="'max_steps' is 0"):
        config.replace({"max_steps": 0})


def test_every_setting_explains_itself() -> None:
    for name, section in RunConfig.model_fields.items():
        assert section.annotation is not None
        for key, field in section.annotation.model_fields.items():
            if not key.startswith(("adam_", "name", "description")):
                assert field.description, f"{name}.{key}"
