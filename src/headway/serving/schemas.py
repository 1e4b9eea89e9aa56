"""Bodies of requests: names, types and ranges of their fields, checked before any work."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from headway.inspection.attribution import Method
from headway.serving.limits import BEAM

Name = Annotated[str, Field(min_length=1, max_length=200)]


class Strict(BaseModel):
    """A body without unknown fields and without conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class EditBody(Strict):
    """One edit, see `headway.inspection.edit`."""

    name: Name
    kind: Literal["zero", "replace", "allow", "forbid"]
    where: dict[str, int | str | list[int | str]] = Field(default_factory=dict, max_length=8)
    value: float | None = None
    trace: Name | None = None


class SamplingBody(Strict):
    """How to draw pieces at random."""

    temperature: float = Field(default=1.0, gt=0, le=100)
    top_k: int | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**63)


class TextBody(Strict):
    """A text of one or several sentences."""

    source: str
    split_sentences: bool | None = None
    model: str | None = None


class OptionsBody(TextBody):
    """A text, and how to search for its translation."""

    prefix: str | None = None
    beam: int | None = Field(default=None, ge=1, le=BEAM)
    length_penalty: float | None = Field(default=None, ge=0, le=10)
    max_length: int | None = Field(default=None, ge=1, le=10_000)


class SentenceBody(OptionsBody):
    """A sentence, how to search for its translation, and the edits of the model."""

    edits: list[EditBody] | None = Field(default=None, max_length=64)


class SearchBody(SentenceBody):
    """A search to record."""

    sampling: SamplingBody | None = None


class ParagraphBody(OptionsBody):
    """A text to translate sentence by sentence."""

    sampling: SamplingBody | None = None
    chosen: int = Field(default=0, ge=0)
    """The sentence that the prefix belongs to, zero-based."""


class TraceBody(SentenceBody):
    """A pass to trace: over this target, or the one that the search finds."""

    target: str | list[Annotated[str, Field(max_length=200)]] | None = None


class CompareBody(Strict):
    """The trace to compare with."""

    other: Name


class AblateBody(Strict):
    """The target row whose probability is compared."""

    row: int = Field(ge=0)


class AttributeBody(Strict):
    """The method of attribution."""

    method: Method = "integrated_gradients"


class GoldBody(Strict):
    """A gold alignment, and the layers, heads and moments to score; all of them by default."""

    gold: str = Field(max_length=10_000)
    layer: int | None = None
    head: int | None = None
    reads: bool | None = None
