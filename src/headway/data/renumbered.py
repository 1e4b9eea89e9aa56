"""Give the pieces of a SentencePiece model the ids of another program's vocabulary.

Such a program cuts text with one or two SentencePiece models, and numbers the pieces by a list of
its own. The list may lack pieces of the models, and have pieces that only one of them knows. Text
must be cut as before, so no piece may be taken out, and none may be added that text is cut into.
Some programs have SentencePiece itself avoid pieces that the list lacks; then those are unused.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from headway.data.encodable import encodable
from headway.data.protobuf import bytes_field, fields_of, number_field
from headway.data.tokenizer import (
    LEADING_TAG,
    LEADING_TAG_FIELD,
    SPECIAL_PIECES,
    UNK_ID,
    WITHOUT_ID_FIELD,
    Tokenizer,
    kind_of_model,
    piece_message,
    table_of,
)
from headway.errors import TokenizerError, shown

_NORMAL, _UNKNOWN, CONTROL, _UNUSED = 1, 2, 3, 5  # SentencePiece's types of pieces
_PIECES, _SPEC, _SELF_TEST = 1, 2, 4  # fields of `ModelProto`
_SPEC_PIECES = 4  # in `TrainerSpec`, the size of the vocabulary
SPEC_IDS = (43, 40, 41, 42)  # of the special pieces, in the order of ids
_SPEC_TEXTS = (48, 45, 46, 47)


def renumbered(
    data: bytes,
    pieces: Sequence[str],
    *,
    leading_tags: bool = False,
    limited: bool = False,
    unwritten: Collection[str] = (),
) -> Tokenizer:
    """Return a tokenizer that cuts text as a SentencePiece model, with ids by a list.

    data: the bytes of a model file. pieces: the text of each id from 4 on. Text that is cut into
    other pieces is unknown; characters that the model does not know are looked up in the list.
    leading_tags: a text such as `>>deu<<` at the beginning is one piece. limited: text is cut into
    pieces of the list and single characters only, as by SentencePiece's `SetVocabulary`. unwritten:
    pieces of the list that no text is cut into and that write none. Raises TokenizerError for bytes
    that are no model, and for a list that cannot be the vocabulary of this model.
    """
    kind = _check(data, pieces)
    known = {text: (score, number) for text, score, number in table_of(data)}
    listed = set(pieces)
    allowed = known.keys() | set(unwritten)
    strange = [
        piece for piece in pieces if piece not in allowed and not LEADING_TAG.fullmatch(piece)
    ]
    if kind != "unigram" and strange:
        # Merges go through every piece that is there, whatever its type.
        raise TokenizerError(
            f"The vocabulary has the token {shown(strange[0])}, which this SentencePiece model of "
            f"the kind {kind} lacks.",
            "Such a model can be read if it has all tokens of the vocabulary.",
        )
    unnumbered = [
        (text, score, _UNUSED if limited and number == _NORMAL and len(text) > 1 else number)
        for text, (score, number) in known.items()
        if text not in listed and number not in (_UNKNOWN, CONTROL)
    ]
    known |= dict.fromkeys(unwritten, (0.0, CONTROL))
    numbered = [(text, *known.get(text, (0.0, _UNUSED))) for text in pieces]
    table = [*special_pieces(), *numbered, *unnumbered]
    spec = [*spec_of(len(table)), number_field(WITHOUT_ID_FIELD, len(unnumbered))]
    spec += [number_field(LEADING_TAG_FIELD, 1)] if leading_tags else []
    return Tokenizer.from_bytes(with_pieces(data, table, spec))


def with_pieces(
    data: bytes, pieces: Iterable[tuple[str, float, int]], spec: Iterable[bytes]
) -> bytes:
    """Return a SentencePiece model with other pieces, which cuts text by the old rules.

    pieces: text, score and type of each. spec: fields of `TrainerSpec`, in place of the old ones.
    """
    return b"".join(
        [
            *(bytes_field(_PIECES, piece_message(*piece)) for piece in pieces),
            *_other_fields(data),
            bytes_field(_SPEC, b"".join(spec)),  # protobuf: it replaces fields before it
        ]
    )


def special_pieces() -> Iterator[tuple[str, float, int]]:
    """Yield text, score and type of Headway's special pieces, in the order of ids."""
    for i, text in enumerate(SPECIAL_PIECES):
        yield text, 0.0, _UNKNOWN if i == UNK_ID else CONTROL


def spec_of(size: int) -> Iterator[bytes]:
    """Yield the fields of `TrainerSpec` for this number of pieces, Headway's special ones first."""
    yield number_field(_SPEC_PIECES, size)
    for i, text in enumerate(SPECIAL_PIECES):
        yield number_field(SPEC_IDS[i], i)
        yield bytes_field(_SPEC_TEXTS[i], text.encode())


def _check(data: bytes, pieces: Sequence[str]) -> str:
    """Return the kind of the model; TokenizerError if either cannot be used."""
    kind = kind_of_model(data)
    forbidden = {"", *SPECIAL_PIECES}
    if wrong := [p for p in pieces if p in forbidden or "\0" in p or encodable(p) != p]:
        raise TokenizerError(
            f"The vocabulary has the token {shown(wrong[0])} among its text.",
            "Check the vocabulary.",
        )
    if len(set(pieces)) < len(pieces):
        raise TokenizerError("The vocabulary has a token twice.", "Check the vocabulary.")
    return kind


def _other_fields(data: bytes) -> Iterator[bytes]:
    """Yield the fields of a model except its pieces, and its tests, which name old pieces."""
    for number, content in fields_of(data):
        if number not in (_PIECES, _SELF_TEST) and isinstance(content, bytes):
            yield bytes_field(number, content)
