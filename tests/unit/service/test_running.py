"""The server as a process: sockets, signals, and the command's options."""

import concurrent.futures
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from headway.bundle import Bundle, save_bundle
from headway.cli.serve import serve as command
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.errors import BundleError, ConfigError, DataError
from headway.model.transformer import Transformer
from headway.service.rate import Rate
from headway.service.running import serve
from headway.service.settings import MEGABYTE, Settings

TEXT = ["나는 너를 본다 .", "너는 나를 보고 있다 !", "I see you .", "you are seeing me !"]
LONG = {"q": ["나는 너를 본다. " * 40] * 8, "source": "ko", "target": "en"}
SHORT = {"q": "나는 너를 본다", "source": "ko", "target": "en"}


def _bundle(path: Path, seed: int = 3, languages: tuple[str, str] = ("Korean", "en")) -> None:
    torch.manual_seed(seed)
    tokenizer = train_tokenizer(TEXT, kind="char", vocabulary_size=60)
    config = Architecture(
        d_model=14, d_ff=19, num_heads=2, num_encoder_layers=1, num_decoder_layers=2
    ).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=30, max_source_pieces=40)
    source, target = languages
    save_bundle(
        path,
        Bundle(
            config, model.eval(), tokenizer, tokenizer, decoding,
            source_language=source, target_language=target,
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def bundle_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "small"
    _bundle(path)
    return path


@contextmanager
def _running(
    *arguments: object, command: Sequence[str] = ("-m", "headway")
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; give its process and its address, once it translates."""
    call = [sys.executable, *command, "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(
        [*call, "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip().rstrip("/")
            _wait(lambda: httpx.get(f"{address}/health/ready").status_code == 200)
            yield server, address
        finally:
            server.kill()


def _wait(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def _status(address: str) -> int | None:
    """Return the status of an answer; None if there is no connection."""
    try:
        return httpx.get(address).status_code
    except httpx.TransportError:
        return None


def _engines(server: subprocess.Popen[str]) -> list[int]:
    """Return the numbers of the processes that translate."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    return [int(number) for number in children.read_text().split()]


@pytest.fixture(scope="module")
def served(bundle_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with _running(bundle_path, "--no-explorer", "--body-limit", 1) as running:
        yield running


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="The children are read from /proc.")


@on_linux
def test_the_server_raises_its_limit_on_open_files(bundle_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = (512, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, few)
    try:
        with _running(bundle_path, "--no-explorer") as (server, _):
            soft, _ = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert soft > few[0]


def test_requests_of_several_clients_at_once_have_the_results_of_each_alone(
    served: tuple[Any, str],
) -> None:
    _, address = served
    bodies = [{**SHORT, "q": text} for text in ("나", "너는", "나를 본다", "너를", "있다")] * 6
    alone = {body["q"]: httpx.post(f"{address}/translate", json=body).json() for body in bodies[:5]}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda b: httpx.post(f"{address}/translate", json=b, timeout=60), bodies)
        )
    assert [answer.json() for answer in answers] == [alone[body["q"]] for body in bodies]


@on_linux
def test_a_client_that_goes_away_frees_its_places(served: tuple[Any, str]) -> None:
    _, address = served
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({**LONG, "q": LONG["q"] * 20}).encode()
    head = (
        f"POST /translate HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(3):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + body)
            time.sleep(0.2)
    begun = time.monotonic()
    assert httpx.post(f"{address}/translate", json=SHORT, timeout=60).status_code == 200
    assert time.monotonic() - begun < 20  # 480 texts of 40 sentences would take minutes


def test_a_long_query_is_answered_and_one_beyond_the_limit_is_refused(
    served: tuple[Any, str],
) -> None:
    _, address = served
    short = httpx.post(f"{address}/translate", params={**SHORT, "q": "나" * 1500}, timeout=60)
    assert short.status_code == 200
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"POST /translate?q={'a' * 10**6} HTTP/1.1\r\n".encode())
        assert connection.recv(65536).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))


