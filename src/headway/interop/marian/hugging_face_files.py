"""The files of a MarianMT folder of Hugging Face, from a bundle.

MarianMT has no start symbol of its own: a translation begins with the embedding of `<pad>`. So the
row of `<pad>` in the file is that of Headway's `<s>`. Nothing reads Headway's own row of `<pad>`,
because masks hide that token.

MarianMT's sinusoids are the paper's, all sines first. A model with the interleaved layout gets its
dimensions in that order, in every weight that reads or writes the vectors between sub-layers. This
is the same function, because LayerNorm treats all dimensions alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headway.bundle import Bundle, model_tensors
from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID, Tokenizer
from headway.interop.marian.hugging_face_settings import ACTIVATIONS
from headway.interop.marian.hugging_face_weights import (
    OUTPUT_BIAS,
    SAFETENSORS,
    SHARED,
    SOURCE,
    TARGET,
    layer_names,
)
from headway.interop.vocabulary import START_OF_THE_FILE
from headway.json_text import to_json
from headway.runtime.mapped_tensors import safetensors_parts

_POSITIONS = 512  # at least, as OPUS-MT's models have
_READING = ("w_q", "w_k", "w_v", "w_1")  # their inputs are the vectors between sub-layers
_END, _UNK = 0, 1  # ids in the file

_NOTE = """\
# {source} to {target}, for transformers

Exported by Headway. To run it in this folder: `pip install transformers sentencepiece`, then

```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained(".")
model = MarianMTModel.from_pretrained(".")
inputs = tokenizer(["…"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```

It differs from Headway in these points:

- transformers divides the log-probability by `length ** length_penalty`, Headway by
  `((5 + length) / 6) ** alpha`. The number {length_penalty} in `generation_config.json` is
  Headway's alpha; choose your own on text of your own.
- A translation ends at {positions} tokens. Headway's limit is the tokens of each source plus
  {extra}.
- A sentence of more than {longest} tokens is too long for the model. Headway splits it.
- A text that spells `</s>` or `<pad>` has this special token, and one that begins with `>>deu<<`
  has a tag, if the vocabulary has that token or not.
