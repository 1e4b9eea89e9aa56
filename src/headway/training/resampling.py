"""Text that is cut into other pieces each time: unigram sampling and BPE dropout."""

import numpy as np

from headway.data.deck import IntArray
from headway.data.ragged import Ragged
from headway.data.sampling import build_sampler
from headway.data.store import PairStore
from headway.data.tokenizer import Tokenizer
from headway.training.stream import Resample
from headway.training.texts import Texts

_CHUNK = 10_000  # texts that are cut at once


def resampling(
    texts: Texts,
    source: Tokenizer,
    target: Tokenizer,
    alpha: float,
    max_pieces: int,
    longest_side: int,
) -> Resample:
    """Return what cuts the pairs of a block by chance, each time into other pieces.

    A pair keeps the pieces that it has if one side would have more than max_pieces, or with its tag
    more than longest_side.
    """
    source_sampler = build_sampler(source, alpha)
    target_sampler = source_sampler if source == target else build_sampler(target, alpha)
    tags = Ragged.of([source.encode(corpus.tag) for corpus in texts.corpora])

    def resample(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> PairStore:
        starts = range(0, len(rows), _CHUNK)
        chunks = [cut(store, rows[i : i + _CHUNK], (*numbers, i)) for i in starts]
        sources, targets = (Ragged.joined(sides) for sides in zip(*chunks, strict=True))
        return PairStore(sources, targets, rows)

    def cut(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> tuple[Ragged, Ragged]:
        sources, targets = zip(*(store.text(row) for row in rows.tolist()), strict=True)
        seeds = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
        text = source_sampler.sample(sources, int(seeds[0]))
        source = tags.pick(store.corpora(rows)).beside(text)
        target = target_sampler.sample(targets, int(seeds[1]))
        fits = np.maximum(text.lengths(), target.lengths()) <= max_pieces
        fits &= np.maximum(source.lengths(), target.lengths()) <= longest_side
        kept = np.arange(len(rows)) + np.where(fits, 0, len(rows))
        return (
            Ragged.joined([source, store.source.pick(rows)]).pick(kept),
            Ragged.joined([target, store.target.pick(rows)]).pick(kept),
        )

    return resample
