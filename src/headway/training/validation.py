"""Validation: the loss on text that is not trained on, and the score of real translations."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headway.bundle import Bundle
from headway.data.batching import collate, inference_batches
from headway.data.cleaning import EncodedPair
from headway.data.corpus import Pair
from headway.decoding.translator import Translator
from headway.evaluation.metrics import score_texts
from headway.training.distributed import World
from headway.training.step import batch_loss


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What a validation found."""

    loss: float
    """Negative log-likelihood without smoothing, mean over real target pieces."""
    scores: dict[str, float]

    @property
    def perplexity(self) -> float:
        """Return the exponential of the loss."""
        return math.exp(min(self.loss, 700.0))

    def value(self, metric: str) -> float:
        """Return the named value so that lower is better."""
        return self.loss if metric == "loss" else -self.scores[metric]


class Validator:
    """Score a model that is being trained."""

    def __init__(
        self,
        encoded: Sequence[EncodedPair],
        texts: Sequence[Pair],
        *,
        metrics: Sequence[str],
        bleu_tokenize: str,
        batch_tokens: int,
        precision: str,
        world: World | None = None,
    ) -> None:
        """Keep the loss's pairs and the texts to translate, which may be fewer.

        The processes of the world share the work; each returns the whole result.
        """
        self.encoded = encoded
        self.texts = texts
        self.metrics = metrics
        self.bleu_tokenize = bleu_tokenize
        self.batch_tokens = batch_tokens
        self.precision = precision
        self.world = world or World()

    def alone(self) -> "Validator":
        """Return the same validation for a process that the others have left."""
        validator = copy.copy(self)
        validator.world = World()
        return validator

    def __call__(self, bundle: Bundle) -> ValidationResult:
        """Compute the loss on all pairs and, greedily, the scores on the texts."""
        bundle.model.eval()
        scores: dict[str, float] = {}
        if self.texts:
            own = self.texts[self.world.rank :: self.world.size]
            translations = Translator(bundle).translate([pair.source for pair in own], beam_size=1)
            scores = {
                score.name: score.value
                for score in score_texts(
                    self.world.gather([translation.text for translation in translations]),
                    [pair.target for pair in self.texts],
                    self.metrics,
                    self.bleu_tokenize,
                )
            }
        return ValidationResult(self._loss(bundle), scores)

    @torch.no_grad()
    def _loss(self, bundle: Bundle) -> float:
        lengths = [(len(pair.source_ids), len(pair.target_ids)) for pair in self.encoded]
        device = next(bundle.model.parameters()).device
        nll, tokens = 0.0, 0
        batches = inference_batches(
            lengths, max_tokens=self.batch_tokens, max_sentences=len(lengths)
        )
        for rows in batches[self.world.rank :: self.world.size]:
            batch = collate([self.encoded[row] for row in rows], rows).to(device)
            nll += float(batch_loss(bundle.model, batch, 0.0, self.precision).nll)
            tokens += batch.num_target_tokens
        nll, tokens = self.world.sum(nll, tokens)
        return nll / tokens
