"""Subword regularization: the way in which a tokenizer's text is cut by chance."""

from headway.data.merges import BPESampler
from headway.data.sampler import Sampler
from headway.data.segmentations import UnigramSampler
from headway.data.tokenizer import Kind, Tokenizer
from headway.errors import ConfigError


def build_sampler(tokenizer: Tokenizer, alpha: float) -> Sampler:
    """Return what samples the pieces of a tokenizer: unigram by segmentation, bpe by merge.

    Raises ConfigError for another kind.
    """
    check_samples(tokenizer.kind)
    return (UnigramSampler if tokenizer.kind == "unigram" else BPESampler)(tokenizer, alpha)


def check_samples(kind: Kind) -> None:
    """Raise ConfigError for a kind of tokenizer that has one way only to cut a text."""
    if kind not in ("unigram", "bpe"):
        raise ConfigError(
            f"A {kind} tokenizer has one way only to cut a text.",
            "Leave tokenizer.sampling out, or let tokenizer.kind be unigram or bpe.",
        )
