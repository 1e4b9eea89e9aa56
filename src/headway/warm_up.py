"""Compiling ahead: the kernels that training and translation use on this machine.

Numba compiles a kernel when it is first called, and keeps the machine code on disk. This module
calls all of them: it computes gradients of an untrained model, and translates with it.
"""

import random
import string
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import torch

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.drafts import with_drafts
from headway.decoding.translator import TextTranslator
from headway.evaluation.shortlists import with_shortlist
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer
from headway.training.objective import Objective

_SENTENCES, _WORDS = 20, 8
_VOCABULARY = 600
_LENGTH = 4  # tokens of a translation; an untrained model does not end one


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The result of compiling ahead."""

    compiling: float
    """Seconds in the compiler; 0 if all machine code was on disk."""
    folder: Path | None
    """The folder that keeps the machine code; None if no folder can be written."""


def warm_up() -> WarmUp | None:
    """Compile the kernels that the precision `auto` chooses here, and those of float32.

    Return None without Numba: PyTorch computes then, and there is nothing to compile.
    """
    if not dispatch.has_numba():
        return None
    from headway.kernels.codegen.numba_compiler import kept_in, seconds_compiling
    from headway.kernels.decoder_step import decode_rows

    before = seconds_compiling()
    draw = random.Random(0)
    words = ["".join(draw.choices(string.ascii_lowercase, k=5)) for _ in range(1000)]
    sentences = [" ".join(draw.choices(words, k=_WORDS)) for _ in range(_SENTENCES)]
    tokenizer = train_tokenizer(words, kind="bpe", vocabulary_size=_VOCABULARY)
    config = ModelConfig(  # the width of the paper's base model: int8 is for large products
        num_encoder_layers=1,
        num_decoder_layers=1,
        source_vocab_size=len(tokenizer),
        target_vocab_size=len(tokenizer),
    )
    # Only decoders of some size guess pieces. Others may have an SSRU, or SiLU as OPUS-MT has.
    student = config.replace({"decoder_past": "ssru", "num_decoder_layers": 3})
    with torch.random.fork_rng(devices=[]):
        plain, recurrent, with_silu = (
            Bundle(sizes, Transformer.from_config(sizes), tokenizer, tokenizer)
            for sizes in (config, student, config.replace({"activation": "silu"}))
        )
        _compute_gradients(plain.model, tokenizer, sentences)
    recurrent = with_drafts(recurrent, zip(sentences, sentences, strict=True))
    recurrent = with_shortlist(recurrent, sentences, sentences)
    for bundle in (plain, recurrent, with_silu):
        _translate(bundle, sentences)
    return WarmUp(seconds_compiling() - before, kept_in(decode_rows))


def _compute_gradients(model: Transformer, tokenizer: Tokenizer, sentences: list[str]) -> None:
    """Go forward and backward in the precisions of training, with dropout."""
    ids = [tokenizer.encode(sentence) for sentence in sentences]
    batch = collate([EncodedPair(row, row, line) for line, row in enumerate(ids)])
    for precision in ("float32", "bfloat16"):
        if precision == "float32" or dispatch.onednn_multiplies_bfloat16():
            Objective(model.train(), 0.1, precision)(batch).loss.backward()
            model.zero_grad()


def _translate(bundle: Bundle, sentences: list[str]) -> None:
    """Translate one sentence and several, in each precision, with either search."""
    weights = bundle.config.d_model * bundle.config.d_ff
    for precision in get_args(Precision):
        if not dispatch.scores_as_float32(precision, torch.device("cpu"), weights):
            continue
        translator = TextTranslator(bundle, precision=precision)
        for beam_size in (1, 4):
            options = replace(translator.options, beam_size=beam_size, max_length=_LENGTH)
            for texts in (sentences[:1], sentences):
                translator.translate(
                    texts, mend_runaways=False, options=options, split_sentences=False
                )
        if bundle.shortlist is not None:
            options = replace(translator.options, shortlist=True, max_length=_LENGTH)
            translator.translate(
                sentences, mend_runaways=False, options=options, split_sentences=False
            )
