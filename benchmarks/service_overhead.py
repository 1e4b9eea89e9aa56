"""What HTTP costs: a file and single sentences through `headway serve`, and without it, in turns.

    python benchmarks/service_overhead.py MODEL SENTENCES [--rounds 5]

Both sides use the default precision and search. Needs aiohttp and psutil.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from operator import eq
from pathlib import Path
from statistics import median

import aiohttp
from service_load import direction_of, served

import headway

TEXTS, AT_WORK = 50, 8  # texts of a request, and requests at work
SINGLE = 200  # sentences that are sent one by one

Ask = Callable[[list[str]], Awaitable[list[str]]]


async def _file(ask: Ask, sentences: Sequence[str]) -> float:
    """Return the seconds for all sentences."""
    requests = [list(sentences[at : at + TEXTS]) for at in range(0, len(sentences), TEXTS)]
    begun, waiting = time.perf_counter(), iter(requests)

    async def follow() -> None:
        for request in waiting:
            assert len(await ask(request)) == len(request)

    await asyncio.gather(*(follow() for _ in range(AT_WORK)))
    return time.perf_counter() - begun


async def _singles(ask: Ask, sentences: Sequence[str]) -> list[float]:
    """Return the seconds of each sentence."""
    seconds = []
    for sentence in sentences[:SINGLE]:
        begun = time.perf_counter()
        await ask([sentence])
        seconds.append(time.perf_counter() - begun)
    return seconds


async def _compare(url: str, translator: headway.Translator, given: argparse.Namespace) -> None:
    source, target = await direction_of(url)
    sentences = given.sentences.read_text(encoding="utf-8").splitlines()

    async with aiohttp.ClientSession() as session:

        async def ask(texts: list[str]) -> list[str]:
            body = {"q": texts, "source": source, "target": target}
            async with session.post(f"{url}/translate", json=body) as answer:
                assert answer.status == 200, await answer.text()
                return (await answer.json())["translatedText"]

        texts = [translation.text for translation in translator.translate(sentences)]
        same = sum(map(eq, await ask(sentences), texts))  # int8 may depend on the batch
        print(f"{same:,} of {len(texts):,} texts are equal")
        files, overheads = [], []
        for _ in range(given.rounds):
            begun = time.perf_counter()
            translator.translate(sentences)
            alone = time.perf_counter() - begun
            served = await _file(ask, sentences)
            files.append(alone / served)
            print(f"file: {alone:.2f} s alone, {served:.2f} s through HTTP")
            seconds = []
            for sentence in sentences[:SINGLE]:
                begun = time.perf_counter()
                translator.translate(sentence)
                seconds.append(time.perf_counter() - begun)
            overheads.append(1e3 * (median(await _singles(ask, sentences)) - median(seconds)))
            print(f"one sentence: {1e3 * median(seconds):.2f} ms alone, {overheads[-1]:+.2f} ms")
    print(f"file through HTTP: {median(files):.2f} of the speed")
    print(f"one sentence: {median(overheads):.2f} ms more at the median")


def main() -> None:
    """Print each round and the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    translator = headway.load(given.model)
    with served(given.model, ["--timeout", "120"]) as (url, _):
        asyncio.run(_compare(url, translator, given))


if __name__ == "__main__":
    main()