def test_a_request_that_offers_another_protocol_keeps_its_body(served: tuple[Any, str]) -> None:
    """Java's client offers to switch to HTTP/2; httptools would lose the body then."""
    _, address = served
    offer = {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMAAABk",
    }
    answer = httpx.post(f"{address}/translate", json=SHORT, headers=offer, timeout=60)
    assert answer.json() == httpx.post(f"{address}/translate", json=SHORT, timeout=60).json()


def _rest(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes the connection."""
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


def test_a_chunked_body_over_the_limit_is_refused_before_its_end(served: tuple[Any, str]) -> None:
    _, address = served
    host, port = address.removeprefix("http://").split(":")
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = f"POST /translate HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        for _ in range(33):  # 2.1 MB, and no end
            connection.sendall(chunk)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_breaks_has_one_answer_and_no_exception_in_the_log(bundle_path: Path) -> None:
    with _running(bundle_path, "--no-explorer") as (server, address):
        host, port = address.removeprefix("http://").split(":")
        chunked = "Transfer-Encoding: chunked\r\n\r\n"
        heads = [  # a body that is read, a Host that is refused first, and one that is not read
            f"POST /translate HTTP/1.1\r\nHost: {host}\r\n{chunked}",
            f"POST /translate HTTP/1.1\r\nHost: evil.example\r\n{chunked}",
            f"GET /languages HTTP/1.1\r\nHost: {host}\r\n{chunked}",
        ]
        for head in heads * 3:
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                connection.sendall(f"{head}5\r\nabcde\r\nzz\r\n".encode())
                received = b"".join(iter(lambda c=connection: c.recv(65536), b""))
            assert received.count(b"HTTP/1.1 ") == 1
            assert received.startswith(b"HTTP/1.1 400 ")
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
    assert "Traceback" not in errors


@on_linux
def test_a_process_that_is_killed_is_started_again(served: tuple[Any, str]) -> None:
    server, address = served
    (engine,) = _engines(server)
    os.kill(engine, signal.SIGKILL)
    _wait(lambda: httpx.get(f"{address}/health/ready").status_code == 503)
    answer = httpx.post(f"{address}/translate", json=SHORT)
    assert answer.status_code == 200 or "Retry-After" in answer.headers
    _wait(lambda: httpx.get(f"{address}/health/ready").status_code == 200)
    assert httpx.post(f"{address}/translate", json=SHORT).status_code == 200


@pytest.mark.slow
@on_linux
def test_sigterm_finishes_what_is_accepted_and_refuses_more(bundle_path: Path) -> None:
    with _running(bundle_path, "--no-explorer") as (server, address):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            accepted = [
                pool.submit(httpx.post, f"{address}/translate", json=LONG, timeout=60)
                for _ in range(3)
            ]
            time.sleep(0.5)
            server.send_signal(signal.SIGTERM)
            _wait(lambda: _status(f"{address}/health/ready") == 503)
            refused = httpx.post(f"{address}/translate", json=SHORT)
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
            _wait(lambda: _status(f"{address}/health/ready") is None)
            statuses = [answer.result().status_code for answer in accepted]
        out, err = server.communicate(timeout=60)
    assert statuses == [200] * 3
    assert (server.returncode, out, err) == (0, "", "")


@pytest.mark.slow
@on_linux
def test_a_replaced_bundle_loses_no_request(tmp_path: Path) -> None:
    path = tmp_path / "small"
    _bundle(path)
    with _running(path, "--no-explorer") as (server, address):
        before = httpx.post(f"{address}/translate", json=SHORT).json()
        statuses: list[int] = []
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                answer = httpx.post(f"{address}/translate", json=SHORT, timeout=60)
                statuses.append(answer.status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        _bundle(path, seed=4)
        _wait(lambda: httpx.post(f"{address}/translate", json=SHORT).json() != before)
        _wait(lambda: len(_engines(server)) == 1)
        stop.set()
        asking.join()
    assert set(statuses) == {200}


@pytest.mark.slow
def test_explorer_and_service_answer_at_one_address(bundle_path: Path) -> None:
    with _running(bundle_path) as (_, address):
        assert "<html" in httpx.get(f"{address}/").text
        assert httpx.get(f"{address}/api/models").json()["models"][0]["name"] == "small"
        assert httpx.post(f"{address}/translate", json=SHORT).status_code == 200
        assert httpx.get(f"{address}/translate").status_code == 405
        assert "error" in httpx.get(f"{address}/nothing").json()


def test_a_model_of_unknown_languages_needs_names_for_them(tmp_path: Path) -> None:
    _bundle(tmp_path / "small", languages=("source", "target"))
    with pytest.raises(ConfigError, match="--languages de-en"):
        serve([tmp_path / "small"], port=0, explorer=False)
    with pytest.raises(ConfigError, match="given 2 times"):
        serve([tmp_path / "small"], port=0, explorer=False, languages=["de-en", "en-de"])


def test_a_missing_bundle_is_said_before_the_server_answers(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="There is no bundle"):
        serve([tmp_path / "none"], port=0, explorer=False, languages=["ko-en"])


def test_a_glossary_that_cannot_be_read_is_told_before_the_address(
    bundle_path: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    glossary = tmp_path / "terms.tsv"
    settings = Settings(glossary=glossary)
    with pytest.raises(DataError, match=r"terms\.tsv"):
        serve([bundle_path], port=0, explorer=False, settings=settings, ready=told.append)
    glossary.write_text("나\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        serve([bundle_path], port=0, explorer=False, settings=settings, ready=told.append)
    assert not told


def test_a_glossary_needs_one_model(bundle_path: Path, tmp_path: Path) -> None:
    settings = Settings(glossary=tmp_path / "terms.tsv")
    with pytest.raises(ConfigError, match="2 models"):
        serve([bundle_path] * 2, port=0, explorer=False, settings=settings)


def test_the_defaults_of_the_command_are_those_of_the_settings() -> None:
    defaults, own = Settings(), inspect.signature(command).parameters
    assert own["body_limit"].default * MEGABYTE == defaults.body_limit
    for name in (
        "char_limit", "batch_limit", "alternatives_limit", "queue", "timeout", "rate", "api_keys",
        "require_key", "pivot", "glossary", "proxy",
    ):  # fmt: skip
        assert own[name].default == getattr(defaults, name), name


def test_require_key_needs_keys(capsys: pytest.CaptureFixture[str]) -> None:
    from headway.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(["serve", "any", "--require-key"])
    assert ended.value.code == 2
    assert re.search("Name their file with --api-keys", capsys.readouterr().err)


@pytest.mark.parametrize("limit", [{"require_key": True}, {"rate": Rate(2, 60)}])
def test_limits_on_clients_need_no_explorer(limit: dict[str, Any], bundle_path: Path) -> None:
    with pytest.raises(ConfigError, match="--no-explorer") as refused:
        serve([bundle_path], port=0, settings=Settings(api_keys=Path("keys"), **limit))
    assert refused.value.exit_status == 2


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--proxy", "x y"), ("--proxy", ""), ("--proxy", "10.0.0.1/8"), ("--proxy", "10.0.0.2,*"),
        ("--proxy", "proxy.example.org"), ("--allow-host", "http://a.example"),
        ("--allow-host", "a.example:8080"), ("--allow-host", "*.example"), ("--allow-host", ""),
        ("--cors", "*"), ("--cors", "a.example"), ("--cors", "https://a.example/"),
        ("--cors", "https://A.example"), ("--cors", "https://a.example:443"), ("--cors", ""),
        ("--timeout", "inf"), ("--timeout", "nan"), ("--timeout", "0"), ("--host", ""),
        ("--queue", "0"), ("--port", "65536"), ("--rate", "0/minute"), ("--rate", ""),
    ],
)  # fmt: skip
def test_a_value_that_can_never_match_is_refused(
    option: str, given: str, bundle_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from headway.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(["serve", str(bundle_path), "--port", "0", option, given])
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (2, 1)
    if option != "--rate":
        assert told.startswith(f"Error: {option} is ")


def test_addresses_networks_names_and_origins_are_accepted() -> None:
    Settings(
        proxy="10.0.0.2, 10.0.0.0/8,::1,fd00::/8",
        hosts=["translate.example.org", "my_service", "10.0.0.2", "fd00::1"],
        cors=["https://a.example", "http://localhost:3000", "http://[::1]:8080", "app://x-1"],
    )
    Settings(proxy="*")
