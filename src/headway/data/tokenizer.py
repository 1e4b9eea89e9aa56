"""Cut text into pieces and join them again, with SentencePiece.

The paper uses byte-pair and word-piece vocabularies (section 5.1). Here a tokenizer is a
SentencePiece model of one of four kinds; any other SentencePiece program can read its file.

The file of an imported tokenizer has more numbers in its `trainer_spec`, which other programs skip:
how many pieces at the end have no id in the model's vocabulary, and whether a tag such as `>>deu<<`
at the beginning of a text is one piece. Such a tokenizer cuts text by SentencePiece, and then looks
up the text of each piece, so that the vocabulary may know what SentencePiece does not. A third
number says that neighbouring unknown words or characters are several pieces, as in programs that
look up one after the other. Instead of these, merges of whole words may follow, as subword-nmt and
fastBPE learn them; then SentencePiece does not cut text, and only joins it.

Deviation (vocabulary): SentencePiece replaces the paper's byte-pair and word-piece programs, and
offers unigram, word and character pieces too.
"""

import functools
import io
import os
import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

import sentencepiece
import torch

from headway.data.encodable import encodable, trainable
from headway.data.protobuf import bytes_field, fields_of, number_field
from headway.data.word_merges import JOINED, WordMerges, joined
from headway.errors import ConfigError, DataError, TokenizerError

Kind = Literal["unigram", "bpe", "word", "char"]
Normalization = Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]

PAD_ID = 0
UNK_ID = 1
START_ID = 2
END_ID = 3
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
_TEXTLESS_IDS = frozenset((PAD_ID, START_ID, END_ID))
# SentencePiece's numbers for usual pieces, for those that are never cut, and for those of one byte.
_NORMAL, USER_DEFINED, BYTE = 1, 4, 6
# Our own fields of SentencePiece's `TrainerSpec`, which has the numbers from 200 on for others.
WITHOUT_ID_FIELD, LEADING_TAG_FIELD, APART_FIELD = 200, 201, 202
MERGES_FIELD, LIMITED_FIELD = 203, 204

LEAST_COVERAGE = 0.98
"""The smallest share of characters that SentencePiece accepts."""

