"""Work on the shards of a plan: claim, translate, write, until none is left."""

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headway.bulk.claims import claim, kept, release
from headway.bulk.parts import Manifest, is_done, read_manifest, write_part
from headway.bulk.plan import Plan, read_plan
from headway.bulk.rows import Row, read_rows
from headway.decoding.glossary import Glossary
from headway.decoding.translator import TextTranslator
from headway.errors import BundleError, ConfigError, HeadwayError
from headway.runtime.memory import collect_only_new_objects, is_out_of_memory
from headway.saved_bundle import read_bundle

if TYPE_CHECKING:
    from headway.decoding.build_engine import EngineName, PrecisionName

AT_ONCE = 2000
"""Lines that are given to the engine together, as many as by `headway translate`."""

# Schedulers, with the variable of a task's number and the number of the first task.
_TASKS = {
    "SLURM_ARRAY_TASK_ID": 0,
    "JOB_COMPLETION_INDEX": 0,
    "PBS_ARRAY_INDEX": 0,
    "SGE_TASK_ID": 1,
}


class Outcome(IntEnum):
    """The exit status of `headway bulk work`."""

    DONE = 0
    FAILURES = 1
    OTHERS_AT_WORK = 3


@dataclass(frozen=True, slots=True)
class Worker:
    """Translates shards of the plan in a folder."""

    folder: Path
    plan: Plan
    translator: TextTranslator
    report: Callable[[int, Manifest], None]
    """Is called with each shard that is done."""

    def work(self, *, lease: float, until: Callable[[], bool]) -> Outcome:
        """Claim and translate shards until none is left, or `until` returns True."""
        shard: int | None = -1
        while not until() and (shard := self._claimed(lease, shard + 1)) is not None:
            with kept(self.folder, shard, lease):
                self.translate(shard)
        return outcome(self.folder, self.plan)

    def work_on(self, shard: int) -> Outcome:
        """Translate this shard without a claim, unless it is done; the outcome is its own."""
        if not is_done(self.folder, shard):
            self.translate(shard)
        manifest = read_manifest(self.folder, shard)
        return Outcome.FAILURES if manifest is None or manifest.failures else Outcome.DONE

    def _claimed(self, lease: float, start: int) -> int | None:
        """Claim a free shard, looked for from `start` on and then from the beginning."""
        count = len(self.plan.shards)
        for shard in (*range(start, count), *range(start)):
            if is_done(self.folder, shard) or not claim(self.folder, shard, lease):
                continue
            if not is_done(self.folder, shard):  # it may have been finished before the claim
                return shard
            release(self.folder, shard)
        return None

    def translate(self, shard: int) -> None:
        """Translate one shard and write its part."""
        begun = time.monotonic()
        rows = read_rows(self.plan, shard)
        translate_rows(self.translator, self.plan, rows)
        manifest = write_part(
            self.folder,
            self.plan,
            shard,
            rows,
            seconds=time.monotonic() - begun,
            host=socket.gethostname(),
        )
        self.report(shard, manifest)


def load_worker(
    folder: Path, report: Callable[[int, Manifest], None], *, trust_code: bool = False
) -> Worker:
    """Load the model of the plan in a folder; BundleError if it has changed since."""
    plan = read_plan(folder)
    if read_bundle(plan.model, mapped=True).checksum != plan.model_sha256:
        raise BundleError(
            f"{plan.model} is another model than the one that was planned.",
            "Restore it, or plan again in a new folder.",
        )
    translator = TextTranslator.load(
        plan.model,
        plan.device,
        engine=cast("EngineName", plan.engine),
        precision=cast("PrecisionName", plan.precision),
        trust_code=trust_code,
    )
    collect_only_new_objects()
    return Worker(folder, plan, translator, report)


def translate_rows(translator: TextTranslator, plan: Plan, rows: Sequence[Row]) -> None:
    """Translate the texts of rows in place.

    If a group fails, each text is tried alone. One that fails again becomes a failure.
    """
    for begin in range(0, len(rows), AT_ONCE):
        group = [row for row in rows[begin : begin + AT_ONCE] if row.text is not None]
        try:
            _translate_together(translator, plan, group)
        except Exception as error:
            if not _may_be_of_a_line(error):
                raise
            for row in group:
                _translate_alone(translator, plan, row)


def _translate_together(translator: TextTranslator, plan: Plan, rows: Sequence[Row]) -> None:
    translations = translator.translate(
        [row.text for row in rows if row.text is not None],
        banned=plan.banned,
        batch_tokens=plan.batch_tokens,
        glossary=_glossary(plan.glossary),
        options=plan.options,
        split_sentences=plan.split_sentences,
    )
    for row, translation in zip(rows, translations, strict=True):
        if "\n" in translation.text and plan.form == "text":
            row.failure = "The translation contains a line end."
        else:
            row.translation = translation.text


def _translate_alone(translator: TextTranslator, plan: Plan, row: Row) -> None:
    try:
        _translate_together(translator, plan, [row])
    except Exception as error:
        if not _may_be_of_a_line(error):
            raise
        is_known = isinstance(error, HeadwayError)
        row.failure = error.message if is_known else "There is not enough memory for this line."


def _may_be_of_a_line(error: Exception) -> bool:
    """Return True if another line may be translated after this error."""
    return isinstance(error, HeadwayError) or is_out_of_memory(error)


@lru_cache(1)
def _glossary(entries: tuple[tuple[str, str], ...]) -> Glossary | None:
    return Glossary(dict(entries)) if entries else None


def outcome(folder: Path, plan: Plan) -> Outcome:
    """Return whether all shards are done, and whether lines failed."""
    manifests = [read_manifest(folder, shard) for shard in range(len(plan.shards))]
    if None in manifests:
        return Outcome.OTHERS_AT_WORK
    if any(manifest is not None and manifest.failures for manifest in manifests):
        return Outcome.FAILURES
    return Outcome.DONE


def task_number(environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of this task in an array of Slurm, Kubernetes, PBS or Grid Engine.

    Counted from 0. Raises ConfigError outside an array.
    """
    for name, first in _TASKS.items():
        if (value := environment.get(name, "")).isdecimal():
            return int(value) - first
    raise ConfigError(
        f"The number of this task is unknown: none of {', '.join(_TASKS)} is set.",
        "Give the number with --shard N, or take free shards with --claim.",
    )
