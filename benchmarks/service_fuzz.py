"""Generated requests to `headway serve`: statuses, faults, undocumented answers, memory.

    PYTHONPATH=. python benchmarks/service_fuzz.py MODEL [--requests 100000] [--senders 2]

MODEL translates from Korean to English. Four of ten requests are schemathesis', from the OpenAPI
description of the server: data that fits it, and data that does not. Five are those of
`tests/clients/strange.py`, and one is bytes that are no HTTP, or a client that leaves. Each answer
must come in time, with a status and a body that the description allows. Needs schemathesis,
jsonschema and psutil.
"""

import argparse
import contextlib
import multiprocessing
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import psutil
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from tests.clients.strange import Strange, strange_requests

AT_WORK = 8  # requests of a sender that wait for an answer
ROUND = 200  # requests from one seed
SECONDS = 30  # the server's deadline
WAIT = 0.2  # seconds for the answer to bytes that may be no request
LATE = 10  # more seconds until an answer counts as late
NO_MODEL = (429, 503, 504)  # by overload


@dataclass
class Seen:
    """What has been seen: counts by kind and status, faults, and the seconds of the slowest."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """A request for each kind of fault."""
    slowest: float = 0.0

    def add(self, other: "Seen") -> None:
        """Add what another has seen."""
        self.statuses += other.statuses
        self.faults += other.faults
        self.examples = other.examples | self.examples
        self.slowest = max(self.slowest, other.slowest)


class Description:
    """The answers that an OpenAPI description allows."""

    def __init__(self, described: dict[str, Any]) -> None:
        """Take the description, as JSON."""
        self.routes: list[tuple[re.Pattern[str], dict[str, Any]]] = []
        for path, methods in described["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(path))
            self.routes.append((re.compile(pattern), methods))

    def problem(self, method: str, path: str, answer: requests.Response) -> str | None:
        """Return what is wrong with an answer; None if it is described."""
        answers = self._answers(method, path)
        if answers is None:
            return self._problem_elsewhere(method, answer)
        told = answers.get(str(answer.status_code))
        if told is None:
            return f"the status {answer.status_code} is not described"
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        content = told.get("content", {})
        if content and kind not in content:
            return f"the type {kind!r} is not described"
        if kind == "application/json":
            try:
                jsonschema.validate(answer.json(), content.get(kind, {}).get("schema", {}))
            except ValueError:
                return "the body is no JSON"
            except jsonschema.ValidationError as error:
                return f"the body does not fit: {error.message[:200]}"
        return None

    def _answers(self, method: str, path: str) -> dict[str, Any] | None:
        for pattern, methods in self.routes:
            if pattern.fullmatch(path) and method.lower() in methods:
                return methods[method.lower()]["responses"]
        return None

    def _problem_elsewhere(self, method: str, answer: requests.Response) -> str | None:
        """Routes that are not described must still answer in JSON, and errors in one form."""
        if method == "HEAD" or answer.status_code in (200, 307):
            return None
        try:
            fits = "error" in answer.json()
        except ValueError:
            fits = False
        return None if fits else f"the body of an answer {answer.status_code} has no error"


class Sender:
    """Sends generated requests, several at the same time, and checks the answers."""

    def __init__(self, url: str, described: dict[str, Any]) -> None:
        """Take the address and the OpenAPI description of a server."""
        self.url, self.description = url, Description(described)
        self.seen = Seen()
        self.cases = _cases(described)
        self._own = threading.local()
        self._counting = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_WORK)

    def send(self, count: int, first_seed: int, told: Callable[[int], None]) -> None:
        """Send requests, and tell after each round how many."""
        with ThreadPoolExecutor(AT_WORK) as pool:

            def later(work: Callable[[Any], None], request: Any) -> None:
                self._places.acquire()
                pool.submit(self._safely, work, request)

            for number in range(count // ROUND):
                chance = random.Random(first_seed + number)
                part = chance.random()
                if part < 0.4:
                    requests_, work = chance.choice(self.cases), self.described
                elif part < 0.9:
                    requests_, work = strange_requests(), self.strange
                else:
                    requests_, work = broken_http(), self.broken
                _draw(requests_, first_seed + number, lambda one, work=work: later(work, one))
                told(ROUND)

    def _safely(self, work: Callable[[Any], None], request: Any) -> None:
        try:
            work(request)
        except Exception as error:  # of this program, or no answer
            self._fault(f"no answer: {type(error).__name__}", f"{request!s:.400} {error!s:.300}")
        finally:
            self._places.release()

    def described(self, case: Any) -> None:
        """Send a request of schemathesis."""
        mode = case.meta.generation.mode.name.lower()
        asked = requests.Request(**case.as_transport_kwargs(self.url)).prepare()
        self._answered(f"schemathesis, {mode}", asked)

    def strange(self, strange: Strange) -> None:
        """Send a request whose head is right."""
        asked = requests.Request(strange.method, self.url, data=strange.body).prepare()
        asked.url = self.url + strange.path  # prepared, it would be another one
        for name, value in strange.headers.items():
            asked.headers[name] = value
        self._answered("strange", asked)

    def _answered(self, kind: str, asked: requests.PreparedRequest) -> None:
        begun = time.perf_counter()
        answer = self._session().send(asked, timeout=SECONDS + 60, allow_redirects=False)
        seconds = time.perf_counter() - begun
        with self._counting:
            self.seen.statuses[f"{kind}: {answer.status_code}"] += 1
            self.seen.slowest = max(self.seen.slowest, seconds)
        route = urlsplit(asked.url or "").path
        problem = self.description.problem(asked.method or "", str(route), answer)
        if answer.status_code >= 500 and answer.status_code not in NO_MODEL:
            problem = f"status {answer.status_code}"
        if seconds > SECONDS + LATE:
            problem = f"later than {SECONDS + LATE} seconds"
        if problem is not None:
            shown = f"{asked.method} {asked.url} {asked.headers.get('Content-Type')}"
            self._fault(f"{asked.method} {str(route)[:40]}: {problem}",
                        f"{shown} {asked.body!r:.600} -> {answer.content[:300]!r}")  # fmt: skip

    def _session(self) -> requests.Session:
        if not hasattr(self._own, "session"):
            self._own.session = requests.Session()
            self._own.session.trust_env = False
        return self._own.session

    def broken(self, wire: bytes) -> None:
        """Send bytes; read after a moment, say that no more will come, and read on; or leave."""
        parts = urlsplit(self.url)
        begun = time.perf_counter()
        status = "closed"
        with socket.create_connection((parts.hostname, parts.port), timeout=SECONDS + 60) as own:
            try:
                own.sendall(wire)
                if len(wire) % 3 == 0:
                    status = "left"
                    return
                select.select([own], [], [], WAIT)
                with contextlib.suppress(OSError):  # it is closed already
                    own.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: own.recv(65536), b""))
                if found := re.match(rb"HTTP/1.1 (\d+)", received):
                    status = found[1].decode()
            except ConnectionError:
                status = "reset"  # closed with bytes that were not read
            finally:
                with self._counting:
                    self.seen.statuses[f"broken: {status}"] += 1
        if time.perf_counter() - begun > SECONDS + LATE:
            self._fault(f"broken HTTP: later than {SECONDS + LATE} seconds", repr(wire[:400]))
        if status.startswith("5") and int(status) not in NO_MODEL:
            self._fault(f"broken HTTP: status {status}", repr(wire[:400]))

    def _fault(self, kind: str, example: str) -> None:
        with self._counting:
            self.seen.faults[kind] += 1
            self.seen.examples.setdefault(kind, example)


def _draw(strategy: st.SearchStrategy[Any], number: int, use: Callable[[Any], None]) -> None:
    """Draw the requests of one round."""
    drawn: list[Any] = []

    @seed(number)
    @settings(
        max_examples=ROUND, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def take(one: Any) -> None:
        drawn.append(one)
        use(one)

    while len(drawn) < ROUND:  # fewer, if there are few different ones
        had = len(drawn)
        take()
        if len(drawn) - had < ROUND // 2:
            for one in (drawn * ROUND)[: ROUND - len(drawn)]:
                drawn.append(one)
                use(one)


def _cases(described: dict[str, Any]) -> list[st.SearchStrategy[Any]]:
    """Return schemathesis' strategies: those of a route with a body twice as often."""
    schema = schemathesis.openapi.from_dict(described)
    found: list[st.SearchStrategy[Any]] = []
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in schemathesis.GenerationMode:
            strategy = operation.as_strategy(generation_mode=mode).map(_often_served)
            with contextlib.suppress(Unsatisfiable):  # without fields nothing can be wrong
                strategy.example()
                found += [strategy] * (2 if operation.method == "post" else 1)
    return found