_KINDS: tuple[Kind, ...] = get_args(Kind)  # SentencePiece numbers them 1, 2, 3, 4
_NORMALIZATIONS: tuple[str, ...] = get_args(Normalization)
_SPACE = "▁"  # U+2581, which SentencePiece writes for a space
LEADING_TAG = re.compile(r">>[^\s<>]+<<")
_UNKNOWN_WORD = re.compile(f"{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_NUM_BYTES = 256  # pieces that byte fallback adds
_SILENT = 9  # a log level above all of SentencePiece's own
_LONGEST_LINE = 2**30  # bytes; SentencePiece leaves out longer lines, by default from 4192


class VocabularyTooLargeError(ConfigError):
    """The vocabulary should have more pieces than the text gives; `most` is the largest size."""

    def __init__(self, message: str, remedy: str, most: int) -> None:
        """Keep the largest size that works."""
        super().__init__(message, remedy)
        self.most = most


class Tokenizer:
    """Cuts text into piece ids and joins ids to text again.

    Encoding adds neither start nor end; batching does. Two tokenizers are equal when their files
    are.
    """

    def __init__(self, data: bytes) -> None:
        """Read a SentencePiece model from the bytes of its file."""
        self._data = bytes(data)
        self._processor = _load(self._data)
        spec = _read_spec(self._data)
        self._kind: Kind = _kind_of(spec)
        # Pieces without an id are the last ones; text that is cut into them is unknown.
        self._size = self._processor.get_piece_size() - spec.get(WITHOUT_ID_FIELD, 0)
        self._is_renumbered = WITHOUT_ID_FIELD in spec
        self._has_leading_tags = bool(spec.get(LEADING_TAG_FIELD, 0))
        self._are_apart = bool(spec.get(APART_FIELD, 0))
        self._merges = _read_merges(self._data, is_limited=bool(spec.get(LIMITED_FIELD, 0)))
        self._piece = functools.cache(self._processor.id_to_piece)
        self._kept: set[str] = set()  # characters of earlier texts that are not deleted
        first = tuple(self._processor.id_to_piece(i) for i in range(min(4, len(self))))
        if first != SPECIAL_PIECES:
            raise TokenizerError(
                f"This SentencePiece model starts with the tokens {', '.join(first)}; "
                f"a tokenizer of this package starts with {', '.join(SPECIAL_PIECES)}.",
                "Train a tokenizer with train_tokenizer.",
            )

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tokenizer":
        """Return the tokenizer in the bytes of a model file."""
        return cls(data)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Tokenizer":
        """Return the tokenizer in a model file."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TokenizerError(
                f"The tokenizer {path} cannot be read: {error.strerror or error}.",
                "Check the path and its permissions.",
            ) from error
        try:
            return cls(data)
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error.message}", error.remedy) from error

    def to_bytes(self) -> bytes:
        """Return the bytes of the model file."""
        return self._data

    @property
    def kind(self) -> Kind:
        """Return how pieces are found: unigram, bpe, word or char."""
        return self._kind

    @property
    def has_leading_tags(self) -> bool:
        """Return True if a tag such as `>>deu<<` at the beginning of a text is one piece."""
        return self._has_leading_tags

    @property
    def has_word_merges(self) -> bool:
        """Return True if words are cut by merges of subword-nmt, and not by SentencePiece."""
        return self._merges is not None

    @property
    def vocabulary_size(self) -> int:
        """Return the number of pieces, special ones included."""
        return self._size

    def encode(self, text: str) -> list[int]:
        """Return the piece ids of one text."""
        if self._merges:
            return list(map(self.id, self._cut(text)))
        tag, text = self._without_tag(text)
        text = encodable(text)
        return [*map(self.id, tag), *self._numbered(self._processor.encode(text), text)]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the piece ids of several texts, in order, with as many threads as PyTorch has."""
        if self._merges:
            return list(map(self.encode, texts))
        tags, lines = [], []
        for text in texts:
            tag, untagged = self._without_tag(text)
            tags.append(tag)
            lines.append(encodable(untagged))
        # By default each process would use the whole machine.
        ids = self._processor.encode(lines, num_threads=torch.get_num_threads())
        if not self._is_renumbered and not self._are_apart:
            return ids
        return [
            [*map(self.id, tag), *self._numbered(cut, line)]
            for tag, cut, line in zip(tags, ids, lines, strict=True)
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of some pieces, on one line; padding, start and end are left out.

        An unknown piece becomes ` ⁇ `.
        """
        text_ids = self._with_text(ids)
        return self._on_one_line(self._processor.decode(text_ids) if text_ids else "")

    def decode_batch(self, several: Iterable[Iterable[int]]) -> list[str]:
        """Return the texts of several lists of pieces, in order, as `decode` does one by one.

        It takes as many threads as PyTorch has.
        """
        text_ids = [self._with_text(ids) for ids in several]
        texts = self._processor.decode(text_ids, num_threads=torch.get_num_threads())
        return [self._on_one_line(text) for text in texts]

    def _with_text(self, ids: Iterable[int]) -> list[int]:
        """Return those of the pieces that have text."""
        return [i for i in self._checked(ids) if i not in _TEXTLESS_IDS]

    def _on_one_line(self, text: str) -> str:
        """Return a text of SentencePiece without what its pieces should not spell.

        Byte pieces can spell a newline, but one sentence must stay one line. They also spell the
        mark of a space if a whole unknown word is written as bytes.
        """
        text = joined(text) if self._merges else text
        return text.replace("\n", " ").removeprefix(_SPACE).replace(_SPACE, " ")

    def normalize(self, text: str) -> str:
        """Return the normalized text, which is also the result of encoding and decoding it."""
        return self.marked(text).replace(_SPACE, " ").removeprefix(" ")

    def marked(self, text: str) -> str:
        """Return the normalized text with `▁` for each space, as it is cut into pieces."""
        tag, text = self._without_tag(text)
        return "".join(tag) + self._processor.normalize(encodable(text))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of some ids, for display; `▁` is a space."""
        return [*map(self._piece, self._checked(ids))]

    def piece(self, piece_id: int) -> str:
        """Return the piece of one id."""
        return self.pieces([piece_id])[0]

    def written(self, text: str | Iterable[int]) -> list[bytes]:
        """Return the bytes that each piece of a text, or of ids, writes, with `▁` for a space.

        A piece may be one byte of a character. Only a text shows the characters of an unknown
        piece. With merges of words, the space is behind the last piece of a word, because the first
        does not show that it is the first.
        """
        is_text = isinstance(text, str)
        ids = self.encode(text) if is_text else self._checked(text)
        pieces = self._cut(text) if is_text else self.pieces(ids)
        if self._merges:
            return [_with_end(piece).encode() for piece in pieces]
        return [
            bytes.fromhex(piece[3:-1]) if self._processor.is_byte(i) else piece.encode()  # <0x2F>
            for i, piece in zip(ids, pieces, strict=True)
        ]

    def spelled(self, ids: Iterable[int]) -> list[str]:
        """Return what each piece of some ids in a row writes, with `▁` before each word.

        These are the pieces; with merges of words, whose pieces have `@@`, it depends on the piece
        before.
        """
        pieces = self.pieces(ids)
        if not self._merges:
            return pieces
        inside = chain([False], (piece.endswith(JOINED) for piece in pieces))
        return [
            piece.removeprefix(_SPACE * within).removesuffix(JOINED)
            for piece, within in zip(pieces, inside, strict=False)
        ]

    def stretches(self, text: str) -> list[str]:
        """Return the stretch of the text, as it is written there, that each piece covers.

        If several pieces write one character, the last one has it, and the others are empty.
        """
        tag, text = self._without_tag(text)
        text = encodable(text)
        if self._merges:
            return list(_covered(text, self._pieces_of(text)))
        offsets = self._processor.encode(text, return_type="offset_mapping")["offsets"]
        stretches = [text[begin:end] for begin, end in offsets]
        if self._are_apart:
            cut = zip(stretches, self._processor.encode_as_pieces(text), strict=True)
            stretches = [part for whole, piece in cut for part in self._parts_of(whole, piece)]
        return [*tag, *stretches]

    def id(self, piece: str) -> int:
        """Return the id of one piece, or the unknown id when there is no such piece."""
        i = self._processor.piece_to_id(encodable(piece))
        return i if i < self._size else UNK_ID

    def table(self) -> Iterator[tuple[str, float, int]]:
        """Return text, score and type of each piece with an id, as the model file has them.

        Types are SentencePiece's: 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte.
        """
        return islice(table_of(self._data), self._size)

    def has_ids_of(self, other: "Tokenizer") -> bool:
        """Return True if both have the same piece for each id, though they may cut differently."""
        if self == other:
            return True
        ids = range(len(self))
        return len(self) == len(other) and self.pieces(ids) == other.pieces(ids)

    def unknown_count(self, ids: Iterable[int]) -> int:
        """Return how many of these ids are unknown, because the vocabulary lacks their text.

        Neighbouring unknown characters share one id, except in some imported tokenizers.
        """
        return list(ids).count(UNK_ID)

    def unknown_texts(self, text: str) -> list[str]:
        """Return the characters of a text without a piece, in order; for kind `word` the words."""
        pieces = self._cut(text)
        if self._merges:
            unknown_pieces = (piece for piece in pieces if self.id(piece) == UNK_ID)
            return [piece.removeprefix(_SPACE).removesuffix(JOINED) for piece in unknown_pieces]
        cut = zip(self.encode(text), pieces, strict=True)
        unknown = (piece.split(_SPACE) for i, piece in cut if i == UNK_ID)
        words = (word for piece in unknown for word in (piece if any(piece) else [_SPACE]) if word)
        return list(words if self.kind == "word" else chain.from_iterable(words))

    def deleted_texts(self, text: str) -> list[str]:
        r"""Return the characters of a text that normalization deletes, in order.

        SentencePiece's `nmt` rules delete control characters, U+FFFD and `▁`, or put a space in
        their place. A space is counted only if nothing is in its place, as of U+000B. Marks of
        Unicode's category Cf, such as U+200B, U+FEFF or marks of direction, have no text of their
        own and are not counted. A lone surrogate is U+FFFD.
        """
        text = encodable(text)
        new = set(text) - self._kept
        deleted = {character for character in new if self._deletes(character)}
        self._kept |= new - deleted
        return [character for character in text if character in deleted] if deleted else []

    def _deletes(self, character: str) -> bool:
        """Return True if normalization leaves nothing of a character that is text."""
        # Between letters, because normalization may strip a space at an end.
        nothing = [self.normalize("ab")]
        if not character.isspace():  # a space may become another one
            nothing.append(self.normalize("a b"))
        is_text = unicodedata.category(character) != "Cf"
        return is_text and self.normalize(f"a{character}b") in nothing

    def _without_tag(self, text: str) -> tuple[list[str], str]:
        """Return the tag that begins a text, if tags are pieces of this kind, and what follows."""
        if self._has_leading_tags and (tag := LEADING_TAG.match(text)):
            return [tag[0]], text[tag.end() :]
        return [], text

    def _cut(self, text: str) -> list[str]:
        """Return the pieces of a text; one without an id has its characters."""
        tag, text = self._without_tag(text)
        return [*tag, *self._pieces_of(encodable(text))]

    def _pieces_of(self, text: str) -> list[str]:
        """Return the pieces of a text without a tag; several for unknown words that are apart."""
        if self._merges:
            return [_SPACE + token for token in self._merges.cut(text)]
        pieces = self._processor.encode_as_pieces(text)
        return list(chain.from_iterable(map(self._apart, pieces))) if self._are_apart else pieces

    def _apart(self, piece: str) -> list[str]:
        """Return a piece, or the words or characters of one that the vocabulary lacks."""
        if self.id(piece) != UNK_ID:
            return [piece]
        return _UNKNOWN_WORD.findall(piece) if self.kind == "word" else list(piece)

    def _parts_of(self, stretch: str, piece: str) -> Iterator[str]:
        """Yield the stretch of each word or character of a piece; a space belongs to the next."""
        *first, _ = self._apart(piece)
        for part in first:
            word = part.removeprefix(_SPACE)
            end = stretch.index(word) + len(word) if word else 1
            yield stretch[:end]
            stretch = stretch[end:]
        yield stretch

    def _numbered(self, ids: list[int], text: str) -> list[int]:
        """Return the ids of SentencePiece for a text; of a renumbered model, those of the pieces.

        They differ where SentencePiece knows a piece and the vocabulary does not, or the reverse.
        """
        changes = self._is_renumbered or self._are_apart
        if not changes or not any(i == UNK_ID or i >= self._size for i in ids):
            return ids
        known = map(self.id, self._pieces_of(text))
        # Text may spell a special piece, whose characters are unknown.
        return [UNK_ID if i in (PAD_ID, START_ID, END_ID) else i for i in known]

    def _checked(self, ids: Iterable[int]) -> list[int]:
        """Return ids as plain numbers; TokenizerError for one outside the vocabulary."""
        checked = [*map(int, ids)]
        if checked and not (min(checked) >= 0 and max(checked) < self._size):
            wrong = next(i for i in checked if not 0 <= i < self._size)
            raise TokenizerError(
                f"There is no token {wrong}; this tokenizer has tokens 0 to {self._size - 1}.",
                "Use the tokenizer that the model was trained with.",
            )
        return checked

    def __len__(self) -> int:
        """Return the number of pieces."""
        return self.vocabulary_size

    def __eq__(self, other: object) -> bool:
        """Compare the bytes of both models."""
        return isinstance(other, Tokenizer) and self._data == other._data

    def __hash__(self) -> int:
        """Return the hash of the bytes."""
        return hash(self._data)

    def __reduce__(self) -> tuple[type["Tokenizer"], tuple[bytes]]:
        """Pickle the bytes only."""
        return Tokenizer, (self._data,)

    def __repr__(self) -> str:
        """Return kind and size."""
        return f"Tokenizer(kind={self.kind!r}, vocabulary_size={self.vocabulary_size})"


def train_tokenizer(
    texts: Iterable[str],
    *,
    kind: Kind,
    vocabulary_size: int,
    byte_fallback: bool = False,
    character_coverage: float = 1.0,
    normalization: Normalization = "nmt_nfkc",
    seed: int = 0,
    symbols: Sequence[str] = (),
) -> Tokenizer:
    """Train a tokenizer on all of these texts.

    A word of more than 10,000 characters, such as the data of a picture, counts as several; for
    kind `word`, one of more than 7,996 bytes does.
    The same texts and settings give the same bytes. For `word` and `char`, `vocabulary_size` is
    the most that is allowed. For `unigram` and `bpe` the vocabulary has exactly this size, special
    pieces included, or an error names the sizes that this text allows.

    Args:
        texts: Sentences, read once.
        kind: How pieces are found; for `word`, spaces separate them.
        vocabulary_size: Number of pieces.
        byte_fallback: Write an unknown character as its bytes instead of the unknown piece.
        character_coverage: Share of all characters in the text that get a piece of their own.
        normalization: SentencePiece's rule for equal-looking text; `_cf` ignores case.
        seed: Passed to SentencePiece, which needs it only to sample lines; here it does not.
        symbols: Texts that are always pieces; not for `word`, which cuts at spaces only.
    """
    _check_settings(
        texts,
        kind=kind,
        vocabulary_size=vocabulary_size,
        byte_fallback=byte_fallback,
        character_coverage=character_coverage,
        normalization=normalization,
    )
    # A list, not a generator: SentencePiece would replace an exception of the generator, such as
    # Ctrl-C, by an error of its own. It holds all lines in memory anyway.
    sentences = [trainable(text, is_whole=kind == "word") for text in texts]
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed % 2**32)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=kind,
            vocab_size=vocabulary_size,
            hard_vocab_limit=kind in ("unigram", "bpe"),
            byte_fallback=byte_fallback,
            character_coverage=character_coverage,
            normalization_rule_name=normalization,
            max_sentence_length=_LONGEST_LINE,
            num_threads=1,  # the sums of a unigram model depend on it, and the file records it
            minloglevel=_SILENT,
            user_defined_symbols=list(symbols),
            **_special_symbols(),
        )
        # A piece may be too long to be read again; SentencePiece notices it only here.
        sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    except RuntimeError as error:
        raise _explain(str(error), kind=kind, vocabulary_size=vocabulary_size) from error
    return Tokenizer(model.getvalue())


