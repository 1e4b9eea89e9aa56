"""An imported model of JoeyNMT computes what JoeyNMT computes from its folder."""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from tests.models.conftest import trained
from torch import Tensor

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID
from headway.interop.checkpoints import import_joeynmt
from headway.model.positional_encoding import sinusoid_table
from headway.model.transformer import Transformer

FORMS: dict[str, dict[str, Any]] = {
    "post, relu, tied": {"layer_norm": "post", "activation": "relu", "tied_softmax": True},
    "pre, gelu, three tables": {"layer_norm": "pre", "activation": "gelu", "kind": "bpe"},
    "pre, swish, one table": {
        "layer_norm": "pre", "activation": "swish", "tied_softmax": True, "tied_embeddings": True,
        "scale": False,
    },
}  # fmt: skip
SPECIAL = ["<unk>", "<pad>", "<s>", "</s>"]
TOLERANCE = 1e-4
WEIGHTS = 0.25  # wide logits: an error in one piece or position changes translations


@dataclass
class Both:
    """A folder as JoeyNMT loads it, and as Headway imported it."""

    model: Any
    vocabularies: tuple[Any, Any]
    bundle: Bundle

    def theirs(self, side: int) -> list[int]:
        """Return the id in JoeyNMT's vocabulary by the id here."""
        ours = (self.bundle.source_tokenizer, self.bundle.target_tokenizer)[side]
        return [self.vocabularies[side].lookup(p) for p in ours.pieces(range(len(ours)))]


