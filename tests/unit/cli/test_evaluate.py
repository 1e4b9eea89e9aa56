"""Several systems in one call: a table, intervals, sentences, files of translations."""

import dataclasses
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import headway
from headway.bundle import load_bundle, save_bundle
from headway.cli.evaluate import _BLANK_NOTES, _NOTES, _worded
from headway.decoding.translator import TextTranslator
from headway.evaluation.comparing import sentence_chrf

SOURCES = ["저는 갑니다 .", "너는 온다 !", "우리는 자요 ?", ""]
REFERENCES = ["the cat sat", "a dog", "ran far", ""]

Call = Callable[..., tuple[int, str, str]]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    source, reference = write(tmp_path / "a.ko", SOURCES), write(tmp_path / "a.en", REFERENCES)
    return ["--source", source, "--reference", reference]


@pytest.fixture
def other(bundle_path: Path, tmp_path: Path) -> Path:
    """Return another model, which translates in another way."""
    bundle = load_bundle(bundle_path)
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.add_(torch.linspace(-0.5, 0.5, parameter.numel()).view_as(parameter))
    save_bundle(tmp_path / "other", dataclasses.replace(bundle, record={}))
    return tmp_path / "other"


def translated(model: Path) -> list[str]:
    translations = headway.load(model).translate(SOURCES, mend_runaways=False)
    return [found.text for found in translations]


def test_models_are_compared_with_the_first(
    run: Call, bundle_path: Path, other: Path, files: list[object]
) -> None:
    systems = {str(model): translated(model) for model in (bundle_path, other)}
    expected = headway.compare_texts(systems, REFERENCES, ["chrf", "ter"], resamples=100, seed=3)
    metrics = ["--metric", "chrf,ter", "--resamples", "100", "--seed", "3"]

    status, out, err = run("evaluate", bundle_path, other, *files, *metrics)
    values = json.loads(run("evaluate", bundle_path, other, *files, *metrics, "--json")[1])

    assert status == 0
    assert out.startswith("\n".join(expected.lines()) + "\n")
    assert "Note: with 4 sentences the intervals are rough" in err
    plain = expected.as_dict()
    assert [values["differences"], values["comparison"]] == [
        plain["differences"], plain["comparison"]
    ]  # fmt: skip
    for system, alone in zip(values["systems"], plain["systems"], strict=True):
        assert alone.items() <= system.items()
        assert {"seconds", "split", "incomplete", "empty", "repeated"} <= system.keys()
    assert values["sentences"] == 4
    repeated = values["systems"][0]["repeated"]
    assert repeated > 0
    assert f"{bundle_path}: {repeated} translations repeat a few words again and again" in err


def test_the_sentences_that_differ_most_are_shown(
    run: Call, tmp_path: Path, files: list[object]
) -> None:
    one = write(tmp_path / "one.en", ["the cat sat", "a dog", "ran", ""])
    two = write(tmp_path / "two.en", ["the cat sat", "zzz", "ran far", ""])
    call = ["evaluate", "--hypothesis", one, "--hypothesis", two, *files]

    width = len(str(one))
    out = run(*call)[1]
    values = json.loads(run(*call, "--examples", "1", "--json")[1])

    assert out.split("\nline ")[1:] == [
        f"2\n  {'source':<{width}}  너는 온다 !\n  {'reference':<{width}}  a dog\n"
        f"  {one}  a dog  (chrF 100.00)\n  {two}  zzz  (chrF 0.00)\n",
        f"3\n  {'source':<{width}}  우리는 자요 ?\n  {'reference':<{width}}  ran far\n"
        f"  {one}  ran  (chrF {sentence_chrf(['ran'], ['ran far'])[0]:.2f})\n"
        f"  {two}  ran far  (chrF 100.00)\n",
    ]
    assert values["examples"] == [
        {
            "line": 2,
            "source": "너는 온다 !",
            "reference": "a dog",
            "translations": ["a dog", "zzz"],
            "chrf": [pytest.approx(100.0), 0.0],
        }
    ]


