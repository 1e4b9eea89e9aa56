"""Make text acceptable to SentencePiece."""

import re
import unicodedata

_LONGEST_WORD = 10_000  # characters; SentencePiece's sums fail on some words of a hundred thousand
_LONGEST_PIECE = 7_996  # bytes; SentencePiece cannot read a model with a longer piece
# SentencePiece's normalization turns one character into up to 33 bytes.
_ALWAYS_SHORT = _LONGEST_PIECE // 33

# SentencePiece skips every training line with U+2585, which it uses as a mark, and removes special
# pieces from the text together with their characters. A space instead of the mark, and a space
# after the first bracket, keep the line and the characters.
_RESERVED = re.compile("▅|(?<=<)(?=(?:pad|unk|s|/s)>)")
_END_OF_WORD = re.compile(rf"\S{{{_LONGEST_WORD}}}(?=\S)")
_LONG = re.compile(rf"[^ ]{{{_ALWAYS_SHORT + 1},}}")
_BLOCK = re.compile(rf".{{{_ALWAYS_SHORT}}}(?=.)", re.DOTALL)


def encodable(text: str) -> str:
    r"""Return text without newlines and lone surrogates, which cannot be written on a line.

    A newline becomes a space, as it does under most normalizations anyway. Surrogates come from
    JSON such as `"\ud800"`: a pair of them is one character, a lone one becomes U+FFFD.
    """
    text = text.replace("\n", " ")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def trainable(text: str, *, is_whole: bool) -> str:
    """Return text that SentencePiece can be trained on, with all its characters.

    is_whole: each word becomes one piece, so words that are too long for a piece are cut.
    """
    text = _RESERVED.sub(" ", encodable(text))
    if is_whole and len(text) > _ALWAYS_SHORT:
        text = _LONG.sub(_cut_into_pieces, text)
    return _END_OF_WORD.sub(r"\g<0> ", text) if len(text) > _LONGEST_WORD else text


def _cut_into_pieces(word: re.Match[str]) -> str:
    """Cut a word that may be too long for one piece into blocks that never are."""
    forms = (word[0], unicodedata.normalize("NFKC", word[0]).casefold())
    if max(len(form.encode()) for form in forms) <= _LONGEST_PIECE:
        return word[0]
    return _BLOCK.sub(r"\g<0> ", word[0])
