"""A batch whose searches run in the compiled loop, `headway.kernels.search_loop`."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.draft_counts import DraftCounts
from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.candidates import NEVER_CHOSEN, check_numbers
from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import LengthForm, SearchOptions, length_penalty
from headway.decoding.packed.layers import PackedEmbedding
from headway.decoding.packed.numba_backend import (
    FusedDecoder,
    FusedEncoder,
    LoopProduct,
    SharpLoop,
    caches_of,
)
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.torch_backend import SHARP_PIECES
from headway.decoding.request import Request
from headway.kernels import linear, top_k, two_cores
from headway.kernels import search_loop as kernel
from headway.kernels.attention_step import keep_memory
from headway.kernels.codegen.calls import Form, form
from headway.kernels.codegen.together import compile_together
from headway.kernels.decoder_step import decode_rows
from headway.kernels.drafts import Counts, guess_pieces
from headway.kernels.linear import product_with
from headway.kernels.top_k import best_pieces, sharpen
from headway.runtime.openmp import usable_cores

_ROOM = 256  # pieces of a translation, at first; memory is allocated when it is first written
_IDLE_ROWS = 8  # most rows of a batch that is kept for the next search

_Kind = tuple[SearchOptions, int]  # of a batch: the options and the number of slots


class CompiledLoop:
    """The parts of a packed engine that the loop needs."""

    def __init__(
        self,
        embedding: PackedEmbedding,
        decoder: FusedDecoder,
        output: LoopProduct | SharpLoop,
        encoder: FusedEncoder | None,
        drafts: DraftCounts | None,
    ) -> None:
        """Use the target embedding, the decoder and the projection to the vocabulary.

        encoder: of the same model, to compile its kernels with those of the loop. drafts: the
        counts from which pieces are guessed.
        """
        self.embedding, self.decoder = embedding, decoder
        product = output.rough if isinstance(output, SharpLoop) else output
        assert isinstance(product, LoopProduct)
        self.weight = product.weight
        self.vocabulary = product.num_outputs
        self.output = (self.weight.view(np.int32), self.vocabulary, *_exact(output))
        assert drafts is None or drafts.target_size == self.vocabulary
        self.drafts = drafts
        self.counts = _counts(drafts)
        self.calls: kernel.Calls | None = None
        self.encoder = encoder
        self.is_compiled = False
        self.products = two_cores.Products([*decoder.all_weights, self.weight])
        self._idle: dict[_Kind, CompiledBatch] = {}

    def batch(
        self, engine: Engine[PackedState], options: SearchOptions, slots: int
    ) -> "CompiledBatch":
        """Return a batch of the engine that has these parts; compile the kernels that it calls.

        An idle batch with the same options and slots is used again, because making one takes as
        long as two steps of a small model.
        """
        if (batch := self._idle.pop((options, slots), None)) is None:
            batch = CompiledBatch(self, engine, options, slots)
        if not self.is_compiled:
            compile_together(self.kernels(batch))
            self.is_compiled = True
        return batch

    def keep(self, batch: "CompiledBatch") -> None:
        """Keep a batch whose searches have ended, if it is small, instead of the previous one."""
        if batch.rows <= _IDLE_ROWS and not batch.state.is_longer:
            self._idle = {(batch.options, batch.slots): batch}

    def run(
        self,
        state: PackedState,
        longest: int,
        sentences: kernel.Sentences,
        finished: kernel.Finished,
        settings: kernel.Settings,
        enough: int,
    ) -> int:
        """Take steps until `enough` sentences end; return the reason to return.

        longest: the most positions that a translation at work can have.
        """
        model = self._model(longest, self.decoder.arguments)
        caches = _caches(state)
        self.calls = self.calls or kernel.Calls(
            *(callee.address if callee else 0 for callee in self._callees(model, caches))
        )
        with two_cores.second_core(self.products, usable_cores()) as helper:
            return kernel.search_until_end(
                model, self.calls, caches, sentences, finished, settings, self.counts, helper,
                enough,
            )  # fmt: skip

    def kernels(self, batch: "CompiledBatch") -> list[Form]:
        """Return the kernels for a batch, first those of modules that take long to compile."""
        ints, rows = np.empty(1, np.int64), np.empty((1, 1), np.float32)
        model = self._model(1, self.decoder.with_calls(ints))
        caches, calls = _caches(batch.state), kernel.Calls(0, 0, 0, 0, 0)
        tuples = model, calls, caches, batch.sentences, batch.finished, batch.settings, self.counts
        forms = [
            form(kernel.search_until_end, *tuples, 0, 1),
            *self.products.kernels(),
            *self.decoder.callees(),
            *filter(None, self._callees(model, caches)),
            *(self.encoder.kernels() if self.encoder else ()),
            form(keep_memory, rows, 0, ints, ints, batch.state.memory[0].keys),
        ]
        return sorted(dict.fromkeys(forms), key=_compile_order)

    def _model(self, longest: int, decoder: tuple[Any, ...]) -> kernel.Model:
        positions = self.embedding.positions_to(longest)
        table, scale = self.embedding.table, np.float32(self.embedding.scale)
        return kernel.Model(table, scale, positions, decoder, *self.output)

    def _callees(self, model: kernel.Model, caches: kernel.Caches) -> list[Form | None]:
        """Return the kernels of `Calls`; None for one that this loop does not call."""
        rows, numbers = np.zeros(1, np.int64), np.zeros((1, 1), np.float32)
        ids = np.zeros(1, np.int32)
        sharp = model.exact_output, model.exact_bias, model.margin, model.most
        return [
            form(
                decode_rows, numbers, rows, rows, caches.lengths, caches.owners,
                caches.source_lengths, caches.first, caches.addresses, 0, *model.decoder,
            ),
            form(product_with(self.weight), numbers, self.weight, False, numbers, 0),
            form(sharpen, numbers, *sharp, numbers) if model.most else None,
            form(best_pieces, numbers, rows, numbers, rows[:, None], numbers[0]),
            form(guess_pieces, *self.counts, ids, ids, 0, 0, 0, 0, numbers, rows)
            if self.drafts
            else None,
        ]  # fmt: skip


def _compile_order(form: Form) -> int:
    """Return a key for sorting: kernels of modules that take longest to compile come first."""
    longest = kernel.__name__, linear.__name__, top_k.__name__
    module = form.kernel.__module__
    return longest.index(module) if module in longest else len(longest)


def _caches(state: PackedState) -> kernel.Caches:
    return kernel.Caches(state.lengths, state.owners, state.source_lengths, *caches_of(state))


class CompiledBatch:
    """Sentences in slots, whose greedy or beam search runs in one call until some of them end."""

    def __init__(
        self, loop: CompiledLoop, engine: Engine[PackedState], options: SearchOptions, slots: int
    ) -> None:
        """Start with free slots."""
        self.loop, self.engine, self.options, self.slots = loop, engine, options, slots
        self.longest = 1
        copies, best = options.beam_size, options.n_best
        self.guesses = 0
        if copies == 1 and loop.drafts is not None:
            self.guesses = max(kernel.DRAFT_ROWS // slots - 1, 0)
        self.rows = slots * (copies + self.guesses)
        self.state = engine.start(slots, copies + self.guesses)
        self.sentences = kernel.Sentences(
            at_work=np.zeros(slots, np.bool_),
            steps=np.zeros(slots, np.int64),
            max_lengths=np.zeros(slots, np.int64),
            prefix_lengths=np.zeros(slots, np.int64),
            prefixes=np.zeros((slots, 0), np.int64),
            log_probs=np.zeros((slots, copies)),
            ids=np.zeros((slots, copies, _ROOM), np.int32),
            sources=np.zeros((slots, 0), np.int32),
            interrupt=np.zeros(1, np.bool_),
        )
        self.finished = kernel.Finished(
            ids=np.zeros((slots, best, _ROOM), np.int32),
            scores=np.zeros((slots, best, 2)),
            facts=np.zeros((slots, best, 3), np.int64),
            counts=np.zeros(slots, np.int64),
        )
        self.settings = kernel.Settings(
            greedy=options.beam_size == 1,
            penalties=_penalties(options.length_penalty, options.length_form, _ROOM),
            finished_needed=float(max(options.patience * copies, best)),
            drops_hopeless=not options.length_penalty,
            min_length=int(options.min_length),
            no_repeat_ngram=int(options.no_repeat_ngram),
            repetition_penalty=np.float32(options.repetition_penalty),
            never=np.array(NEVER_CHOSEN, np.int64),
            start=START_ID,
            end=END_ID,
        )

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Encode these sentences into free slots, and begin their searches."""
        assert all(r.allowed is None and not r.terms for r in requests), "the loop has no lists"
        self.engine.encode(self.state, slots, [request.source_ids for request in requests])
        limited = [request.under(self.options) for request in requests]
        forced = np.array([piece for request in limited for piece in request.prefix], np.int64)
        if forced.size and not 0 <= forced.min() <= forced.max() < self.loop.vocabulary:
            raise self.loop.embedding.unknown(forced)
        self._make_room(max(max(r.max_length, len(r.prefix)) for r in limited) + 1)
        self._widen("prefixes", max(len(request.prefix) for request in limited))
        if self.guesses:
            self._widen("sources", max(len(request.source_ids) for request in limited))
        sentences = self.sentences
        for slot, request in zip(slots, limited, strict=True):
            if self.guesses:
                sentences.sources[slot, : len(request.source_ids)] = request.source_ids
            sentences.at_work[slot] = True
            sentences.steps[slot] = 0
            sentences.max_lengths[slot] = request.max_length
            sentences.prefix_lengths[slot] = len(request.prefix)
            sentences.prefixes[slot, : len(request.prefix)] = request.prefix
            sentences.log_probs[slot, 1:] = -np.inf  # only the first row is a hypothesis
            sentences.log_probs[slot, 0] = 0.0
            self.finished.counts[slot] = 0

    def _make_room(self, pieces: int) -> None:
        """Make room for translations of this many pieces, the end symbol included."""
        self.longest = max(pieces, self.longest)
        room = self.sentences.ids.shape[2]
        if pieces > room:
            longer = max(pieces, 2 * room)
            padding = ((0, 0), (0, 0), (0, longer - room))
            self.sentences = self.sentences._replace(ids=np.pad(self.sentences.ids, padding))
            self.finished = self.finished._replace(ids=np.pad(self.finished.ids, padding))
            penalties = _penalties(self.options.length_penalty, self.options.length_form, longer)
            self.settings = self.settings._replace(penalties=penalties)

    def _widen(self, name: str, pieces: int) -> None:
        """Make room for this many pieces of each slot's prefix or source."""
        narrow = getattr(self.sentences, name)
        if pieces > narrow.shape[1]:
            wider = np.pad(narrow, ((0, 0), (0, pieces - narrow.shape[1])))
            self.sentences = self.sentences._replace(**{name: wider})

    def advance(self, enough: int = 1) -> list[tuple[int, list[Hypothesis]]]:
        """Take steps until enough sentences end; return their slots, with their hypotheses.

        If another thread interrupts, there may be fewer, or none.
        """
        were_at_work = self.sentences.at_work.copy()
        while (reason := self._run(enough)) == kernel.NEEDS_ROOM:
            self.state.make_room(self.state.owners.shape[1] + 1)
        if reason == kernel.NOT_A_NUMBER:
            check_numbers(np.array([np.nan], np.float32))  # raises the error of the other searches
        ended = (were_at_work & ~self.sentences.at_work).nonzero()[0].tolist()
        return [(slot, self._hypotheses(slot)) for slot in ended]

    def interrupt(self) -> None:
        """Let `advance` return after the step that it takes."""
        self.sentences.interrupt[0] = True

    def resume(self) -> None:
        """Let `advance` go on until enough sentences end."""
        self.sentences.interrupt[0] = False

    def drop(self, slots: Sequence[int]) -> list[int]:
        """Give up these sentences; their slots are free."""
        self.sentences.at_work[list(slots)] = False
        return list(slots)

    def end(self) -> None:
        """Let the next search use this batch."""
        self.loop.keep(self)

    def _run(self, enough: int) -> int:
        return self.loop.run(
            self.state, self.longest, self.sentences, self.finished, self.settings, enough
        )

    def _hypotheses(self, slot: int) -> list[Hypothesis]:
        """Return the hypotheses of a slot that ended: best first, equal ones in order of ending."""
        count = min(int(self.finished.counts[slot]), self.options.n_best)
        in_order = sorted(
            zip(
                self.finished.facts[slot, :count].tolist(),
                self.finished.scores[slot, :count].tolist(),
                self.finished.ids[slot, :count],
                strict=True,
            ),
            key=lambda hypothesis: (-hypothesis[1][1], hypothesis[0][1]),
        )
        return [
            Hypothesis(tuple(ids[:length].tolist()), *scores, complete=bool(complete))
            for (length, _, complete), scores, ids in in_order
        ]


