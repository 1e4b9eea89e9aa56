"""`headway export`: what it prints, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

from headway.bundle import load_bundle, save_bundle
from headway.config.presets import student
from headway.data.tokenizer import Tokenizer
from headway.model.transformer import Transformer


def test_to_ctranslate2(run, bundle_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, text, _ = run("export", bundle_path, "--to", "ctranslate2", "--out", out)
    assert status == 0
    first, second = text.splitlines()
    assert first == f"Wrote {out}; README.md there says how to run it."
    assert second.startswith("In float32 the greedy translations of 24 sentences are the same; log")
    Tokenizer.from_file(out / "tokenizer.model")

    status, text, _ = run("export", bundle_path, "--to", "ctranslate2", "--out", out)
    assert (status, text) == (1, "")


def test_to_argos(run, bundle_path: Path, tmp_path: Path) -> None:
    bundle = replace(load_bundle(bundle_path), source_language="ko", target_language="English")
    save_bundle(tmp_path / "named", bundle)
    status, text, err = run("export", tmp_path / "named", "--to", "argos", "--out", tmp_path)
    assert (status, err) == (0, "")
    file = tmp_path / "translate-ko_en-1_0.argosmodel"
    assert text.startswith(f"Wrote {file}; README.md in it says how to run it.\nIn float32 the ")
    assert file.is_file()


def test_to_marian(run, bundle_path: Path, tmp_path: Path) -> None:
    out, sample = tmp_path / "out", tmp_path / "sample.txt"
    sample.write_text("the cat sat\n\na dog ran far\n")
    command = ("export", bundle_path, "--to", "marian", "--sample", sample, "--out", out)
    status, text, err = run(*command)
    assert (status, err) == (0, "")
    first, second = text.splitlines()
    assert first == f"Wrote {out}; README.md there says how to run it."
    assert second.startswith("In float64 the logits of 26 sentences differ by ")
    again = tmp_path / "again"
    assert run("import", "marian", out, "--out", again)[0] == 0
    text = tmp_path / "text"
    text.write_text("the dog sat far\n")
    options = ("--max-length", 5, "--engine", "reference", "--precision", "float32")
    ours, theirs = (run("translate", model, text, *options) for model in (bundle_path, again))
    assert ours == theirs
    assert ours[0] == 0
    assert run(*command)[:2] == (1, "")  # because the folder is there


def test_a_sample_is_compared_too(run, bundle_path: Path, tmp_path: Path) -> None:
    (tmp_path / "sample.txt").write_text("the cat sat\n\na dog ran far\n")
    options = ("--quantization", "int8", "--sample", tmp_path / "sample.txt")
    command = ("export", bundle_path, "--to", "ctranslate2", *options)
    status, text, _ = run(*command, "--out", tmp_path / "a", "--json")
    assert status == 0
    result = json.loads(text)
    assert result["largest_difference"] < 2e-5
    del result["largest_difference"]
    changed = result.pop("changed")
    assert result == {
        "folder": str(tmp_path / "a"),
        "quantization": "int8",
        "sentences": 26,
        "ties": 0,
    }
    _, text, _ = run(*command, "--out", tmp_path / "b")
    assert text.splitlines()[2] == f"int8 changes {changed} of the 3 translations."
    assert run(*command, "--out", tmp_path / "c", "--quiet")[:2] == (0, "")


def test_to_firefox(run, bundle_path: Path, tmp_path: Path) -> None:
    bundle = load_bundle(bundle_path)
    sizes = {"d_model": 16, "d_ff": 20, "num_heads": 2, "num_encoder_layers": 1}
    config = student(bundle.config.source_vocab_size).replace(sizes | {"num_decoder_layers": 1})
    model = Transformer.from_config(config)
    save_bundle(tmp_path / "student", replace(bundle, config=config, model=model))
    command = ("export", tmp_path / "student", "--to", "firefox")

    status, text, _ = run(*command, "--out", tmp_path / "random")
    assert status == 0
    first, second = text.splitlines()
    assert first.endswith(" of the greedy translations of 24 sentences of random tokens.")
    assert "Give a hundred or more sentences with --sample FILE" in second

    (sample := tmp_path / "sample.txt").write_text("the cat sat\n\na dog ran far\n")
    text = run(*command, "--sample", sample, "--out", tmp_path / "real")[1]
    assert text.endswith(" of the greedy translations of 2 sentences.\n")


def test_wrong_calls(run, bundle_path: Path, tmp_path: Path) -> None:
    for options, message in (
        (("--to", "ctranslate"), "no export to 'ctranslate'. Did you mean 'ctranslate2'?"),
        (("--to", "Transformers"), "no export to 'Transformers'. That form is --to marian."),
        (("--to", "marian", "--quantization", "int8"), "is for --to ctranslate2 and argos only"),
        (("--to", "keras", "--quantization", "int8"), "is for --to ctranslate2 and argos only"),
        (("--to", "firefox"), "decoder_past is 'self_attention'; a Firefox student has 'ssru'"),
        (("--to", "keras", "--sample", "x"), "--sample is not for --to keras"),
        (("--to", "argos"), "The source language of the model is 'source', for which Argos"),
        (("--to", "ctranslate2", "--quantization", "8"), "There is no quantization '8'. Known: "),
    ):
        status, out, err = run("export", bundle_path, "--out", tmp_path / "out", *options)
        assert (status, out) == (2, "")
        assert message in err
    missing = ("--to", "ctranslate2", "--sample", tmp_path / "none.txt")
    assert run("export", bundle_path, "--out", tmp_path / "out", *missing)[0] == 1
    assert not any(tmp_path.iterdir())
