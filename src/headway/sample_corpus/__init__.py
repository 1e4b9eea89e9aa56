"""A small Korean-English corpus, generated from a grammar, to train on without any download."""

from headway.sample_corpus.corpus import (
    SampleCorpus,
    SamplePair,
    build_sample_corpus,
    more_sentences,
    patterns,
    words,
)

__all__ = [
    "SampleCorpus",
    "SamplePair",
    "build_sample_corpus",
    "more_sentences",
    "patterns",
    "words",
]
