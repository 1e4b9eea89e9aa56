"""Compare CTranslate2 with the bundle: greedy pieces, and every log-probability."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID, Tokenizer
from headway.decoding.build_search import search_all
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.errors import BundleError, DataError
from headway.interop.ctranslate2.library import ctranslate2
from headway.interop.ctranslate2.spec import num_positions, token_list

# For a log-probability. CTranslate2 rounds float32 in another order; 1e-5 is usual.
TOLERANCE = 1e-4

_LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34) * 3
_RANDOM_LIMIT = 40  # output pieces, because a translation of noise need not end
_CHUNK = 16  # sentences at a time; logits of a large vocabulary take the memory
_REMEDY = "Nothing was written. Please report it with `headway info` of this bundle."


@dataclass(frozen=True, slots=True)
class ParityExample:
    """A sentence to compare on."""

    name: str
    source: list[int]
    """Pieces without the end symbol."""
    target: list[int]
    """Pieces whose log-probabilities are compared, in addition to those of the translation."""
    limit: int
    """Output limit in pieces."""
    is_text: bool = True
    """False for random pieces, whose translation is noise."""


@dataclass(frozen=True, slots=True)
class Parity:
    """How close CTranslate2 is to the bundle."""

    sentences: int
    """Sentences compared; their greedy translations are equal except for ties."""
    ties: int
    """Translations that diverge where rounding decides which of two pieces is more probable."""
    largest_difference: float
    """The largest difference between log-probabilities of one piece."""


def examples(bundle: Bundle, texts: Sequence[str] = ()) -> list[ParityExample]:
    """Return sentences of random pieces, and the texts that are not blank.

    Raises DataError for a text that has more pieces than the exported model has positions.
    """
    rng = np.random.default_rng(0)
    longest = num_positions(bundle) - 1  # the start or end symbol has a position too
    sample = []
    for number, length in enumerate(_LENGTHS, start=1):
        source = _random_pieces(bundle.source_tokenizer, min(length, longest), rng)
        target = _random_pieces(bundle.target_tokenizer, min(length + 2, longest), rng)
        limit = min(_RANDOM_LIMIT, longest)
        sample.append(
            ParityExample(f"random sentence {number}", source, target, limit, is_text=False)
        )
    for number, text in enumerate(texts, start=1):
        source = bundle.source_tokenizer.encode(text)
        if len(source) > longest:
            raise DataError(
                f"Sentence {number} of the sample has {len(source)} tokens; the exported model "
                f"takes {longest} at most.",
                "Leave it out.",
            )
        if source:
            limit = min(len(source) + bundle.decoding.max_extra_pieces, longest)
            name = f"sentence {number} ('{_short(text)}')"
            sample.append(ParityExample(name, source, [], limit))
    return sample


@torch.inference_mode()
def compare(bundle: Bundle, folder: Path, sample: Sequence[ParityExample]) -> Parity:
    """Compare a folder that CTranslate2 reads, in float32, with the bundle.

    Raises BundleError that names the first sentence, position and pieces where they diverge.
    """
    peer, pieces = Peer(bundle, folder, "float32"), np.arange(len(bundle.target_tokenizer))
    allowed = pieces if len(pieces) < bundle.config.target_vocab_size else None
    engine = ReferenceEngine(bundle.model.eval())
    ties, largest = 0, 0.0
    for chunk in _chunks(sample):
        limit = max(example.limit for example in chunk)
        requests = [Request([*e.source, END_ID], limit, allowed=allowed) for e in chunk]
        greedy = SearchOptions(beam_size=1, length_penalty=0.0)
        ours = [list(best.ids) for (best,) in search_all(engine, greedy, requests)]
        log_probs, theirs = _log_probs(bundle, chunk, ours), peer.greedy(chunk)
        for example, row, mine, peers in zip(chunk, log_probs, ours, theirs, strict=True):
            ties += _is_tie(bundle, example.name, row, mine, peers)
        for targets in (ours, [example.target for example in chunk]):
            largest = max(largest, _largest_difference(bundle, peer, chunk, targets))
    return Parity(len(sample), ties, largest)


class Peer:
    """A CTranslate2 model, with the questions that the bundle is asked."""

    def __init__(self, bundle: Bundle, folder: Path, compute_type: str) -> None:
        """Load the model; compute_type: of CTranslate2, where `default` means as written."""
        self._translator = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=compute_type
        )
        self._source = token_list(bundle.source_tokenizer)
        self._target = token_list(bundle.target_tokenizer)
        self._ids = {token: number for number, token in enumerate(self._target)}

    def translate(self, sample: Sequence[ParityExample]) -> list[list[int]]:
        """Return the greedy translation of each sentence, as ids without the end symbol."""
        return [ids for chunk in _chunks(sample) for ids in self.greedy(chunk)]

    def greedy(self, chunk: Sequence[ParityExample]) -> list[list[int]]:
        """Return the greedy translations of sentences as one batch, with one output limit."""
        results = self._translator.translate_batch(
            self._sources(chunk),
            beam_size=1,
            disable_unk=True,
            suppress_sequences=[[SPECIAL_PIECES[PAD_ID]], [SPECIAL_PIECES[START_ID]]],
            min_decoding_length=0,
            max_input_length=0,
            max_decoding_length=max(example.limit for example in chunk),
        )
        return [[self._ids[token] for token in result.hypotheses[0]] for result in results]

    def log_probs(
        self, chunk: Sequence[ParityExample], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Return the log-probability of each piece of a target, and of the end symbol after it."""
        tokens = [[self._target[piece] for piece in target] for target in targets]
        results = self._translator.score_batch(self._sources(chunk), tokens, max_input_length=0)
        return [result.log_probs for result in results]

    def _sources(self, chunk: Sequence[ParityExample]) -> list[list[str]]:
        return [[self._source[piece] for piece in example.source] for example in chunk]


