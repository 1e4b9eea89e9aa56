"""The stream of a run: its corpora by weight, its batches by length, cut anew where asked for."""

from headway.config.run import RunConfig
from headway.data.epoch_order import Deck
from headway.data.tokenizer import Tokenizer
from headway.training.encode import EncodedTexts
from headway.training.resampling import resampling
from headway.training.stream import BatchStream
from headway.training.texts import Texts


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
        # On whatever device: a run that goes on elsewhere has the same batches.
        rounded=training.compile,
        longest=None if alpha is None else _longest_side(config) + 1,
        deck=Deck(encoded.train.sizes, weights, training.seed),
        resample=None
        if alpha is None
        else resampling(texts, *tokenizers, alpha, config.data.max_pieces, _longest_side(config)),
    )


def _longest_side(config: RunConfig) -> int:
    """Return how many pieces a side may have, with its tag, after it is cut by chance.

    What was checked before the first step are the pieces as they were cut first.
    """
    longest = config.training.batch_tokens - 1
    if config.model.positions == "learned":
        longest = min(longest, config.model.max_positions - 1)
    return longest
