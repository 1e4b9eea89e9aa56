"""SentencePiece models of two languages, and random tensors."""

import io

import pytest
import sentencepiece
import torch
from torch import Tensor

LINES = [
    "the cat sat on the mat",
    "a dog ran far away from the other cat",
    "the dogs and the cats sat there",
    "there the old dog sat on a mat far away",
]


def spm(lines: list[str], size: int, kind: str = "unigram") -> bytes:
    """Return a SentencePiece model with its usual ids."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 4), model_writer=model, vocab_size=size, model_type=kind,
        minloglevel=9, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


@pytest.fixture(scope="session")
def models() -> tuple[bytes, bytes]:
    """Return two SentencePiece models of different text."""
    return spm(LINES, 28, "bpe"), spm([line.upper() for line in LINES], 26, "unigram")


def pieces_of(model: bytes) -> list[str]:
    """Return the pieces of a model without its special ones."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


def draw(*shape: int) -> Tensor:
    """Return random numbers that are neither small nor all of one sign."""
    return torch.randn(*shape) * 0.7
