"""An export is compared with the bundle before anybody sees it."""

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.config.decoding import DecodingConfig
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError
from headway.interop.ctranslate2 import export, write
from headway.interop.ctranslate2.library import ctranslate2
from headway.interop.ctranslate2.parity import Peer, examples

MakeBundle = Callable[..., Bundle]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_holds_the_model_its_tokenizer_and_a_note(
    make_bundle: MakeBundle, tmp_path: Path
) -> None:
    bundle = dataclasses.replace(make_bundle(), card="# Card: é\n")
    save_bundle(tmp_path / "ours", bundle)

    result = export(tmp_path / "ours", tmp_path / "out", texts=["abc", ""])

    assert _names(tmp_path) == ["ours", "out"]
    assert _names(tmp_path / "out") == [
        "README.md",
        "card.md",
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.model",
    ]
    assert Tokenizer.from_file(tmp_path / "out" / "tokenizer.model") == bundle.source_tokenizer
    assert (tmp_path / "out" / "card.md").read_bytes() == "# Card: é\n".encode()
    assert result.folder == tmp_path / "out"
    assert (result.sentences, result.ties, result.changed) == (25, 0, 0)
    assert 0 < result.largest_difference < 2e-5


def test_the_program_of_the_note_translates_any_number_of_sentences(
    make_bundle: MakeBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = make_bundle()
    export(bundle, tmp_path / "out", texts=["abc", ""])
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path / "out")
    names: dict[str, Any] = {}
    exec(program, names)
    translate = names["translate"]
    ours = TextTranslator(bundle)

    for sentences in ([], [""], ["abc", "", "hgf"], ("abc",), ["abc"] * 40):
        expected = [
            found.text
            for found in ours.translate(list(sentences), beam_size=1, mend_runaways=False)
        ]
        assert translate(sentences) == expected
    assert translate(iter(["abc"])) == translate(["abc"])
    assert translate("abc") == translate(["abc"])[0]


def test_two_vocabularies_are_two_files(make_bundle: MakeBundle, tmp_path: Path) -> None:
    other = train_tokenizer(["zyxwvutsrq"], kind="char", vocabulary_size=23)
    bundle = make_bundle(shared_embeddings="target", source_vocab_size=25)
    bundle = dataclasses.replace(bundle, target_tokenizer=other)
    export(bundle, tmp_path / "out")
    assert {"source.model", "target.model"} < set(_names(tmp_path / "out"))
    for side, tokenizer in (("source", bundle.source_tokenizer), ("target", other)):
        tokens = json.loads((tmp_path / "out" / f"{side}_vocabulary.json").read_text())
        assert len(tokens) == len(set(tokens))
        assert tokens == tokenizer.pieces(range(len(tokenizer)))


def test_what_is_shared_is_written_once(make_bundle: MakeBundle, tmp_path: Path) -> None:
    sizes = {}
    for shared in ("all", "target", "none"):
        write(make_bundle(shared_embeddings=shared), tmp_path / shared)
        sizes[shared] = (tmp_path / shared / "model.bin").stat().st_size
    table = 23 * 14 * 4
    assert sizes["target"] - sizes["all"] == pytest.approx(table, abs=80)
    assert sizes["none"] - sizes["target"] == pytest.approx(table, abs=80)


def test_int8_is_checked_in_float32_and_written_in_int8(
    make_bundle: MakeBundle, tmp_path: Path
) -> None:
    bundle = make_bundle()
    texts = ["abcdef", "hgf", "qponmlk", "a", "bb", "ccc", "dddd", "eeeee"]
    result = export(bundle, tmp_path / "out", "int8", texts)
    assert result.sentences == 32
    assert result.largest_difference < 2e-5

    stored = ctranslate2.Translator(str(tmp_path / "out"), device="cpu").compute_type
    assert stored.startswith("int8")
    sample = [example for example in examples(bundle, texts) if example.is_text]
    write(bundle, tmp_path / "exact")
    exact = Peer(bundle, tmp_path / "exact", "float32").translate(sample)
    rounded = Peer(bundle, tmp_path / "out", "default").translate(sample)
    assert result.changed == sum(a != b for a, b in zip(exact, rounded, strict=True)) > 0


