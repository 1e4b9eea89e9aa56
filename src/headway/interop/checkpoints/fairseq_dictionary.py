"""The dictionaries of fairseq, and the tokenizers that go with them."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.data.renumbered import renumbered
from headway.data.tokenizer import Tokenizer
from headway.data.word_merges import JOINED, WordMerges
from headway.errors import BundleError, TokenizerError, permitted, shown
from headway.interop.checkpoints.plain_tokenizer import plain_tokenizer
from headway.interop.checkpoints.values import Values
from headway.interop.checkpoints.weights import SAME_MODEL, Sides
from headway.interop.files import read_bytes, read_sentencepiece
from headway.interop.vocabulary import START_OF_THE_FILE, Vocabulary

_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # the first ids of every dictionary
_START, _PAD, _END, _UNK = range(4)
_FILLED = re.compile(r"madeupword\d{4,}")  # so that the size is a multiple of 8
_OVERWRITE = "#fairseq:overwrite"
_CODES = ("bpecodes", "code", "codes", "bpe.codes")  # the usual names of merges


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The tokens of one language."""

    texts: list[str]
    """The text by id."""
    unwritten: frozenset[str]
    """Those of the texts that no text is cut into: `<s>`, and tokens whose place others took."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the tokens in Headway's order; a translation begins with the row of `</s>`."""
        other_ids = [_START, *range(len(_SPECIAL), len(self.texts))]
        return Vocabulary.in_order([_PAD, _UNK, _END, _END], other_ids, self.texts)


def sides_of(task: Values, folder: Path) -> tuple[Sides, tuple[str, str], list[str]]:
    """Return vocabularies and tokenizers, the languages, and notes on the tokenizers."""
    languages = _language(task, "source_lang"), _language(task, "target_lang")
    dictionaries = [read_dictionary(folder / f"dict.{name}.txt") for name in languages]
    models = _models(folder, languages)
    merges = _merges(folder, models)
    first, second = (
        _tokenizer(dictionary, folder / f"dict.{name}.txt", models.get(name), merges)
        for dictionary, name in zip(dictionaries, languages, strict=True)
    )
    source, target = (dictionary.vocabulary for dictionary in dictionaries)
    notes = [] if models else [_note(dictionaries, merges)]
    return Sides((source, target), (first, second)), languages, notes


def _language(task: Values, name: str) -> str:
    """Return the name of a language, which is part of the name of a file."""
    language = task.get(name, str)
    if not re.fullmatch(r"[\w-]+", language):
        raise task.refused(name, "the code of a language, such as 'de'")
    return language


def read_dictionary(path: Path) -> Dictionary:
    """Return the tokens in a file `dict.de.txt`; BundleError names the line that does not fit."""
    if not path.exists():
        raise BundleError(
            f"{path} is missing.",
            "Copy the dictionaries of the prepared data (data-bin) beside the checkpoint.",
        )
    try:
        lines = io.StringIO(read_bytes(path).decode(), newline=None).readlines()
    except UnicodeDecodeError:
        raise BundleError(f"{path} is not in UTF-8.", SAME_MODEL) from None
    texts: list[str] = [*_SPECIAL]
    ids = {text: i for i, text in enumerate(texts)}
    unwritten = {START_OF_THE_FILE}
    for number, line in enumerate(lines, 1):
        word, again = _entry(line, path, number)
        old = ids.get(word)
        if old is not None and (not again or old < len(_SPECIAL)):
            raise BundleError(
                f"Line {number} of {path} has the token {shown(word)}, which it already has.",
                SAME_MODEL,
            )
        if old is not None:
            texts[old] = f"{word} {old}"  # no token of a text has a space
            unwritten.add(texts[old])
        ids[word] = len(texts)
        texts.append(word)
    return Dictionary(texts, frozenset(unwritten))


def _entry(line: str, path: Path, number: int) -> tuple[str, bool]:
    """Return the token of a line, and True if it takes the place of an earlier one."""
    remaining = line.rstrip()
    again = remaining.endswith(f" {_OVERWRITE}")
    word, space, count = remaining.removesuffix(f" {_OVERWRITE}").rpartition(" ")
    if not space or not re.fullmatch(r"-?\d+", count):
        raise BundleError(
            f"Line {number} of {path} is {shown(remaining)}, but must be a token and its number.",
            SAME_MODEL,
        )
    return word, again


def _models(folder: Path, languages: tuple[str, str]) -> Mapping[str, Path]:
    """Return the SentencePiece model of each language; none if there are no models."""
    with permitted(folder, BundleError):
        files = sorted(folder.glob("*.model"))
    if len(files) < 2:
        return dict.fromkeys(languages, files[0]) if files else {}
    named = {
        name: [file for file in files if name in re.split(r"[._-]", file.name)]
        for name in languages
    }
    for name, matches in named.items():
        if len(matches) != 1:
            raise BundleError(
                f"{folder} has the SentencePiece models {', '.join(f.name for f in files)}, of "
                f"which {len(matches)} have '{name}' in their name.",
                f"Keep one model, or name them such as spm.{name}.model.",
            )
    return {name: matches[0] for name, matches in named.items()}


def _merges(folder: Path, models: Mapping[str, Path]) -> WordMerges | None:
    """Return the merges of subword-nmt or fastBPE for both languages; None if there are none."""
    with permitted(folder, BundleError):
        files = [folder / name for name in _CODES if (folder / name).exists()]
    if not files:
        return None
    if other_files := [*files[1:], *models.values()]:
        raise BundleError(
            f"{folder} has {files[0].name} and {other_files[0].name}, and both cut text into "
            "tokens.",
            "Keep the one that made the tokens of the dictionaries.",
        )
    try:
        return WordMerges.read(read_bytes(files[0]))
    except TokenizerError as error:
        raise BundleError(f"{files[0]}: {error.message}", error.remedy) from None


def _tokenizer(
    dictionary: Dictionary, path: Path, model: Path | None, merges: WordMerges | None
) -> Tokenizer:
    """Return the tokenizer of one language with the ids of its dictionary."""
    pieces, unwritten = dictionary.vocabulary.pieces, dictionary.unwritten
    try:
        if model is None:
            return plain_tokenizer(pieces, "word", trimmed=True, unwritten=unwritten, merges=merges)
        filled = filter(_FILLED.fullmatch, pieces)
        return renumbered(read_sentencepiece(model), pieces, unwritten={*unwritten, *filled})
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", error.remedy) from None


def _note(dictionaries: list[Dictionary], merges: WordMerges | None) -> str:
    """Return a sentence on the text that a model without SentencePiece takes."""
    if merges:
        return (
            "Words are between spaces, and are cut and joined by the merges: give text that is "
            "tokenized as in the training, and detokenize translations."
        )
    is_cut = any(text.endswith(JOINED) for dictionary in dictionaries for text in dictionary.texts)
    return (
        "There is no SentencePiece model, so each string between spaces is a token: give text that "
        f"is tokenized {'and cut into subwords ' if is_cut else ''}as in the training"
        f"{f', and remove {JOINED!r} and the space behind it from translations' * is_cut}."
        f"{f' Or put the merges (such as {_CODES[0]}) beside the dictionaries.' * is_cut}"
    )
