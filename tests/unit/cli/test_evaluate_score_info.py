"""The commands that report on a model."""

import dataclasses
import json
import math
import re
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

import headway
from headway.bundle import load_bundle, save_bundle
from headway.cli.info import _show
from headway.data.tokenizer import END_ID
from headway.data.vocabulary import add_pieces, never_cut
from headway.model.transformer import Transformer


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "text.ko", tmp_path / "text.en"
    source.write_text("저는 갑니다 .\n너는 온다 !\n\n", encoding="utf-8")
    target.write_text("the cat sat\na dog\nran far\n", encoding="utf-8")
    return source, target


def test_evaluate_prints_each_score_with_its_signature(run, bundle_path: Path, text) -> None:
    source, target = text
    status, out, _ = run(
        "evaluate",
        bundle_path,
        "--source",
        source,
        "--reference",
        target,
        "--metric",
        "bleu,chrf,ter,exact,wer",
    )
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["bleu", "chrf", "ter", "exact", "wer"]
    assert "nrefs:1|case:mixed" in out


def test_evaluate_equals_the_library(run, bundle_path: Path, text) -> None:
    source, target = text
    _, out, _ = run("evaluate", bundle_path, "--source", source, "--reference", target, "--json")
    translator = headway.load(bundle_path)
    found = translator.translate(source.read_text(encoding="utf-8").split("\n")[:3])
    references = target.read_text(encoding="utf-8").split("\n")[:3]
    expected = headway.score_texts([t.text for t in found], references)

    reported = json.loads(out)
    assert reported["sentences"] == 3
    assert reported["scores"] == [score.as_dict() for score in expected]