@pytest.mark.parametrize("quantization", ["none", "int8", "float16"])
def test_the_weights_of_the_bundle_are_left_alone(
    make_bundle: MakeBundle, tmp_path: Path, quantization: str
) -> None:
    bundle = make_bundle(positions="learned", max_positions=37, output_bias=True)
    before = {name: value.clone() for name, value in bundle.model.state_dict().items()}
    write(bundle, tmp_path, quantization)
    for name, value in bundle.model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_float16_takes_half_the_room(
    make_bundle: MakeBundle, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    export(make_bundle(), tmp_path / "half", "float16", ["abc"])
    assert capfd.readouterr() == ("", "")
    write(make_bundle(), tmp_path / "whole")
    half, whole = ((tmp_path / name / "model.bin").stat().st_size for name in ("half", "whole"))
    assert half < 0.6 * whole


def test_a_wrong_call_writes_nothing(make_bundle: MakeBundle, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'int9'\. Did you mean 'int8'\?"):
        export(make_bundle(), tmp_path / "out", "int9")
    with pytest.raises(ConfigError, match="'int9'"):
        write(make_bundle(), tmp_path / "out", "int9")
    for call in (export, write):
        with pytest.raises(ConfigError, match="pad_id"):
            call(make_bundle(pad_id=2), tmp_path / "not" / "even" / "this")
    assert _names(tmp_path) == []


def test_a_folder_with_content_is_not_touched(make_bundle: MakeBundle, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(BundleError, match="not empty"):
        export(make_bundle(), tmp_path / "out")
    assert _names(tmp_path / "out") == ["mine.txt"]


LONG = "a" * 1030 + "k" * 200


@pytest.mark.parametrize(
    ("seed", "biases", "text", "expected"),
    [
        (1, {}, "abcdef", None),
        # It spells the start symbol with characters that the vocabulary lacks.
        (1, {}, "<s>", "r" * 11),
        (0, {0: 60.0, 1: 60.0, 2: 60.0}, "abc", None),
        (0, {3: 60.0}, "abc", ""),
        (0, {3: -60.0}, "g" * 250, None),  # never ends by itself
        (44, {3: 1.0}, LONG, "ooo"),
        (0, {}, "", ""),
    ],
)
def test_the_code_in_the_readme_translates_as_headway_does(
    make_bundle: MakeBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    biases: dict[int, float],
    text: str,
    expected: str | None,
) -> None:
    bundle = make_bundle(seed, norm_position="pre", output_bias=True)
    with torch.no_grad():
        for piece, bias in biases.items():
            bundle.model.output_projection.bias[piece] += bias  # type: ignore[index]
    decoding = DecodingConfig(max_extra_pieces=9, max_source_pieces=1500)
    bundle = dataclasses.replace(bundle, decoding=decoding)
    write(bundle, tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    (code,) = [part.partition("```")[0] for part in readme.split("```python\n")[1:]]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Callable[[list[str]], list[str]]] = {}
    exec(code.replace("print(", "("), names)

    ours = TextTranslator(bundle).translate(text, beam_size=1, mend_runaways=False)
    assert names["translate"]([text]) == [ours.text]
    assert ours.num_parts == 1
    assert expected is None or ours.text == expected


def test_the_readme_names_both_tokenizers(make_bundle: MakeBundle, tmp_path: Path) -> None:
    other = train_tokenizer(["zyxwvutsrq"], kind="char", vocabulary_size=23)
    write(dataclasses.replace(make_bundle(), target_tokenizer=other), tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    for side in ("source", "target"):
        line = f'{side} = sentencepiece.SentencePieceProcessor(model_file="{side}.model")'
        assert line in readme


@pytest.mark.parametrize(
    ("tags", "words"),
    [(["<2ko>", "<2en>"], "`<2ko>` or `<2en>`"), (["", "<2en>"], "no tag or `<2en>`")],
)
def test_the_readme_names_the_tags(
    make_bundle: MakeBundle, tmp_path: Path, tags: list[str], words: str
) -> None:
    record = {"config": {"data": {"corpora": [{"tag": tag} for tag in tags]}}}
    write(dataclasses.replace(make_bundle(), record=record), tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"- Each sentence begins with {words} and a space: " in readme
    assert readme.endswith("is blank.\n")


def test_the_readme_gives_the_numbers_of_this_model(
    make_bundle: MakeBundle, tmp_path: Path
) -> None:
    decoding = DecodingConfig(
        beam_size=6, length_penalty=0.7, max_extra_pieces=33, max_source_pieces=77
    )
    bundle = dataclasses.replace(
        make_bundle(positions="learned", max_positions=99),
        decoding=decoding,
        source_language="Korean",
        target_language="English",
    )
    write(bundle, tmp_path)
    readme = " ".join((tmp_path / "README.md").read_text(encoding="utf-8").split())
    assert readme.startswith("# Korean to English, for CTranslate2 ")
    assert "tag" not in readme
    for statement in (
        "max_decoding_length=max(map(len, pieces), default=0) + 33,",
        "Headway's is the tokens of each source plus 33.",
        "The model has 99 positions",
        "more than 77 tokens",
        "divided by `length ** alpha`",
        "`((5 + length) / 6) ** alpha`, for this model with alpha 0.7 and a beam of 6.",
    ):
        assert statement in readme, statement