def _special_symbols() -> dict[str, Any]:
    """Return SentencePiece's options for the four special pieces."""
    names, ids = ("pad", "unk", "bos", "eos"), (PAD_ID, UNK_ID, START_ID, END_ID)
    options: dict[str, Any] = {f"{name}_id": i for name, i in zip(names, ids, strict=True)}
    pieces = zip(names, SPECIAL_PIECES, strict=True)
    return options | {f"{name}_piece": piece for name, piece in pieces}


def _check_settings(
    texts: Iterable[str],
    *,
    kind: str,
    vocabulary_size: int,
    byte_fallback: bool,
    character_coverage: float,
    normalization: str,
) -> None:
    """Raise ConfigError for settings that cannot work with any text."""
    if isinstance(texts, str):
        raise ConfigError("The training text is one string.", "Give a list of sentences.")
    if kind not in _KINDS:
        raise ConfigError(f"The kind {kind!r} is unknown.", f"Choose {', '.join(_KINDS)}.")
    if normalization not in _NORMALIZATIONS:
        raise ConfigError(
            f"The normalization {normalization!r} is unknown.",
            f"Choose {', '.join(_NORMALIZATIONS)}.",
        )
    if not LEAST_COVERAGE <= character_coverage <= 1:
        raise ConfigError(
            f"character_coverage is {character_coverage}; SentencePiece takes "
            f"{LEAST_COVERAGE} to 1.",
            "Use 1.0 for an alphabet and 0.9995 for thousands of rare characters.",
        )
    smallest = len(SPECIAL_PIECES) + 1 + (_NUM_BYTES if byte_fallback else 0)
    if vocabulary_size < smallest:
        raise ConfigError(
            f"vocabulary_size is {vocabulary_size}; it must be at least {smallest}"
            f"{', because byte fallback takes 256 tokens' if byte_fallback else ''}.",
            "Give a larger size, such as 8000.",
        )


