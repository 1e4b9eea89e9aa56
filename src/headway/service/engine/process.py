"""The process that translates with one model, for the web process that started it.

Messages are lines of JSON. Standard input has

    {"job": 7, "client": "a", "texts": ["…"], "wish": {…}, "prefixes": ["…"]}
    {"cancel": 7}
    {"measure": 8}

and standard output answers

    {"ready": {"checksum": …, "source_language": …, "target_language": …, "model": …}}
    {"failed": {"message": …, "remedy": …}}                  instead, if the model cannot be loaded
    {"job": 7, "item": 0, "translation": {…}}                for each text, in any order
    {"job": 7, "item": 0, "error": {"message": …, "remedy": …, "fault": false}}
    {"measured": 8, "waiting": …, "at_work": …, "slots": …}

The process ends when standard input does and all texts are translated.
"""

import argparse
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import torch

from headway.decoding.glossary import Glossary
from headway.decoding.translator import TextTranslator
from headway.errors import HeadwayError
from headway.json_text import to_json
from headway.runtime.signals import ignore_stop_requests
from headway.service.engine.texts import Demands, Text, TextMaker, as_message
from headway.service.engine.waiting import WaitingLine
from headway.service.engine.wishes import Wish
from headway.service.engine.worker import Worker


class _Job:
    """The texts of a job that are at work, and the number that are not answered."""

    def __init__(self, left: int) -> None:
        self.texts: list[Text] = []
        self.left = left


class Engine:
    """Jobs of texts, and the workers that translate them."""

    def __init__(self, translator: TextTranslator, out: TextIO, glossary: Glossary | None) -> None:
        """Write messages to `out`."""
        self.maker, self.out = TextMaker(translator, glossary), out
        self.line = WaitingLine()
        self._writing = threading.Lock()
        self._jobs: dict[int, _Job] = {}
        count = torch.get_num_threads() if translator.device.type == "cpu" else 1
        self.workers = [
            Worker(translator, self.line, self._done, self._failed, workers=count)
            for _ in range(count)
        ]
        self.line.arrived = self._look
        self._threads = [threading.Thread(target=worker.run) for worker in self.workers]

    def run(self, messages: Iterator[str]) -> None:
        """Answer messages until they end, and then the texts that are still at work."""
        for thread in self._threads:
            thread.start()
        try:
            for message in messages:
                self._receive(json.loads(message))
        finally:
            self.line.close()
            for thread in self._threads:
                thread.join()

    def _receive(self, message: Mapping[str, Any]) -> None:
        if "job" in message:
            self._begin(message)
        elif "cancel" in message:
            self._cancel(message["cancel"])
        else:
            at_work = sum(len(worker.at_work) for worker in self.workers)
            slots = sum(worker.slots for worker in self.workers)
            self.say(
                measured=message["measure"], waiting=len(self.line), at_work=at_work, slots=slots
            )

    def _begin(self, message: Mapping[str, Any]) -> None:
        """Put the texts of a job into the line; answer those at once that cannot be translated."""
        job, texts = message["job"], message["texts"]
        prefixes = message.get("prefixes") or [""] * len(texts)
        self._jobs[job] = _Job(len(texts))
        try:
            demands = self.maker.demands(Wish.of(message["wish"]))
        except HeadwayError as error:
            for item in range(len(texts)):
                self._tell_error(job, item, error)
            return
        for item, (source, prefix) in enumerate(zip(texts, prefixes, strict=True)):
            self._begin_text(message, item, source, prefix, demands)

    def _begin_text(
        self, message: Mapping[str, Any], item: int, source: str, prefix: str, demands: Demands
    ) -> None:
        job = message["job"]
        try:
            text, units = self.maker.units(job, item, source, demands, prefix)
        except HeadwayError as error:
            self._tell_error(job, item, error)
            return
        if units:
            self._jobs[job].texts.append(text)
            self.line.add(message["client"], units)
        else:
            self._tell(text)

    def _cancel(self, job: int) -> None:
        """Drop the texts of a job, unless all are answered."""
        if (known := self._jobs.pop(job, None)) is not None:
            for text in known.texts:
                text.dropped = True
            self.line.drop(job)

    def _look(self) -> None:
        for worker in self.workers:
            worker.interrupt()

    def _done(self, text: Text) -> None:
        """Tell a finished translation; a worker calls this."""
        try:
            self._tell(text)
        except Exception as error:  # of attention or the tokenizer; the worker's other texts go on
            self._tell_error(text.job, text.item, error)

    def _failed(self, text: Text, error: BaseException) -> None:
        self._tell_error(text.job, text.item, error)

    def _tell(self, text: Text) -> None:
        translation = as_message(self.maker.translation(text), alignments=text.alignments)
        pieces = sum(len(part.ids) for part in text.parts)
        self._answer(text.job, text.item, translation=translation, pieces=pieces)

    def _tell_error(self, job: int, item: int, error: BaseException) -> None:
        refused = isinstance(error, HeadwayError)
        told = {
            "message": error.message if refused else f"{type(error).__name__}: {error}",
            "remedy": error.remedy if refused else "Ask again.",
            "fault": not refused,
        }
        self._answer(job, item, error=told)

    def _answer(self, job: int, item: int, **answer: Any) -> None:
        self.say(job=job, item=item, **answer)
        with self._writing:
            if (known := self._jobs.get(job)) is not None:
                known.left -= 1
                if not known.left:
                    self._jobs.pop(job, None)

    def say(self, **message: Any) -> None:
        """Write one message; the web process may be gone."""
        with self._writing, suppress(BrokenPipeError):
            self.out.write(f"{to_json(message, compact=True)}\n")
            self.out.flush()


def main() -> None:
    """Load the model that the arguments name, and translate."""
    arguments = _arguments()
    ignore_stop_requests()  # Ctrl-C reaches the whole group; the web process ends this one
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no message
    try:
        translator = TextTranslator.load(
            arguments.model, arguments.device, trust_code=arguments.trust_code
        )
        glossary = Glossary.read(arguments.glossary) if arguments.glossary else None
        engine = Engine(translator, out, glossary)
        with suppress(HeadwayError):  # for a model that needs a tag before its text
            translator.translate("1")  # compiles the kernels
    except HeadwayError as error:
        failed = {"failed": {"message": error.message, "remedy": error.remedy}}
        out.write(f"{to_json(failed, compact=True)}\n")
        out.flush()
        sys.exit(error.exit_status)
    bundle = translator.bundle
    engine.say(ready={
        "checksum": bundle.checksum, "source_language": bundle.source_language,
        "target_language": bundle.target_language, "model": repr(translator),
    })  # fmt: skip
    sys.stdin.reconfigure(encoding="utf-8")  # pyright: ignore[reportAttributeAccessIssue]
    engine.run(sys.stdin)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--glossary")
    parser.add_argument("--trust-code", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