def _often_served(case: Any) -> Any:
    """Give most cases languages that are served, or nearly all would be refused for those."""
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("source"), str) and len(str(body)) % 4:
        case.body = body | {"source": "ko", "target": "en"}
        if "texts" in body:
            case.body.pop("model", None)
    return case


def broken_http() -> st.SearchStrategy[bytes]:
    """Return bytes on the wire that are no request, or not all of one."""
    host = b"Host: 127.0.0.1\r\n"
    body = b'{"q":"\xea\xb0\x80","source":"ko","target":"en"}'
    kind = b"Content-Type: application/json\r\n"
    lines = st.sampled_from([
        b"GET /languages HTTP/1.1\r\n", b"POST /translate HTTP/1.1\r\n", b"GET / HTTP/9.9\r\n",
        b"POST /translate HTTP/1.0\r\n", b"get /languages HTTP/1.1\r\n", b"GET  /x  HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"OPTIONS * HTTP/1.1\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\n", b"POST /\xff HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n", b"G\x00T / HTTP/1.1\r\n", b"\r\n\r\n",
        b"POST /translate?q=%zz HTTP/1.1\r\n", b"POST /v1/translate HTTP/1.1\r\n",
    ])  # fmt: skip
    heads = st.lists(st.sampled_from([
        host, host, host, kind, kind, b"Host: a\r\n", b"Host: \xff\r\n", b"Content-Length: 0\r\n",
        b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"Content-Length: 1e3\r\n",
        b"Content-Length: %d\r\n" % len(body), b"Content-Length: 5, 6\r\n", b"a b: c\r\n",
        b": x\r\n",
        b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"X: \0\r\n",
        b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"Connection: Upgrade\r\n",
        b"Upgrade: websocket\r\n", b"X: " + b"y" * 100_000 + b"\r\n", b"Origin: null\r\n",
        b" folded\r\n",
        b"Content-Type: multipart/form-data; boundary=x\r\n", b"Cookie: \xea\xb0\x80=\xff\r\n",
    ]), max_size=6).map(b"".join)  # fmt: skip
    bodies = st.sampled_from([
        b"", body, body * 2, body[:9], b"5\r\nabcde\r\n0\r\n\r\n", b"ffffffffff\r\nabc", b"zz\r\n",
        b"-1\r\n",
        b"5;x=" + b"y" * 70_000 + b"\r\nabcde\r\n",
        b"GET /health/live HTTP/1.1\r\n" + host + b"\r\n",
    ])  # fmt: skip
    request = st.builds(lambda *parts: b"".join(parts), lines, heads, st.just(b"\r\n"), bodies)
    cut = st.builds(lambda wire, at: wire[:at], request, st.integers(0, 120))
    return request | request | cut | st.binary(max_size=200)


