"""A thread that translates a batch on one core; the batch is refilled while it runs."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import torch

from headway.decoding.attention import AttentionReader
from headway.decoding.build_search import (
    build_batch,
    build_search,
    pieces_at_work,
    usual_slots,
)
from headway.decoding.engine import Batch
from headway.decoding.run_search import until_refill
from headway.runtime.openmp import idle_cores, one_thread
from headway.service.engine.texts import TextMaker, Unit
from headway.service.engine.waiting import WaitingLine
from headway.service.engine.wishes import Kind

_PIECES = 16384  # source pieces of all batches together, counted once for each row


class Worker:
    """Translate units from a line, one kind at a time."""

    def __init__(
        self,
        maker: TextMaker,
        line: WaitingLine,
        *,
        workers: int = 1,
    ) -> None:
        """Prepare to work; `workers` is the number of all workers, this one included.

        maker: receives the hypotheses and answers the texts, in the worker's thread.
        """
        self.translator, self.maker = maker.translator, maker
        self.line, self.workers = line, workers
        self.at_work: dict[int, Unit] = {}
        self.slots = 0
        self._has_room = False
        self._batches: dict[Kind, Batch] = {}
        self._batch: Batch | None = None
        self.on_answers: Callable[[], None] = lambda: None
        """Called after some texts were answered."""

    def run(self) -> None:
        """Work until the line is closed and empty."""
        with ExitStack() as stack:
            if self.translator.device.type == "cpu":
                stack.enter_context(one_thread())
            stack.enter_context(torch.inference_mode())
            while (kind := self.line.next_kind()) is not None:
                try:
                    self._take_turn(kind)
                except Exception as error:  # of the model, or of memory; other texts go on
                    self._fail(kind, error)

    def look(self) -> None:
        """Interrupt the batch after its present step, to drop texts; called from other threads."""
        if (batch := self._batch) is not None:
            batch.interrupt()

    def offer(self) -> None:
        """Let the batch look at the line after its present step if it had room for more units.

        Called from other threads, after units were added. A full batch looks when a sentence ends.
        """
        if self._has_room:
            self.look()

    def _take_turn(self, kind: Kind) -> None:
        """Translate units of one kind, until none waits or the turn of another kind has come.

        While others wait, a turn begins as many units as the batch has slots.
        """
        rows = build_search(kind.options, banned=kind.banned, terms=kind.terms).copies
        self.slots = usual_slots(rows)
        most_pieces = pieces_at_work(self.translator.engine, rows, _PIECES // rows // self.workers)
        batch = self._batch = self._batch_of(kind)
        free = list(range(self.slots - 1, -1, -1))  # the one freed last is next: it has memory
        begun, full, first = 0, 0, True
        while True:
            batch.resume()  # before looking at the line, so that later arrivals interrupt again
            free += self._drop(batch)
            turn = self.slots - begun if self.line.others_wait(kind) else self.slots
            # Encoding several sentences together costs less: if more waited, some must end first.
            refills = not full or not until_refill(len(self.at_work), full)
            room = most_pieces - self._pieces() if refills and free else 0
            may_join = room > 0
            self._has_room = turn > 0 and (not self.at_work or may_join)
            if self._has_room:
                units = self.line.take(kind, min(len(free), turn), room, first=first)
                first = False
                # Asked before encoding: units that arrive meanwhile did not wait for lack of room.
                more_wait = self.line.waits(kind)
                with self._alone():
                    begun += self._begin(batch, free, units)
                full = len(self.at_work) if more_wait else 0
            if not self.at_work:
                return
            enough = until_refill(len(self.at_work), full) if full else 1
            with self._alone():
                ended = batch.advance(max(enough, 1))
            for slot, hypotheses in ended:
                unit = self.at_work.pop(slot)
                free.append(slot)
                results = [h._replace(ids=unit.request.pieces(h.ids)) for h in hypotheses]
                if (again := self.maker.take(unit, results)) is not None:
                    self.line.add(unit.text.client, [again])
            self.on_answers()

    def _alone(self) -> AbstractContextManager[None]:
        """Let matrix products use the cores of the other workers if these are idle.

        A unit that arrives interrupts the batch, which then goes on without these cores.
        """
        return idle_cores(self.workers > 1 and self.line.only_works(self.workers))

    def _pieces(self) -> int:
        return sum(unit.pieces for unit in self.at_work.values())

    def _begin(self, batch: Batch, free: list[int], units: list[Unit]) -> int:
        units = [unit for unit in units if not unit.text.dropped]
        slots = [free.pop() for _ in units]
        self.at_work |= zip(slots, units, strict=True)
        if units:
            batch.begin(slots, [unit.request for unit in units])
        return len(units)

    def _drop(self, batch: Batch) -> list[int]:
        """Give up the units of dropped texts; return the slots that became free."""
        dropped = [slot for slot, unit in self.at_work.items() if unit.text.dropped]
        free = batch.drop(dropped) if dropped else []
        for slot in free:
            del self.at_work[slot]
        return free

    def _batch_of(self, kind: Kind) -> Batch:
        """Return an idle batch: that of the last turn if the kind is the same."""
        if (batch := self._batches.pop(kind, None)) is None:
            batch = build_batch(
                self.translator.engine, kind.options, self.slots,
                attend=self._attend(kind), banned=kind.banned, terms=kind.terms, lists=kind.lists,
            )  # fmt: skip
        self._batches = {kind: batch}
        return batch

    def _attend(self, kind: Kind) -> AttentionReader | None:
        options = kind.options
        if not options.coverage_penalty:
            return None
        return AttentionReader(self.translator.models, options.attention_layer)

    def _fail(self, kind: Kind, error: Exception) -> None:
        """Answer the texts at work with an error, and forget the batch that it may have broken.

        If none is at work, no batch could be made for those that wait.
        """
        units = list(self.at_work.values()) or self.line.take_all(kind)
        self.at_work, self._batches, self._batch = {}, {}, None
        for text in dict.fromkeys(unit.text for unit in units):
            if not text.dropped:
                text.drop()
                text.answer(error)
        self.on_answers()
