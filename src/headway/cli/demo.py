"""`headway demo`: from nothing to a translator, on the built-in corpus."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from headway.cli.options import AsJson, Debug, Device, Quiet, print_json
from headway.stopping import if_stopped

_COMMANDS = (
    'headway translate {out} --text "저는 학생입니다."',
    "headway info {out}",
    "headway train --source F --target F --valid-source F --valid-target F --out runs/my",
)

_WORDS = {
    "en": {
        "right": "right",
        "wrong": "wrong; the corpus says: {reference}",
        "scores": "Exactly right: {unseen:.1%} of 500 unseen sentences, {compositional:.1%} of 500 "
        "with combinations never seen in training. chrF {chrf:.1f}. {minutes:.1f} minutes.",
        "beyond": "Beyond its grammar the model can only guess, and says so:",
        "guess": "a guess",
        "picture": "Where the decoder looked, for one sentence: {picture}",
        "next": "What to do next:",
        "steps": (
            "translate a sentence of your own",
            "see what was trained",
            "train on your own text",
        ),
        "stopped": "Stopped and saved. Go on with: headway demo --out {out} --resume",
        "unsaved": "Stopped. Nothing was saved yet; run it again.",
    },
    "ko": {
        "right": "정답",
        "wrong": "오답. 정답은: {reference}",
        "scores": "정확히 일치한 비율: 처음 보는 문장 500개 중 {unseen:.1%}, "
        "학습에 없던 조합의 문장 500개 중 {compositional:.1%}. "
        "chrF {chrf:.1f}. {minutes:.1f}분 걸렸습니다.",
        "beyond": "문법을 벗어난 문장의 번역은 추측일 뿐이며, 추측이라고 표시합니다:",
        "guess": "추측",
        "picture": "한 문장을 번역하며 디코더가 본 곳: {picture}",
        "next": "다음에 해 볼 것:",
        "steps": ("직접 쓴 문장 번역하기", "학습된 모델 살펴보기", "내 데이터로 학습하기"),
        "stopped": "저장하고 멈췄습니다. 이어서 하려면: headway demo --out {out} --resume",
        "unsaved": "멈췄습니다. 아직 저장된 것이 없으니 다시 실행하세요.",
    },
}


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder of the run.")] = Path("runs/demo"),
    lang: Annotated[
        str, typer.Option("--lang", metavar="ko|en", help="Language of the messages.")
    ] = "en",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a stopped demo.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the demo in the folder.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
    device: Device = "auto",
) -> None:
    """Train on the built-in Korean-English corpus, evaluate, translate, and draw attention."""
    from headway.demo import remove_demo, run_demo
    from headway.errors import ConfigError, suggest
    from headway.runtime.memory import prepare_process
    from headway.training.reporting import Reporter
    from headway.training.run_folder import RunFolder

    prepare_process()
    if lang not in _WORDS:
        raise ConfigError(f"There is no language '{lang}'.", suggest(lang, _WORDS))
    words = _WORDS[lang]
    if force and not resume:
        remove_demo(out)
    begun = RunFolder(out).has_begun
    again = words["stopped"].format(out=quote(str(out)))
    with if_stopped(lambda: again if begun() else words["unsaved"], instead=True):
        result = run_demo(out, resume=resume, device=device, reporter=Reporter(quiet or as_json))
    if not result.report:
        typer.echo(again, err=True)
        raise typer.Exit(1)
    if as_json:
        print_json(result.report)
        return
    print()
    for example in result.examples:
        verdict = words["right"] if example.right else words["wrong"]
        print(f"  {example.source}\n    {example.translation}")
        print(f"    ({verdict.format(reference=example.reference)})")
    if result.beyond is not None and result.beyond.unfamiliar:
        print(f"\n{words['beyond']}")
        print(f"  {result.beyond.source}\n    {result.beyond.translation}\n    ({words['guess']})")
    print()
    print(
        words["scores"].format(
            unseen=result.report["exact_match_unseen"],
            compositional=result.report["exact_match_compositional"],
            chrf=result.report["chrf"],
            minutes=result.report["seconds"] / 60,
        )
    )
    if result.report["picture"]:
        print(words["picture"].format(picture=out / result.report["picture"]))
    print(f"\n{words['next']}")
    for what, command in zip(words["steps"], _COMMANDS, strict=True):
        print(f"  {what}\n    {command.format(out=quote(str(out)))}")