@lru_cache(16)
def _penalties(alpha: float, form: LengthForm, pieces: int) -> NDArray[np.float64]:
    """Return the length penalty of 0 to `pieces` pieces; an empty translation has the end symbol.

    They are computed by Python, because another `pow` may round otherwise.
    """
    lengths = range(pieces + 1)
    return np.array([length_penalty(max(length, 1), alpha, form) for length in lengths], np.float64)


def _exact(output: LoopProduct | SharpLoop) -> tuple[NDArray[Any], NDArray[Any], Any, int]:
    """Return the fields of `Model` from `exact_output` on; without rounding they are empty."""
    if isinstance(output, SharpLoop):
        return output.weight, output.bias, output.margin, SHARP_PIECES
    return np.empty((0, 0), np.float32), np.empty(0, np.float32), np.float32(0), 0


def _counts(drafts: DraftCounts | None) -> Counts:
    """Return the counts for guessing; empty arrays if there are none."""
    if drafts is None:
        whole, short = np.empty(0, np.int64), np.empty(0, np.int32)
        return Counts(whole, short, short, whole, short, np.empty(0, np.float32))
    return Counts(
        drafts.starts, drafts.pieces, drafts.counts,
        drafts.translation_starts, drafts.translations, drafts.probabilities,
    )  # fmt: skip
