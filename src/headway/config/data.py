"""The training text, its cleaning, and its tokenizer."""

from typing import Literal

from pydantic import Field

from headway.config.section import PathText, Section


class CorpusConfig(Section):
    """One of several corpora; its files are relative to the `directory` of [data]."""

    source: PathText
    """Training text, source side, or one file that holds both sides. A pattern such as
    `part-*.tsv.zst` names several files."""
    target: PathText = ""
    """Training text, target side; empty if `source` holds both."""
    weight: float = Field(default=1.0, gt=0)
    """Passes through this corpus in an epoch; 0.5 is one pass in two epochs."""
    tag: str = ""
    """Token before each source, such as `<2ko>`; it is never cut."""
    reverse: bool = False
    """Train the other direction: exchange source and target."""
    source_column: int = Field(default=1, ge=1)
    """Column of a .tsv file that holds the source."""
    target_column: int = Field(default=2, ge=1)
    """Column of a .tsv file that holds the target."""
    source_field: str = "source"
    """Field of a .jsonl or .parquet file, or column of a .csv file, that holds the source."""
    target_field: str = "target"
    """Field of a .jsonl or .parquet file, or column of a .csv file, that holds the target."""


class DataConfig(Section):
    """Aligned text files, plain or compressed; names are relative to `directory`."""

    directory: PathText = "."
    """Folder of the files."""
    source: PathText = ""
    """Training text, source side, or one file that holds both sides: .tsv, .csv, .jsonl, .parquet
    or .tmx. A pattern such as `part-*.tsv.zst` names several files."""
    target: PathText = ""
    """Training text, target side; empty if `source` holds both."""
    tag: str = ""
    """Token before each source of training, validation and test text. Corpora have their own tags.
    """
    corpora: list[CorpusConfig] = Field(default=[])
    """Several corpora instead of one, each with a weight and a tag."""
    shards: PathText = ""
    """Folder that keeps the encoded text for the next run; training reads it from there as needed.
    If unset, the text is in memory."""
    valid_source: PathText = ""
    """Validation text, source side."""
    valid_target: PathText = ""
    """Validation text, target side."""
    hold_out: int = Field(default=0, ge=0)
    """Training pairs held out for validation if no validation text is named; the run's folder keeps
    them. Pairs that differ from them only in case, digits, punctuation or spaces are not trained
    on."""
    source_column: int = Field(default=1, ge=1)
    """Column of a .tsv file that holds the source."""
    target_column: int = Field(default=2, ge=1)
    """Column of a .tsv file that holds the target."""
    source_field: str = "source"
    """Field of a .jsonl or .parquet file that holds the source; a dot leads into a field, as in
    `translation.en`. In a .csv file a column, which may also have the name of the language."""
    target_field: str = "target"
    """The same for the target."""
    test_source: PathText = ""
    """Test text, source side; scored once, at the end."""
    test_target: PathText = ""
    """Test text, target side."""
    source_language: str = "source"
    """Name or code of the source language: it decides how text is cut into sentences, and chooses
    texts of a .tmx and columns of a .csv file. If unset, names show it (`dev.de`)."""
    target_language: str = "target"
    """The same for the target language."""
    reverse: bool = False
    """Train the other direction: exchange source and target."""
    max_pieces: int = Field(default=256, ge=1)
    """Longest side of a training pair, in tokens, without its tag. The trained model also splits
    longer sentences, whatever `decoding.max_source_pieces` is, unless it started from a model that
    takes them."""
    too_long: Literal["drop", "cut"] = "drop"
    """Drop pairs longer than `max_pieces`, or cut them; both are counted and reported."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Drop pairs in which one side has more than this many times the tokens of the other."""
    drop_duplicates: bool = False
    """Keep only the first of equal training pairs."""
    drop_identical: bool = False
    """Drop pairs whose sides are the same text."""
    drop_copies: bool = False
    """Drop pairs whose sides are the same words, ignoring case, spaces and punctuation."""
    drop_exchanged: bool = False
    """Drop pairs whose sides seem exchanged, by the languages of the training text."""
    drop_number_mismatch: bool = False
    """Drop pairs whose numbers cannot be the same, such as `2020` and `2021`. A number up to 31 may
    be a word on the other side."""
    drop_url_mismatch: bool = False
    """Drop pairs with a web or email address on one side only."""
    drop_markup_mismatch: bool = False
    """Drop pairs whose sides do not have the same tags, such as `<b>`."""
    source_script: str = ""
    """Script of the text named `source`, such as `hangul` or `latin`, also with `reverse`. Pairs in
    another script are dropped."""
    target_script: str = ""
    """Script of the text named `target`. Pairs in another script are dropped."""

    @property
    def tags(self) -> list[str]:
        """Return the tags of all text, each once."""
        tags = [self.tag, *(corpus.tag for corpus in self.corpora)]
        return [tag for tag in dict.fromkeys(tags) if tag]

    @property
    def validates(self) -> bool:
        """Return True if the run has validation text, named or held out."""
        return bool(self.valid_source or self.hold_out)

    @property
    def languages(self) -> tuple[str, str]:
        """Return the names of the languages, from and to."""
        if self.reverse:
            return self.target_language, self.source_language
        return self.source_language, self.target_language


OF_TRAINED_TOKENIZERS = (
    "vocabulary_size",
    "byte_fallback",
    "character_coverage",
    "normalization",
)
"""Settings of [tokenizer] that are used only to train a tokenizer."""


class TokenizerConfig(Section):
    """SentencePiece: trained on the training text unless a model is given."""

    kind: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """SentencePiece's method of cutting text into tokens."""
    vocabulary_size: int = Field(default=8000, ge=8)
    """Number of tokens, including the four special ones."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    byte_fallback: bool = False
    """Spell unknown characters as bytes instead of losing them."""
    character_coverage: float = Field(default=1.0, gt=0, le=1)
    """Share of the characters that get a token; rarer ones are unknown. SentencePiece needs at
    least 0.98."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """Unicode normalization before cutting; the `_cf` forms also fold case."""
    source_model: PathText = ""
    """A trained SentencePiece model to use instead; with `joint` for both sides."""
    target_model: PathText = ""
    """A trained SentencePiece model for the target side."""
    sampling: float | None = Field(default=None, gt=0, le=1)
    """Cut training text into other tokens each time. For unigram, the sharpness of the choice among
    all segmentations: 0.1 is usual, 1.0 uses their own probabilities. For bpe, the probability that
    a merge is left out (BPE dropout)."""
    sample_pairs: int = Field(default=500_000, ge=1)
    """Largest number of pairs that train a tokenizer, chosen evenly. Kind unigram takes about 22
    bytes of memory for each byte of their text."""
    new_pieces: list[str] = Field(default=[])
    """Texts that are never cut, such as tags and terms."""

    @property
    def set_for_training(self) -> list[str]:
        """Return the names of settings that were set and are used only to train a tokenizer."""
        return [name for name in OF_TRAINED_TOKENIZERS if name in self.model_fields_set]
