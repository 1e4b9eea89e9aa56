"""A model of JoeyNMT: what it computes, its ids and settings, and refusals by name."""

import copy
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import torch.nn.functional as F
import yaml
from tests.unit.interop.checkpoints.conftest import LINES, draw, pieces_of
from tests.unit.interop.checkpoints.reference import Reference
from torch import Tensor

from headway.bundle import load_bundle
from headway.data.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID
from headway.errors import BundleError
from headway.interop.checkpoints import import_joeynmt
from headway.model.transformer import Transformer

WIDTH, INNER, HEADS, LAYERS = 12, 7, 3, {"encoder": 2, "decoder": 1}
SPECIAL = ["<unk>", "<pad>", "<s>", "</s>"]
TARGETS = ["trg_embed.lut.weight", "decoder.output_layer.weight"]
Files = dict[str, Any]


def state_of(sizes: tuple[int, int], *, pre: bool, tied: str) -> dict[str, Tensor]:
    """Return random weights under JoeyNMT's names. tied: "all", "softmax" or ""."""
    torch.manual_seed(4)
    state = {"src_embed.lut.weight": draw(sizes[0], WIDTH)}
    state["trg_embed.lut.weight"] = (
        state["src_embed.lut.weight"] if tied == "all" else draw(sizes[1], WIDTH)
    )

    def linear(name: str, rows: int, columns: int) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = draw(rows, columns), draw(rows)

    def norm(name: str) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = draw(WIDTH), draw(WIDTH)

    attentions = {
        "encoder": {"src_src_att": "layer_norm"},
        "decoder": {"trg_trg_att": "x_layer_norm", "src_trg_att": "dec_layer_norm"},
    }
    for stack, layers in LAYERS.items():
        for layer in range(layers):
            at = f"{stack}.layers.{layer}"
            for attention, its_norm in attentions[stack].items():
                for name in ("k_layer", "v_layer", "q_layer", "output_layer"):
                    linear(f"{at}.{attention}.{name}", WIDTH, WIDTH)
                norm(f"{at}.{its_norm}")
            linear(f"{at}.feed_forward.pwff_layer.0", INNER, WIDTH)
            linear(f"{at}.feed_forward.pwff_layer.3", WIDTH, INNER)
            norm(f"{at}.feed_forward.layer_norm")
        if pre:
            norm(f"{stack}.layer_norm")
        state[f"{stack}.pe.pe"] = positions(5000).float()[None]
    state["decoder.output_layer.weight"] = (
        state["trg_embed.lut.weight"] if tied else draw(sizes[1], WIDTH)
    )
    return state


def positions(length: int) -> Tensor:
    """Return sines and cosines in turn, as section 3.5 has them."""
    table = torch.empty(length, WIDTH, dtype=torch.float64)
    for column in range(WIDTH):
        angle = torch.arange(length, dtype=torch.float64) / 10000 ** ((column - column % 2) / WIDTH)
        table[:, column] = angle.cos() if column % 2 else angle.sin()
    return table


def ours_to_theirs(name: str) -> str:
    """Return JoeyNMT's name of a tensor of the paper's model."""
    for old, new in {
        "source_embedding.tokens": "src_embed.lut", "target_embedding.tokens": "trg_embed.lut",
        "output_projection": "decoder.output_layer",
        "feed_forward.w_1": "feed_forward.pwff_layer.0",
        "feed_forward.w_2": "feed_forward.pwff_layer.3",
        "feed_forward_residual.norm": "feed_forward.layer_norm",
        "cross_attention_residual.norm": "dec_layer_norm", "cross_attention": "src_trg_att",
        "w_q": "q_layer", "w_k": "k_layer", "w_v": "v_layer", "w_o": "output_layer",
    }.items():  # fmt: skip
        name = name.replace(old, new)
    if name.startswith("encoder"):
        name = name.replace("self_attention_residual.norm", "layer_norm")
        name = name.replace("self_attention", "src_src_att")
    name = name.replace("self_attention_residual.norm", "x_layer_norm")
    name = name.replace("self_attention", "trg_trg_att")
    return name.replace("encoder.norm", "encoder.layer_norm").replace(
        "decoder.norm", "decoder.layer_norm"
    )


