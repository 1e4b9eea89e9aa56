"""What the pages about decoding say is there."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import headway
from headway.cli.app import app
from headway.config.decoding import DecodingConfig
from headway.data.tokenizer import train_tokenizer
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.translator import TextTranslator

DOCS = Path(__file__).parents[3] / "docs"
NAMES = ("constraints", "decoding", "faster", "results", "several-sentences")
PAGES = {name: (DOCS / "en" / "howto" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
ALL = "\n".join(PAGES.values())


def _options(*commands: str) -> set[str]:
    every = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    params = (param for name in commands for param in every[name].params)
    return {option for param in params for option in (*param.opts, *param.secondary_opts)}


def test_every_option_on_the_pages_exists_and_every_field_is_on_them() -> None:
    named = set(re.findall(r"`(--[a-z-]+)`", ALL))
    assert named <= _options("translate", "shortlist")
    for command, rest in re.findall(r"^headway (\w+) ([^#\n]*)", ALL, flags=re.MULTILINE):
        assert set(re.findall(r"--[a-z-]+", rest)) <= _options(command)
    for field in (*fields(SearchOptions), *fields(Sampling)):
        assert f"`{field.name}`" in ALL, field.name
        option = {"beam_size": "--beam", "n_best": "--nbest", "sampling": "--sample"}.get(
            field.name, "--" + field.name.replace("_", "-")
        )
        assert option in named, option


@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_a_page_runs(
    build: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    tokenizer = train_tokenizer(
        ["저는 학생입니다.", "I am a student."], kind="char", vocabulary_size=30
    )
    size = len(tokenizer)
    model = build(source_vocab_size=size, target_vocab_size=size)
    config = headway.ModelConfig(source_vocab_size=size, target_vocab_size=size)
    bundle = headway.Bundle(config, model, tokenizer, tokenizer, DecodingConfig(beam_size=2))
    monkeypatch.setattr(headway, "load", lambda _, **options: TextTranslator(bundle, **options))
    (code,) = re.findall(r"```python\n(.*?)```", PAGES[name], flags=re.DOTALL)

    exec(code, {})

    if name == "results":  # the stream is the translation
        plain = TextTranslator(bundle).translate("저는 학생입니다.", mend_runaways=False)
        assert capsys.readouterr().out == plain.text
