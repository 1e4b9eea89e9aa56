"""A model of fairseq: what it computes, its ids and settings, and refusals by name."""

import argparse
import copy
import math
import os
import re
import sys
import types
import typing
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import torch.nn.functional as F
from tests.unit.interop.checkpoints.conftest import LINES, draw, pieces_of
from tests.unit.interop.checkpoints.reference import Reference
from torch import Tensor

from headway.bundle import Bundle, load_bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.data.word_merges import joined
from headway.decoding.options import SearchOptions
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError
from headway.interop.checkpoints import import_fairseq

WIDTH, INNER, HEADS, LAYERS = 12, 7, 3, {"encoder": 2, "decoder": 1}
START, PAD, END, UNK = range(4)  # in fairseq
WORDS = {
    "de": ["das", "hau@@", "s", "ist", ".", "ein", "Kin@@", "d", "spielt", "madeupword0000"],
    "en": ["the", "hou@@", "se", "is", ".", "a", "child", "play@@", "s", "green", "old", "house"],
}
Files = dict[str, Any]


def dictionary(words: list[str]) -> str:
    """Return the file of a dictionary."""
    return "".join(f"{word} {100 - i}\n" for i, word in enumerate(words))


def positions(length: int, first: int = 2) -> Tensor:
    """Return fairseq's sinusoids, whose first token has the position after the id of padding."""
    half = WIDTH // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float64) * -math.log(10000) / (half - 1))
    angles = torch.arange(first, first + length, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def settings(**changes: Any) -> dict[str, Any]:
    """Return the options of a training."""
    stack = {"embed_dim": WIDTH, "ffn_embed_dim": INNER, "attention_heads": HEADS}
    options = {f"{side}_{name}": value for side in LAYERS for name, value in stack.items()}
    options |= {f"{side}_layers": number for side, number in LAYERS.items()}
    return options | {
        "arch": "transformer_iwslt_de_en", "task": "translation", "source_lang": "de",
        "target_lang": "en", "encoder_normalize_before": False, "decoder_normalize_before": False,
        "share_decoder_input_output_embed": True, "share_all_embeddings": False, "dropout": 0.3,
        "attention_dropout": 0.1, "activation_dropout": 0.0, "relu_dropout": 0.2,
        "activation_fn": "relu", "no_scale_embedding": False, "adaptive_softmax_cutoff": None,
        "encoder_learned_pos": False, "decoder_learned_pos": False, "encoder_layerdrop": 0,
        "max_source_positions": 40, "max_target_positions": 40, "lr": [0.0005],
    } | changes  # fmt: skip


def state_of(sizes: tuple[int, int], options: dict[str, Any]) -> dict[str, Tensor]:
    """Return random weights under fairseq's names."""
    torch.manual_seed(4)
    state: dict[str, Tensor] = {}

    def table(name: str, rows: int) -> None:
        state[f"{name}.weight"] = draw(rows, WIDTH)
        state[f"{name}.weight"][PAD] = 0

    def linear(name: str, rows: int, columns: int) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = draw(rows, columns), draw(rows)

    def norm(name: str) -> None:  # a large bias would decide each translation
        state[f"{name}.weight"], state[f"{name}.bias"] = 1 + draw(WIDTH), draw(WIDTH) / 5

    table("encoder.embed_tokens", sizes[0])
    table("decoder.embed_tokens", sizes[1])
    if options["share_all_embeddings"]:
        state["decoder.embed_tokens.weight"] = state["encoder.embed_tokens.weight"]
    table("decoder.output_projection", sizes[1])
    if options["share_all_embeddings"] or options["share_decoder_input_output_embed"]:
        state["decoder.output_projection.weight"] = state["decoder.embed_tokens.weight"]
    for stack, layers in LAYERS.items():
        state[f"{stack}.version"] = torch.tensor([3.0])
        if options["encoder_learned_pos"]:
            state[f"{stack}.embed_positions.weight"] = draw(42, WIDTH)
        else:
            state[f"{stack}.embed_positions._float_tensor"] = torch.zeros(1)
        for layer in range(layers):
            at = f"{stack}.layers.{layer}"
            for name in ("self_attn", "encoder_attn")[: 1 if stack == "encoder" else 2]:
                for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    linear(f"{at}.{name}.{part}", WIDTH, WIDTH)
                norm(f"{at}.{name}_layer_norm")
            linear(f"{at}.fc1", INNER, WIDTH)
            linear(f"{at}.fc2", WIDTH, INNER)
            if stack == "encoder":  # copies of an earlier state, which are not read
                for name, rows, columns in (
                    ("in_proj", 3 * WIDTH, WIDTH), ("out_proj", WIDTH, WIDTH),
                    ("fc1", INNER, WIDTH), ("fc2", WIDTH, INNER),
                ):  # fmt: skip
                    state[f"{at}.{name}_weight"] = torch.zeros(rows, columns)
                    state[f"{at}.{name}_bias"] = torch.zeros(rows)
            norm(f"{at}.final_layer_norm")
        if options["encoder_normalize_before"]:
            norm(f"{stack}.layer_norm")
    return state


def as_it_was(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights under the names of fairseq's first versions."""
    old = dict(state)
    for name in list(state):
        if name.endswith("q_proj.weight"):
            at = name.removesuffix("q_proj.weight")
            for kind in ("weight", "bias"):
                parts = [old.pop(f"{at}{part}_proj.{kind}") for part in "qkv"]
                old[f"{at}in_proj_{kind}"] = torch.cat(parts)
    for stack in LAYERS:
        norms = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
        if stack == "encoder":
            del norms[1]
        for name in [name for name in old if name.startswith(f"{stack}.layers")]:
            for number, norm in enumerate(norms):
                if norm in name:
                    old[name.replace(norm, f"layer_norms.{number}")] = old.pop(name)
        for name in [name for name in old if re.search(r"layers\.\d+\.\w+$", name)]:
            del old[name]
        del old[f"{stack}.version"], old[f"{stack}.embed_positions._float_tensor"]
        table = positions(60, 0).float()
        table[PAD] = 0
        old[f"{stack}.embed_positions.weights"] = table
    output = old.pop("decoder.output_projection.weight")
    if not torch.equal(output, old["decoder.embed_tokens.weight"]):
        old["decoder.embed_out"] = output
    return old


def checkpoint(state: dict[str, Tensor], **content: Any) -> dict[str, Any]:
    """Return what fairseq saves."""
    return {
        "args": None, "cfg": None, "model": state, "criterion": None,
        "optimizer_history": [{"optimizer_name": "FairseqAdam", "num_updates": 9}],
        "extra_state": {"train_iterator": {"epoch": 2}, "val_loss": 3.0, "metrics": []},
        "last_optimizer_state": {"state": {0: {"step": 3, "exp_avg": torch.zeros(2)}}},
    } | content  # fmt: skip


@pytest.fixture
def files() -> Files:
    """Return the content of a folder by file; a test changes it before it is written."""
    return {f"dict.{side}.txt": dictionary(words) for side, words in WORDS.items()} | {
        "checkpoint_best.pt": made(settings())
    }


def made(options: dict[str, Any], words: dict[str, list[str]] = WORDS) -> dict[str, Any]:
    """Return a checkpoint with these options."""
    sizes = 4 + len(words["de"]), 4 + len(words["en"])
    return checkpoint(state_of(sizes, options), args=argparse.Namespace(**options))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Files], Path]:
    """Return a function that writes files into a folder."""

    def write_folder(files: Files) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            elif isinstance(content, str):
                (folder / name).write_text(content, encoding="utf-8")
            else:
                torch.save(content, folder / name)
        return folder

    return write_folder


