"""Our side of a comparison of translators: text in, text out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import torch

from headway.bench.jobs import (
    Job,
    Outcome,
    Text,
    Translated,
    all_at_once,
    one_by_one,
)
from headway.data.tokenizer import END_ID
from headway.decoding.build_engine import PrecisionName
from headway.decoding.build_search import build_batch, pieces_at_work
from headway.decoding.engine import Batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.decoding.translator import TextTranslator, load
from headway.decoding.workers import run_in_parallel, search_with_workers

_Numbered = tuple[int, Request]
_Found = dict[int, list[Hypothesis]]


def prepare_ours(
    bundle: str, precision: PrecisionName, text: Text, threads: int = 1
) -> Callable[[Job], Outcome]:
    """Load a bundle for the CPU, and prepare weights for int8 and bfloat16."""
    torch.set_num_threads(threads)
    translator = load(bundle, "cpu", precision=precision)

    def work(job: Job) -> Outcome:
        torch.set_num_threads(job.threads)
        sentences = text.sentences[: job.sentences]
        if job.batch == 1:
            return one_by_one(sentences, lambda sentence: _one(translator, sentence, job))
        return all_at_once(sentences, lambda several: _file(translator, several, text, job))

    return work


def _one(translator: TextTranslator, sentence: str, job: Job) -> Translated:
    translation = translator.translate(
        sentence, beam_size=job.beam_size, length_penalty=0.0, split_sentences=False
    )
    return Translated(translation.text, len(translation.pieces), not translation.complete)


def _file(
    translator: TextTranslator, sentences: Sequence[str], text: Text, job: Job
) -> list[Translated]:
    """Translate all sentences, with the workers and slots of the job.

    All have one output limit, as in the peer; `Translator.translate` has one for each sentence.
    """
    bundle = translator.bundle
    sources = bundle.source_tokenizer.encode_batch(sentences)
    limit = text.limit(max(map(len, sources)))
    requests = list(enumerate(Request([*ids, END_ID], limit) for ids in sources))
    if job.longest_first:
        requests.sort(key=lambda numbered: -len(numbered[1].source_ids))
    search = _search_batches if not job.refill else _search_refilled
    hypotheses = search(translator, requests, job)
    best = [hypotheses[number][0] for number in range(len(sources))]
    decode = bundle.target_tokenizer.decode
    return [Translated(decode(h.ids), len(h.ids), not h.complete) for h in best]


def _search_refilled(translator: TextTranslator, requests: list[_Numbered], job: Job) -> _Found:
    return dict(
        search_with_workers(
            partial(_new_batch, translator, job),
            requests,
            workers=job.workers,
            slots=job.batch,
            max_tokens=pieces_at_work(translator.engine, job.beam_size),
        )
    )


def _search_batches(translator: TextTranslator, requests: list[_Numbered], job: Job) -> _Found:
    """Search batch by batch; a worker takes the next batch after the last row of its batch."""
    limit = pieces_at_work(translator.engine, job.beam_size)
    batches = [*_cut(requests, job.batch, limit)]

    def whole(mine: Iterable[list[_Numbered]]) -> Iterator[tuple[int, list[Hypothesis]]]:
        for batch in mine:
            slots = len(batch)
            yield from run_search(_new_batch(translator, job, slots), batch, slots=slots)

    return dict(run_in_parallel(whole, batches, job.workers))


def _cut(requests: list[_Numbered], most: int, max_tokens: int) -> Iterator[list[_Numbered]]:
    """Cut into batches of at most this many requests and source pieces, or of one request."""
    batch: list[_Numbered] = []
    tokens = 0
    for numbered in requests:
        length = len(numbered[1].source_ids)
        if batch and (len(batch) == most or tokens + length > max_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(numbered)
        tokens += length
    if batch:
        yield batch


def _new_batch(translator: TextTranslator, job: Job, slots: int) -> Batch:
    """Return a batch whose searches rank by probability alone, as the peer does."""
    return build_batch(translator.engine, SearchOptions(job.beam_size, 0.0), slots)
