"""Subword regularization: cutting the same text into different pieces at random."""

from headway.data.merges import BPESampler
from headway.data.sampler import Sampler
from headway.data.segmentations import UnigramSampler
from headway.data.tokenizer import Kind, Tokenizer
from headway.errors import ConfigError


def build_sampler(tokenizer: Tokenizer, alpha: float) -> Sampler:
    """Return the sampler for a tokenizer: by segmentation for unigram, by merges for bpe.

    Raises ConfigError for others.
    """
    check_sampled(tokenizer)
    return (UnigramSampler if tokenizer.kind == "unigram" else BPESampler)(tokenizer, alpha)


def check_sampled(tokenizer: Tokenizer) -> None:
    """Raise ConfigError for a tokenizer that can cut a text in one way only."""
    check_samples(tokenizer.kind)
    if tokenizer.has_word_merges:
        raise ConfigError(
            "A tokenizer with merges of subword-nmt cannot be sampled.",
            "Leave tokenizer.sampling out, or train a tokenizer with Headway.",
        )


def check_samples(kind: Kind) -> None:
    """Raise ConfigError for a kind of tokenizer that can cut a text in one way only."""
    if kind not in ("unigram", "bpe"):
        raise ConfigError(
            f"A {kind} tokenizer has only one way to cut a text.",
            "Leave tokenizer.sampling out, or let tokenizer.kind be unigram or bpe.",
        )
