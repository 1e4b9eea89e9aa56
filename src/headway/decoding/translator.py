"""The Translator: sentences in, translations out, in order and independent of batching."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import torch

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID
from headway.decoding.engines import EngineName, PrecisionName, build_engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.search import Request
from headway.decoding.searches import search_all
from headway.decoding.splitting import leading_tag, split_long
from headway.errors import ConfigError

_WORTH_A_WORKER = 8  # sentences


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A hypothesis as text."""

    text: str
    score: float
    """Log-probability divided by the length penalty; higher is better."""
    log_prob: float
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """What became of one sentence."""

    text: str
    score: float
    pieces: tuple[str, ...]
    hypotheses: tuple[ScoredText, ...]
    """The n best, best first; the first is this translation."""
    num_parts: int = 1
    """More than 1 when the sentence was too long and was translated part by part."""
    complete: bool = True
    """False when the output limit ended the translation."""
    unknown_pieces: int = 0
    """Pieces of the source that the vocabulary does not know."""


class Translator:
    """Translate text with a bundle."""

    def __init__(
        self,
        bundle: Bundle,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
    ) -> None:
        """Use a loaded bundle; `headway.load` reads one from disk.

        engine and precision: see `headway.decoding.engines`. The engine keeps the weights as they
        are now.
        """
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device
        self.engine = build_engine(bundle.model.eval(), engine, precision)

    @overload
    def translate(  # pyright: ignore[reportOverlappingOverload]
        self,
        text: str,
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        prefix: str | Sequence[str] | None = None,
        batch_tokens: int = 4096,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        prefix: str | Sequence[str] | None = None,
        batch_tokens: int = 4096,
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | Iterable[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        prefix: str | Sequence[str] | None = None,
        batch_tokens: int = 4096,
    ) -> Translation | list[Translation]:
        """Translate one sentence, or several in order.

        A blank sentence gives a blank translation. prefix: how the translation must begin, one
        for all or one for each. batch_tokens: padded source pieces computed together; it changes
        speed and memory, not the result.
        """
        sentences = [text] if isinstance(text, str) else list(text)
        _check_request(sentences, beam_size, n_best, batch_tokens)
        prefixes = _one_each(prefix, len(sentences))
        defaults = self.bundle.decoding
        options = SearchOptions(
            max(defaults.beam_size if beam_size is None else beam_size, n_best),
            defaults.length_penalty if length_penalty is None else length_penalty,
            n_best,
        )
        parts = [self._parts(sentence) for sentence in sentences]
        forced = [self._prefix_ids(prefix) for prefix in prefixes]
        found = iter(self._search_all(parts, forced, options, batch_tokens))
        translations = [
            self._join(sentence_parts, [next(found) for _ in sentence_parts], options)
            for sentence_parts in parts
        ]
        return translations[0] if isinstance(text, str) else translations

    def _parts(self, sentence: str) -> list[list[int]]:
        ids = self.bundle.source_tokenizer.encode(sentence)
        longest = min(self.bundle.decoding.max_source_pieces, self._position_limit())
        if len(ids) <= longest:
            return [ids] if ids else []
        pieces = self.bundle.source_tokenizer.pieces(ids)
        tag = leading_tag(pieces)
        if 2 * tag > longest:
            tag = 0  # whatever it is, it leaves no room
        parts = split_long(ids[tag:], pieces[tag:], longest - tag)
        return [ids[:tag] + part for part in parts]

    def _position_limit(self) -> int:
        """Return how many pieces fit beside the start or end symbol: a learned table has an end."""
        config = self.bundle.config
        return config.max_positions - 1 if config.positions == "learned" else sys.maxsize

    def _prefix_ids(self, prefix: str) -> list[int]:
        ids = self.bundle.target_tokenizer.encode(prefix)
        if unknown := self.bundle.target_tokenizer.unknown_count(ids):
            raise ConfigError(
                f"The prefix '{prefix}' has {unknown} pieces that the vocabulary does not know.",
                "Begin with words that the model can write.",
            )
        if len(ids) > self._position_limit():
            raise ConfigError(
                f"A prefix has {len(ids)} pieces, but the model has positions for "
                f"{self._position_limit()}.",
                "Shorten the prefix.",
            )
        return ids

    def _search_all(
        self,
        parts: list[list[list[int]]],
        forced: list[list[int]],
        options: SearchOptions,
        batch_tokens: int,
    ) -> list[list[Hypothesis]]:
        """Search for every part; a prefix belongs to the first of its sentence."""
        requests = [
            self._request(ids, prefix if position == 0 else [])
            for sentence_parts, prefix in zip(parts, forced, strict=True)
            for position, ids in enumerate(sentence_parts)
        ]
        workers = self._workers(len(requests))
        return search_all(self.engine, options, requests, max_tokens=batch_tokens, workers=workers)

    def _request(self, ids: list[int], prefix: list[int]) -> Request:
        limit = max(len(ids) + self.bundle.decoding.max_extra_pieces, len(prefix))
        return Request([*ids, END_ID], min(limit, self._position_limit()), prefix)

    def _workers(self, jobs: int) -> int:
        """Return how many searches run side by side: one a core, if there is work for each."""
        if self.device.type != "cpu":
            return 1
        return max(min(torch.get_num_threads(), jobs // _WORTH_A_WORKER), 1)

    def _join(
        self, parts: list[list[int]], found: list[list[Hypothesis]], options: SearchOptions
    ) -> Translation:
        unknown = sum(self.bundle.source_tokenizer.unknown_count(ids) for ids in parts)
        if not parts:
            blank = ScoredText("", 0.0, 0.0, ())
            return Translation("", 0.0, (), (blank,) * options.n_best)
        hypotheses = tuple(
            # A beam may finish fewer than n_best hypotheses of a part: its last one stands in.
            self._as_text([part[min(rank, len(part) - 1)] for part in found])
            for rank in range(min(options.n_best, max(map(len, found))))
        )
        best = hypotheses[0]
        return Translation(
            text=best.text,
            score=best.score,
            pieces=best.pieces,
            hypotheses=hypotheses,
            num_parts=len(parts),
            complete=all(part[0].complete for part in found),
            unknown_pieces=unknown,
        )

    def _as_text(self, parts: list[Hypothesis]) -> ScoredText:
        tokenizer = self.bundle.target_tokenizer
        return ScoredText(
            " ".join(filter(None, (tokenizer.decode(part.ids) for part in parts))),
            sum(part.score for part in parts),
            sum(part.log_prob for part in parts),
            tuple(piece for part in parts for piece in tokenizer.pieces(part.ids)),
        )


def load(
    path: str | Path,
    device: str = "auto",
    *,
    engine: EngineName = "auto",
    precision: PrecisionName = "float32",
) -> Translator:
    """Load a bundle, or the bundle of a run, and make a translator of it.

    device: auto, cpu, cuda or mps. engine, precision: what computes, and how exactly; see
    `headway.decoding.engines`. Raises BundleError when the bundle is damaged.
    """
    return Translator(load_bundle(path, resolve_device(device)), engine, precision)


def resolve_device(name: str) -> str:
    """Return a device that exists here; auto takes cuda, then mps, then cpu."""
    available = ["cpu"]
    if torch.backends.mps.is_available():
        available.insert(0, "mps")
    if torch.cuda.is_available():
        available.insert(0, "cuda")
    if name == "auto":
        return available[0]
    if name.partition(":")[0] not in available:
        raise ConfigError(
            f"The device '{name}' is not available here.",
            f"Choose auto or one of: {', '.join(available)}.",
        )
    return name


def _check_request(
    sentences: list[str], beam_size: int | None, n_best: int, batch_tokens: int
) -> None:
    numbers = {"beam_size": beam_size, "n_best": n_best, "batch_tokens": batch_tokens}
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ConfigError(f"{name} is {number}, but must be at least 1.", f"Raise {name}.")
    for index, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise ConfigError(
                f"Sentence {index} (counted from 0) is a {type(sentence).__name__}, not text.",
                "Give one string, or an iterable of strings.",
            )


def _one_each(prefix: str | Sequence[str] | None, count: int) -> list[str]:
    if prefix is None:
        return [""] * count
    if isinstance(prefix, str):
        return [prefix] * count
    if len(prefix) != count:
        raise ConfigError(
            f"There are {len(prefix)} prefixes for {count} sentences.",
            "Give one for all or one for each; an empty one forces nothing.",
        )
    return list(prefix)
