"""Whether a translator counts in a comparison of speed: its quality against float32."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.evaluation.metrics import score_texts

# A difference of BLEU and of chrF.
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of one side's translations."""

    bleu: float
    """Against the references, or else against our float32 translations."""
    chrf: float
    changed: float
    """Share of sentences whose text differs from our float32 translation."""


class Judge:
    """Compare translations with ours in float32, by references if there are any."""

    def __init__(
        self,
        exact: Sequence[str],
        references: Sequence[str] | None = None,
        tokenize: str = "13a",
        *,
        untrained: bool = False,
    ) -> None:
        """Take our float32 translations as the baseline of all others.

        untrained: True if the weights are random, so that texts say nothing of quality and every
        precision counts.
        """
        self.exact = tuple(exact)
        self.references = references
        self.tokenize = tokenize
        self.untrained = untrained
        self.known: dict[tuple[str, ...], Quality] = {}
        self.float32 = self.quality(self.exact)

    def quality(self, texts: Sequence[str]) -> Quality:
        """Return the scores of translations; equal ones are scored once."""
        key = tuple(texts)
        if key not in self.known:
            changed = sum(a != b for a, b in zip(key, self.exact, strict=True)) / len(key)
            if self.references is None and not changed:
                self.known[key] = Quality(100.0, 100.0, 0.0)  # also for blank texts
            else:
                against = self.exact if self.references is None else self.references
                bleu, chrf = score_texts(key, against, ("bleu", "chrf"), self.tokenize)
                self.known[key] = Quality(bleu.value, chrf.value, changed)
        return self.known[key]

    def accepts(self, texts: Sequence[str], *, gains: bool) -> bool:
        """Return True if BLEU and chrF are within 0.1 of our float32 translations.

        gains: whether scores may be higher by more. A peer's may: to leave it out because it
        translates better would flatter us.
        """
        if self.untrained:
            return True
        quality = self.quality(texts)
        differences = (quality.bleu - self.float32.bleu, quality.chrf - self.float32.chrf)
        return all(
            difference >= -TOLERANCE and (gains or difference <= TOLERANCE)
            for difference in differences
        )