def _is_tie(
    bundle: Bundle, name: str, log_probs: Tensor, ours: list[int], theirs: list[int]
) -> bool:
    """Return True if two translations diverge at a tie; BundleError if they diverge elsewhere.

    log_probs: (T, V), ours after each piece of `ours`. Both may be right within the tolerance and
    still choose different pieces whose log-probabilities differ by less than twice the tolerance.
    """
    for position, (piece, peers) in enumerate(zip_longest(ours, theirs, fillvalue=END_ID)):
        if piece == peers:
            continue
        gap = float(log_probs[position, piece] - log_probs[position, peers])
        if abs(gap) <= 2 * TOLERANCE:
            return True
        raise BundleError(
            f"CTranslate2 diverges from the bundle in {name}, at token {position + 1} of the "
            f"greedy translation: '{_piece(bundle, peers)}' instead of '{_piece(bundle, piece)}', "
            f"which is more probable by {gap:.2g} in log-probability.",
            _REMEDY,
        )
    return False


def _largest_difference(
    bundle: Bundle, peer: Peer, chunk: Sequence[ParityExample], targets: Sequence[list[int]]
) -> float:
    """Return the largest difference of log-probabilities; BundleError when it is too large."""
    ours = _log_probs(bundle, chunk, targets)
    largest = 0.0
    scored = zip(chunk, targets, ours, peer.log_probs(chunk, targets), strict=True)
    for example, target, row, theirs in scored:
        pieces = [*target, END_ID]
        for position, (piece, peers) in enumerate(zip(pieces, theirs, strict=True)):
            expected = float(row[position, piece])
            if not abs(expected - peers) <= TOLERANCE:  # NaN is no agreement
                raise BundleError(
                    f"CTranslate2 diverges from the bundle in {example.name}, at token "
                    f"{position + 1} of a given translation: '{_piece(bundle, piece)}' has the "
                    f"log-probability {peers:.6g} instead of {expected:.6g}.",
                    _REMEDY,
                )
            largest = max(largest, abs(expected - peers))
    return largest


def _log_probs(
    bundle: Bundle, chunk: Sequence[ParityExample], targets: Sequence[list[int]]
) -> Tensor:
    """Return the log-probabilities of the next piece after each piece of the targets, (B, T, V)."""
    sources = _padded([[*example.source, END_ID] for example in chunk], bundle.model)
    inputs = _padded([[START_ID, *target] for target in targets], bundle.model)
    logits = bundle.model(sources, inputs)[..., : len(bundle.target_tokenizer)]
    return logits.float().log_softmax(dim=-1).cpu()


def _padded(sentences: Sequence[list[int]], model: torch.nn.Module) -> Tensor:
    longest = max(map(len, sentences))
    rows = [ids + [PAD_ID] * (longest - len(ids)) for ids in sentences]
    return torch.tensor(rows, device=next(model.parameters()).device)


def _chunks(sample: Sequence[ParityExample]) -> Iterator[Sequence[ParityExample]]:
    for first in range(0, len(sample), _CHUNK):
        yield sample[first : first + _CHUNK]


def _random_pieces(tokenizer: Tokenizer, length: int, rng: np.random.Generator) -> list[int]:
    """Return random pieces of text: neither padding, nor start, nor end."""
    pieces = [UNK_ID, *range(END_ID + 1, len(tokenizer))]
    return [pieces[i] for i in rng.integers(len(pieces), size=length)]


def _piece(bundle: Bundle, piece: int) -> str:
    return bundle.target_tokenizer.piece(piece)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
