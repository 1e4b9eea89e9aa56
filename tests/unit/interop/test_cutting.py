"""Programs that cut text by SentencePiece alone get no tokenizer with merges of words."""

from types import SimpleNamespace
from typing import Any

import pytest

from headway.data.word_merges import WordMerges
from headway.errors import ConfigError
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer
from headway.interop.cutting import check_sentencepiece_cuts
from headway.interop.marian import firefox, hugging_face_export


@pytest.fixture
def merging() -> Any:
    """Return what the checks look at first of a bundle: tokenizers with merges."""
    merges = WordMerges.read(b"#version: 0.2\na b\n")
    tokenizer = plain_tokenizer(["a@@", "b", "ab"], "word", trimmed=True, merges=merges)
    return SimpleNamespace(source_tokenizer=tokenizer, target_tokenizer=tokenizer)


def test_merges_are_refused_by_name(merging: Any) -> None:
    with pytest.raises(ConfigError, match="Argos gets the tokenizer as a SentencePiece model"):
        check_sentencepiece_cuts(merging, "Argos")


@pytest.mark.parametrize("exporter", [firefox, hugging_face_export])
def test_exports_for_marian_refuse_merges(exporter: Any, merging: Any) -> None:
    with pytest.raises(ConfigError, match="cannot hold the merges"):
        exporter.check_expressible(merging)
