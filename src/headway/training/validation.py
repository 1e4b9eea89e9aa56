"""Validation: the loss on held-out text, and the scores of real translations."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from headway.bundle import Bundle
from headway.data.batching import collate, inference_batches
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.decoding.translator import TextTranslator
from headway.evaluation.metrics import score_texts
from headway.training.distributed import World
from headway.training.objective import batch_loss
from headway.training.samples import Sample

EXCHANGED_PAIRS = 200
_SAME_OUTPUTS = 5  # different sentences with one translation are no coincidence


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result of a validation."""

    loss: float
    """Negative log-likelihood without smoothing, mean over real target pieces."""
    scores: dict[str, float]
    """In percent."""
    exchanged: tuple[float, float] | None = None
    """Loss of at most 200 pairs, and their loss with the sources exchanged among them."""
    same_output: str | None = None
    """The one translation of all sentences, if several different ones have the same."""
    samples: tuple[Sample, ...] = ()
    """A few sentences with their translations, to be shown."""

    @property
    def perplexity(self) -> float:
        """Return the exponential of the loss."""
        return math.exp(min(self.loss, 700.0))

    def value(self, metric: str) -> float:
        """Return the value of a metric, with the sign that makes lower values better."""
        return self.loss if metric == "loss" else -self.scores[metric]


class Validator:
    """Score a model during its training."""

    def __init__(
        self,
        encoded: Sequence[EncodedPair],
        texts: Sequence[Pair],
        *,
        metrics: Sequence[str],
        bleu_tokenize: str,
        batch_tokens: int,
        samples: Sequence[Pair] = (),
        world: World | None = None,
    ) -> None:
        """Keep the pairs for the loss and the texts to translate, which may be fewer.

        samples: pairs whose translations are shown; pairs of `texts`, unless that is empty. The
        processes of the world share the work, and each returns the whole result.
        """
        self.encoded = encoded
        self.texts = texts
        self.metrics = metrics
        self.bleu_tokenize = bleu_tokenize
        self.batch_tokens = batch_tokens
        self.samples = samples
        self.world = world or World()

    def alone(self) -> "Validator":
        """Return the same validation without the other processes."""
        validator = copy.copy(self)
        validator.world = World()
        return validator

    def __call__(self, bundle: Bundle, precision: str) -> ValidationResult:
        """Compute the loss on all pairs and, greedily, the scores on the texts.

        precision: of the loss, float32 or bfloat16; scores are those of float32.
        """
        bundle.model.eval()
        outputs = self._translations(bundle)
        return ValidationResult(
            self._loss(bundle, self.encoded, precision),
            self._scores(outputs, self.metrics) if self.texts else {},
            self._exchanged(bundle, precision),
            _same_output(outputs) if self.texts else None,
            tuple(Sample(*pair, outputs[pair]) for pair in self.samples),
        )

    def figures(self, bundle: Bundle, precision: str) -> ValidationResult:
        """Compute the loss and the scores alone; without texts to score, nothing is translated."""
        bundle.model.eval()
        scores = self._scores(self._translations(bundle), self.metrics) if self.texts else {}
        return ValidationResult(self._loss(bundle, self.encoded, precision), scores)

    def _scores(self, outputs: Mapping[Pair, str], metrics: Sequence[str]) -> dict[str, float]:
        """Return the scores of the translations of the texts."""
        scores = score_texts(
            [outputs[pair] for pair in self.texts],
            [pair.target for pair in self.texts],
            metrics,
            self.bleu_tokenize,
        )
        return {score.name: score.value for score in scores}

    def _translations(self, bundle: Bundle) -> dict[Pair, str]:
        """Return the greedy translations of the texts, or of the samples alone."""
        pairs = self.texts or self.samples
        if not pairs:
            return {}
        share = [pair.source for pair in pairs[self.world.rank :: self.world.size]]
        translations = TextTranslator(bundle).translate(
            share, beam_size=1, mend_runaways=False, split_sentences=False
        )
        outputs = self.world.gather([translation.text for translation in translations])
        return dict(zip(pairs, outputs, strict=True))

    def _exchanged(self, bundle: Bundle, precision: str) -> tuple[float, float] | None:
        """Return the loss of some pairs, and their loss with exchanged sources.

        A model that translates needs the right source; for a model that ignores it, all sources are
        alike.
        """
        pairs = self.encoded[:EXCHANGED_PAIRS]
        exchanged = exchange_sources(pairs)
        if not exchanged:
            return None
        return self._loss(bundle, pairs, precision), self._loss(bundle, exchanged, precision)

    @torch.no_grad()
    def _loss(self, bundle: Bundle, pairs: Sequence[EncodedPair], precision: str) -> float:
        lengths = [(len(pair.source_ids), len(pair.target_ids)) for pair in pairs]
        device = next(bundle.model.parameters()).device
        nll, tokens = 0.0, 0
        batches = inference_batches(
            lengths, max_tokens=self.batch_tokens, max_sentences=len(lengths)
        )
        for rows in batches[self.world.rank :: self.world.size]:
            batch = collate([pairs[row] for row in rows], rows).to(device)
            nll += float(batch_loss(bundle.model, batch, 0.0, precision).nll)
            tokens += batch.num_target_tokens
        nll, tokens = self.world.sum(nll, tokens)
        return nll / tokens


def exchange_sources(pairs: Sequence[EncodedPair]) -> list[EncodedPair]:
    """Give each target the source of another pair of about the same length.

    Return [] for fewer than two different sources. Sources are exchanged in the order of lengths,
    because the order of the files would repair text that is misaligned by one line.
    """
    if len({tuple(pair.source_ids) for pair in pairs}) < 2:
        return []
    ordered = sorted(pairs, key=lambda pair: len(pair.source_ids))
    return [
        EncodedPair(ordered[index - 1].source_ids, pair.target_ids, pair.line)
        for index, pair in enumerate(ordered)
    ]


def _same_output(outputs: Mapping[Pair, str]) -> str | None:
    different = {pair.source for pair in outputs}
    translations = set(outputs.values())
    alike = len(different) >= _SAME_OUTPUTS and len(translations) == 1
    return translations.pop() if alike else None
