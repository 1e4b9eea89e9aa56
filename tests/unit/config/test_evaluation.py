"""There is always something to score."""

import pytest

from headway.config.evaluation import EvaluationConfig
from headway.errors import ConfigError


def test_an_evaluation_has_at_least_one_metric() -> None:
    assert EvaluationConfig().metrics == ["bleu", "chrf"]
    with pytest.raises(ConfigError, match="'metrics' is "):
        EvaluationConfig.parse({"metrics": []})
