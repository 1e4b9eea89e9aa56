"""docs/en/howto/continuing.md is true: commands and code run in its order, on a small model."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.bundle import load_bundle
from headway.cli.app import main
from headway.config.run import RunConfig
from headway.training.reporting import Reporter
from headway.training.run import train

PAGE = Path(__file__).parents[2] / "docs" / "en" / "howto" / "continuing.md"
SHORT = [
    "--set", "training.max_steps=2", "--set", "training.validation_sentences=0",
    "--set", "training.precision=float32", "--set", "decoding.max_extra_pieces=2",
]  # fmt: skip


def blocks() -> list[tuple[str, str]]:
    """Return language and content of each block, in order."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def call(line: str) -> None:
    """Run one command of the page, for a few steps only."""
    words = shlex.split(line)
    assert words.pop(0) == "headway"
    if "--minutes" in words:  # it would choose the steps, which are set to a few here
        place = words.index("--minutes")
        del words[place : place + 2]
    short = SHORT if words[0] in ("train", "check") and "--resume" not in words else []
    with pytest.raises(SystemExit) as ended:
        main([word.replace("=4000", "=3") for word in words] + short)
    assert ended.value.code in (0, None), line


def test_the_page_runs(
    make_config: Callable[..., RunConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    for name in ("medical", "medical-valid", "medical-test", "old-test"):
        Path(f"{name}.ko").write_text("코로나19 는 무엇인가\none two\n" * 3, encoding="utf-8")
        Path(f"{name}.en").write_text("what is it\ntwo one\n" * 3, encoding="utf-8")
    tokenizer = {"kind": "char", "vocabulary_size": 30}
    old = make_config(tokenizer=tokenizer, training={"max_steps": 1})
    train(old, "runs/ko-en", reporter=Reporter(quiet=True))

    names: dict[str, object] = {}
    commands = 0
    for language, content in blocks():
        if language == "toml":
            Path("medical.toml").write_text(content, encoding="utf-8")
            Path("runs/medical").rename("runs/medical-without-a-file")
        elif language == "python":
            exec(content, names)
        else:
            for line in content.replace("\\\n", " ").splitlines():
                call(line)
                commands += 1

    assert commands == 10
    printed = capfd.readouterr().out
    assert "['▁', '<2ko>', '▁', '코로나19'," in printed
    first = load_bundle("runs/medical-without-a-file")
    assert first.record["config"]["training"]["learning_rate"] == 0.0005
    assert first.record["config"]["training"]["patience"] == 5
    report = json.loads(Path("runs/medical/report.json").read_text())
    assert report["steps"] == 3
    assert report["started_from"]["bundle"] == "runs/ko-en/averaged"
    summary = json.loads(Path("runs/three/seeds.json").read_text())
    assert [run["folder"] for run in summary["runs"]] == ["seed-1", "seed-2", "seed-3"]


def test_what_the_page_says_of_numbers_is_so() -> None:
    from headway.config.presets import FINE_TUNING
    from headway.training import estimate

    measured = estimate._SKIPPED + estimate._MEASURED
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"at most {FINE_TUNING['max_steps']:,} steps" in text
    assert f"its learning rate peaks at {FINE_TUNING['learning_rate']}" in text
    assert f"after {FINE_TUNING['warmup_steps']} steps of warm-up" in text
    assert f"After {measured} steps" in text
    korean = PAGE.parents[2] / "ko" / "howto" / PAGE.name
    text = " ".join(korean.read_text(encoding="utf-8").split())
    warm_up = f"처음 {FINE_TUNING['warmup_steps']}스텝 동안 {FINE_TUNING['learning_rate']}까지"
    assert f"학습률은 {warm_up} 올립니다" in text
    assert f"최대 {FINE_TUNING['max_steps']:,}스텝" in text
    assert f"{measured}스텝이 지나면" in text
