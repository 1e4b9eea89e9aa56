"""Speed of a Firefox student here, in fxtranslate and in bergamot, in turns on the same cores.

    python benchmarks/student_speed.py FOLDER TEXT [--bergamot DIR] [--cores 1 2] [--rounds 5]

FOLDER: a student (`.bin`, `.spm`, `lex….bin`). TEXT: sentences, one a line. DIR: the npm package
`@browsermt/bergamot-translator`. fxtranslate must be installed. Each program is a process of its
own, which translates greedily with the shortlist: some sentences one at a time, then a file. Prints
sentences a second, the median of the rounds and their range. A round gives each program its turn.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

Translate = Callable[[list[str], bool], object]  # texts, and True for one call each


def headway(folder: Path) -> Translate:
    """Return our translation in int8."""
    from headway.decoding.translator import TextTranslator
    from headway.interop.marian.recognition import recognize
    from headway.interop.marian.student import read_student

    translator = TextTranslator(read_student(recognize(folder)).bundle, precision="int8")
    options = replace(translator.options, shortlist=True)

    def translate(texts: list[str], alone: bool) -> object:
        calls = [[text] for text in texts] if alone else [texts]
        return [translator.translate(c, options=options, split_sentences=False) for c in calls]

    return translate


def fxtranslate(folder: Path) -> Translate:
    """Return the translation of fxtranslate, which has one thread and takes one text a call."""
    import fxtranslate as engine

    (model,), pieces, (lexicon,) = (
        sorted(folder.glob(name)) for name in ("model*.bin", "*.spm", "lex*.bin")
    )
    translator = engine.Translator(
        model=model.read_bytes(),
        src_vocab=pieces[0].read_bytes(),
        trg_vocab=pieces[-1].read_bytes(),
        shortlist=lexicon.read_bytes(),
    )
    return lambda texts, _: [translator.translate(text) for text in texts]


PROGRAMS = {"headway": headway, "fxtranslate": fxtranslate}


def serve(program: str, folder: Path) -> None:
    """Answer each line, the texts and `alone`, by the seconds that they take."""
    translate = PROGRAMS[program](folder)
    for line in sys.stdin:
        texts, alone = json.loads(line)
        begin = time.perf_counter()
        translate(texts, alone)
        print(time.perf_counter() - begin, flush=True)


class Program:
    """A process that translates on some cores."""

    def __init__(self, name: str, command: list[str], cores: set[int]) -> None:
        """Start it."""
        self.name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def rate(self, texts: list[str], alone: bool) -> float:
        """Return sentences a second."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([texts, alone]) + "\n")
        self._process.stdin.flush()
        return len(texts) / float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Measure and print, or serve as one of the programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--bergamot", type=Path)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", type=int, default=50, help="sentences one at a time")
    parser.add_argument("--sentences", type=int, default=400, help="sentences of the file")
    parser.add_argument("--serve", choices=PROGRAMS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.folder)
        return
    lines = [line for line in arguments.text.read_text(encoding="utf-8").split("\n") if line]
    places = [str(arguments.folder), str(arguments.text)]
    commands = {name: [sys.executable, __file__, *places, "--serve", name] for name in PROGRAMS}
    if arguments.bergamot:
        script = str(Path(__file__).with_suffix(".mjs"))
        commands["bergamot"] = ["node", script, str(arguments.bergamot.resolve()), places[0]]
    for count in arguments.cores:
        cores = set(sorted(os.sched_getaffinity(0))[:count])
        programs = [Program(name, command, cores) for name, command in commands.items()]
        for alone, texts in (
            (True, lines[: arguments.alone]),
            (False, lines[: arguments.sentences]),
        ):
            for program in programs:
                program.rate(texts[:20], alone)  # to warm up
            rounds = [
                [program.rate(texts, alone) for program in programs]
                for _ in range(arguments.rounds)
            ]
            for program, rates in zip(programs, zip(*rounds, strict=True), strict=True):
                ratios = [each[0] / rate for each, rate in zip(rounds, rates, strict=True)]
                print(
                    f"{count} cores, {'one sentence' if alone else 'file'}: {program.name:12} "
                    f"{statistics.median(rates):6.0f} ({min(rates):.0f} to {max(rates):.0f}), "
                    f"headway is {statistics.median(ratios):.2f} times as fast",
                    flush=True,
                )
        for program in programs:
            program.close()


if __name__ == "__main__":
    main()
