"""Load on `headway serve` from other processes: throughput, time of answers, statuses, memory.

    python benchmarks/service_load.py MODEL SENTENCES [--seconds 60] [--loads 0.5 1 1.5 2 3]

The capacity is the speed with 64 requests at work, each of which follows the last at once. Then
requests come at random moments, at a multiple of the capacity, whether others are answered or not
(an open load, as users are). Each is a line of SENTENCES, by POST /translate. If the model is fast,
give lines of several sentences, or the senders need more of the machine than the server. Senders
share the cores with the server: the more they send, the less is left. So the capacity is also
scaled by the cores that these senders leave, as those of the capacity's measurement do. Needs
aiohttp and psutil.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aiohttp
import psutil

from headway.runtime.open_files import allow_many_open_files

AT_WORK = 64
CLIENTS = 2  # processes that send
CORES = len(os.sched_getaffinity(0))


@dataclass
class Seen:
    """What one process has seen: each status, and the seconds until each 200."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    """Seconds from the first request to the last answer."""
    processor: float = 0.0
    """Seconds of processor time of the senders."""

    @property
    def cores(self) -> float:
        """Return the cores that the senders took."""
        return self.processor / self.elapsed


class Sender:
    """Sends sentences to the server and counts the answers."""

    def __init__(self, url: str, direction: tuple[str, str], sentences: Sequence[str]) -> None:
        """Take the languages of the model and the sentences, which are sent in turn."""
        self.url, self.direction, self.sentences = url, direction, sentences
        self.seen, self.sent = Seen(), 0

    async def ask(self, session: aiohttp.ClientSession) -> None:
        """Send the next sentence, and wait for its answer."""
        text = self.sentences[self.sent % len(self.sentences)]
        self.sent += 1
        source, target = self.direction
        begun = time.perf_counter()
        try:
            body = {"q": text, "source": source, "target": target}
            async with session.post(f"{self.url}/translate", json=body) as answer:
                await answer.read()
                self.seen.statuses[answer.status] += 1
                if answer.status == 200:
                    self.seen.seconds.append(time.perf_counter() - begun)
        except aiohttp.ClientError:
            self.seen.statuses[0] += 1  # no answer

    async def closed(self, seconds: float, at_work: int) -> None:
        """Keep this many requests at work."""
        end = time.perf_counter() + seconds
        async with _session() as session:

            async def follow() -> None:
                while time.perf_counter() < end:
                    await self.ask(session)

            await asyncio.gather(*(follow() for _ in range(at_work)))

    async def opened(self, seconds: float, rate: float, seed: int) -> None:
        """Send requests at random moments, `rate` a second on average."""
        draw, begun, at = random.Random(seed), time.perf_counter(), 0.0
        async with _session() as session:
            running = set[asyncio.Task[None]]()
            while (at := at + draw.expovariate(rate)) < seconds:
                if (wait := begun + at - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                task = asyncio.create_task(self.ask(session))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.gather(*running)


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=120)
    )


def _send(sender: Sender, kind: str, arguments: tuple[float, ...], queue: object) -> None:
    allow_many_open_files()
    begun, before = time.perf_counter(), time.process_time()
    asyncio.run(getattr(sender, kind)(*arguments))
    sender.seen.elapsed = time.perf_counter() - begun
    sender.seen.processor = time.process_time() - before
    queue.put(sender.seen)  # type: ignore[attr-defined]


def from_processes(senders: Sequence[Sender], kind: str, arguments: Sequence[tuple]) -> Seen:
    """Let each sender work in a process of its own, and add up what they see."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [
        context.Process(target=_send, args=(sender, kind, given, queue))
        for sender, given in zip(senders, arguments, strict=True)
    ]
    for process in processes:
        process.start()
    total = Seen()
    for _ in processes:
        seen = queue.get()
        total.statuses += seen.statuses
        total.seconds += seen.seconds
        total.elapsed = max(total.elapsed, seen.elapsed)
        total.processor += seen.processor
    for process in processes:
        process.join()
    return total


