"""The limit of each cell of `headway bench translate` on this processor, and the share reached.

    headway bench translate MODEL … --json > RESULT
    python benchmarks/translation_limits.py SOURCE RESULT [RESULT …] --name tiny --out FILE

The cells of all results, which are of one model, are written to FILE with a limit in each. The
model, a bundle or a size of random weights, is that of the results. The limit is a time that no
program with these weights in int8 can beat on this machine:

- products: the multiply-adds of all weights, divided by the rate of the processor's instruction for
  products of bytes, from register to register. A source token passes the encoder and the products
  of the memory's keys and values once; each row of each step passes the decoder and the output.
  The search of Headway says how many rows there are. Attention, norms and choices cost nothing.
- bytes: one byte for each weight, divided by the rate at which all cores read as many bytes again
  and again. One sentence reads the encoder once and the decoder at each step. In a file, many rows
  share one reading, so only products count.

Both rates are measured on all cores at once, because two cores can share one sentence. For one
sentence the script also prints the limit of one core. It needs AVX-512 with VNNI, without AMX.
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from headway.bench.configurations import beam_size_of
from headway.bench.random_model import RANDOM_MODELS, random_bundle
from headway.bundle import Bundle, load_bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import END_ID
from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_search import build_search
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.decoding.translator import TextTranslator
from headway.kernels import dispatch
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import WORD, Code, FlatArray, Value, generated
from headway.model.accounting import multiply_adds

_SECONDS = 0.05  # of a measurement
_TURNS = 30  # of each measurement; the fastest counts, because others only disturb
_SUMS = 16  # registers of sums: more than the instruction's latency times its rate
_VECTOR = ir.VectorType(ir.IntType(32), 16)
_PRODUCTS = 64  # multiply-adds of bytes in one instruction
_READERS = 8  # registers that what is read goes into
_BLOCK = 64 * _READERS  # bytes


@generated(types.void)
def _multiply_bytes(code: Code, words: FlatArray, times: Value) -> None:
    """Multiply and add 64 bytes with 64 bytes in each of the sums, this many times."""
    zero = code.constant(0, WORD)
    first, second = words.read(zero, _VECTOR), words.read(zero + 16, _VECTOR)
    begin = [code.constant(0, _VECTOR) for _ in range(_SUMS)]

    def add(index: Value, sums: list[Value]) -> list[Value]:
        return [
            code.call("llvm.x86.avx512.vpdpbusd.512", _VECTOR, total, first, second)
            for total in sums
        ]

    sums = code.fold_all(times, 1, begin, add)
    for place, total in enumerate(sums):
        words.store(zero + 16 * place, total)


@compiled
def _multiply(words: np.ndarray, times: int) -> None:
    _multiply_bytes(words, times)


@generated(types.void)
def _read_words(code: Code, words: FlatArray, count: Value, sums: FlatArray) -> None:
    """Read all words, in vectors, into sums."""
    zero = code.constant(0, WORD)
    begin = [code.constant(0, _VECTOR) for _ in range(_READERS)]

    def read(index: Value, totals: list[Value]) -> list[Value]:
        return [
            total ^ words.read(index + 16 * place, _VECTOR) for place, total in enumerate(totals)
        ]

    for place, total in enumerate(code.fold_all(count, 16 * _READERS, begin, read)):
        sums.store(zero + 16 * place, total)


@compiled
def _read(words: np.ndarray, times: int, sums: np.ndarray) -> None:
    for _ in range(times):
        _read_words(words, len(words), sums)


def _rate(cores: int, work: Callable[[int], Callable[[int], object]], amount: float) -> float:
    """Return amounts a second of all cores together.

    work: makes the work of a core, a function of the number of times that it does the amount.
    """
    works = [work(core) for core in range(cores)]
    works[0](1)  # compiles
    times = 1
    while (taken := _timed(works[:1], times)) < _SECONDS / 4:
        times *= 2
    times = max(round(times * _SECONDS / taken), 1)
    return cores * amount * times / min(_timed(works, times) for _ in range(_TURNS))


def _timed(works: list[Callable[[int], object]], times: int) -> float:
    """Return the seconds until all have worked this many times, side by side."""
    begin = threading.Barrier(len(works) + 1)

    def run(work: Callable[[int], object]) -> None:
        begin.wait()
        work(times)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def product_rate(cores: int) -> float:
    """Return multiply-adds of bytes a second, from register to register."""

    def work(core: int) -> Callable[[int], object]:
        words = np.ones(16 * _SUMS, np.int32)
        return lambda times: _multiply(words, times)

    return _rate(cores, work, _SUMS * _PRODUCTS)


def read_rate(cores: int, size: int) -> float:
    """Return bytes a second, when cores together read this many bytes again and again."""

    def work(core: int) -> Callable[[int], object]:
        words = np.ones(size // cores // _BLOCK * _BLOCK // 4, np.int32)
        sums = np.zeros(16 * _READERS, np.int32)
        return lambda times: _read(words, times, sums)

    return _rate(cores, work, size // cores // _BLOCK * _BLOCK)


class CountingEngine:
    """An engine that counts the rows and steps of a search."""

    def __init__(self, engine: Any) -> None:
        """Count nothing yet."""
        self.engine = engine
        self.rows = self.steps = 0

    def __getattr__(self, name: str) -> Any:
        """Be the engine in everything else."""
        return getattr(self.engine, name)

    def step(self, state: Any, rows: Any, previous_ids: Any) -> Any:
        """Count a step."""
        self.rows, self.steps = self.rows + len(rows), self.steps + 1
        return self.engine.step(state, rows, previous_ids)


def count(
    bundle: Bundle,
    sentences: list[str],
    beam_size: int,
    length_penalty: float,
    length: int | None,
) -> dict[str, float]:
    """Return source tokens, steps and rows for each target token, of sentences one by one."""
    translator = TextTranslator(bundle, precision="auto")
    engine = CountingEngine(translator.engine)
    options = SearchOptions(
        beam_size,
        length_penalty,
        length_form="plain",
        min_length=length or 0,
        max_length=length,
    )
    search = build_search(options)
    sources = bundle.source_tokenizer.encode_batch(sentences)
    extra = bundle.decoding.max_extra_pieces
    requests = [Request([*ids, END_ID], length or len(ids) + extra) for ids in sources if ids]
    batch = StepwiseBatch(engine, search, 1)
    tokens = sum(len(best.ids) for _, (best, *_) in run_search(batch, enumerate(requests), slots=1))
    return {
        "source": sum(len(request.source_ids) for request in requests) / tokens,
        "steps": engine.steps / tokens,
        "rows": engine.rows / tokens,
        "sentences": len(requests) / tokens,
    }


def seconds_of_a_token(
    config: ModelConfig,
    counts: dict[str, float],
    single: bool,
    products: float,
    rate_of: Callable[[int], float],
) -> tuple[float, str]:
    """Return the least seconds for a target token, and which of the two limits is the larger.

    products: multiply-adds a second. rate_of: bytes a second for this many bytes.
    """
    source, row = weights_multiplied(config, 1, 0), weights_multiplied(config, 0, 1)
    computing = (counts["source"] * source + counts["rows"] * row) / products
    if not single:
        return computing, "products"
    encoder = max(
        counts["source"] * source / products, counts["sentences"] * source / rate_of(source)
    )
    steps = max(counts["rows"] * row / products, counts["steps"] * row / rate_of(row))
    return encoder + steps, "products" if encoder + steps < 1.01 * computing else "bytes"


def weights_multiplied(config: ModelConfig, source: int, target: int) -> int:
    """Return the weights that these tokens are multiplied with, which is their multiply-adds."""
    counted = multiply_adds(config, source, target)
    return counted.total - counted.attention


def joined(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one result with the cells, notes and first sentence of all.

    Of two results of one cell, the first counts. The sentences and tokens that limits are computed
    with are those of the first result.
    """
    (_,) = {result["model"] for result in results}
    cells = {}
    for result in results:
        for cell in result["cells"]:
            key = cell["search"], cell["batch"] == 1, cell["busy"]
            cells.setdefault(key, {"sentences": result["sentences"], **cell})
    firsts = [result["first_sentence"] for result in results if result["first_sentence"]]
    return results[0] | {
        "cells": list(cells.values()),
        "notes": list(dict.fromkeys(note for result in results for note in result["notes"])),
        "first_sentence": firsts[0] if firsts else None,
    }


