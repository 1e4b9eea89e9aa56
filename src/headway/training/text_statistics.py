"""What the pieces of the text alone tell, before any model: how many are unknown, how frequent."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from headway.data.cleaning import EncodedPair
from headway.data.tokenizer import END_ID, UNK_ID
from headway.training.diagnosis import Finding, unknown_pieces


def unknown_findings(texts: dict[str, Sequence[EncodedPair]]) -> Iterator[Finding]:
    """Look for sides of texts of which the vocabulary lacks too much."""
    for name, pairs in texts.items():
        for side, field in (("source", "source_ids"), ("target", "target_ids")):
            sentences = [getattr(pair, field) for pair in pairs]
            pieces = sum(len(ids) for ids in sentences)
            unknown = sum(ids.count(UNK_ID) for ids in sentences)
            yield from unknown_pieces(name, side, unknown, pieces)


def frequency_loss(
    train: Sequence[EncodedPair], valid: Sequence[EncodedPair], vocabulary: int
) -> float:
    """Return the loss on validation text of the frequencies of pieces in training text.

    A model that has not come below this knows nothing but which pieces are frequent. One is added
    to each count, so that a piece never seen has a probability too.
    """
    counts = Counter(chain.from_iterable(pair.target_ids for pair in train))
    counts[END_ID] += len(train)
    total = math.log(counts.total() + vocabulary)
    pieces = Counter(chain.from_iterable(pair.target_ids for pair in valid))
    pieces[END_ID] += len(valid)
    nll = sum(count * (total - math.log(counts[piece] + 1)) for piece, count in pieces.items())
    return nll / pieces.total()
