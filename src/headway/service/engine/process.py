"""The process that translates with one model, for the web process that started it.

Messages are lines of JSON. Standard input has

    {"job": 7, "client": "a", "texts": ["…"], "wish": {…}, "prefixes": ["…"]}
    {"cancel": 7}
    {"measure": 8}

and standard output answers

    {"ready": {"checksum": …, "source_language": …, "target_language": …, "model": …}}
    {"failed": {"message": …, "remedy": …}}                  instead, if the model cannot be loaded
    {"job": 7, "item": 0, "part": "…"}                       for each part, if the wish has "parts"
    {"job": 7, "item": 0, "translation": {…}}                for each text, in any order
    {"job": 7, "item": 0, "error": {"message": …, "remedy": …, "fault": false}}
    {"measured": 8, "waiting": …, "at_work": …, "slots": …}

The process ends when standard input has ended and all texts are translated.
"""

import argparse
import gc
import json
import os
import sys
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

import torch

from headway.decoding.glossary import Glossary
from headway.decoding.translation import Translation
from headway.decoding.translator import TextTranslator
from headway.documents import Finished, Steps, check_form, steps_of_file, steps_of_text
from headway.errors import HeadwayError
from headway.json_text import to_json
from headway.runtime.memory import collect_only_new_objects
from headway.runtime.signals import ignore_stop_requests
from headway.service.engine.documents import DocumentWork
from headway.service.engine.texts import Demands, Text, TextMaker, as_message
from headway.service.engine.waiting import WaitingLine
from headway.service.engine.wishes import Wish
from headway.service.engine.worker import Worker

_LONG = 5000  # characters of a text; dividing and tokenizing them takes some 5 ms
_SWITCH_INTERVAL = 0.0005
"""Seconds after which a thread lets another one run Python. With the default, 5 ms, a worker whose
sentence has ended would wait that long for the thread that begins texts."""

_FLUSH_INTERVAL = 0.05
"""Seconds for which answers of incomplete jobs are collected, and then sent together. The web
process measures the speed of the model by them."""


class _Job:
    """The texts and documents of a job, and the number that are not answered."""

    def __init__(self, left: int, *, at_once: bool) -> None:
        self.work: list[Text | DocumentWork] = []
        self.left = left
        self.at_once = at_once
        """True if each answer is sent at once, and not together with the last one."""
        self.dropped = False

    def add(self, work: Text | DocumentWork) -> None:
        """Keep a text that begins; it is dropped if the job was dropped meanwhile."""
        self.work.append(work)
        if self.dropped:
            work.drop()

    def drop(self) -> None:
        """Give up the texts; another thread may be adding some."""
        self.dropped = True
        for work in list(self.work):
            work.drop()


class _Beginner:
    """A thread that begins the texts of jobs: one text of each job in turn."""

    def __init__(self, begun: Callable[[], None]) -> None:
        """Call `begun` after each text."""
        self._begun = begun
        self.jobs: SimpleQueue[Iterator[None] | None] = SimpleQueue()
        """The jobs with texts that have not begun; None after the last job."""
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        closed = False
        while not (closed and self.jobs.empty()):
            if (job := self.jobs.get()) is None:
                closed = True
                continue
            for _ in job:
                self.jobs.put(job)
                break
            self._begun()