def as_theirs(name: str) -> str:
    """Return fairseq's name of a tensor of the paper's model."""
    for old, new in {
        "source_embedding.tokens": "encoder.embed_tokens",
        "target_embedding.tokens": "decoder.embed_tokens",
        "output_projection": "decoder.output_projection",
        "feed_forward.w_1": "fc1", "feed_forward.w_2": "fc2",
        "feed_forward_residual.norm": "final_layer_norm",
        "self_attention_residual.norm": "self_attn_layer_norm",
        "cross_attention_residual.norm": "encoder_attn_layer_norm",
        "self_attention": "self_attn", "cross_attention": "encoder_attn",
        "w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj",
        "encoder.norm": "encoder.layer_norm", "decoder.norm": "decoder.layer_norm",
    }.items():  # fmt: skip
        name = name.replace(old, new)
    return name


ACTIVATIONS = {
    "relu": F.relu, "gelu": F.gelu, "swish": F.silu,
    "gelu_accurate": lambda x: F.gelu(x, approximate="tanh"),
}  # fmt: skip


def reference(state: dict[str, Tensor], options: dict[str, Any], **changes: Any) -> Reference:
    """Return fairseq's equations with these weights."""
    learned = {
        side: state[f"{stack}.embed_positions.weight"][2:]
        for side, stack in (("source", "encoder"), ("target", "decoder"))
        if options["encoder_learned_pos"]
    }
    given: dict[str, Any] = {
        "epsilon": 1e-5, "positions": learned or positions(40),
        "scale": not options["no_scale_embedding"],
    }  # fmt: skip
    return Reference(
        lambda name: state[as_theirs(name)], LAYERS, HEADS, options["encoder_normalize_before"],
        activation=ACTIVATIONS[options["activation_fn"]], **(given | changes),
    )  # fmt: skip


