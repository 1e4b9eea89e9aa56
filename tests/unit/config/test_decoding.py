"""The default search is the paper's, and settings have bounds."""

import pytest

from headway.config.decoding import DecodingConfig
from headway.errors import ConfigError


def test_the_default_search_is_the_papers() -> None:
    config = DecodingConfig()

    assert (config.beam_size, config.length_penalty, config.max_extra_pieces) == (4, 0.6, 50)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("beam_size", 0),
        ("length_penalty", -0.1),
        ("max_extra_pieces", 0),
        ("max_source_pieces", 0),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"'{key}' is "):
        DecodingConfig.parse({key: value})