def settings(*, pre: bool = False, activation: str = "relu", scale: bool = True) -> dict[str, Any]:
    """Return the settings of a training."""
    stack = {
        "type": "transformer", "num_heads": HEADS, "hidden_size": WIDTH, "ff_size": INNER,
        "embeddings": {"embedding_dim": WIDTH, "scale": scale, "dropout": 0.0}, "dropout": 0.2,
        "layer_norm": "pre" if pre else "post", "activation": activation,
    }  # fmt: skip
    language = {
        "level": "bpe", "lowercase": False, "normalize": False, "max_length": 60,
        "tokenizer_type": "sentencepiece",
    }  # fmt: skip
    return {
        "name": "test",
        "model_dir": "models/test",
        "data": {
            "train": "somewhere/train",
            "src": {**language, "lang": "de", "tokenizer_cfg": {"model_file": "/else/src.model"}},
            "trg": {**language, "lang": "en", "tokenizer_cfg": {"model_file": "/else/trg.model"}},
        },
        "testing": {"beam_size": 5, "beam_alpha": 1.5},
        "training": {"optimizer": "adam"},
        "model": {
            "encoder": copy.deepcopy(stack) | {"num_layers": LAYERS["encoder"]},
            "decoder": copy.deepcopy(stack) | {"num_layers": LAYERS["decoder"]},
        },
    }


def checkpoint(state: dict[str, Tensor]) -> dict[str, Any]:
    """Return what JoeyNMT saves."""
    stats = {"steps": 10, "best_ckpt_score": math.inf, "total_tokens": 100}
    optimizer = {"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": [{"lr": 1e-3}]}
    return {
        "model_state": state, "optimizer_state": optimizer, "scaler_state": None,
        "scheduler_state": {"rate": 0.1}, "train_iter_state": torch.zeros(5, dtype=torch.uint8),
        "stats_state": stats,
    }  # fmt: skip


@pytest.fixture
def files(models: tuple[bytes, bytes]) -> Files:
    """Return the content of a folder by file; a test changes it before it is written."""
    sides = [[*SPECIAL, *pieces_of(models[0])[:-3]], [*SPECIAL, *pieces_of(models[1])]]
    return {
        "config.yaml": settings(),
        "src_vocab.txt": "\n".join(sides[0]),
        "trg_vocab.txt": "\n".join(sides[1]),
        "src.model": models[0],
        "trg.model": models[1],
        "best.ckpt": checkpoint(
            state_of((len(sides[0]), len(sides[1])), pre=False, tied="softmax")
        ),
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Files], Path]:
    """Return a function that writes files into a folder."""

    def write_folder(files: Files) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            if name.endswith(".ckpt") and not isinstance(content, bytes):
                torch.save(content, folder / name)
            elif isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                text = content if isinstance(content, str) else yaml.safe_dump(content)
                (folder / name).write_text(text, encoding="utf-8")
        return folder

    return write_folder


FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "post, relu": ({}, "softmax"),
    "pre, gelu": ({"pre": True, "activation": "gelu"}, ""),
    "pre, swish, one table": ({"pre": True, "activation": "swish", "scale": False}, "all"),
}
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


def shared(files: Files) -> None:
    """Give both languages one vocabulary and one model."""
    files["trg_vocab.txt"], files["trg.model"] = files["src_vocab.txt"], files["src.model"]


def form(files: Files, name: str) -> tuple[dict[str, Any], str]:
    """Change the files to one of the forms."""
    options, tied = FORMS[name]
    files["config.yaml"]["model"] = settings(**options)["model"]
    files["config.yaml"]["model"]["tied_embeddings"] = tied == "all"
    if tied == "all":
        shared(files)
    sizes = tuple(len(files[f"{side}_vocab.txt"].split("\n")) for side in ("src", "trg"))
    files["best.ckpt"] = checkpoint(state_of(sizes, pre=options.get("pre", False), tied=tied))  # type: ignore[arg-type]
    return options, tied


def differences(files: Files, options: dict[str, Any], model: Transformer, **changes: Any) -> float:
    """Return the largest difference of memory and logits from the paper's equations."""
    state = files["best.ckpt"]["model_state"]
    given: dict[str, Any] = {
        "epsilon": 1e-6, "positions": positions(30), "scale": options.get("scale", True)
    }  # fmt: skip
    reference = Reference(
        lambda name: state[ours_to_theirs(name)], LAYERS, HEADS, options.get("pre", False),
        activation=ACTIVATIONS[options.get("activation", "relu")], **(given | changes),
    )  # fmt: skip
    source, target = [9, 5, 17, 4, 11, 3], [2, 8, 6, 19, 5]
    memory, logits = reference(source, target)
    # JoeyNMT's <unk>, <pad>, <s>, </s> are ours in another order.
    new = {0: UNK_ID, 1: PAD_ID, 2: START_ID, 3: END_ID}
    rows = torch.tensor([[new.get(i, i) for i in source]])
    mask = (rows != PAD_ID)[:, None, None]
    with torch.inference_mode():
        ours = model.double()
        found = ours.encode(rows, mask)
        inputs = torch.tensor([[new.get(i, i) for i in target]])
        scores = ours.output_projection(ours.decode(inputs, found, mask))[0]
    columns = [new.get(i, i) for i in range(logits.size(1))]
    return max(
        float((found[0] - memory).abs().max()), float((scores[:, columns] - logits).abs().max())
    )


