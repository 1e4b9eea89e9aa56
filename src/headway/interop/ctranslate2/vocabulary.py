"""The pieces as CTranslate2 wants them: one string for each row of a table, all different."""

from itertools import count, islice

from headway.data.tokenizer import Tokenizer


def token_list(tokenizer: Tokenizer, size: int) -> list[str]:
    """Return `size` strings in the order of ids: the pieces, then names for rows without a piece.

    A table may have more rows than the tokenizer pieces. Of equal strings CTranslate2 would find
    only the first, and a list of another length it refuses.
    """
    pieces = tokenizer.pieces(range(len(tokenizer)))
    taken = set(pieces)
    names = (f"<unused{number}>" for number in count())
    return pieces + list(islice((n for n in names if n not in taken), size - len(pieces)))
