"""Subword regularization: the way in which a tokenizer's text is cut by chance."""

from headway.data.merges import BPESampler
from headway.data.sampler import Sampler
from headway.data.segmentations import UnigramSampler
from headway.data.tokenizer import Tokenizer
from headway.errors import ConfigError


def build_sampler(tokenizer: Tokenizer, alpha: float) -> Sampler:
    """Return what samples the pieces of a tokenizer: unigram by segmentation, bpe by merge.

    Raises ConfigError for a kind that has one way only to cut a text.
    """
    if tokenizer.kind == "unigram":
        return UnigramSampler(tokenizer, alpha)
    if tokenizer.kind == "bpe":
        return BPESampler(tokenizer, alpha)
    raise ConfigError(
        f"A {tokenizer.kind} tokenizer has one way only to cut a text.",
        "Leave tokenizer.sampling out, or let tokenizer.kind be unigram or bpe.",
    )