def _run(
    url: str, described: dict[str, Any], count: int, first: int, queue: Any, done: Any
) -> None:
    def told(more: int) -> None:
        with done.get_lock():
            done.value += more

    sender = Sender(url, described)
    sender.send(count, first, told)
    queue.put(sender.seen)


@contextlib.contextmanager
def served(model: Path, options: str, log: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Start the server; yield its address and its process. log: takes its standard error."""
    command = [sys.executable, "-m", "headway", "serve", str(model), "--no-explorer", "--port", "0"]
    command += ["--timeout", str(SECONDS), *options.split()]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        address = re.search(rb"http://[^ ]+", process.stdout.readline())
        assert address is not None
        url = address[0].decode().strip().rstrip("/")
        while requests.get(f"{url}/health/ready", timeout=60).status_code != 200:
            time.sleep(0.2)
        try:
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def _megabytes(server: psutil.Process) -> tuple[float, float]:
    """Return the resident memory of the web process, and of the process that translates."""
    translating = sum(child.memory_info().rss for child in server.children(recursive=True))
    return server.memory_info().rss / 1e6, translating / 1e6


def main() -> None:
    """Print the counts, the faults with an example of each, and the memory by tenths."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--senders", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", default="", help="More options of `headway serve`.")
    parser.add_argument("--log", type=Path, default=Path("service_fuzz.log"))
    chosen = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Value("l", 0)
    with served(chosen.model, chosen.serve, chosen.log) as (url, server):
        described = requests.get(f"{url}/spec", timeout=60).json()
        share, begun = chosen.requests // chosen.senders, time.perf_counter()
        senders = [
            context.Process(
                target=_run,
                args=(url, described, share, chosen.seed + 10**6 * number, queue, done),
            )
            for number in range(chosen.senders)
        ]
        for sender in senders:
            sender.start()
        memory = _watch(server, senders, done, chosen.requests)
        total = Seen()
        for _ in senders:
            total.add(queue.get())
        for sender in senders:
            sender.join()
        seconds = time.perf_counter() - begun
        last = requests.post(
            f"{url}/translate", {"q": "저는", "source": "ko", "target": "en"}, timeout=60
        )
        metrics = requests.get(f"{url}/metrics", timeout=60).text
    print(f"{total.statuses.total():,} requests in {seconds:,.0f} seconds", end="; ")
    print(f"the slowest took {total.slowest:.1f} seconds")
    for status, count in sorted(total.statuses.items()):
        print(f"  {status}: {count:,}")
    print("memory by tenths, web and translating process:", *memory)
    print(f"a translation afterwards: {last.status_code} {last.text}")
    print(*re.findall(r"^headway_(?:proc|queue|waiting|texts_total)\S+ \S+", metrics, re.MULTILINE))
    print(f"{total.faults.total():,} faults")
    for kind, count in total.faults.most_common():
        print(f"  {count:,} x {kind}\n      {total.examples[kind]}")
    log = chosen.log.read_text(encoding="utf-8", errors="replace")
    print(f"the server's log: {len(log):,} characters, {log.count('Traceback')} tracebacks")


def _watch(server: psutil.Process, senders: list[Any], done: Any, count: int) -> list[str]:
    """Return the mean memory of each tenth of the requests; print it meanwhile."""
    tenths: list[str] = []
    seen: list[tuple[float, float]] = []
    while any(sender.is_alive() for sender in senders) and len(tenths) < 10:
        seen.append(_megabytes(server))
        if done.value >= count * (len(tenths) + 1) / 10:
            web, translating = (sum(values) / len(seen) for values in zip(*seen, strict=True))
            tenths.append(f"{web:.0f}+{translating:.0f}")
            print(f"{done.value:,} requests, {tenths[-1]} MB", flush=True)
            seen = []
        time.sleep(0.5)
    return tenths


if __name__ == "__main__":
    main()