class Engine:
    """Jobs of texts, and the workers that translate them.

    One thread reads the messages. Two others divide texts into sentences and tokenize them, so that
    cancellations and measurements do not wait for that. One of them is for jobs with a long text,
    so that short texts do not wait. A job of one short text is begun by the thread that reads it,
    if no other job waits.
    """

    def __init__(
        self,
        translator: TextTranslator,
        out: TextIO,
        glossary: Glossary | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write messages to `out`. clock: returns the time in seconds."""
        self.maker, self.out = TextMaker(translator, glossary), out
        self.line = WaitingLine()
        self._writing = threading.Lock()
        self._clock, self._flushed, self._is_due = clock, clock(), False
        self._jobs: dict[int, _Job] = {}
        count = torch.get_num_threads() if translator.device.type == "cpu" else 1
        self.workers = [Worker(self.maker, self.line, workers=count) for _ in range(count)]
        self.line.arrived = self._offer
        for worker in self.workers:
            worker.on_answers = self._flush
        self._threads = [threading.Thread(target=worker.run) for worker in self.workers]
        self._short_beginner, self._long_beginner = _Beginner(self._flush), _Beginner(self._flush)

    def run(self, messages: Iterator[str]) -> None:
        """Answer messages until they end, and then the texts that are still being translated."""
        beginners = (self._short_beginner, self._long_beginner)
        for thread in (*(beginner.thread for beginner in beginners), *self._threads):
            thread.start()
        try:
            for message in messages:
                self._receive(json.loads(message))
        finally:
            for beginner in beginners:
                beginner.jobs.put(None)
            for beginner in beginners:
                beginner.thread.join()
            self.line.close()
            for thread in self._threads:
                thread.join()

    def _receive(self, message: Mapping[str, Any]) -> None:
        if "job" in message:
            at_once = bool(message["wish"].get("parts"))
            self._jobs[message["job"]] = job = _Job(len(message["texts"]), at_once=at_once)
            is_long = max(map(len, message["texts"]), default=0) > _LONG
            beginner = self._long_beginner if is_long else self._short_beginner
            texts = self._begin(job, message)
            if len(message["texts"]) == 1 and not is_long and beginner.jobs.empty():
                for _ in texts:  # another thread would take longer to wake up
                    pass
                self._flush()
            else:
                beginner.jobs.put(texts)
        elif "cancel" in message:
            self._cancel(message["cancel"])
        else:
            at_work = sum(len(worker.at_work) for worker in self.workers)
            slots = sum(worker.slots for worker in self.workers)
            self.say(
                measured=message["measure"], waiting=len(self.line), at_work=at_work, slots=slots
            )

    def _begin(self, job: _Job, message: Mapping[str, Any]) -> Iterator[None]:
        """Put the texts of a job into the line, and yield after each one.

        Texts that cannot be translated are answered at once.
        """
        number, texts = message["job"], message["texts"]
        prefixes = message.get("prefixes") or [""] * len(texts)
        try:
            wish = Wish.of(message["wish"])
            demands = self.maker.demands(wish)
        except Exception as error:  # of this job; others go on
            for item in range(len(texts)):
                self._tell_error(number, item, error)
            return
        for item, (source, prefix) in enumerate(zip(texts, prefixes, strict=True)):
            if job.dropped:
                return
            try:
                self._begin_text(job, message, item, source, wish, demands, prefix)
            except Exception as error:  # of this text; other texts go on
                self._tell_error(number, item, error)
            yield

    def _begin_text(
        self,
        job: _Job,
        message: Mapping[str, Any],
        item: int,
        source: str,
        wish: Wish,
        demands: Demands,
        prefix: str,
    ) -> None:
        number, client = message["job"], message["client"]
        if wish.form is not None:
            document = DocumentWork(self.maker, self.line, demands, number, client)
            document.tell = partial(self._tell_document, number, item, document)
            job.add(document)
            if document.dropped:
                return
            document.begin(_steps(source, wish, document))
            return
        tell = partial(self._tell, number, item)
        tell_part = partial(self._tell_part, number, item) if wish.parts else None
        text, units = self.maker.units(number, client, source, demands, tell, prefix, tell_part)
        job.add(text)
        if text.dropped:
            return
        if units:
            self.line.add(client, units)
        else:
            self.maker.finish(text)

    def _cancel(self, job: int) -> None:
        """Drop the texts of a job, unless all are answered."""
        if (unfinished := self._jobs.pop(job, None)) is not None:
            unfinished.drop()
            self.line.drop(job)
            for worker in self.workers:
                worker.look()

    def _offer(self) -> None:
        for worker in self.workers:
            worker.offer()

    def _tell(self, job: int, item: int, result: Translation | Exception) -> None:
        """Send a translation, or the error that prevented it; a worker calls this."""
        if isinstance(result, Exception):
            self._tell_error(job, item, result)
            return
        aligned = bool(result.hypotheses[0].attentions)
        translation = as_message(result, alignments=aligned)
        self._answer(job, item, translation=translation, pieces=len(result.pieces))

    def _tell_part(self, job: int, item: int, part: str) -> None:
        """Send the translation of a part; a worker calls this, and flushes."""
        self._write(job=job, item=item, part=part)
        self._is_due = True

    def _tell_document(
        self, job: int, item: int, document: DocumentWork, result: Finished[Any] | Exception
    ) -> None:
        """Send a translated document, or the error that prevented it; a worker calls this."""
        if isinstance(result, Exception):
            self._tell_error(job, item, result)
            return
        content = result.content
        text = content if isinstance(content, str) else b64encode(content).decode()
        translation = {
            "text": text, "hypotheses": [{"text": text}],
            "flags": sorted(result.flags), "num_sentences": result.sentences,
        }  # fmt: skip
        self._answer(job, item, translation=translation, pieces=document.pieces)

    def _tell_error(self, job: int, item: int, error: BaseException) -> None:
        refused = isinstance(error, HeadwayError)
        description = {
            "message": error.message if refused else f"{type(error).__name__}: {error}",
            "remedy": error.remedy if refused else "Ask again.",
            "fault": not refused,
        }
        self._answer(job, item, error=description)

    def _answer(self, job: int, item: int, **answer: Any) -> None:
        """Write an answer, which `_flush` sends together with others."""
        self._write(job=job, item=item, **answer)
        with self._writing:
            if (unfinished := self._jobs.get(job)) is not None:
                unfinished.left -= 1
                self._is_due |= unfinished.at_once or not unfinished.left
                if not unfinished.left:
                    self._jobs.pop(job, None)

    def say(self, **message: Any) -> None:
        """Send one message; the web process may be gone."""
        self._write(**message)
        self._is_due = True
        self._flush()

    def _write(self, **message: Any) -> None:
        line = f"{to_json(message, compact=True)}\n"
        with self._writing, suppress(BrokenPipeError):
            self.out.write(line)

    def _flush(self) -> None:
        """Send the written answers if a job is complete, or some milliseconds after the last flush.

        The web process waits for whole jobs, and each message costs it time.
        """
        with self._writing, suppress(BrokenPipeError):
            now = self._clock()
            if self._is_due or now - self._flushed >= _FLUSH_INTERVAL:
                self.out.flush()
                self._is_due, self._flushed = False, now


def _steps(source: str, wish: Wish, document: DocumentWork) -> Steps[Any]:
    """Return the steps of a document, whose source is text or a file in base64."""
    form = check_form(wish.form or "")
    if wish.file:
        return steps_of_file(b64decode(source), form, document.split, keep=wish.keep)
    return steps_of_text(source, form, document.split, keep=wish.keep)


def main() -> None:
    """Load the model that the arguments name, and translate."""
    arguments = _arguments()
    ignore_stop_requests()  # Ctrl-C reaches the whole group; the web process ends this one
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(
        sys.stderr.fileno(), sys.stdout.fileno()
    )  # output of libraries must not mix with messages
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
    sys.setswitchinterval(_SWITCH_INTERVAL)
    gc.collect()
    collect_only_new_objects()
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
