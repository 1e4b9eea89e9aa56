"""The peer CTranslate2: text in, text out, with the weights of the same bundle.

Its settings are those in the README of an exported model, so that its translations are those of
the bundle. Its length penalty is the plain form, which differs from the paper's formula.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from headway.bench.jobs import (
    Job,
    Outcome,
    Text,
    Translated,
    all_at_once,
    one_by_one,
)
from headway.errors import MissingExtraError

PRECISIONS = ("float32", "int8")

_SPACE = "▁"


def prepare_ctranslate2(
    folder: str, precision: str, replicas: int, threads: int, text: Text
) -> Callable[[Job], Outcome]:
    """Load an exported model with this number of replicas and of threads for each."""
    translator = _library().Translator(
        folder,
        device="cpu",
        compute_type=precision,
        inter_threads=replicas,
        intra_threads=threads,
    )
    peer = _CTranslate2(translator, Path(folder), text)

    def work(job: Job) -> Outcome:
        sentences = text.sentences[: job.sentences]
        if job.batch == 1:
            return one_by_one(sentences, lambda sentence: peer.translate([sentence], job)[0])
        return all_at_once(sentences, lambda several: peer.translate(several, job))

    return work


class _CTranslate2:
    """A translator of CTranslate2 with SentencePiece on both sides."""

    def __init__(self, translator: Any, folder: Path, text: Text) -> None:
        self.translator = translator
        self.text = text
        names = sorted(file.name for file in folder.glob("*.model"))  # one, or source and target
        processors = [SentencePieceProcessor(model_file=str(folder / name)) for name in names]
        self.source, self.target = processors[0], processors[-1]
        # By way of ids, so that pieces outside the vocabulary become <unk>.
        self.pieces = [self.source.id_to_piece(i) for i in range(len(self.source))]
        special = [self.target.pad_id(), self.target.bos_id()]
        self.never = [[self.target.id_to_piece(i)] for i in special]

    def translate(self, sentences: Sequence[str], job: Job) -> list[Translated]:
        sources = self.source.encode(list(sentences))
        # At a forced length we compute the step of the end symbol, and CTranslate2 does not. So it
        # writes a token more, which is not counted.
        end = 0 if self.text.length is None else 1
        limit = self.text.limit(max(map(len, sources)))
        results = self.translator.translate_batch(
            [[self.pieces[i] for i in ids] for ids in sources],
            beam_size=job.beam_size,
            length_penalty=self.text.length_penalty,
            max_batch_size=job.batch,
            disable_unk=True,
            suppress_sequences=self.never,
            min_decoding_length=self.text.shortest + end,
            max_input_length=0,
            max_decoding_length=limit + end,
        )
        hypotheses = [result.hypotheses[0][: self.text.length] for result in results]
        free = self.text.length is None
        texts = self.target.decode(hypotheses)
        return [
            Translated(_as_ours(text), len(pieces), free and len(pieces) >= limit)
            for text, pieces in zip(texts, hypotheses, strict=True)
        ]


def _as_ours(text: str) -> str:
    """Return the text as `Tokenizer.decode` gives it, if byte pieces spell spaces or line ends."""
    return text.replace("\n", " ").removeprefix(_SPACE).replace(_SPACE, " ")


def _library() -> Any:
    """Import CTranslate2 as if PyTorch were not installed.

    Its converters would otherwise import PyTorch, which would count in its memory.
    """
    hidden = "torch" not in sys.modules
    if hidden:
        sys.modules["torch"] = None  # pyright: ignore[reportArgumentType]
    try:
        import ctranslate2
    except ImportError as error:
        raise MissingExtraError.of("ctranslate2", "CTranslate2 is not installed.") from error
    finally:
        if hidden:
            del sys.modules["torch"]
    return ctranslate2
