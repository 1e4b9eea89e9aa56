"""Counts for a model by which greedy search guesses the next pieces of a translation."""

from collections.abc import Iterable
from dataclasses import replace

from headway.bundle import Bundle
from headway.data.draft_counts import count_drafts
from headway.data.shortlist import choose_pairs


def with_drafts(bundle: Bundle, pairs: Iterable[tuple[str, str]]) -> Bundle:
    """Return the bundle with counts from these pairs of a text and its translation.

    They change no translation and no score: greedy search of one or two sentences takes fewer steps
    (`headway.kernels.search_loop`). The bundle's record has the number of pairs that were counted
    and that of all pairs. Raises DataError if no pair has a translation.
    """
    texts = list(pairs)
    sources = bundle.source_tokenizer.encode_batch([source for source, _ in texts])
    targets = bundle.target_tokenizer.encode_batch([target for _, target in texts])
    ids = list(zip(sources, targets, strict=True))
    config = bundle.config
    drafts = count_drafts(ids, config.source_vocab_size, config.target_vocab_size)
    record = {"pairs": len(choose_pairs(ids)), "pairs_given": len(ids)}
    return replace(bundle, drafts=drafts, record=bundle.record | {"drafts": record})