def test_a_file_of_translations_is_scored_alone(
    run: Call, tmp_path: Path, files: list[object]
) -> None:
    hypotheses = ["the cat sat", "a dig", "far", ""]
    path = write(tmp_path / "hyp.en", hypotheses)

    status, out, _ = run("evaluate", "--hypothesis", path, *files)
    values = json.loads(
        run("evaluate", "--hypothesis", path, *files, "--examples", "2", "--json")[1]
    )

    scores = headway.score_texts(hypotheses, REFERENCES)
    assert status == 0
    assert out.splitlines() == [str(score) for score in scores]
    assert values["scores"] == [score.as_dict() for score in scores]
    assert [example["line"] for example in values["examples"]] == [2, 3]  # the others are right
    assert "seconds" not in values


def test_translations_that_were_written_score_as_the_model_does(
    run: Call, bundle_path: Path, other: Path, tmp_path: Path, files: list[object]
) -> None:
    out = tmp_path / "hyp.en.gz"
    first, second = tmp_path / "hyp.1.en.gz", tmp_path / "hyp.2.en.gz"

    values = json.loads(run("evaluate", bundle_path, other, *files, "--out", out, "--json")[1])
    again = json.loads(
        run("evaluate", "--hypothesis", first, "--hypothesis", second, *files, "--json")[1]
    )
    alone = run("evaluate", bundle_path, *files, "--out", tmp_path / "one.en")

    assert [system["scores"] for system in again["systems"]] == [
        system["scores"] for system in values["systems"]
    ]
    assert again["examples"] == values["examples"]
    assert alone[0] == 0
    assert (tmp_path / "one.en").read_text("utf-8").split("\n")[:-1] == translated(bundle_path)


def test_a_model_beside_a_file_and_two_of_one_name(
    run: Call, bundle_path: Path, tmp_path: Path, files: list[object]
) -> None:
    path = write(tmp_path / "hyp.en", translated(bundle_path))
    values = json.loads(
        run("evaluate", bundle_path, "--hypothesis", path, "--hypothesis", path, *files, "--json")[
            1
        ]
    )

    assert [system["name"] for system in values["systems"]] == [
        str(bundle_path), str(path), f"{path} (2)"
    ]  # fmt: skip
    assert {difference["p_value"] for difference in values["differences"]} == {1.0}
    assert values["examples"] == []


def test_another_number_of_lines_is_refused_with_the_numbers(
    run: Call, tmp_path: Path, files: list[object]
) -> None:
    path = write(tmp_path / "hyp.en", ["a", "b", "c"])

    status, _, err = run("evaluate", "--hypothesis", path, *files)

    assert status == 1
    assert f"{path} has 3 lines, but must have 4 like {files[1]} and {files[3]}." in err
    status, _, err = run("evaluate", "--hypothesis", path, *files[2:])
    assert status == 1
    assert f"{path} has 3 lines, but must have 4 like {files[3]}." in err


