"""An imported model of JoeyNMT computes what JoeyNMT computes from its folder."""

import copy
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
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
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
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
LONGEST, SHORTEST = 32, 6  # tokens of a translation
END_LOGIT = 6.0
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
        # There is no bias of the output: the end is as probable as the last LayerNorm's bias makes
        # it.
        last = model.decoder.layer_norm or model.decoder.layers[-1].feed_forward.layer_norm
        end = model.decoder.output_layer.weight[model.eos_index]
        end.add_(last.bias * (END_LOGIT / last.bias.square().sum()))
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


@torch.inference_mode()
def _generated(
    both: Both, sources: list[list[int]], beam: int, **settings: Any
) -> list[tuple[list[int], float]]:
    """Return JoeyNMT's translations in the ids of Headway, and the log-probabilities of a beam."""
    from joeynmt.search import search

    old, target = both.theirs(0), both.theirs(1)
    new = {theirs: ours for ours, theirs in enumerate(target)}
    results = []
    for first in range(0, len(sources), 50):
        group = sources[first : first + 50]
        ids = _padded([[old[i] for i in row] for row in group], both.model.pad_index)
        batch = SimpleNamespace(
            src=ids, src_mask=(ids != both.model.pad_index)[:, None], has_trg=False,
            src_length=torch.tensor([len(row) for row in group]),
        )  # fmt: skip
        written, scores, _ = search(
            both.model, batch, LONGEST, beam, beam_alpha=-1, return_prob="hyp", **settings
        )
        for row, score in zip(written.tolist(), scores.tolist(), strict=True):
            kept = [new[i] for i in row]
            kept = kept[: kept.index(END_ID)] if END_ID in kept else kept
            results.append((kept, score[0]))
    return results


def _translated(
    both: Both, sources: list[list[int]], beam: int, shortest: int = 0
) -> list[Hypothesis]:
    options = SearchOptions(beam_size=beam, length_penalty=0.0, min_length=shortest)
    requests = [Request(row, LONGEST) for row in sources]
    return [best[0] for best in search_all(build_engine(both.bundle.model), options, requests)]


@pytest.fixture
def without_padding(both: Both) -> Iterator[None]:
    """Give padding no chance in JoeyNMT, whose greedy search may put it out; ours never does."""

    def forbid(layer: Any, inputs: Any, logits: Tensor) -> Tensor:
        return logits.index_fill(-1, torch.tensor([both.model.pad_index]), -math.inf)

    handle = both.model.decoder.output_layer.register_forward_hook(forbid)
    yield
    handle.remove()


def test_greedy_translations(both: Both, sources: list[list[int]], without_padding: None) -> None:
    settings = {"generate_unk": False, "min_output_length": SHORTEST}
    ours = [list(h.ids) for h in _translated(both, sources, 1, SHORTEST)]
    theirs = [ids for ids, _ in _generated(both, sources, 1, **settings)]
    kinds = len(set(map(tuple, theirs)))
    different = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    print(f"greedy: {len(ours)} compared, {kinds} different texts, {different}")
    assert kinds > 10  # translations of nothing but one text would hide an error
    assert not different


def test_other_greedy_translations_differ_by_special_tokens_alone(
    both: Both, sources: list[list[int]]
) -> None:
    """JoeyNMT may put out <pad> and <unk>, and by default no end as the first token."""
    ours = [list(h.ids) for h in _translated(both, sources, 1)]
    theirs = [ids for ids, _ in _generated(both, sources, 1)]
    written = both.bundle.target_tokenizer.piece
    reasons = Counter(
        written(next(b for a, b in zip(mine, other, strict=False) if a != b)) if mine else "empty"
        for mine, other in zip(ours, theirs, strict=True)
        if mine != other
    )
    print(reasons)
    assert reasons.keys() <= {"empty", "<pad>", "<unk>"}
    assert reasons["empty"] > 0


def test_beams(both: Both, sources: list[list[int]]) -> None:
    settings = {"generate_unk": False, "min_output_length": SHORTEST}
    ours = _translated(both, sources, 4, SHORTEST)
    theirs = _generated(both, sources, 4, **settings)
    # Where the output limit ends a translation, only ours counts the probability of the end.
    pairs = [(o, t) for o, t in zip(ours, theirs, strict=True) if o.complete]
    different = [(o, t) for o, t in pairs if list(o.ids) != t[0]]
    print(f"beam 4: {len(pairs)} compared, {different}")
    assert len(pairs) > 0.7 * len(sources)
    assert not different
    assert all(o.log_prob == pytest.approx(log_prob, abs=1e-3) for o, (_, log_prob) in pairs)
