"""Programs that cut text by SentencePiece alone."""

from headway.bundle import Bundle
from headway.errors import ConfigError


def check_sentencepiece_cuts(bundle: Bundle, program: str) -> None:
    """Refuse, with a ConfigError, a bundle whose text is cut by merges of words as well."""
    if bundle.source_tokenizer.has_word_merges or bundle.target_tokenizer.has_word_merges:
        raise ConfigError(
            f"{program} gets the tokenizer as a SentencePiece model, which cannot hold the merges "
            "of subword-nmt.",
            "Import the model without its codes, and cut text as in its training.",
        )