def _explain(message: str, *, kind: str, vocabulary_size: int) -> Exception:
    """Return our error for a message of SentencePiece."""
    if too_high := re.search(r"size too high .* value <= (\d+)", message):
        return VocabularyTooLargeError(
            f"vocabulary_size is {vocabulary_size}, but this text gives a {kind} tokenizer at most "
            f"{too_high[1]} tokens.",
            f"Set tokenizer.vocabulary_size to {too_high[1]} or less, or train on more text.",
            int(too_high[1]),
        )
    if too_low := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return ConfigError(
            f"vocabulary_size is {vocabulary_size}, but the characters of this text and the "
            f"special tokens alone need {too_low[1]}.",
            f"Set tokenizer.vocabulary_size to {too_low[1]} or more, or lower "
            f"character_coverage, to {LEAST_COVERAGE} at least.",
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return DataError(
            "There is no text to train a tokenizer on: no line, or only blank ones.",
            "Give sentences.",
        )
    return TokenizerError(
        f"SentencePiece cannot train a {kind} tokenizer of {vocabulary_size} tokens: {message}",
        "Check the training text for unusual lines, or choose another size or kind.",
    )


def _load(data: bytes) -> sentencepiece.SentencePieceProcessor:
    """Return SentencePiece's own object for the bytes of a model."""
    damaged = "This is not a SentencePiece model, or it is damaged"
    remedy = "Copy the file again, or train the tokenizer again."
    if not data:
        raise TokenizerError(f"{damaged}: it is empty.", remedy)
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, OSError) as error:
        raise TokenizerError(f"{damaged}: {error}", remedy) from error