def new_id(old: int) -> int:
    """Return our id of fairseq's; its <s> is a usual token here."""
    return {START: 4, PAD: PAD_ID, END: END_ID, UNK: UNK_ID}.get(old, old + 1)


def differences(bundle: Bundle, expected: Reference, start: int = END) -> float:
    """Return the largest difference of memory and of logits from the equations."""
    source, target = [9, 5, 4, 11, 3, 0, 2], [8, 6, 13, 5, 0, 3]
    memory, logits = expected(source, [start, *target])
    rows = torch.tensor([[new_id(i) for i in source]])
    inputs = torch.tensor([[START_ID, *(new_id(i) for i in target)]])
    mask = (rows != PAD_ID)[:, None, None]
    with torch.inference_mode():
        ours = bundle.model.double()
        found = ours.encode(rows, mask)
        scores = ours.output_projection(ours.decode(inputs, found, mask))[0]
    # The start symbol takes no part in the probabilities.
    columns = [new_id(i) for i in range(logits.size(1))]
    assert sorted([*columns, START_ID]) == list(range(scores.size(1)))
    assert float(scores[:, START_ID].max()) < float(scores[:, columns].min()) - 20
    both = (found[0] - memory, scores[:, columns] - logits)
    return max(float(difference.abs().max()) for difference in both)


SHARED = {"share_all_embeddings": True, "target_lang": "de"}
FORMS: dict[str, dict[str, Any]] = {
    "post, relu": {},
    "pre, gelu, three tables": {
        "encoder_normalize_before": True, "decoder_normalize_before": True,
        "activation_fn": "gelu", "share_decoder_input_output_embed": False,
    },
    "one table, without scale": SHARED | {
        "no_scale_embedding": True, "activation_fn": "gelu_accurate"
    },
    "learned positions": {
        "encoder_learned_pos": True, "decoder_learned_pos": True, "activation_fn": "swish"
    },
}  # fmt: skip


