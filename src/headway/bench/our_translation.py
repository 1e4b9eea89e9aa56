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
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.decoding.translator import TextTranslator, load
from headway.decoding.workers import run_in_parallel, search_with_workers
from headway.runtime.memory import collect_only_new_objects

_Numbered = tuple[int, Request]
_Found = dict[int, list[Hypothesis]]


def prepare_ours(
    bundle: str, precision: PrecisionName, text: Text, trust_code: bool = False, threads: int = 1
) -> Callable[[Job], Outcome]:
    """Load a bundle for the CPU, and prepare weights for int8 and bfloat16."""
    torch.set_num_threads(threads)
    translator = load(bundle, "cpu", precision=precision, trust_code=trust_code)
    collect_only_new_objects()  # as `headway translate` does

    def work(job: Job) -> Outcome:
        torch.set_num_threads(job.threads)
        sentences = text.sentences[: job.sentences]
        if job.batch == 1:
            return one_by_one(sentences, lambda sentence: _one(translator, sentence, text, job))
        if job.as_installed:
            return all_at_once(sentences, lambda several: _plain(translator, several, text, job))
        return all_at_once(sentences, lambda several: _file(translator, several, text, job))

    return work


def _one(translator: TextTranslator, sentence: str, text: Text, job: Job) -> Translated:
    return _plain(translator, [sentence], text, job)[0]


def _plain(
    translator: TextTranslator, sentences: Sequence[str], text: Text, job: Job
) -> list[Translated]:
    """Translate by `Translator.translate`, which chooses workers and batches."""
    options = _options(text, job)
    translations = translator.translate(
        sentences, mend_runaways=False, options=options, split_sentences=False
    )
    return [
        Translated(t.text, len(t.pieces), text.length is None and not t.complete)
        for t in translations
    ]


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
    hypotheses = search(translator, requests, _options(text, job), job)
    best = [hypotheses[number][0] for number in range(len(sources))]
    decode = bundle.target_tokenizer.decode
    free = text.length is None
    return [Translated(decode(h.ids), len(h.ids), free and not h.complete) for h in best]


def _search_refilled(
    translator: TextTranslator, requests: list[_Numbered], options: SearchOptions, job: Job
) -> _Found:
    return dict(
        search_with_workers(
            partial(build_batch, translator.engine, options),
            requests,
            workers=job.workers,
            slots=job.batch,
            max_tokens=pieces_at_work(translator.engine, job.beam_size),
        )
    )


def _search_batches(
    translator: TextTranslator, requests: list[_Numbered], options: SearchOptions, job: Job
) -> _Found:
    """Search batch by batch; a worker takes the next batch after the last row of its batch."""
    limit = pieces_at_work(translator.engine, job.beam_size)
    batches = [*_cut(requests, job.batch, limit)]

    def whole(mine: Iterable[list[_Numbered]]) -> Iterator[tuple[int, list[Hypothesis]]]:
        for batch in mine:
            slots = len(batch)
            new = build_batch(translator.engine, options, slots)
            yield from run_search(new, batch, slots=slots)

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


def _options(text: Text, job: Job) -> SearchOptions:
    """Return a search that ranks as the peer does."""
    return SearchOptions(
        job.beam_size,
        text.length_penalty,
        length_form="plain",
        min_length=text.shortest,
        max_length=text.length,
    )