def test_tokenized_references_are_remarked_on(run, bundle_path: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("the cat\n" * 101)
    target.write_text("a cat .\n" * 100 + "a cat\n")
    files = ("evaluate", bundle_path, "--source", source, "--reference", target)

    assert "Note: 100 of 101 references end in a period by itself" in run(*files)[2]
    assert run(*files, "--tokenize", "none")[2] == run(*files, "--metric", "chrf")[2]
    assert "period" not in run(*files, "--quiet")[2]
    target.write_text("a cat .\n" * 99 + "a cat\n" * 2)
    assert "period" not in run(*files)[2]


def test_translations_that_are_empty_are_noted(run, bundle_path: Path, tmp_path: Path) -> None:
    bundle = load_bundle(bundle_path)
    config = bundle.config.model_copy(update={"output_bias": True})
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.output_projection.bias[END_ID] = 9.0
    record = {"config": {"data": {"tag": "<back>"}}}
    silent = dataclasses.replace(bundle, config=config, model=model, record=record)
    save_bundle(tmp_path / "silent", silent)
    (tmp_path / "in").write_text("the cat\n \na dog\n\u200b\n<back>\n", encoding="utf-8")
    files = ("--source", tmp_path / "in", "--reference", tmp_path / "in")

    _, out, err = run("translate", tmp_path / "silent", tmp_path / "in")
    _, report, _ = run("evaluate", tmp_path / "silent", *files, "--json")
    noted = run("evaluate", tmp_path / "silent", *files)[2]

    assert out == "\n" * 5
    notes = [f"Note: line {line}: the translation is empty." for line in (1, 3, 4)]
    assert [line for line in err.splitlines() if "empty" in line] == notes
    assert json.loads(report)["empty"] == 3
    assert "Note: 3 translations are empty, although the source has text." in noted.splitlines()
    _, whole, _ = run("evaluate", bundle_path, *files, "--json")
    assert json.loads(whole)["empty"] == 1  # of the fourth line nothing is left


def test_an_unknown_metric_is_said_before_the_work(run, tmp_path: Path, text) -> None:
    source, target = text
    status, _, err = run(
        "evaluate", tmp_path, "--source", source, "--reference", target, "--metric", "bleau"
    )
    assert status == 2
    assert "Did you mean 'bleu'" in err


def test_score_prints_the_log_probability_of_each_line(run, bundle_path: Path, text) -> None:
    source, target = text
    _, out, err = run("score", bundle_path, "--source", source, "--target", target)
    _, as_json, _ = run("score", bundle_path, "--source", source, "--target", target, "--json")

    values = json.loads(as_json)
    assert [float(line) for line in out.splitlines()] == pytest.approx(
        values["log_probs"], abs=1e-5
    )
    assert values["perplexity"] == pytest.approx(
        math.exp(-sum(values["log_probs"]) / sum(values["pieces"]))
    )
    assert "over 3 lines" in err


def test_score_refuses_files_of_different_length(run, bundle_path: Path, text) -> None:
    source, target = text
    target.write_text("one line\n", encoding="utf-8")
    status, _, err = run("score", bundle_path, "--source", source, "--target", target)
    assert status == 1
    assert f"{source} has 3 lines and {target} has 1" in err


def test_info_counts_every_parameter_once(run, bundle_path: Path) -> None:
    _, out, _ = run("info", bundle_path, "--json")
    values = json.loads(out)

    model = load_bundle(bundle_path).model
    assert values["parameters"] == sum(p.numel() for p in model.parameters())
    assert len(values["checksum"]) == 64
    assert values["tokenizer"]["joint"] is True
    assert values["model"]["d_model"] == 8


def test_info_for_people_names_the_same_figures(run, bundle_path: Path) -> None:
    _, as_json, _ = run("info", bundle_path, "--json")
    _, out, _ = run("info", bundle_path)
    values = json.loads(as_json)
    assert values["checksum"] in out
    assert f"{values['parameters']:,}" in out
    assert "never cut" not in out
    # Sinusoids have no end, whatever the configuration says.
    assert "max_positions" in values["model"]
    assert "max_positions" not in out


def test_info_shows_scores_of_earlier_versions_in_percent(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    old = {"name": "exact", "value": 0.98765, "signature": "share of equal lines"}
    bundle = dataclasses.replace(load_bundle(bundle_path), record={"test": [old]})
    save_bundle(tmp_path / "old", bundle)

    assert "98.77  share of equal lines|unit:percent" in run("info", tmp_path / "old")[1]
    values = json.loads(run("info", tmp_path / "old", "--json")[1])
    assert values["record"]["test"][0] | {"value": 0.0} == {
        "name": "exact", "value": 0.0, "unit": "%", "signature": "share of equal lines|unit:percent"
    }  # fmt: skip


def test_info_tells_of_parts_that_only_their_own_code_could_load(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(bundle_path)
    bundle.model.encoder.layers[0].feed_forward.w_1 = Wide(8, 12)
    save_bundle(tmp_path / "own", bundle)

    status, out, _ = run("info", tmp_path / "own")
    values = json.loads(run("info", tmp_path / "own", "--json")[1])

    assert status == 0
    assert re.search(r"^changed: encoder\.layers\.0\.feed_forward\.w_1  +Wide$", out, re.M)
    assert values["changed"] == {"encoder.layers.0.feed_forward.w_1": "Wide"}
    before = json.loads(run("info", bundle_path, "--json")[1])
    assert before["changed"] == {}
    assert values["parameters"] - before["parameters"] == 3
    assert sum(values["parameters_by_part"].values()) == values["parameters"]


def test_info_refuses_a_bundle_that_was_damaged(run, bundle_path: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle_path, tmp_path / "copy")
    with open(copy / "model.safetensors", "r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")

    status, _, err = run("info", copy)

    assert status == 1
    assert "model.safetensors has changed since the bundle was written" in err


class Wide(nn.Linear):
    """A layer with three numbers more."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.more = nn.Parameter(torch.ones(3))


def test_info_names_the_pieces_that_are_never_cut(
    run, bundle_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    values = json.loads(run("info", bundle_path, "--json")[1])
    tokenizer = add_pieces(load_bundle(bundle_path).source_tokenizer, ["<2ko>", "<back>"]).tokenizer
    assert values["tokenizer"]["source_never_cut"] == []
    values["tokenizer"]["source_never_cut"] = never_cut(tokenizer)
    values["tokenizer"]["target_never_cut"] = [f"<{n}>" for n in range(30)]

    _show(values)

    shown = dict(re.split(r"  +", line, maxsplit=1) for line in capfd.readouterr().out.splitlines())
    assert shown["source tokens never cut"] == "<2ko>, <back>"
    assert shown["target tokens never cut"].endswith("<18>, <19>, …")


def test_info_shows_the_kernels_of_a_model_or_of_the_base_model(run, bundle_path: Path) -> None:
    _, as_json, _ = run("info", bundle_path, "--kernels", "--json")
    status, of_model, _ = run("info", bundle_path, "--kernels")
    _, of_base, _ = run("info", "--kernels")

    values = json.loads(as_json)
    assert status == 0
    assert values["processor"] in of_model
    assert len(of_model.splitlines()) <= 4 + len(values["kernels"])
    assert "in training mode with gradients, without a trace" in of_model
    for row in values["kernels"]:
        assert row["reason"] in of_model
    assert "under 16,384 weights" in of_model
    assert "under 16,384 weights" not in of_base


def test_info_needs_a_model_or_kernels(run) -> None:
    status, _, err = run("info")
    assert status == 2
    assert "Name a model, or add --kernels." in err


def test_lines_with_a_blank_side_are_noted_when_scored(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "in").write_text("the cat\n\na dog\n", encoding="utf-8")
    (tmp_path / "out").write_text("you\nme\n \n", encoding="utf-8")
    call = ["score", bundle_path, "--source", tmp_path / "in", "--target", tmp_path / "out"]

    note = "Note: 2 lines have a blank side, which is scored as the end symbol alone. "
    assert note in run(*call)[2]
    assert "blank" not in run(*call, "--quiet")[2]
