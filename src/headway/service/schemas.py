"""The body of `POST /v1/translate`: names, types and ranges, checked before any work."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_SURROGATE = re.compile("[\ud800-\udfff]")
_BEAM = 32
_LISTED = 100  # texts in one of the lists: terms, banned, keep
_ENTRIES = 1000  # of a glossary


def _without_surrogates(text: str) -> str:
    if _SURROGATE.search(text):
        raise ValueError("the text has a lone surrogate, which is no character")
    return text


Text = Annotated[str, AfterValidator(_without_surrogates)]
Short = Annotated[Text, Field(max_length=1000)]


class TranslateBody(BaseModel):
    """Texts, and how to translate them."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    texts: list[Text] = Field(min_length=1)
    source: Short | None = None
    """A code, or auto; needs `target`. A request may name a `model` instead of both."""
    target: Short | None = None
    model: Short | None = None
    format: Literal["text", "html"] | None = None
    """Translate each text as a document of this format; the answer is a text with flags."""
    keep: list[Short] = Field(default_factory=list, max_length=_LISTED)
    """Texts that are not translated in documents."""
    n_best: int = Field(default=1, ge=1, le=_BEAM)
    beam: int | None = Field(default=None, ge=1, le=_BEAM)
    prefix: Short | list[Short] | None = None
    """How the translations begin: one prefix for all texts, or a list with one for each text."""
    terms: list[Short] = Field(default_factory=list, max_length=_LISTED)
    """Words that must occur in each translation."""
    banned: list[Short] = Field(default_factory=list, max_length=_LISTED)
    glossary: dict[Short, Short] | None = Field(default=None, max_length=_ENTRIES)
    """Source terms with their translations, instead of the glossary of the server."""
    alignments: bool = False
    split: Literal["sentences", "none"] = "sentences"
    timeout_s: float | None = Field(default=None, gt=0, le=3600)
    api_key: Short | None = None