@pytest.mark.parametrize("name", FORMS)
def test_what_it_computes(name: str, files: Files, write: Callable, tmp_path: Path) -> None:
    options, tied = form(files, name)
    import_joeynmt(write(files), tmp_path / "out")
    bundle = load_bundle(tmp_path / "out")
    assert differences(files, options, bundle.model) < 1e-9
    names = {"all": "all", "softmax": "target", "": "none"}
    assert bundle.config.shared_embeddings == names[tied]
    # The test can fail.
    assert differences(files, options, bundle.model, epsilon=1e-5) > 1e-7
    assert differences(files, options, bundle.model, positions=positions(31)[1:]) > 1e-2


def test_ids_text_and_settings(files: Files, write: Callable, tmp_path: Path) -> None:
    folder = write(files)
    imported = import_joeynmt(folder, tmp_path / "out", target_language="English")
    bundle = load_bundle(tmp_path / "out")
    assert imported.notes == []
    assert (bundle.source_language, bundle.target_language) == ("de", "English")
    assert (bundle.decoding.beam_size, bundle.decoding.length_penalty) == (5, 1.5)
    config = bundle.config
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.2,) * 3
    for side, tokenizer in (("src", bundle.source_tokenizer), ("trg", bundle.target_tokenizer)):
        processor = sentencepiece.SentencePieceProcessor(str(folder / f"{side}.model"))
        listed = files[f"{side}_vocab.txt"].split("\n")
        for line in [*LINES, "Zebra the cats 123", "the mat the"]:
            line = line.upper() if side == "trg" else line
            pieces = processor.encode(line, out_type=str)
            expected = [p if p in listed else "<unk>" for p in pieces]
            ids = tokenizer.encode(line)
            assert tokenizer.pieces(ids) == expected
            assert "<unk>" in expected or tokenizer.decode(ids) == processor.decode(pieces)
    table = bundle.model.source_embedding.tokens.weight
    theirs = files["best.ckpt"]["model_state"]["src_embed.lut.weight"]
    assert torch.equal(table[[UNK_ID, PAD_ID, START_ID, END_ID]], theirs[:4])
    (folder / "trg.model").write_bytes(b"no model")
    with pytest.raises(BundleError, match=r"trg\.model: This is not a SentencePiece model"):
        import_joeynmt(folder, tmp_path / "other")


@pytest.mark.parametrize(
    # As SentencePiece 0.2.0, which has `SetVocabulary`, cuts them; 0.2.3 has it no longer.
    ("side", "rare", "text", "cut"),
    [
        ("src", "▁the", "the cat", ["▁", "the", "▁c", "at"]),
        ("src", "do", "the dogs sat", ["▁the", "▁", "d", "o", "g", "s", "▁", "s", "at"]),
        ("trg", "▁THE", "THE CAT", ["▁", "T", "H", "E", "▁CAT"]),
    ],
)
def test_text_is_cut_within_the_vocabulary(
    side: str, rare: str, text: str, cut: list[str],
    files: Files, write: Callable, tmp_path: Path,
) -> None:  # fmt: skip
    listed = files[f"{side}_vocab.txt"].split("\n")
    assert rare in listed
    kept = [piece for piece in listed if piece != rare]
    # The fixture leaves out three single characters of the source, which are cut as before.
    files[f"{side}_vocab.txt"] = "\n".join(kept)
    state = files["best.ckpt"]["model_state"]
    names = ["src_embed.lut.weight"] if side == "src" else TARGETS
    state.update({name: state[name][:-1] for name in names})
    bundle = import_joeynmt(write(files), tmp_path / "out").bundle
    tokenizer = bundle.source_tokenizer if side == "src" else bundle.target_tokenizer
    ids = tokenizer.encode(text)
    assert tokenizer.pieces(ids) == cut
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("level", "tokens", "text", "cut"),
    [
        ("word", ["the", "dog,", "@@"], "the  dog, the cat", ["▁the", "<unk>", "▁dog,", "▁the"]),
        ("char", ["a", "▁", "é"], "a éa", ["a", "▁", "é", "a"]),
    ],
)
def test_words_and_characters(
    level: str, tokens: list[str], text: str, cut: list[str],
    files: Files, write: Callable, tmp_path: Path,
) -> None:  # fmt: skip
    for side in ("src", "trg"):
        files["config.yaml"]["data"][side] = {"lang": side, "level": level}
        files[f"{side}_vocab.txt"] = "\n".join(tokens)  # JoeyNMT adds the special tokens
    files["best.ckpt"] = checkpoint(state_of((7, 7), pre=False, tied="softmax"))
    import_joeynmt(write(files), tmp_path / "out")
    tokenizer = load_bundle(tmp_path / "out").source_tokenizer
    pieces = tokenizer.pieces(tokenizer.encode(text))
    assert pieces[: len(cut)] == cut
    known = text.replace("  ", " ").removesuffix(" cat")
    assert tokenizer.decode(tokenizer.encode(known)) == known