def in_form(files: Files, **changes: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Change the files to one of the forms; return weights and options."""
    options = settings(**changes)
    words = {"de": WORDS["de"], "en": WORDS[options["target_lang"]]}
    files["checkpoint_best.pt"] = made(options, words)
    return files["checkpoint_best.pt"]["model"], options


@pytest.mark.parametrize("name", FORMS)
def test_what_it_computes(name: str, files: Files, write: Callable, tmp_path: Path) -> None:
    state, options = in_form(files, **FORMS[name])
    import_fairseq(write(files), tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    assert differences(bundle, reference(state, options)) < 1e-9
    tables = {(True, True): "all", (False, True): "target", (False, False): "none"}
    shared = options["share_all_embeddings"], options["share_decoder_input_output_embed"]
    assert bundle.config.shared_embeddings == tables[shared]
    # The test can fail.
    for change in (
        {"positions": positions(40, 0)}, {"positions": positions(40, 1)}, {"epsilon": 1e-6},
        {"scale": options["no_scale_embedding"]},
    ):  # fmt: skip
        assert differences(bundle, reference(state, options, **change)) > 1e-6, change
    for start in (START, PAD):
        assert differences(bundle, reference(state, options), start) > 1e-2


def test_a_checkpoint_of_the_first_versions(files: Files, write: Callable, tmp_path: Path) -> None:
    for tied in (True, False):
        state, options = in_form(files, share_decoder_input_output_embed=tied)
        content = files["checkpoint_best.pt"]
        content["model"] = as_it_was(state)
        assert "encoder.layers.1.layer_norms.1.bias" in content["model"]
        for name in ("encoder_layerdrop", "no_scale_embedding", "activation_fn"):
            delattr(content["args"], name)
        bundle = import_fairseq(write(files), tmp_path / f"out-{tied}").bundle
        assert differences(bundle, reference(state, options)) < 1e-9


def written_by(expected: Reference, ids: list[int], words: list[str], start: int = END) -> str:
    """Return the most probable token at each step, by the equations."""
    target = [start]
    while len(target) <= 9 and (target[-1] != END or len(target) == 1):
        scores = expected([*ids, END], target)[1][-1]
        scores[[PAD, UNK]] = -math.inf  # Headway writes neither
        target.append(int(scores.argmax()))
    return " ".join(words[i - 4] for i in target[1:] if i not in (START, END))


@pytest.mark.parametrize("pre", [False, True])
def test_greedy_translations(pre: bool, files: Files, write: Callable, tmp_path: Path) -> None:
    # A table of its own for the output: with one for both, random weights repeat the last token.
    state, form = in_form(
        files, share_decoder_input_output_embed=False,
        encoder_normalize_before=pre, decoder_normalize_before=pre,
    )  # fmt: skip
    expected = reference(state, form)
    translator = TextTranslator(import_fairseq(write(files), tmp_path / "out").bundle)
    sources = [torch.randint(UNK, 13, (length,)).tolist() for length in (1, 2, 3, 4, 6, 9) * 2]
    texts = [" ".join("Zebra" if i == UNK else WORDS["de"][i - 4] for i in ids) for ids in sources]
    options = SearchOptions(beam_size=1, max_length=9)
    found = translator.translate(texts, options=options, split_sentences=False, mend_runaways=False)
    written = [translation.text for translation in found]
    assert written == [written_by(expected, ids, WORDS["en"]) for ids in sources]
    assert len(set(written)) > 1
    # The test can fail.
    for change in ({"positions": positions(40, 0)}, {"scale": False}):
        other = reference(state, form, **change)
        assert written != [written_by(other, ids, WORDS["en"]) for ids in sources]
    assert written != [written_by(expected, ids, WORDS["en"], START) for ids in sources]


class Node:
    """Stand for the classes of omegaconf, whose content is in attributes."""

    def __init__(self, **attributes: Any) -> None:
        kinds = {"reference": typing.Any, "elements": typing.List[int]}  # noqa: UP006
        self.__dict__.update(attributes, _parent=self, _metadata=(kinds, defaultdict(dict)))


@pytest.fixture
def omegaconf(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Return a module `omegaconf` while something is pickled."""
    module = types.ModuleType("omegaconf")
    for name in ("DictConfig", "AnyNode"):
        kind = type(name, (Node,), {"__module__": "omegaconf"})
        setattr(module, name, kind)
    monkeypatch.setitem(sys.modules, "omegaconf", module)
    return module


def nested(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a model in sections."""
    flat = {n: v for n, v in options.items() if not n.startswith(("encoder_", "decoder_"))}
    for stack in LAYERS:
        flat[stack] = {
            name.removeprefix(f"{stack}_"): value
            for name, value in options.items()
            if name.startswith(f"{stack}_")
        }
    return flat


@pytest.mark.parametrize("form", ["namespaces", "sections", "omegaconf"])
def test_settings_of_later_versions(
    form: str, files: Files, write: Callable, tmp_path: Path,
    omegaconf: types.ModuleType, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = settings(_name="transformer_iwslt_de_en", decoder_output_dim="${model.embed_dim}")
    task = {"_name": "translation", "source_lang": "de", "target_lang": "en", "data": "???"}
    cfg: Any = {"model": argparse.Namespace(**options), "task": task, "common": {"seed": 1}}
    if form == "sections":
        cfg["model"] = nested(options)
    if form == "omegaconf":
        leaf, section = omegaconf.AnyNode, omegaconf.DictConfig
        within = section(_content={name: leaf(_val=value) for name, value in task.items()})
        model = leaf(_val=cfg["model"])
        cfg = section(_content={"model": model, "task": within, "common": leaf(_val=None)})
    content = files["checkpoint_best.pt"] | {"args": None, "cfg": cfg}
    folder = write(files | {"checkpoint_best.pt": content})
    monkeypatch.delitem(sys.modules, "omegaconf")
    monkeypatch.setitem(sys.modules, "omegaconf", None)  # an import would fail
    bundle = import_fairseq(folder, tmp_path / "out").bundle
    assert differences(bundle, reference(content["model"], settings())) < 1e-9
    assert (bundle.source_language, bundle.target_language) == ("de", "en")


def test_words_and_settings(files: Files, write: Callable, tmp_path: Path) -> None:
    imported = import_fairseq(write(files), tmp_path / "out", target_language="English")
    bundle = load_bundle(tmp_path / "out")
    assert (bundle.source_language, bundle.target_language) == ("de", "English")
    assert bundle.record["imported"] == {"kind": "fairseq"}
    config = bundle.config
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.3, 0.1, 0.2)
    assert len(imported.notes) == 1
    assert "cut into subwords as in the training, and remove '@@'" in imported.notes[0]
    tokenizer = bundle.source_tokenizer
    ids = tokenizer.encode("  ein hau@@ s  ist grün . <s> ")
    cut = ["▁ein", "▁hau@@", "▁s", "▁ist", "<unk>", "▁.", "<unk>"]
    assert tokenizer.pieces(ids) == cut
    assert tokenizer.decode(ids[:4]) == "ein hau@@ s ist"
    assert tokenizer.decode([4, ids[2]]) == "s"  # <s> is not text
    assert tokenizer.encode("madeupword0000") == [len(tokenizer) - 1]


CODES = "#version: 0.2\nh a\nha u\nK i\nKi n\np l\npl a\npla y\nd a\nda s</w>\n"
CODES += "i s\nis t</w>\ne i\nei n</w>\n"


def test_merges_of_subword_nmt(files: Files, write: Callable, tmp_path: Path) -> None:
    folder = write(files | {"bpecodes": CODES})
    imported = import_fairseq(folder, tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    assert "joined by the merges" in imported.notes[0]
    tokenizer = bundle.source_tokenizer
    ids = tokenizer.encode(" das haus  ist ein Kind .")
    cut = ["das", "hau@@", "s", "ist", "ein", "Kin@@", "d", "."]
    assert tokenizer.pieces(ids) == [f"▁{token}" for token in cut]
    assert tokenizer.decode(ids) == "das haus ist ein Kind ."
    (folder / "bpecodes").unlink()
    import_fairseq(folder, tmp_path / "plain")
    plain = load_bundle(tmp_path / "plain")
    assert plain.source_tokenizer.encode(" ".join(cut)) == ids
    options = SearchOptions(beam_size=1, max_length=9)
    written = [
        TextTranslator(each).translate(text, options=options, split_sentences=False).text
        for each, text in ((bundle, "das haus ."), (plain, "das hau@@ s ."))
    ]
    assert written[0] == joined(written[1])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"bpecodes": "a b c d\n"}, "Line 1 of the codes"),
        ({"code": CODES, "bpecodes": CODES}, "has bpecodes and code"),
        ({"code": CODES, "both.model": b"?"}, r"has code and both\.model"),
    ],
)
def test_merges_that_do_not_fit(
    more: Files, message: str, files: Files, write: Callable, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=message):
        import_fairseq(write(files | more), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_merges_are_not_exported(files: Files, write: Callable, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("headway.interop.ctranslate2")
    bundle = import_fairseq(write(files | {"code": CODES}), tmp_path / "out").bundle
    with pytest.raises(ConfigError, match="merges of subword-nmt"):
        ctranslate2.export(bundle, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_sentencepiece(
    files: Files, write: Callable, tmp_path: Path, models: tuple[bytes, bytes]
) -> None:
    # fairseq fills up a dictionary; the kind BPE has no such token, the kind unigram may have more.
    words = {
        "de": [*reversed(pieces_of(models[0])[:-2]), "madeupword0000", "madeupword0001"],
        "en": [*reversed(pieces_of(models[1])[1:]), "ü", "madeupword0000"],
    }
    files |= {f"dict.{side}.txt": dictionary(listed) for side, listed in words.items()}
    files |= {"spm.de.model": models[0], "spm.en.model": models[1]}
    files["checkpoint_best.pt"] = made(settings(), words)
    folder = write(files)
    imported = import_fairseq(folder, tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    assert imported.notes == []
    for side, tokenizer in (("de", bundle.source_tokenizer), ("en", bundle.target_tokenizer)):
        processor = sentencepiece.SentencePieceProcessor(str(folder / f"spm.{side}.model"))
        for line in [*LINES, "Zebra the cats 123", "the mat ü the"]:
            line = line.upper().replace("Ü", "ü") if side == "en" else line
            pieces = processor.encode(line, out_type=str)
            expected = [piece if piece in words[side] else "<unk>" for piece in pieces]
            ids = tokenizer.encode(line)
            assert tokenizer.pieces(ids) == expected
            assert "<unk>" in expected or tokenizer.decode(ids) == processor.decode(pieces)
    filled = bundle.source_tokenizer.id("madeupword0001")
    assert filled == bundle.config.source_vocab_size - 1
    assert bundle.source_tokenizer.decode([filled]) == ""
    (folder / "spm.en.model").write_bytes(b"no model")
    with pytest.raises(BundleError, match=r"spm\.en\.model: This is not a SentencePiece model"):
        import_fairseq(folder, tmp_path / "other")


def test_which_sentencepiece_model_is_read(
    files: Files, write: Callable, tmp_path: Path, models: tuple[bytes, bytes]
) -> None:
    words = {side: pieces_of(models[0]) for side in WORDS}
    files |= {f"dict.{side}.txt": dictionary(listed) for side, listed in words.items()}
    files["checkpoint_best.pt"] = made(settings(**SHARED | {"target_lang": "en"}), words)
    with pytest.raises(BundleError, match=r"has the token .* If a SentencePiece model made"):
        import_fairseq(write(files), tmp_path / "out")
    folder = write(files | {"sentencepiece.bpe.model": models[0]})
    bundle = import_fairseq(folder, tmp_path / "one").bundle
    assert bundle.source_tokenizer == bundle.target_tokenizer
    assert bundle.config.shared_embeddings == "all"
    (folder / "other.model").write_bytes(models[1])
    with pytest.raises(BundleError, match=r"of which 0 have 'de' in their name\. Keep one model"):
        import_fairseq(folder, tmp_path / "out")


def test_a_later_line_of_a_dictionary_takes_the_place_of_an_earlier_one(
    files: Files, write: Callable, tmp_path: Path
) -> None:
    words = {**WORDS, "de": [*WORDS["de"], "ist"]}
    files["dict.de.txt"] += "ist 7 #fairseq:overwrite\n"
    files["checkpoint_best.pt"] = made(settings(), words)
    tokenizer = import_fairseq(write(files), tmp_path / "out").bundle.source_tokenizer
    assert tokenizer.encode("ist") == [len(tokenizer) - 1]
    assert tokenizer.decode([new_id(4 + 3)]) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("das 3\nist\n", r"Line 2 of .* is 'ist', but must be a token and its number"),
        ("das x\n", "Line 1 of"),
        ("das 3\ndas 2\n", r"Line 2 of .* has the token 'das', which it already has"),
        ("<pad> 3 #fairseq:overwrite\n", "Line 1 of .* which it already has"),
        ("das 3\n", r"'encoder.embed_tokens.weight' in .* has the shape \(14, 12\)"),
        (" 3\n", "The vocabulary has the token ''"),
        (b"\xff 3\n", "is not in UTF-8"),
    ],
)
def test_a_dictionary_that_does_not_fit(
    text: str | bytes, message: str, files: Files, write: Callable, tmp_path: Path
) -> None:
    files["dict.de.txt"] = text
    with pytest.raises(BundleError, match=message):
        import_fairseq(write(files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


REFUSED = [
    ("arch", "transformer_lm"),
    ("task", "translation_multi_simple_epoch"),
    ("source_lang", None),
    ("target_lang", "../en"),
    ("encoder_embed_dim", None),
    ("encoder_attention_heads", "3"),
    ("decoder_embed_dim", 24),
    ("decoder_ffn_embed_dim", 9),
    ("decoder_attention_heads", 4),
    ("decoder_normalize_before", True),
    ("decoder_learned_pos", True),
    ("decoder_input_dim", 8),
    ("decoder_output_dim", 8),
    ("activation_fn", "tanh"),
    ("adaptive_input", True),
    ("adaptive_softmax_cutoff", [1000, 2000]),
    ("layernorm_embedding", True),
    ("merge_src_tgt_embed", True),
    ("no_cross_attention", True),
    ("cross_self_attention", True),
    ("no_token_positional_embeddings", True),
    ("no_decoder_final_norm", True),
    ("encoder_layerdrop", 0.2),
    ("decoder_layerdrop", 0.2),
    ("encoder_layers_to_keep", "0,2"),
    ("decoder_layers_to_keep", "0"),
    ("quant_noise_pq", 0.1),
    ("quant_noise_scalar", 0.1),
    ("char_inputs", True),
    ("base_layers", 1),
    ("scale_heads", True),
    ("share_all_embeddings", True),
    ("no_scale_embedding", 1),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=[name for name, _ in REFUSED])
def test_a_setting_is_refused_by_its_name(
    name: str, value: Any, files: Files, write: Callable, tmp_path: Path
) -> None:
    setattr(files["checkpoint_best.pt"]["args"], name, value)
    with pytest.raises(BundleError, match=f"'args.{name}'"):
        import_fairseq(write(files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_learned_positions_of_two_lengths(files: Files, write: Callable, tmp_path: Path) -> None:
    in_form(files, **FORMS["learned positions"], max_target_positions=30)
    with pytest.raises(BundleError, match=r"'args\.max_target_positions'"):
        import_fairseq(write(files), tmp_path / "out")


def _without(name: str) -> Callable[[dict[str, Tensor]], None]:
    return lambda state: state.__delitem__(name)


def _with(name: str, tensor: Tensor) -> Callable[[dict[str, Tensor]], None]:
    return lambda state: state.update({name: tensor})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("encoder.layers.1.self_attn.k_proj.bias"), "lack 'encoder.layers.1.self_attn.k"),
        (_with("decoder.embed_length.weight", torch.ones(3, WIDTH)), "have 'decoder.embed_length"),
        (_with("encoder.embed_positions.weight", torch.ones(42, WIDTH)), "have 'encoder.embed_pos"),
        (_with("decoder.layers.0.fc1.bias", torch.ones(5)), r"shape \(5,\)"),
        (_with("decoder.embed_tokens.weight", torch.ones(9, WIDTH)), r"shape \(9, 12\)"),
        (_with("decoder.output_projection.weight", torch.ones(16, WIDTH)),
         "'args.share_decoder_input_output_embed'"),
        (_with("decoder.embed_positions.weights", positions(50, 1)), "other than sinusoids"),
        (_with("encoder.version", torch.ones(2)), r"shape \(2,\)"),
        (_with("encoder.layers.0.fc1.bias", torch.full((INNER,), math.nan)), "is not finite"),
        (_with("encoder.layers.0.fc1.bias", torch.ones(INNER, dtype=torch.int64)), "type int64"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit(
    change: Callable, message: str, files: Files, write: Callable, tmp_path: Path
) -> None:
    state = files["checkpoint_best.pt"]["model"]
    change(state)
    if "weights" in (name := list(state)[-1]):
        state[name] = state[name].float()
    with pytest.raises(BundleError, match=message):
        import_fairseq(write(files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("stack", LAYERS)
def test_an_old_pre_norm_model(stack: str, files: Files, write: Callable, tmp_path: Path) -> None:
    state, _ = in_form(files, **FORMS["pre, gelu, three tables"])
    state[f"{stack}.version"] = torch.tensor([1.0])
    with pytest.raises(BundleError, match=f"The {stack} in .* without a LayerNorm after its last"):
        import_fairseq(write(files), tmp_path / "out")


def test_weights_in_float16(files: Files, write: Callable, tmp_path: Path) -> None:
    content = files["checkpoint_best.pt"]
    state = {name: tensor.half() for name, tensor in content["model"].items()}
    imported = import_fairseq(
        write(files | {"checkpoint_best.pt": content | {"model": state}}), tmp_path / "out"
    )
    assert "The weights are float16" in imported.notes[-1]
    assert differences(imported.bundle, reference(state, settings())) < 1e-9


class Touch:
    """An object whose pickle creates a folder when it is loaded by `pickle`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", ["extra_state", "args"])
def test_code_in_a_checkpoint_is_not_executed(
    place: str, zipped: bool, files: Files, write: Callable, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    content = files["checkpoint_best.pt"] | {place: Touch(canary)}
    folder = write(files)
    checkpoint = folder / "checkpoint_best.pt"
    torch.save(content, checkpoint, _use_new_zipfile_serialization=zipped)
    with pytest.raises(BundleError, match=r"\((posix|nt)\.mkdir\); its code was not executed"):
        import_fairseq(folder, tmp_path / "out")
    assert not canary.exists()
    assert not (tmp_path / "out").exists()
    torch.load(checkpoint, weights_only=False)
    assert canary.exists()  # the canary works


def test_a_record_around_itself(
    files: Files, write: Callable, tmp_path: Path, omegaconf: types.ModuleType
) -> None:
    node = omegaconf.AnyNode()
    node.__dict__.update(_val=node, _content=node)
    for content in ({"args": node}, {"args": None, "cfg": node}):
        changed = files["checkpoint_best.pt"] | content
        with pytest.raises(BundleError, match="has neither 'args' nor 'cfg'"):
            import_fairseq(write(files | {"checkpoint_best.pt": changed}), tmp_path / "out")


def test_truncated_files(files: Files, write: Callable, tmp_path: Path) -> None:
    folder = write(files)
    whole = (folder / "checkpoint_best.pt").read_bytes()
    for length in (0, 100, len(whole) // 2, len(whole) - 1):
        (folder / "checkpoint_best.pt").write_bytes(whole[:length])
        with pytest.raises(BundleError, match="is not a file of weights"):
            import_fairseq(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_before_pytorch_1_6(files: Files, write: Callable, tmp_path: Path) -> None:
    folder = write(files)
    content = files["checkpoint_best.pt"]
    path = folder / "checkpoint_best.pt"
    torch.save(content, path, _use_new_zipfile_serialization=False)
    bundle = import_fairseq(folder, tmp_path / "out").bundle
    assert differences(bundle, reference(content["model"], settings())) < 1e-9


def test_a_missing_dictionary(files: Files, write: Callable, tmp_path: Path) -> None:
    del files["dict.en.txt"]
    with pytest.raises(BundleError, match=r"dict.en.txt is missing. Copy the dictionaries"):
        import_fairseq(write(files), tmp_path / "out")


def test_which_checkpoint_is_read(files: Files, write: Callable, tmp_path: Path) -> None:
    content = files.pop("checkpoint_best.pt")
    with pytest.raises(BundleError, match=r"no file that ends in \.pt, and no checkpoint_best\.pt"):
        import_fairseq(write(files), tmp_path / "out")
    folder = write(files | {"checkpoint10.pt": content})
    import_fairseq(folder, tmp_path / "only")
    (folder / "checkpoint20.pt").write_bytes(b"")
    with pytest.raises(BundleError, match="2 files that end"):
        import_fairseq(folder, tmp_path / "out")
    import_fairseq(folder / "checkpoint10.pt", tmp_path / "named")
    with pytest.raises(BundleError, match="does not exist"):
        import_fairseq(tmp_path / "nowhere", tmp_path / "out")


def test_another_pickle(files: Files, write: Callable, tmp_path: Path) -> None:
    whole = files["checkpoint_best.pt"]
    for content in (
        [1, 2], {"weights": {}}, whole | {"model": [3]}, whole | {"model": {"a": 1}},
        whole | {"args": [1]}, whole | {"args": None, "cfg": {"model": {}}}, whole | {"args": None},
    ):  # fmt: skip
        with pytest.raises(BundleError):
            import_fairseq(write(files | {"checkpoint_best.pt": content}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert copy.copy(whole) == whole
