"""Which text to train on, how it is cleaned and how it is cut into pieces."""

from typing import Literal

from pydantic import Field

from headway.config.section import PathText, Section


class CorpusConfig(Section):
    """One of several corpora; what it names is below the `directory` of [data]."""

    source: PathText
    """Training text, source side; or a file that holds both. A pattern such as `part-*.tsv.zst`
    names several."""
    target: PathText = ""
    """Training text, target side; empty for a file that holds both."""
    weight: float = Field(default=1.0, gt=0)
    """How often an epoch goes through this corpus; 0.5 is once in two epochs."""
    tag: str = ""
    """A piece that is put before each source, such as `<2ko>`; it is never cut."""
    reverse: bool = False
    """Train the other direction: what is named source here becomes the target."""
    source_column: int = Field(default=1, ge=1)
    """Column of a .tsv file that holds the source."""
    target_column: int = Field(default=2, ge=1)
    """Column of a .tsv file that holds the target."""
    source_field: str = "source"
    """Field of a .jsonl or .parquet file, or column of a .csv file, that holds the source."""
    target_field: str = "target"
    """Field of a .jsonl or .parquet file, or column of a .csv file, that holds the target."""


class DataConfig(Section):
    """Aligned text files, plain or compressed; relative names are below `directory`."""

    directory: PathText = "."
    """Folder of the files."""
    source: PathText = ""
    """Training text, source side; or one .tsv, .csv, .jsonl, .parquet or .tmx file that holds both
    sides. A pattern such as `part-*.tsv.zst` names several."""
    target: PathText = ""
    """Training text, target side; empty for a file that holds both."""
    tag: str = ""
    """A piece that is put before each source of training, validation and test text; corpora have
    tags of their own."""
    corpora: list[CorpusConfig] = Field(default=[])
    """Several corpora instead of one, each with a weight and a tag."""
    shards: PathText = ""
    """Folder where the encoded text is kept for the next run and read from as it is needed; in
    memory if unset."""
    valid_source: PathText = ""
    """Validation text, source side."""
    valid_target: PathText = ""
    """Validation text, target side."""
    hold_out: int = Field(default=0, ge=0)
    """Training pairs held out for validation when no validation text is named. They are written to
    the run's folder; pairs that differ from them in case, digits, punctuation and spaces alone are
    not trained on."""
    source_column: int = Field(default=1, ge=1)
    """Column of a .tsv file that holds the source."""
    target_column: int = Field(default=2, ge=1)
    """Column of a .tsv file that holds the target."""
    source_field: str = "source"
    """Field of a .jsonl or .parquet file that holds the source; a dot leads into a field, as in
    `translation.en`. Column of a .csv file; one that is named by the language is found as well."""
    target_field: str = "target"
    """The same for the target."""
    test_source: PathText = ""
    """Test text, source side; scored once, at the end."""
    test_target: PathText = ""
    """Test text, target side."""
    source_language: str = "source"
    """Name or code of the source language, for the card and for pictures, and by which texts of a
    .tmx file and columns of a .csv file are found."""
    target_language: str = "target"
    """Name of the target language."""
    reverse: bool = False
    """Train the other direction: what is named source here becomes the target."""
    max_pieces: int = Field(default=256, ge=1)
    """Longest side of a training pair, in pieces, without its tag. A sentence that is longer is
    split by the trained model, too, whatever `decoding.max_source_pieces` is."""
    too_long: Literal["drop", "cut"] = "drop"
    """What happens to a longer pair; either is counted and reported."""
    max_ratio: float | None = Field(default=None, gt=1)
    """Drop pairs of which one side has more than this many times the pieces of the other."""
    drop_duplicates: bool = False
    """Keep only the first of equal training pairs."""
    drop_identical: bool = False
    """Drop pairs whose two sides are the same text."""
    drop_copies: bool = False
    """Drop pairs whose two sides are the same words, but for case, spaces and punctuation."""
    drop_exchanged: bool = False
    """Drop pairs whose two sides seem exchanged, by the languages of the training text."""
    drop_number_mismatch: bool = False
    """Drop pairs whose sides have numbers that cannot be the same, as `2020` and `2021`; a number
    up to 31 may be a word on the other side."""
    drop_url_mismatch: bool = False
    """Drop pairs of which one side has an address of a page or of mail that the other has not."""
    source_script: str = ""
    """Script of what is named source, with `reverse` too, such as `hangul` or `latin`; pairs in
    another are dropped."""
    target_script: str = ""
    """Script of what is named target; pairs in another are dropped."""

    @property
    def tags(self) -> list[str]:
        """Return the tags of all text, each once."""
        tags = [self.tag, *(corpus.tag for corpus in self.corpora)]
        return [tag for tag in dict.fromkeys(tags) if tag]

    @property
    def validates(self) -> bool:
        """Tell whether there is validation text, named or held out."""
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
"""What is used of [tokenizer] only where one is trained, and not given."""


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
    """Share of the characters that get a piece; rarer ones are unknown. SentencePiece takes no
    less than 0.98."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """Unicode normalization before cutting; the _cf forms also fold case."""
    source_model: PathText = ""
    """A trained SentencePiece model to use instead (for both sides when joint)."""
    target_model: PathText = ""
    """A trained SentencePiece model for the target side."""
    sampling: float | None = Field(default=None, gt=0, le=1)
    """Cut training text into other pieces each time. For unigram, the sharpness of the choice among
    all segmentations (0.1 is usual, 1.0 takes their own probabilities); for bpe, the chance that a
    merge is left out (BPE dropout)."""
    sample_pairs: int = Field(default=500_000, ge=1)
    """Pairs that a tokenizer is trained on, chosen evenly, where there are more; of kind unigram it
    takes some 22 bytes of memory for each byte of their text."""
    new_pieces: list[str] = Field(default=[])
    """Texts that are never cut, such as tags and terms; see docs/continuing.md."""

    @property
    def set_for_training(self) -> list[str]:
        """Return what was set that is used only where a tokenizer is trained."""
        return [name for name in OF_TRAINED_TOKENIZERS if name in self.model_fields_set]