def test_merges_of_subword_nmt_within_the_vocabulary(
    files: Files, write: Callable, tmp_path: Path
) -> None:
    for side in ("src", "trg"):
        settings = files["config.yaml"]["data"][side]
        settings |= {"tokenizer_type": "subword-nmt", "tokenizer_cfg": {"codes": "/else/codes.txt"}}
        files[f"{side}_vocab.txt"] = "\n".join(["lo@@", "w", "l@@"])
    files["codes.txt"] = "#version: 0.2\nl o\nlo w</w>\n"
    files["best.ckpt"] = checkpoint(state_of((7, 7), pre=False, tied="softmax"))
    import_joeynmt(write(files), tmp_path / "out")
    tokenizer = load_bundle(tmp_path / "out").source_tokenizer
    ids = tokenizer.encode("low  lw")
    assert tokenizer.pieces(ids) == ["▁lo@@", "▁w", "▁l@@", "▁w"]  # `low` is not in it
    assert tokenizer.decode(ids) == tokenizer.normalize("low  lw") == "low lw"
    with pytest.raises(BundleError, match=r"codes\.txt: Line 2 of the codes is 'l o w'"):
        import_joeynmt(write(files | {"codes.txt": "#version: 0.2\nl o w\n"}), tmp_path / "other")
    files["config.yaml"]["data"]["trg"]["tokenizer_cfg"]["separator"] = "~"
    with pytest.raises(BundleError, match="separator' in "):
        import_joeynmt(write(files), tmp_path / "other")


def _set(files: Files, name: str, value: Any) -> None:
    *path, last = name.split(".")
    values = files["config.yaml"]
    for part in path:
        values = values.setdefault(part, {})
    values[last] = value


REFUSED = [
    ("model.encoder.type", "recurrent"),
    ("model.encoder.layer_norm", None),
    ("model.decoder.layer_norm", "pre"),
    ("model.encoder.alpha", 0.5),
    ("model.decoder.alpha", 2),
    ("model.encoder.activation", "tanh"),
    ("model.decoder.num_heads", 4),
    ("model.decoder.ff_size", 9),
    ("model.decoder.hidden_size", 24),
    ("model.encoder.num_heads", "3"),
    ("model.decoder.embeddings.scale", False),
    ("data.src.lowercase", True),
    ("data.trg.normalize", True),
    ("data.src.level", "syllable"),
    ("data.trg.tokenizer_type", "fastbpe"),
    ("data.src.tokenizer_cfg.pretokenizer", "moses"),
    ("data.special_symbols.lang_tags", ["<de>"]),
    ("data.special_symbols.sep_token", "<sep>"),
    ("data.special_symbols.eos_id", 2),
    ("data.special_symbols.bos_id", 400),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=[name for name, _ in REFUSED])