- `<pad>` has the embedding of Headway's start symbol, because a translation begins with it.
"""


@dataclass(frozen=True, slots=True)
class FileIds:
    """The ids of one side in the file."""

    rows: list[int]
    """The id here by the id in the file: </s>, <unk>, and <pad>, which is the start here."""

    @property
    def pad(self) -> int:
        """Return the id of <pad> in the file."""
        return self.rows.index(START_ID)

    def vocabulary(self, tokenizer: Tokenizer) -> dict[str, int]:
        """Return the content of `vocab.json`: the id in the file by the piece."""
        pieces = tokenizer.pieces(self.rows)
        pieces[self.pad] = SPECIAL_PIECES[PAD_ID]
        start = SPECIAL_PIECES[START_ID]
        names = (start if piece == START_OF_THE_FILE else piece for piece in pieces)
        return {name: i for i, name in enumerate(names)}


def file_ids(bundle: Bundle) -> tuple[FileIds, FileIds]:
    """Return the ids of source and target; <pad> has one id, the last of the smaller side."""
    sizes = len(bundle.source_tokenizer), len(bundle.target_tokenizer)
    end = min(sizes)
    first = [END_ID, UNK_ID, *range(len(SPECIAL_PIECES), end), START_ID]
    source, target = (FileIds([*first, *range(end, size)]) for size in sizes)
    return source, target


def same_ids(bundle: Bundle) -> bool:
    """Return True if both sides number the same pieces, though they may cut text differently."""
    return bundle.source_tokenizer.has_ids_of(bundle.target_tokenizer)


def hugging_face_files(
    bundle: Bundle,
) -> Iterator[tuple[str, bytes | Iterator[bytes | memoryview]]]:
    """Yield the name and the content of each file.

    The bundle is one that `check_expressible` of `hugging_face_export` lets pass.
    """
    sides = file_ids(bundle)
    yield "vocab.json", _json(sides[0].vocabulary(bundle.source_tokenizer))
    if not same_ids(bundle):
        yield "target_vocab.json", _json(sides[1].vocabulary(bundle.target_tokenizer))
    yield "source.spm", bundle.source_tokenizer.to_bytes()
    yield "target.spm", bundle.target_tokenizer.to_bytes()
    yield "config.json", _json(_model_settings(bundle, sides))
    yield "generation_config.json", _json(_search_settings(bundle, sides[0].pad))
    yield "tokenizer_config.json", _json(_tokenizer_settings(bundle))
    yield "README.md", "\n".join(filter(None, [_note(bundle), bundle.card])).encode()
    # transformers refuses a file that does not say where its tensors are from.
    yield SAFETENSORS, safetensors_parts(file_tensors(bundle, sides), {"format": "pt"})


def _json(values: Mapping[str, Any]) -> bytes:
    return to_json(values, indent=2).encode()


def file_tensors(bundle: Bundle, sides: tuple[FileIds, FileIds]) -> dict[str, Tensor]:
    """Return the tensors of `model.safetensors`, in float32."""
    config = bundle.config
    order = torch.arange(config.d_model)
    if config.sinusoid_layout == "interleaved":
        order = torch.cat([order[0::2], order[1::2]])  # sines, then cosines
    ours = {name: tensor.float() for name, tensor in model_tensors(bundle.model).items()}
    tensors = {}
    for theirs, name in layer_names(config.num_encoder_layers, config.num_decoder_layers):
        if name not in ours:  # a model without biases has zeros there
            width = len(ours[name.removesuffix("bias") + "weight"])
            tensors[theirs] = torch.zeros(width)
        else:
            tensors[theirs] = _ordered(name, ours[name], order)
    source = ours["source_embedding.tokens.weight"]
    target = ours.get("target_embedding.tokens.weight", source).clone()
    if config.zero_id is not None:
        target[config.zero_id] = 0
    if config.shared_embeddings == "all":
        tensors[SHARED] = target[sides[0].rows][:, order]
    else:
        tensors[SOURCE] = source[sides[0].rows][:, order]
        tensors[TARGET] = target[sides[1].rows][:, order]
    bias = ours.get("output_projection.bias", torch.zeros(len(target)))
    rows = [PAD_ID if i == START_ID else i for i in sides[1].rows]
    tensors[OUTPUT_BIAS] = bias[rows][None]
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def _ordered(name: str, tensor: Tensor, order: Tensor) -> Tensor:
    """Return a weight with the dimensions between sub-layers in this order."""
    *_, part, kind = name.split(".")
    if part not in _READING:
        return tensor[order]
    return tensor[:, order] if kind == "weight" else tensor


def _longest(bundle: Bundle) -> int:
    """Return the tokens of the longest source, with its end symbol."""
    return bundle.decoding.max_source_pieces + 1


def _positions(bundle: Bundle) -> int:
    return max(_POSITIONS, _longest(bundle) + bundle.decoding.max_extra_pieces)


def _model_settings(bundle: Bundle, sides: tuple[FileIds, FileIds]) -> dict[str, Any]:
    config = bundle.config
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": config.d_model,
        "encoder_layers": config.num_encoder_layers,
        "decoder_layers": config.num_decoder_layers,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": ACTIVATION_NAMES[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": config.scale_embeddings,
        "static_position_embeddings": True,
        "normalize_before": False,
        "max_position_embeddings": _positions(bundle),
        "share_encoder_decoder_embeddings": config.shared_embeddings == "all",
        "tie_word_embeddings": True,
        "vocab_size": len(sides[0].rows),
        "decoder_vocab_size": len(sides[1].rows),
        "pad_token_id": sides[0].pad,
        "decoder_start_token_id": sides[0].pad,
        "eos_token_id": _END,
        "forced_eos_token_id": None,
    }


def _search_settings(bundle: Bundle, pad: int) -> dict[str, Any]:
    return {
        "num_beams": bundle.decoding.beam_size,
        "length_penalty": bundle.decoding.length_penalty,
        "max_length": _positions(bundle),
        "bad_words_ids": [[pad], [_UNK]],
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "eos_token_id": _END,
        "forced_eos_token_id": None,
    }


def _tokenizer_settings(bundle: Bundle) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": bundle.source_language,
        "target_lang": bundle.target_language,
        "separate_vocabs": not same_ids(bundle),
        "model_max_length": _longest(bundle),
        "clean_up_tokenization_spaces": False,
    }


def _note(bundle: Bundle) -> str:
    decoding = bundle.decoding
    return _NOTE.format(
        source=bundle.source_language,
        target=bundle.target_language,
        length_penalty=decoding.length_penalty,
        positions=_positions(bundle),
        extra=decoding.max_extra_pieces,
        longest=decoding.max_source_pieces,
    )


ACTIVATION_NAMES = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
"""Hugging Face's name of each activation that MarianMT and Headway both have."""
