"""Phrases: the same fields in both languages, and Korean particles that fit any field."""

import re
from string import Formatter

import pytest

from headway.inspection.phrases import PHRASES

# Forms that depend on the sound before them.
_PARTICLES = r"\}[”’»\")]*(?:\(으\)로|(?:을|를|은|는|이|가|과|와|으로|로)(?![가-힣]))"


@pytest.mark.parametrize("name", PHRASES)
def test_both_languages_have_the_same_fields(name: str) -> None:
    english, korean = ({field for _, field, _, _ in Formatter().parse(text) if field}
                       for text in PHRASES[name])  # fmt: skip
    assert english == korean


@pytest.mark.parametrize("name", PHRASES)
def test_no_particle_depends_on_the_sound_of_a_field(name: str) -> None:
    assert re.findall(_PARTICLES, PHRASES[name][1]) == []
