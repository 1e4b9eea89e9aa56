"""The stream of a run: corpora by weight, batches by length, and resampling of pieces.

Resampling cuts the text of each block into other pieces, by unigram sampling or BPE dropout.
"""

import numpy as np

from headway.config.run import RunConfig
from headway.data.epoch_order import Deck, IntArray
from headway.data.ragged import Ragged
from headway.data.sampling import build_sampler
from headway.data.store import PairStore
from headway.data.tokenizer import Tokenizer
from headway.training.encode import EncodedTexts
from headway.training.stream import BatchStream, Resample
from headway.training.texts import Texts

_CHUNK = 10_000  # texts that are cut at once


def build_stream(
    config: RunConfig, texts: Texts, encoded: EncodedTexts, tokenizers: tuple[Tokenizer, Tokenizer]
) -> BatchStream:
    """Return the order of the training pairs: corpora by their weights, batches by length."""
    training, alpha = config.training, config.tokenizer.sampling
    weights = [corpus.weight for corpus in texts.corpora]
    return BatchStream(
        encoded.train,
        max_tokens=training.batch_tokens,
        accumulate=training.accumulate,
        seed=training.seed,
        # On every device, so that a run continued on another one has the same batches.
        rounded=training.compile,
        longest=None if alpha is None else _longest_side(config) + 1,
        deck=Deck(encoded.train.sizes, weights, training.seed),
        resample=None
        if alpha is None
        else _resampling(texts, *tokenizers, alpha, config.data.max_pieces, _longest_side(config)),
    )


def _longest_side(config: RunConfig) -> int:
    """Return the most pieces of a resampled side, with its tag.

    The checks before the first step cover only the pieces of the first cut.
    """
    longest = config.training.batch_tokens - 1
    if config.model.positions == "learned":
        longest = min(longest, config.model.max_positions - 1)
    return longest


def _resampling(
    texts: Texts,
    source: Tokenizer,
    target: Tokenizer,
    alpha: float,
    max_pieces: int,
    longest_side: int,
) -> Resample:
    """Return a function that cuts the pairs of a block at random, each time into other pieces.

    A pair keeps its present pieces if one side would have more than max_pieces, or with its tag
    more than longest_side. A text that would exceed max_pieces even with the longest known pieces
    is not cut at all, because the time of BPE grows with the square of a word's length.
    """
    source_sampler = build_sampler(source, alpha)
    target_sampler = source_sampler if source == target else build_sampler(target, alpha)
    source_most, target_most = (
        max_pieces * sampler.longest for sampler in (source_sampler, target_sampler)
    )
    tags = Ragged.of([source.encode(corpus.tag) for corpus in texts.corpora])

    def resample(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> PairStore:
        starts = range(0, len(rows), _CHUNK)
        chunks = [cut(store, rows[i : i + _CHUNK], (*numbers, i)) for i in starts]
        sources, targets = (Ragged.joined(sides) for sides in zip(*chunks, strict=True))
        return PairStore(sources, targets, rows)

    def cut(store: PairStore, rows: IntArray, numbers: tuple[int, ...]) -> tuple[Ragged, Ragged]:
        texts = [store.text(row) for row in rows.tolist()]
        hopeless = np.array([len(a) > source_most or len(b) > target_most for a, b in texts])
        sources, targets = zip(
            *(("", "") if no else text for no, text in zip(hopeless, texts, strict=True)),
            strict=True,
        )
        seeds = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
        text = source_sampler.sample(sources, int(seeds[0]))
        source = tags.pick(store.corpora(rows)).beside(text)
        target = target_sampler.sample(targets, int(seeds[1]))
        fits = np.maximum(text.lengths(), target.lengths()) <= max_pieces
        fits &= np.maximum(source.lengths(), target.lengths()) <= longest_side
        fits &= ~hopeless
        chosen_rows = np.arange(len(rows)) + np.where(fits, 0, len(rows))
        return (
            Ragged.joined([source, store.source.pick(rows)]).pick(chosen_rows),
            Ragged.joined([target, store.target.pick(rows)]).pick(chosen_rows),
        )

    return resample