@pytest.fixture(scope="module", params=FORMS, ids=list(FORMS))
def both(
    request: pytest.FixtureRequest,
    lines: tuple[list[str], list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Both:
    from joeynmt.model import build_model
    from joeynmt.vocabulary import build_vocab

    form: dict[str, Any] = FORMS[request.param]
    folder = tmp_path_factory.mktemp("joeynmt")
    one = form.get("tied_embeddings", False)
    for side, text in zip(("src", "trg"), lines, strict=True):
        corpus = tuple([*lines[0][:2000], *lines[1][:2000]] if one else text[:4000])
        model = trained(corpus, form.get("kind", "unigram"))
        (folder / f"{side}.model").write_bytes(model)
        pieces = _pieces(folder / f"{side}.model")
        (folder / f"{side}_vocab.txt").write_text("\n".join([*SPECIAL, *pieces]), "utf-8")
    settings = _settings(form)
    (folder / "config.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    vocabularies = build_vocab(_data(settings), model_dir=folder)
    torch.manual_seed(5)
    model = build_model(copy.deepcopy(settings["model"]), *vocabularies).eval()
    _fill(model)
    torch.save({"model_state": model.state_dict(), "stats_state": {"steps": 1}}, folder / "1.ckpt")
    out = tmp_path_factory.mktemp("imported") / "bundle"
    import_joeynmt(folder, out)
    return Both(model, vocabularies, load_bundle(out))


def _pieces(path: Path) -> list[str]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


def _data(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the section of the data as JoeyNMT completes it."""
    from joeynmt.config import _check_special_symbols

    data = copy.deepcopy(settings["data"])
    return data | {"special_symbols": SimpleNamespace(**_check_special_symbols({}))}


def _settings(form: dict[str, Any]) -> dict[str, Any]:
    stack = {
        "type": "transformer", "num_heads": 6, "hidden_size": 48, "ff_size": 80, "dropout": 0.1,
        "layer_norm": form["layer_norm"], "activation": form["activation"],
    }  # fmt: skip

    def built(layers: int) -> dict[str, Any]:
        embeddings = {"embedding_dim": 48, "scale": form.get("scale", True)}
        return stack | {"num_layers": layers, "embeddings": embeddings}

    def side(name: str, language: str) -> dict[str, Any]:
        cut = {"level": "bpe", "tokenizer_type": "sentencepiece"}
        return cut | {"lang": language, "tokenizer_cfg": {"model_file": f"somewhere/{name}.model"}}

    return {
        "data": {"src": side("src", "ko"), "trg": side("trg", "en")},
        "model": {
            "encoder": built(2), "decoder": built(3), "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_softmax": form.get("tied_softmax", False),
            "tied_embeddings": form.get("tied_embeddings", False),
        },
        "testing": {"beam_size": 4, "beam_alpha": 0},
    }  # fmt: skip


def _fill(model: Any) -> None:
    """Give a model of JoeyNMT random weights; padding keeps its zeros."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * WEIGHTS)
            if "layer_norm.weight" in name:
                parameter.add_(1)
        for table in (model.src_embed, model.trg_embed):
            table.lut.weight[model.pad_index] = 0


@pytest.fixture(scope="module")
def sources(
    request: pytest.FixtureRequest, both: Both, lines: tuple[list[str], list[str]]
) -> list[list[int]]:
    """Return the ids of different sentences, with the end symbol."""
    last = list(dict.fromkeys(lines[0]))[-request.config.getoption("--sentences") :]
    return [[*ids, END_ID] for ids in both.bundle.source_tokenizer.encode_batch(last)]


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])


@torch.inference_mode()
def _differences(both: Both, ours: Transformer, sources: list[list[int]]) -> tuple[float, float]:
    """Return the largest difference of encoder outputs, and of logits of a given translation."""
    model, ours = both.model.double(), ours.double()
    # JoeyNMT keeps its sinusoids in float32; both compute in float64 from the exact ones.
    for stack in (model.encoder, model.decoder):
        stack.pe.pe.copy_(sinusoid_table(stack.pe.pe.size(1), stack.pe.dim)[None])
    generator = random.Random(1)
    old = both.theirs(0), both.theirs(1)
    targets = [[START_ID, *generator.choices(range(4, len(old[1])), k=len(s))] for s in sources]
    pad = model.pad_index
    of_memory = of_logits = 0.0
    for first in range(0, len(sources), 50):
        source, target = sources[first : first + 50], targets[first : first + 50]
        ids, inputs = _padded(source, PAD_ID), _padded(target, PAD_ID)
        mask = (ids != PAD_ID)[:, None, :]
        encoded, *_ = model(
            return_type="encode", src_length=None, src_mask=mask,
            src=_padded([[old[0][i] for i in row] for row in source], pad),
        )  # fmt: skip
        theirs, *_ = model(
            return_type="decode", encoder_output=encoded, encoder_hidden=None, src_mask=mask,
            trg_input=_padded([[old[1][i] for i in row] for row in target], pad),
            unroll_steps=None, trg_mask=(inputs != PAD_ID)[:, None, :],
        )  # fmt: skip
        memory = ours.encode(ids, mask[:, None])
        logits = ours.output_projection(ours.decode(inputs, memory, mask[:, None]))
        kept, written = ids != PAD_ID, inputs != PAD_ID
        of_memory = max(of_memory, float((memory - encoded)[kept].abs().max()))
        of_logits = max(of_logits, float((logits - theirs[..., old[1]])[written].abs().max()))
    both.model.float(), ours.float()
    return of_memory, of_logits


def test_encoder_outputs_and_logits(both: Both, sources: list[list[int]]) -> None:
    differences = _differences(both, both.bundle.model, sources)
    print(differences)
    assert max(differences) <= TOLERANCE


def _changed(bundle: Bundle, change: str) -> Transformer:
    """Return the model with an error that an import could have."""
    settings: dict[str, dict[str, Any]] = {
        "split": {"sinusoid_layout": "split"},
        "epsilon": {"norm_epsilon": 1e-3},
    }
    model = Transformer.from_config(bundle.config.replace(settings.get(change, {}))).eval()
    model.load_state_dict(bundle.model.state_dict())
    if change == "shifted":
        table = model.source_embedding.tokens.weight
        table.data = table.data.roll(1, 0)
    return model


@pytest.mark.parametrize("change", ["split", "epsilon", "shifted"])
def test_the_comparison_sees_errors(both: Both, sources: list[list[int]], change: str) -> None:
    assert max(_differences(both, _changed(both.bundle, change), sources[:50])) > 5 * TOLERANCE