def test_a_setting_is_refused_by_its_name(
    name: str, value: Any, files: Files, write: Callable, tmp_path: Path
) -> None:
    _set(files, name, value)
    with pytest.raises(BundleError, match=f"'{name}'"):
        import_joeynmt(write(files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_of_the_search_are_noted(files: Files, write: Callable, tmp_path: Path) -> None:
    files["config.yaml"]["testing"] = {"repetition_penalty": 2, "no_repeat_ngram_size": 3}
    imported = import_joeynmt(write(files), tmp_path / "out")
    assert [note.split(" of the search")[0] for note in imported.notes] == [
        "The setting repetition_penalty 2", "The setting no_repeat_ngram_size 3"
    ]  # fmt: skip
    assert (imported.bundle.decoding.beam_size, imported.bundle.decoding.length_penalty) == (1, 0)


def _without(name: str) -> Callable[[dict[str, Tensor]], None]:
    return lambda state: state.__delitem__(name)


def _with(name: str, tensor: Tensor) -> Callable[[dict[str, Tensor]], None]:
    return lambda state: state.update({name: tensor})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("encoder.layers.1.src_src_att.k_layer.bias"), "lack 'encoder.layers.1.src_src"),
        (_with("encoder.layer_norm.weight", torch.ones(WIDTH)), "have 'encoder.layer_norm.weight'"),
        (_with("decoder.layers.0.x_layer_norm.bias", torch.ones(5)), r"shape \(5,\)"),
        (_with("trg_embed.lut.weight", torch.ones(9, WIDTH)), r"shape \(9, 12\)"),
        (_with("encoder.pe.pe", torch.ones(1, 50, WIDTH)), "positions other than sinusoids"),
        (_with("decoder.pe.pe", torch.ones(1, 50, 4)), "has the shape"),
        (_with("decoder.layer_norm.bias", torch.full((WIDTH,), math.nan)), "is not finite"),
        (_with("src_embed.lut.weight", torch.ones(3, dtype=torch.int64)), "type int64"),
    ],
)
def test_tensors_that_do_not_fit(
    change: Callable, message: str, files: Files, write: Callable, tmp_path: Path
) -> None:
    change(files["best.ckpt"]["model_state"])
    with pytest.raises(BundleError, match=message):
        import_joeynmt(write(files), tmp_path / "out")
    assert not (tmp_path / "out").exists()


class Touch:
    """An object whose pickle creates a file when it is loaded by `pickle`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


def test_code_in_a_checkpoint_is_not_executed(
    files: Files, write: Callable, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    files["best.ckpt"]["stats_state"] = Touch(canary)
    folder = write(files)
    with pytest.raises(BundleError, match=r"\((posix|nt)\.mkdir\); its code was not executed"):
        import_joeynmt(folder, tmp_path / "out")
    assert not canary.exists()
    assert not (tmp_path / "out").exists()
    torch.load(folder / "best.ckpt", weights_only=False)
    assert canary.exists()  # the canary works


def test_truncated_files(files: Files, write: Callable, tmp_path: Path) -> None:
    folder = write(files)
    whole = (folder / "best.ckpt").read_bytes()
    for length in (0, 100, len(whole) // 2, len(whole) - 1):
        (folder / "best.ckpt").write_bytes(whole[:length])
        with pytest.raises(BundleError, match="is not a file of weights"):
            import_joeynmt(folder, tmp_path / "out")
    (folder / "best.ckpt").write_bytes(whole)
    (folder / "config.yaml").write_text("model: [1")
    with pytest.raises(BundleError, match="is not valid YAML"):
        import_joeynmt(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["config.yaml", "src_vocab.txt", "trg.model"])
def test_a_missing_file(name: str, files: Files, write: Callable, tmp_path: Path) -> None:
    del files[name]
    with pytest.raises(BundleError, match=f"{name} is missing"):
        import_joeynmt(write(files), tmp_path / "out")


def test_which_checkpoint_is_read(files: Files, write: Callable, tmp_path: Path) -> None:
    content = files.pop("best.ckpt")
    with pytest.raises(BundleError, match=r"no file that ends in"):
        import_joeynmt(write(files), tmp_path / "out")
    folder = write(files | {"10.ckpt": content})
    import_joeynmt(folder, tmp_path / "only")
    (folder / "20.ckpt").write_bytes(b"")
    with pytest.raises(BundleError, match=r"2 files that end"):
        import_joeynmt(folder, tmp_path / "out")
    import_joeynmt(folder / "10.ckpt", tmp_path / "named")
    with pytest.raises(BundleError, match="does not exist"):
        import_joeynmt(tmp_path / "nowhere", tmp_path / "out")


def test_settings_of_joeynmt_1(files: Files, write: Callable, tmp_path: Path) -> None:
    files["config.yaml"]["data"]["src"] = "de"
    with pytest.raises(BundleError, match="is of JoeyNMT 1"):
        import_joeynmt(write(files), tmp_path / "out")


def test_another_pickle(files: Files, write: Callable, tmp_path: Path) -> None:
    for content in ([1, 2], {"weights": {}}, {"model_state": [3]}, {"model_state": {"a": 1}}):
        with pytest.raises(BundleError):
            import_joeynmt(write(files | {"best.ckpt": content}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