@contextlib.contextmanager
def served(model: Path, options: Sequence[str]) -> Iterator[tuple[str, psutil.Process]]:
    """Start the server; yield its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "headway", "serve", str(model), "--no-explorer", "--quiet"]
    with subprocess.Popen([*command, "--port", str(port), *options]) as process:
        url = f"http://127.0.0.1:{port}"
        asyncio.run(_until_ready(url, process))
        try:
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


async def _until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    async with aiohttp.ClientSession() as session:
        while process.poll() is None:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{url}/health/ready") as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.2)
    raise SystemExit("The server ended.")


async def direction_of(url: str) -> tuple[str, str]:
    """Return the languages of the first model, source and target."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/languages") as answer:
        for language in await answer.json():
            for target in language["targets"]:
                if target != language["code"]:
                    return language["code"], target
    raise SystemExit("The server has no two languages.")


def _processor(server: psutil.Process) -> list[float]:
    """Return the seconds of processor time of the web process, and of those that translate."""
    processes = [server, *server.children(recursive=True)]
    times = [sum(process.cpu_times()[:2]) for process in processes]
    return [times[0], sum(times[1:])]


def _megabytes(server: psutil.Process) -> float:
    processes = [server, *server.children(recursive=True)]
    return sum(process.memory_info().rss for process in processes) / 1e6


def main() -> None:
    """Print a table; cores are those of the senders, the web process and the engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 1.0, 1.5, 2.0, 3.0])
    parser.add_argument("--serve", default="", help="More options of `headway serve`.")
    given = parser.parse_args()
    sentences = given.sentences.read_text(encoding="utf-8").splitlines()
    with served(given.model, given.serve.split()) as (url, server):
        direction = asyncio.run(direction_of(url))

        def senders() -> list[Sender]:
            return [Sender(url, direction, sentences[n::CLIENTS]) for n in range(CLIENTS)]

        def send(kind: str, arguments: Sequence[tuple]) -> tuple[Seen, list[float]]:
            """Return what is seen, and the cores of the senders, the web process, the engine."""
            before = _processor(server)
            seen = from_processes(senders(), kind, arguments)
            times = zip(before, _processor(server), strict=True)
            return seen, [seen.cores, *((end - begin) / seen.elapsed for begin, end in times)]

        def capacity(seconds: float) -> tuple[float, list[float]]:
            seen, cores = send("closed", [(seconds, AT_WORK // CLIENTS)] * CLIENTS)
            return len(seen.seconds) / seen.elapsed, cores

        capacity(5)  # warm
        full, cores = capacity(min(given.seconds, 20))
        print(f"capacity: {full:,.0f} requests a second; {_megabytes(server):,.0f} MB")
        print(f"cores: {', '.join(f'{part:.2f}' for part in cores)}")
        for load in given.loads:
            rate = load * full / CLIENTS
            seen, now = send("opened", [(given.seconds, rate, n) for n in range(CLIENTS)])
            answered = len(seen.seconds) / seen.elapsed / full
            left = (CORES - seen.cores) / (CORES - cores[0])
            times = sorted(seen.seconds) or [float("nan")]
            print(json.dumps({
                "load": load,
                "answered_of_capacity": round(answered, 3),
                "answered_of_capacity_with_these_senders": round(answered / left, 3),
                "cores": [round(part, 2) for part in now],
                "p50_ms": round(1e3 * median(times), 1),
                "p99_ms": round(1e3 * times[int(0.99 * (len(times) - 1))], 1),
                "statuses": dict(seen.statuses),
                "megabytes": round(_megabytes(server)),
            }), flush=True)  # fmt: skip
        full, cores = capacity(min(given.seconds, 20))
        print(f"capacity afterwards: {full:,.0f}")
        print(f"cores: {', '.join(f'{part:.2f}' for part in cores)}")


if __name__ == "__main__":
    main()
