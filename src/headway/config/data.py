"""Which text to train on, how it is cleaned and how it is cut into pieces."""

from typing import Literal

from pydantic import Field

from headway.config.section import Section


class DataConfig(Section):
    """Aligned text files, plain or compressed; relative names are below `directory`."""

    directory: str = "."
    """Folder of the files."""
    source: str = ""
    """Training text, source side; or one .tsv, .jsonl or .parquet file that holds both sides."""
    target: str = ""
    """Training text, target side; empty for a file that holds both."""
    valid_source: str = ""
    """Validation text, source side."""
    valid_target: str = ""
    """Validation text, target side."""
    hold_out: int = Field(default=0, ge=0)
    """Training pairs held out for validation when no validation text is named."""
    source_column: int = Field(default=1, ge=1)
    """Column of a .tsv file that holds the source."""
    target_column: int = Field(default=2, ge=1)
    """Column of a .tsv file that holds the target."""
    source_field: str = "source"
    """Field of a .jsonl or .parquet file that holds the source; `translation.en` is one in one."""
    target_field: str = "target"
    """Field of a .jsonl or .parquet file that holds the target."""
    test_source: str = ""
    """Test text, source side; scored once, at the end."""
    test_target: str = ""
    """Test text, target side."""
    source_language: str = "source"
    """Name of the source language, for the card and for pictures."""
    target_language: str = "target"
    """Name of the target language."""
    reverse: bool = False
    """Train the other direction: what is named source here becomes the target."""
    max_pieces: int = Field(default=256, ge=1)
    """Longest side of a training pair, in pieces."""
    too_long: Literal["drop", "cut"] = "drop"
    """What happens to a longer pair; either is counted and reported."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Drop pairs of which one side has more than this many times the pieces of the other."""
    drop_duplicates: bool = False
    """Keep only the first of equal training pairs."""
    drop_identical: bool = False
    """Drop pairs whose two sides are the same text."""

    @property
    def languages(self) -> tuple[str, str]:
        """Return the names of the languages, from and to."""
        if self.reverse:
            return self.target_language, self.source_language
        return self.source_language, self.target_language


class TokenizerConfig(Section):
    """SentencePiece: trained on the training text unless a model is given."""

    kind: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """How text is cut."""
    vocabulary_size: int = Field(default=8000, ge=8)
    """Pieces, the four special ones among them."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    byte_fallback: bool = False
    """Spell unknown characters as bytes instead of losing them."""
    character_coverage: float = Field(default=1.0, gt=0, le=1)
    """Share of the characters that get a piece; rarer ones are unknown."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """Unicode normalization before cutting; the _cf forms also fold case."""
    source_model: str = ""
    """A trained SentencePiece model to use instead (for both sides when joint)."""
    target_model: str = ""
    """A trained SentencePiece model for the target side."""
    new_pieces: list[str] = Field(default=[])
    """Texts that are never cut, such as tags and terms; see docs/continuing.md."""
