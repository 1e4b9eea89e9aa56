"""The demonstration, on a small part of the corpus and a model that has hardly trained."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headway import demo
from headway.bundle import load_bundle
from headway.cli.app import main
from headway.config.run import RunConfig
from headway.decoding.familiarity import FAMILIARITY, Familiarity
from headway.errors import RunError
from headway.sample_corpus import SampleCorpus, build_sample_corpus
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder


@pytest.fixture(scope="module")
def part() -> SampleCorpus:
    whole = build_sample_corpus()
    return SampleCorpus(
        whole.train[:60], whole.valid[:7], whole.test_unseen[:11], whole.test_compositional[:13]
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, part: SampleCorpus) -> None:
    config = demo.demo_config

    def small_config(text: Path, examples: Sequence[str]) -> RunConfig:
        full = config(text, examples)
        return full.replace(
            {
                "tokenizer": full.tokenizer.replace({"kind": "char", "vocabulary_size": 400}),
                "model": full.model.replace({"d_model": 8, "d_ff": 12, "num_heads": 2}),
                "training": full.training.replace(
                    {"max_steps": 3, "warmup_steps": 1, "validation_sentences": 2}
                ),
                "decoding": full.decoding.replace({"max_extra_pieces": 2}),
            }
        )

    monkeypatch.setattr(demo, "build_sample_corpus", lambda: part)
    monkeypatch.setattr(demo, "demo_config", small_config)
    monkeypatch.setattr(demo, "CALIBRATING", 30)


@pytest.mark.usefixtures("small")
def test_the_demo_leaves_report_picture_text_and_bundle(tmp_path: Path) -> None:
    result = demo.run_demo(tmp_path / "demo", reporter=Reporter(quiet=True))

    report = json.loads((tmp_path / "demo" / "report.json").read_text())
    assert report == result.report
    for name in ("exact_match_unseen", "exact_match_compositional"):
        assert 0 <= report[name] <= 1
    assert 0 <= report["chrf"] <= 100
    assert report["seconds"] >= report["training_seconds"] > 0
    assert (tmp_path / "demo" / "attention.png").read_bytes().startswith(b"\x89PNG")
    assert [(e.source, e.reference) for e in result.examples[:6]] == list(demo.FIRST_SENTENCES)
    assert len(result.examples) == 16
    assert load_bundle(tmp_path / "demo").source_language == "Korean"
    shown = [example.source for example in result.examples]
    assert shown[0] == "저는 학생입니다."
    for bundle in ("averaged", "best"):  # the explorer offers them
        recipe = load_bundle(tmp_path / "demo" / bundle).record["config"]["recipe"]
        assert recipe["examples"] == shown[:12]
    text = (tmp_path / "demo-text" / "train.ko").read_text(encoding="utf-8")
    assert text.count("\n") == 60


@pytest.mark.usefixtures("small")
def test_the_bundle_of_the_demo_knows_its_limits(tmp_path: Path) -> None:
    result = demo.run_demo(tmp_path / "demo", reporter=Reporter(quiet=True))

    bundle = load_bundle(tmp_path / "demo")
    familiarity = Familiarity.of(bundle)
    assert familiarity is not None
    assert bundle.record[FAMILIARITY]["held_out"] == 30
    assert result.beyond is not None
    assert result.beyond.unfamiliar  # 인 is no character of the small corpus
    for name in ("flagged_unseen", "flagged_compositional"):
        assert 0 <= result.report[name] <= 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("lang", "words"), [("en", "What to do next:"), ("ko", "다음에 해 볼 것:")]
)
def test_the_command_speaks_both_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lang: str, words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--out", str(tmp_path / "demo"), "--lang", lang, "--quiet"])
    assert ended.value.code in (0, None)
    out = capsys.readouterr().out
    assert words in out
    assert f"headway translate {tmp_path / 'demo'}" in out


@pytest.mark.usefixtures("small")
def test_force_replaces_a_demo_and_nothing_else(tmp_path: Path) -> None:
    demo.run_demo(tmp_path / "demo", reporter=Reporter(quiet=True))
    with (
        RunFolder(tmp_path / "demo").locked(),
        pytest.raises(RunError, match="Another process"),
    ):
        demo.remove_demo(tmp_path / "demo")
    assert (tmp_path / "demo" / "averaged").exists()
    for place in (tmp_path / "demo", tmp_path / "demo" / "best"):
        (place / "NOTES.txt").write_text("mine")
        with pytest.raises(RunError, match=r"NOTES\.txt is not of the demonstration, and would"):
            demo.remove_demo(tmp_path / "demo")
        (place / "NOTES.txt").unlink()
    demo.remove_demo(tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []

    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(RunError, match="not a demonstration"):
        demo.remove_demo(other)
    assert (other / "chapter.txt").exists()


def test_exact_match_counts_equal_lines() -> None:
    right = demo.Example("가", "a", "a")
    wrong = demo.Example("나", "b", "c")
    assert demo._exact([right, wrong, right, right]) == 0.75


@pytest.mark.usefixtures("small")
def test_text_of_somebody_else_beside_the_demo_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "demo-text"
    text.mkdir()
    (text / "novel.txt").write_text("chapter one")

    with pytest.raises(RunError, match="holds something else"):
        demo.run_demo(tmp_path / "demo", reporter=Reporter(quiet=True))

    assert [path.name for path in text.iterdir()] == ["novel.txt"]
