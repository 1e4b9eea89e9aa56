"""What could not be trained with is refused before any text is read."""

import pytest
import torch

from headway.errors import ConfigError, DataError
from headway.training.settings import check_settings
from headway.training.texts import read_texts

from .conftest import MakeConfig

_CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"best_metric": "bleu", "validation_sentences": 0}}, "does not compute it"),
        (
            {"training": {"best_metric": "bleu"}, "evaluation": {"metrics": ["chrf"]}},
            "best_metric is 'bleu', but validation does not compute it",
        ),
        ({"evaluation": {"metrics": ["blue"]}}, "no metric 'blue'.*Did you mean 'bleu'"),
        ({"evaluation": {"bleu_tokenize": "13b"}}, "no tokenization '13b'.*'13a'"),
    ],
    ids=["no-sentences", "other-metric", "unknown-metric", "unknown-tokenization"],
)
def test_a_metric_that_cannot_be_computed_is_refused(
    make_config: MakeConfig, changes: dict[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_settings(make_config(**changes), _CPU)


def test_a_recipe_without_its_text_says_where_to_get_it(make_config: MakeConfig) -> None:
    elsewhere = {"data": {"directory": "no/where"}}
    recipe = {"data_source": "https://example.org/text"}
    with pytest.raises(
        ConfigError, match=r"no folder no/where.*its origin: https://example.org/text\)"
    ):
        check_settings(make_config(**elsewhere, recipe=recipe), _CPU)
    check_settings(make_config(recipe=recipe), _CPU)
    sides = ("source", "target", "valid_source", "valid_target")
    absolute = {"data": elsewhere["data"] | {side: f"/text/{side}" for side in sides}}
    check_settings(make_config(**absolute, recipe=recipe), _CPU)
    with pytest.raises(DataError, match=r"There is no file no/where/"):
        read_texts(make_config(**elsewhere).data)


def test_a_coverage_that_no_tokenizer_has_is_refused_where_one_is_trained(
    make_config: MakeConfig,
) -> None:
    settings = {"character_coverage": 0.9}
    with pytest.raises(ConfigError, match=r"is 0\.9, but SentencePiece takes 0\.98 to 1"):
        check_settings(make_config(tokenizer=settings), _CPU)
    check_settings(make_config(tokenizer=settings | {"source_model": "pieces.model"}), _CPU)


def test_new_pieces_that_cannot_be_are_refused_before_text_is_read(make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.new_pieces has '▁hi'"):
        check_settings(make_config(tokenizer={"new_pieces": ["▁hi"]}), _CPU)
