"""Whether two translators may be compared in speed: what they put out, against float32."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.evaluation.metrics import score_texts

# Of BLEU and of chrF.
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Quality:
    """What one side's translations are worth."""

    bleu: float
    """Against the references; without any, against our own translations in float32."""
    chrf: float
    changed: float
    """Share of sentences whose text is not that of ours in float32."""


class Judge:
    """Compares translations with ours in float32, by references where there are any."""

    def __init__(
        self,
        exact: Sequence[str],
        references: Sequence[str] | None = None,
        tokenize: str = "13a",
    ) -> None:
        """Take our translations in float32 as the measure of all others."""
        self.exact = tuple(exact)
        self.references = references
        self.tokenize = tokenize
        self.known: dict[tuple[str, ...], Quality] = {}
        self.float32 = self.quality(self.exact)

    def quality(self, texts: Sequence[str]) -> Quality:
        """Return the scores of translations; equal ones are scored once."""
        key = tuple(texts)
        if key not in self.known:
            changed = sum(a != b for a, b in zip(key, self.exact, strict=True)) / len(key)
            if self.references is None and not changed:
                self.known[key] = Quality(100.0, 100.0, 0.0)  # whatever the texts, blank ones too
            else:
                against = self.exact if self.references is None else self.references
                bleu, chrf = score_texts(key, against, ("bleu", "chrf"), self.tokenize)
                self.known[key] = Quality(bleu.value, chrf.value, changed)
        return self.known[key]

    def accepts(self, texts: Sequence[str], *, gains: bool) -> bool:
        """Tell whether BLEU and chrF are within 0.1 of those of ours in float32.

        gains: whether scores may be higher by more, too. Of a peer they may: to leave it out
        because it translates better would flatter us.
        """
        quality = self.quality(texts)
        differences = (quality.bleu - self.float32.bleu, quality.chrf - self.float32.chrf)
        return all(
            difference >= -TOLERANCE and (gains or difference <= TOLERANCE)
            for difference in differences
        )
