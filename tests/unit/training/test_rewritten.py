"""Targets that normalization rewrites are said before the first step, with the remedy."""

from pathlib import Path

import pytest

from headway.config.run import RunConfig
from headway.data.corpus import Pair
from headway.training.rewritten import references_remark, rewritten_remarks
from headway.training.run import train

from .conftest import MakeConfig, encode


def remarks(config: RunConfig) -> list[str]:
    texts, (_, target), encoded = encode(config)
    return rewritten_remarks(config, texts, encoded.report, target)


@pytest.fixture
def phonetic(data_folder: Path) -> Path:
    """Every other training target and one reference has a phonetic sign."""
    for name, every in (("train.target", 2), ("valid.target", 10)):
        lines = (data_folder / name).read_text().splitlines()
        lines = [f"{line} ʰ" if n % every == 0 else line for n, line in enumerate(lines)]
        (data_folder / name).write_text("".join(f"{line}\n" for line in lines))
    return data_folder


def test_many_are_a_loud_remark_with_an_example(make_config: MakeConfig, phonetic: Path) -> None:
    (remark,) = remarks(make_config())
    assert remark.startswith("Attention: tokenizer.normalization = nmt_nfkc rewrites 16 of 32 ")
    assert "(50.0%; ʰ becomes h) and 1 of 7 validation references (ʰ becomes h)." in remark
    assert remark.endswith("keep them: --set tokenizer.normalization=identity.")


def test_the_remedy_helps(make_config: MakeConfig, phonetic: Path) -> None:
    assert remarks(make_config(tokenizer={"normalization": "identity"})) == []


def test_nothing_is_said_of_plain_text(make_config: MakeConfig) -> None:
    assert remarks(make_config()) == []


def test_references_alone_are_said_too(make_config: MakeConfig, data_folder: Path) -> None:
    lines = (data_folder / "valid.target").read_text().replace("one", "½", 1)
    (data_folder / "valid.target").write_text(lines)
    (remark,) = remarks(make_config())
    assert remark.startswith("tokenizer.normalization = nmt_nfkc rewrites 0 of 32 ")
    assert "1 of 7 validation references (½ becomes 1⁄2)." in remark


def test_each_text_has_the_characters_that_are_rewritten_in_it(
    make_config: MakeConfig, phonetic: Path
) -> None:
    lines = (phonetic / "valid.target").read_text().replace("ʰ", "ſ")
    (phonetic / "valid.target").write_text(lines)
    (remark,) = remarks(make_config())
    assert "ʰ becomes h) and 1 of 7 validation references (ſ becomes s)." in remark


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "identity"])
@pytest.mark.parametrize(
    ("in_training", "in_references", "is_told"),
    [
        ("ü", "u\u0308", True),
        ("u\u0308", "u\u0308", False),
        ("ü", "ü", False),
        ("한", "\u1112\u1161\u11ab", True),
    ],
)
def test_references_in_another_form_than_the_model_writes_are_said(
    make_config: MakeConfig,
    data_folder: Path,
    normalization: str,
    in_training: str,
    in_references: str,
    is_told: bool,
) -> None:
    for name, word in (("train", in_training), ("valid", in_references)):
        lines = (data_folder / f"{name}.target").read_text().replace("one", word)
        (data_folder / f"{name}.target").write_text(lines)
    said = remarks(make_config(tokenizer={"normalization": normalization}))
    composes = in_references == "u\u0308" and normalization == "nmt_nfkc"
    assert bool(said) == (is_told or composes)
    if said:
        count = (data_folder / "valid.target").read_text().count(in_references)
        verb = "is" if count == 1 else "are"
        assert said[0].startswith(f"{count} of 7 validation references {verb} not in Unicode's co")
        assert said[0].endswith(
            "`headway clean --fix nfc --drop none` composes both files of a text."
        )


def test_scores_say_why_they_are_too_low(make_config: MakeConfig) -> None:
    _, (_, target), _ = encode(make_config())
    remark = references_remark("valid", [Pair("a", "½"), Pair("b", "c")], target)
    assert remark.startswith("valid: 1 of 2 references hold characters")
    assert references_remark("valid", [Pair("½", "c")], target) == ""


def test_the_report_of_a_run_says_so(make_config: MakeConfig, data_folder: Path) -> None:
    lines = (data_folder / "valid.target").read_text().replace("one", "½", 1)
    (data_folder / "valid.target").write_text(lines)
    settings = {"max_steps": 1, "average_checkpoints": 1}
    report = train(make_config(training=settings), data_folder.parent / "run").report
    (remark,) = report["remarks"]
    assert remark.startswith("valid: 1 of 7 references hold characters")