def main() -> None:
    """Measure, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", required=True, help="Of the model: tiny, base or opus-mt.")
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args()
    if dispatch.has_amx() or not (dispatch.has_avx512() and dispatch.has_vnni()):
        raise SystemExit("The rate is measured for AVX-512 with VNNI and without AMX only.")
    result = joined([json.loads(path.read_text(encoding="utf-8")) for path in arguments.results])
    if result["model"] in RANDOM_MODELS:
        bundle, material = random_bundle(result["model"], arguments.source, result["sentences"])
        sentences = list(material.text.sentences)
    else:
        bundle = load_bundle(result["model"])
        sentences = arguments.source.read_text(encoding="utf-8").splitlines()
    result["model"] = arguments.name  # not where the bundle was
    cores = len(os.sched_getaffinity(0))
    sizes = [weights_multiplied(bundle.config, *one) for one in ((1, 0), (0, 1))]
    rates = {
        number: (product_rate(number), {size: read_rate(number, size) for size in sizes})
        for number in sorted({1, cores})
    }
    result["limits"] = {
        str(number): {
            "products": products,
            "bytes": {str(size): rate for size, rate in bandwidth.items()},
        }
        for number, (products, bandwidth) in rates.items()
    }
    for number, (products, bandwidth) in rates.items():
        reading = ", ".join(f"{b / 1e9:.0f} GB/s of {s / 1e6:.1f} MB" for s, b in bandwidth.items())
        print(f"{number} cores: {products / 1e9:,.0f} billion products a second; {reading}")
    counts = {
        search: count(
            bundle,
            sentences[: arguments.sentences],
            beam_size_of(search),
            result["length_penalty"],
            result["length"],
        )
        for search in {cell["search"] for cell in result["cells"]}
    }
    for cell in result["cells"]:
        single = cell["batch"] == 1
        limits = {
            number: seconds_of_a_token(
                bundle.config, counts[cell["search"]], single, products, bandwidth.__getitem__
            )
            for number, (products, bandwidth) in rates.items()
        }
        seconds, kind = limits[cores]
        share = cell["ours"] * seconds
        cell["limit"] = {
            "tokens_per_second": 1 / seconds,
            "one_core": 1 / limits[1][0],
            "by": kind,
            "share": share,
            "rows_a_token": counts[cell["search"]]["rows"],
        }
        kinds = "one sentence" if single else "file"
        busy = ", busy" if cell["busy"] else ""
        print(
            f"{cell['search']}, {kinds}{busy}: limit {1 / seconds:,.0f} tokens/s by {kind} "
            f"(one core {1 / limits[1][0]:,.0f}); reached {share:.0%}"
        )
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
