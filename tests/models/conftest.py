"""Folders of Hugging Face with random weights and real tokenizers, made by transformers.

Text: lines of the built-in corpus, or two files, line by line: --source-text and --target-text.
"""

import functools
import io
import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

from headway.sample_corpus import build_sample_corpus

Make = Callable[..., Path]

# Wide logits: an error in one piece or position changes translations.
WEIGHTS, BIAS, END_BIAS = 0.3, 0.05, 9.0
TAGS = [">>deu<<", ">>fra<<", ">>kor_Hang<<"]
_PIECES = 700
_UNSEEN = 40  # lines whose pieces get no id unless others have them
_NO_ID = 25  # pieces of each side without an id


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--source-text", default="", help="A file of source sentences.")
    parser.addoption("--target-text", default="", help="A file of their translations.")
    parser.addoption("--sentences", type=int, default=100, help="Sentences that are translated.")


@pytest.fixture(scope="session")
def lines(request: pytest.FixtureRequest) -> tuple[list[str], list[str]]:
    """Return 10,000 lines of the source, and as many of the target."""
    paths = [request.config.getoption(f"--{side}-text") for side in ("source", "target")]
    if all(paths):
        sides = [Path(path).read_text(encoding="utf-8").splitlines() for path in paths]
    else:
        corpus = build_sample_corpus(seed=1)
        sides = [[pair.korean for pair in corpus.train], [pair.english for pair in corpus.train]]
    return sides[0][:10_000], sides[1][:10_000]


@functools.cache
def trained(lines: tuple[str, ...], kind: str) -> bytes:
    """Return a SentencePiece model with the ids that Marian's training gives it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=_PIECES, model_type=kind,
        minloglevel=9, num_threads=1, hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()


def _pieces(model: bytes, lines: Sequence[str]) -> list[str]:
    """Return the pieces of the text, the most frequent first; the rarest get no id."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    counted = Counter(piece for line in lines for piece in processor.encode_as_pieces(line))
    return [piece for piece, _ in counted.most_common()][:-_NO_ID]


def _vocabulary(pieces: Sequence[str], tags: Sequence[str] = ()) -> dict[str, int]:
    listed = dict.fromkeys(["</s>", "<unk>", *tags, *pieces])
    return {piece: i for i, piece in enumerate([*(p for p in listed), "<pad>"])}


@pytest.fixture(scope="session")
def make_folder(
    tmp_path_factory: pytest.TempPathFactory, lines: tuple[list[str], list[str]]
) -> Make:
    """Return a function that writes a folder of Hugging Face: model, tokenizers and settings."""

    def make(
        *,
        activation: str = "swish",
        separate: bool = False,
        tags: bool = False,
        dtype: torch.dtype = torch.float32,
        **changes: Any,
    ) -> Path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers import MarianConfig, MarianMTModel

        folder = tmp_path_factory.mktemp("hugging-face")
        models = [trained(tuple(side[:4000]), "unigram") for side in lines]
        sides = [_pieces(m, side[:4000]) for m, side in zip(models, lines, strict=True)]
        all_tags = TAGS if tags else []
        if separate:
            vocabularies = [_vocabulary(sides[0], all_tags), _vocabulary(sides[1])]
            # One padding id for both sides, the last of the larger.
            smaller = min(vocabularies, key=len)
            for number in range(abs(len(vocabularies[0]) - len(vocabularies[1]))):
                smaller.pop("<pad>", None)
                smaller[f"unused{number}"] = len(smaller)
            smaller.setdefault("<pad>", len(smaller))
        else:
            vocabularies = [_vocabulary([*sides[0], *sides[1]], all_tags)] * 2
        names = ("vocab.json", "target_vocab.json")
        for name, vocabulary in list(zip(names, vocabularies, strict=True))[: 1 + separate]:
            (folder / name).write_text(json.dumps(vocabulary), encoding="utf-8")
        for name, model in zip(("source.spm", "target.spm"), models, strict=True):
            (folder / name).write_bytes(model)
        pad = len(vocabularies[0]) - 1
        settings = {
            "tokenizer_class": "MarianTokenizer", "separate_vocabs": separate,
            "source_lang": "ko", "target_lang": "en", "model_max_length": 512,
        }  # fmt: skip
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        config = MarianConfig(
            vocab_size=len(vocabularies[0]), decoder_vocab_size=len(vocabularies[1]),
            d_model=48, encoder_layers=2, decoder_layers=3, encoder_ffn_dim=80,
            decoder_ffn_dim=80, encoder_attention_heads=6, decoder_attention_heads=6,
            activation_function=activation, scale_embedding=True, pad_token_id=pad,
            decoder_start_token_id=pad, eos_token_id=0, bos_token_id=0, forced_eos_token_id=0,
            max_position_embeddings=512, share_encoder_decoder_embeddings=not separate,
        )  # fmt: skip
        torch.manual_seed(5)
        model = MarianMTModel(config).eval()
        fill(model)
        for name, value in changes.items():
            setattr(model.generation_config, name, value)
        model.to(dtype).save_pretrained(folder)
        return folder

    return make


def fill(model: Any) -> None:
    """Give a model of transformers random weights; padding keeps its zeros."""
    pad = model.config.pad_token_id
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:
                continue
            wide = parameter.dim() > 1
            parameter.copy_(torch.randn_like(parameter) * (WEIGHTS if wide else BIAS))
            if "layer_norm.weight" in name:
                parameter.add_(1)
            if "embed_tokens" in name or "shared" in name or "lm_head" in name:
                parameter[pad] = 0
        bias = model.final_logits_bias
        bias.copy_(torch.randn_like(bias) * BIAS)
        bias[0, 0] += END_BIAS
        bias[0, pad] = 0