def kind_of_model(data: bytes) -> Kind:
    """Return the kind of the SentencePiece model in these bytes, whatever its special pieces.

    Raises TokenizerError for bytes that are no model.
    """
    _load(data)
    return _kind_of(_read_spec(data))


def table_of(data: bytes) -> Iterator[tuple[str, float, int]]:
    """Yield text, score and type of each piece in the bytes of a model file."""
    for number, piece in fields_of(data):
        if number == 1 and isinstance(piece, bytes):
            fields = dict(fields_of(piece))
            text, score, kind = fields.get(1, b""), fields.get(2, bytes(4)), fields.get(3, 1)
            assert isinstance(text, bytes) and isinstance(score, bytes)  # noqa: PT018
            yield text.decode("utf-8"), struct.unpack("<f", score)[0], int(kind)


def piece_message(text: str, score: float, kind: int) -> bytes:
    """Return a `SentencePiece` message: field 1 its text, 2 its score, 3 its type."""
    written_score = bytes([2 << 3 | 5]) + struct.pack("<f", score)
    return bytes_field(1, text.encode()) + written_score + number_field(3, kind)


def _read_spec(data: bytes) -> dict[int, int]:
    """Return the numbers in `ModelProto.trainer_spec`, which is field 2, by their field there.

    SentencePiece's own object does not tell them. A later number replaces an earlier one.
    """
    specs = (spec for number, spec in fields_of(data) if number == 2 and isinstance(spec, bytes))
    fields = chain.from_iterable(map(fields_of, specs))
    return {number: value for number, value in fields if isinstance(value, int)}


