"""The scores of a run on validation and test text."""

from pydantic import Field

from headway.config.section import Section


class EvaluationConfig(Section):
    """Metrics of validation and test text; their signatures go into the card."""

    metrics: list[str] = Field(default=["bleu", "chrf"], min_length=1)
    """Any of `bleu`, `chrf`, `ter`, `exact`, `wer`; all are percentages."""
    bleu_tokenize: str = "13a"
    """sacreBLEU's tokenization; `none` for text that is tokenized already."""