def test_files_of_translations_are_scored_without_their_source(
    run: Call, bundle_path: Path, tmp_path: Path, files: list[object]
) -> None:
    one = write(tmp_path / "hyp.en", ["the cat sat", "a dig", "far", ""])
    two = write(tmp_path / "other.en", ["a cat", "a dog", "near", "x"])
    call = ["evaluate", "--hypothesis", one, "--hypothesis", two, "--examples", "2"]

    for systems in (call[:3], call):
        whole = run(*systems, *files)
        status, out, err = run(*systems, *files[2:])
        assert (status, err) == (0, whole[2])
        assert out.splitlines() == [
            line for line in whole[1].splitlines() if not line.startswith("  source ")
        ]
    example = json.loads(run(*call, *files[2:], "--json")[1])["examples"][0]
    assert list(example) == ["line", "reference", "translations", "chrf"]
    status, _, err = run("evaluate", bundle_path, *files[2:])
    assert status == 2
    assert "A model needs text to translate. Name it with --source FILE." in " ".join(
        err.replace("│", " ").split()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "There is nothing to score. Name a model, or --hypothesis FILE."),
        (["--hypothesis", "a.en", "--out", "hyp.en"], "--out is for translations of a model"),
        (["MODEL", "--out", "a.en"], "a.en is an input and would be overwritten"),
        (["MODEL", "MODEL", "--out", "a.en", "--hypothesis", "a.1.en"], "a.1.en is an input"),
        (["a.en"], "a.en is a file, not a model. Text is named with --source"),
        (["MODEL", "--metric", "comet"], "`comet-score -s SOURCE -t hyp.txt -r REFERENCE`"),
        (["MODEL", "--metric", "bleu,COMET"], "COMET is not computed here"),
    ],
)
def test_a_wrong_call_is_refused_before_the_work(
    run: Call,
    bundle_path: Path,
    tmp_path: Path,
    files: list[object],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TextTranslator, "translate", lambda *_, **__: pytest.fail("it translated"))
    write(tmp_path / "a.1.en", REFERENCES)
    call = [bundle_path if argument == "MODEL" else argument for argument in arguments]

    status, _, err = run("evaluate", *call, *files)

    assert status == 2
    assert message in " ".join(err.replace("│", " ").split())
    assert (tmp_path / "a.en").read_text("utf-8").split("\n")[:-1] == REFERENCES