def _read_merges(data: bytes, *, is_limited: bool) -> WordMerges | None:
    """Return the merges of words in a model file, if it has any; limited: to its own pieces."""
    specs = (spec for number, spec in fields_of(data) if number == 2 and isinstance(spec, bytes))
    fields = chain.from_iterable(map(fields_of, specs))
    merges = [value for number, value in fields if number == MERGES_FIELD]
    if not merges or not isinstance(merges[-1], bytes):
        return None
    pieces = {text.removeprefix(_SPACE) for text, _, kind in table_of(data) if kind == _NORMAL}
    return WordMerges.read(merges[-1], pieces if is_limited else ())


def _with_end(piece: str) -> str:
    """Return what a piece of merges writes, with `▁` behind the last of a word."""
    if not piece.startswith(_SPACE):  # a special one
        return piece
    text = piece.removeprefix(_SPACE)
    return text.removesuffix(JOINED) if text.endswith(JOINED) else text + _SPACE


def _covered(text: str, pieces: Iterable[str]) -> Iterator[str]:
    """Yield the stretch of the text that each piece of merges covers, with the spaces before it."""
    begin = 0
    for piece in pieces:
        written = piece.removeprefix(_SPACE).removesuffix(JOINED)
        end = text.index(written, begin) + len(written)
        yield text[begin:end]
        begin = end


def _kind_of(spec: dict[int, int]) -> Kind:
    """Return the kind that a model file names, `TrainerSpec.model_type`, which is field 3."""
    number = spec.get(3, 1)  # protobuf leaves out a default value
    return _KINDS[number - 1] if 1 <= number <= len(_KINDS) else "unigram"
