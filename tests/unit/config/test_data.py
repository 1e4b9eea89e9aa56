"""Settings of data and tokenizer have bounds."""

import pytest

from headway.config.data import DataConfig, TokenizerConfig
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_pieces", 0), ("max_ratio", 1.0), ("too_long", "split")],
    ids=["length", "ratio", "choice"],
)
def test_data_settings_that_cannot_work_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"'{key}' is "):
        DataConfig.parse({key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "wordpiece"),
        ("vocabulary_size", 7),
        ("character_coverage", 0.0),
        ("character_coverage", 1.01),
        ("normalization", "nfd"),
    ],
    ids=["kind", "size", "nothing covered", "more than everything", "normalization"],
)
def test_tokenizer_settings_that_cannot_work_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"'{key}' is "):
        TokenizerConfig.parse({key: value})