def test_ctrl_c_says_how_far_it_was_and_where_the_lines_are(
    run: Call, bundle_path: Path, tmp_path: Path, files: list[object], monkeypatch: Any
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.decoding.translator.search_all", interrupted)

    status, out, err = run("evaluate", bundle_path, *files, "--out", tmp_path / "hyp.en")

    assert (status, out) == (130, "")
    assert "Stopped after 0 of 4 sentences. Nothing was scored." in err
    assert not (tmp_path / "hyp.en").exists()


def test_one_model_at_a_time_is_in_memory(
    run: Call, bundle_path: Path, other: Path, files: list[object], monkeypatch: Any
) -> None:
    models: list[weakref.ref[Any]] = []

    def watched(*values: Any, **named: Any) -> TextTranslator:
        assert [ref for ref in models if ref() is not None] == []
        translator = headway.load(*values, **named)
        models.append(weakref.ref(translator.bundle.model))
        return translator

    monkeypatch.setattr("headway.cli.systems.load", watched)

    status, out, _ = run("evaluate", bundle_path, other, bundle_path, *files, "--json")

    assert status == 0
    assert len(json.loads(out)["systems"]) == 3
    assert len(models) == 6


def test_a_damaged_last_model_is_refused_before_the_first_translates(
    run: Call, bundle_path: Path, other: Path, files: list[object], monkeypatch: Any
) -> None:
    (other / "model.safetensors").write_bytes(b"damaged")
    monkeypatch.setattr("headway.cli.systems._translate", None)

    status, out, err = run("evaluate", bundle_path, other, *files)

    assert (status, out) == (1, "")
    assert "model.safetensors has changed" in err


def test_a_file_that_is_the_reference_is_doubted_unless_quiet(
    run: Call, bundle_path: Path, tmp_path: Path
) -> None:
    source = write(tmp_path / "b.ko", SOURCES[:3] * 2)
    reference = write(tmp_path / "b.en", REFERENCES[:3] * 2)
    call = ["evaluate", "--hypothesis", reference, "--source", source, "--reference", reference]
    doubt = f"Note: The translations of {reference} are the references, line by line.\n"

    assert run(*call)[2] == run(*call[:3], *call[5:])[2] == doubt
    assert run(*call, "--quiet")[2] == ""


def test_lines_of_several_sentences_are_remarked_on(
    run: Call, bundle_path: Path, tmp_path: Path
) -> None:
    source = write(tmp_path / "b.ko", ["저는 갑니다. 너는 온다.", "우리는 자요.", "하나. 둘."])
    reference = write(tmp_path / "b.en", ["a cat. a dog.", "ran far.", "one. two."])
    texts = ["--source", source, "--reference", reference]

    err = run("evaluate", bundle_path, *texts)[2]
    facts = json.loads(run("evaluate", bundle_path, *texts, "--json")[1])

    found = headway.load(bundle_path).translate(source.read_text(encoding="utf-8").splitlines())
    split = sum(translation.num_parts > 1 for translation in found)
    assert facts["several_sentences"] == split == 2
    assert "Note: source lines with several sentences, each translated as one: 2. headway" in err


def test_a_few_lines_in_another_script_than_in_training_are_remarked_on(
    run: Call, bundle_path: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(bundle_path)
    model = tmp_path / "model"
    save_bundle(
        model, dataclasses.replace(bundle, record=bundle.record | {"source_script": "LATIN"})
    )
    source = write(tmp_path / "few.ko", ["저는 학생입니다.", "너는 온다.", "a cat"])
    reference = write(tmp_path / "few.en", ["a cat.", "ran far.", "a cat"])

    texts = ["--source", source, "--reference", reference]
    err = run("evaluate", model, *texts)[2]

    assert "Note: 2 lines of 3 are in Hangul letters, but the sources that the model was" in err
    assert "Note: 1 sentence has text that is unknown to the vocabulary." in err
    assert json.loads(run("evaluate", model, *texts, "--json")[1])["unknown"] == 1
    assert run("evaluate", model, *texts, "--quiet")[2] == ""


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("split", 1, "1 sentence was too long and was split."),
        ("split", 2, "2 sentences were too long and were split."),
        ("incomplete", 1, "the output limit ended 1 translation."),
        ("unknown", 1, "1 sentence has text that is unknown to the vocabulary."),
        ("unknown", 3, "3 sentences have text that is unknown to the vocabulary."),
        ("deleted", 2, "2 sentences have characters that the tokenizer deletes."),
        ("empty", 1, "1 translation is empty, although the source has text."),
        ("empty", 1200, "1,200 translations are empty, although the source has text."),
        ("blank_sources", 1, "1 source line is blank, although the reference has text."),
        ("blank_references", 2, "2 references are blank, although a translation has text."),
    ],
)
def test_notes_count_one_and_many(name: str, count: int, words: str) -> None:
    assert _worded((_NOTES | _BLANK_NOTES)[name], count).startswith(words)


def test_blank_lines_that_change_scores_are_counted(
    run: Call, bundle_path: Path, tmp_path: Path
) -> None:
    # The first line is blank in the source, the second in the reference, the last everywhere.
    source = write(tmp_path / "b.ko", ["", "너는 온다 !", " ", "우리는 자요 ?", ""])
    reference = write(tmp_path / "b.en", ["the cat sat", "", "a dog", "ran far", "\t"])
    call = ["evaluate", bundle_path, "--source", source, "--reference", reference]

    status, out, err = run(*call)
    report = json.loads(run(*call, "--json")[1])

    assert status == 0
    assert "blank" not in out
    assert (report["blank_sources"], report["blank_references"], report["empty"]) == (2, 1, 0)
    assert "Note: 2 source lines are blank, although the reference has text." in err
    assert "Note: 1 reference is blank, although a translation has text." in err
    assert "blank" not in run(*call, "--quiet")[2]

    files = write(tmp_path / "hyp.en", ["the cat", "a", "b", "c", "d"])
    alone = json.loads(
        run("evaluate", "--hypothesis", files, "--reference", reference, "--json")[1]
    )
    assert "blank_sources" not in alone
    assert alone["blank_references"] == 2
