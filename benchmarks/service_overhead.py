"""What HTTP costs: sentences through `headway serve`, and without it, in turns.

    python benchmarks/service_overhead.py MODEL SENTENCES [--rounds 5]

The same sentences go five ways: as one list to `Translator.translate`, which is the speed that the
others are compared with; in lists of 50 from a client that has 8 requests at work, as one that has
a file would send them, to `/v1/translate` and to `/translate`; one in each request, from 8 clients
at once; and, as far as the time of an answer matters, one after the other. `/v1/translate` takes
plain text, as the library does. `/translate` takes each text as a document, in which addresses,
placeholders and capitals are kept. Both sides use the default precision and search, and all
programs share the machine. Needs aiohttp and psutil.
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

TEXTS = 50  # of a request of the client that has a file
AT_WORK = 8  # requests
SINGLE = 200  # sentences that are sent one by one

Ask = Callable[[list[str]], Awaitable[list[str]]]


async def _together(ask: Ask, sentences: Sequence[str], texts: int) -> float:
    """Return the seconds for all sentences, with so many in each request."""
    requests = [list(sentences[at : at + texts]) for at in range(0, len(sentences), texts)]
    begun, waiting = time.perf_counter(), iter(requests)

    async def follow() -> None:
        for request in waiting:
            assert len(await ask(request)) == len(request)

    await asyncio.gather(*(follow() for _ in range(AT_WORK)))
    return time.perf_counter() - begun


async def _one_by_one(ask: Ask, sentences: Sequence[str]) -> list[float]:
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

        async def ask_plain(texts: list[str]) -> list[str]:
            body = {"texts": texts, "source": source, "target": target}
            async with session.post(f"{url}/v1/translate", json=body) as answer:
                assert answer.status == 200, await answer.text()
                return [item["text"] for item in (await answer.json())["translations"]]

        texts = [translation.text for translation in translator.translate(sentences)]
        for name, asked in (("/v1/translate", ask_plain), ("/translate", ask)):
            same = sum(map(eq, await asked(sentences), texts))
            print(f"{name}: {same:,} of {len(texts):,} texts are equal")
        plain_lists, lists, singles, plain_overheads, overheads = [], [], [], [], []
        for _ in range(given.rounds):
            begun = time.perf_counter()
            translator.translate(sentences)
            alone = time.perf_counter() - begun
            in_plain_lists = await _together(ask_plain, sentences, TEXTS)
            in_lists = await _together(ask, sentences, TEXTS)
            in_singles = await _together(ask, sentences, 1)
            plain_lists.append(alone / in_plain_lists)
            lists.append(alone / in_lists)
            singles.append(alone / in_singles)
            print(
                f"all: {alone:.2f} s, plain lists {in_plain_lists:.2f} s, "
                f"lists {in_lists:.2f} s, single {in_singles:.2f} s"
            )
            seconds = []
            for sentence in sentences[:SINGLE]:
                begun = time.perf_counter()
                translator.translate(sentence)
                seconds.append(time.perf_counter() - begun)
            for asked, more in ((ask_plain, plain_overheads), (ask, overheads)):
                answered = median(await _one_by_one(asked, sentences))
                more.append(1e3 * (answered - median(seconds)))
            print(
                f"one sentence: {1e3 * median(seconds):.2f} ms alone, "
                f"plain {plain_overheads[-1]:+.2f} ms, {overheads[-1]:+.2f} ms"
            )
    print(f"plain lists of {TEXTS}: {median(plain_lists):.2f} of the speed")
    print(f"lists of {TEXTS}: {median(lists):.2f} of the speed")
    print(f"single sentences of {AT_WORK} clients: {median(singles):.2f} of the speed")
    print(f"plain, one by one: {median(plain_overheads):.2f} ms more for a sentence")
    print(f"one by one: {median(overheads):.2f} ms more for a sentence")


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
