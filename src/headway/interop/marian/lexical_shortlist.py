"""The shortlist of a Firefox student, `lex.….bin`, as Marian's own program writes it.

Six numbers of 64 bits: a magic number, a checksum, how many pieces every sentence has (the first of
the vocabulary), the most translations of a piece, and the lengths of the two lists that follow:
where the translations of each piece begin, in 64 bits, and the translations, in 32 bits.
"""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.data.shortlist import Shortlist
from headway.data.tokenizer import SPECIAL_PIECES
from headway.errors import BundleError
from headway.interop.marian.pieces import Renumbered

MAGIC = 0xF11A48D5013417F5
_HEADER = struct.Struct("<6Q")


def read_shortlist(path: Path, source: Renumbered, target: Renumbered) -> Shortlist:
    """Return the shortlist of the file in Headway's ids.

    With one vocabulary for both sides, Marian allows each piece of the source in the translation.
    Raises BundleError for another kind of file, and for one of other vocabularies.
    """
    first, starts, pieces = _read(path, len(source.new_ids), len(target.new_ids))
    if source.tokenizer == target.tokenizer:
        pieces, starts = _with_own_piece(pieces, starts)
    target_ids = target.new_ids
    lists = [
        target_ids[pieces[starts[i] : starts[i + 1]]] if i >= 0 else target_ids[:0]
        for i in source.old_ids.tolist()
    ]
    return Shortlist(
        always=np.union1d(np.arange(len(SPECIAL_PIECES)), target_ids[:first]),
        starts=np.cumsum([0, *map(len, lists)]),
        found=np.concatenate(lists),
        target_size=len(target.old_ids),
    )


def _read(
    path: Path, source_size: int, target_size: int
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return how many pieces every sentence has, and both lists, in the file's ids."""
    problem = ""
    try:
        data = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.",
            "Check the file and its permissions.",
        ) from None
    if len(data) < _HEADER.size:
        raise _refused(path, f"It has only {len(data)} bytes.")
    magic, _, first, _, num_starts, num_found = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != MAGIC:
        raise _refused(path, f"It begins with {magic:#x}, and not with {MAGIC:#x}.")
    expected = _HEADER.size + 8 * num_starts + 4 * num_found
    if expected != len(data):
        raise _refused(path, f"It has {len(data):,} bytes, but says that it has {expected:,}.")
    if num_starts != source_size + 1:
        problem = f"It is for {num_starts - 1:,} source tokens; the .spm file has {source_size:,}."
    starts = data[_HEADER.size :][: 8 * num_starts].view("<u8").astype(np.int64)
    pieces = data[_HEADER.size + 8 * num_starts :].view("<u4").astype(np.int64)
    if not problem and (starts[0] or starts[-1] != num_found or (np.diff(starts) < 0).any()):
        problem = "Its source tokens do not follow one another."
    if not problem and (first > target_size or (pieces >= target_size).any()):
        problem = f"It has tokens beyond the {target_size:,} of the target's .spm file."
    if problem:
        raise _refused(path, problem)
    return first, starts, pieces


def _refused(path: Path, problem: str) -> BundleError:
    return BundleError(
        f"{path} is no shortlist of this model: {problem}",
        "Copy the file again, or take it out of the folder.",
    )


def _with_own_piece(
    pieces: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Append each source piece to its own translations."""
    sources = np.arange(len(starts) - 1)
    return np.insert(pieces, starts[1:], sources), starts + np.arange(len(starts))
