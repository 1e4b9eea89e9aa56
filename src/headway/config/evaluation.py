"""How a finished run is scored on its test text."""

from pydantic import Field

from headway.config.section import Section


class EvaluationConfig(Section):
    """Metrics of the validation and of the test; their signatures go into the card."""

    metrics: list[str] = Field(default=["bleu", "chrf"], min_length=1)
    """Any of bleu, chrf, ter, exact, wer; all are in percent."""
    bleu_tokenize: str = "13a"
    """sacreBLEU's tokenization; none for text that is tokenized already."""
