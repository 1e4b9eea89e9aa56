"""`headway serve`: an address that answers, and an end that is quiet."""

import errno
import http.client
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from headway.cli.serve import _say
from headway.service.running import serve


def test_it_prints_its_address_and_answers_there(bundle_path: Path) -> None:
    command = [sys.executable, "-m", "headway", "serve", str(bundle_path), "--port", "0"]
    with subprocess.Popen(
        [*command, "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}api/model", timeout=60) as answer:
                assert json.load(answer)["sizes"]["d_model"] == 8
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=60)
        finally:
            server.kill()
    assert (server.returncode, *rest) == (0, "", "")


# The tests themselves may run under nohup, whose children ignore a hang-up.
NOT_UNDER_NOHUP = """
import signal

from headway.cli.app import main

signal.signal(signal.SIGHUP, signal.SIG_DFL)
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
def test_a_hang_up_ends_it_at_once_and_quietly(bundle_path: Path) -> None:
    command = [sys.executable, "-c", NOT_UNDER_NOHUP, "serve", str(bundle_path), "--port", "0"]
    with subprocess.Popen(
        [*command, "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("http://127.0.0.1:")
            server.send_signal(signal.SIGHUP)
            rest = server.communicate(timeout=60)
        finally:
            server.kill()
    assert (server.returncode, *rest) == (-signal.SIGHUP, "", "")


SLOW = """
import threading
import time

from headway.cli.app import main
from headway.serving import questions

def compute(*_):
    print("computing", flush=True)
    time.sleep(600)

questions.attributed = compute
main()
"""


def test_ctrl_c_does_not_wait_for_what_is_being_computed(bundle_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, "serve", str(bundle_path), "--port", "0"]
    with subprocess.Popen(
        [*command, "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            trace = _post(f"{address}api/trace", {"source": "the cat"})
            question = f"{address}api/traces/{trace['id']}/attribute"
            asked = threading.Thread(target=_post, args=(question, {"method": "occlusion"}))
            asked.start()
            assert server.stdout.readline() == "computing\n"
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=60)
            asked.join()
        finally:
            server.kill()
    assert (server.returncode, out) == (0, "")
    assert "Traceback" not in err


def _post(url: str, body: dict[str, str]) -> Any:
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)
    except (OSError, http.client.HTTPException):  # by a server that ends
        return None


def test_a_closed_or_full_standard_output_ends_no_server(
    bundle_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered(address: str) -> None:
        _say(address)
        signal.raise_signal(signal.SIGINT)

    for stream in (None, _FullStream()):
        monkeypatch.setattr(sys, "stdout", stream)
        serve([bundle_path], port=0, device="cpu", ready=answered)
        monkeypatch.undo()
        assert capsys.readouterr().err.startswith("http://127.0.0.1:")


def test_log_handlers_of_the_process_stay_open(bundle_path: Path) -> None:
    class Handler(logging.NullHandler):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    def stop(address: str) -> None:
        signal.raise_signal(signal.SIGINT)

    handler = Handler()
    logging.getLogger("another library").addHandler(handler)

    serve([bundle_path], port=0, device="cpu", ready=stop)

    assert not handler.is_closed
    logging.getLogger("another library").removeHandler(handler)


class _FullStream(io.StringIO):
    """Standard output on a disk that is full."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_port_that_is_taken_is_said(run, bundle_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        status, out, err = run("serve", bundle_path, "--port", port)
    assert (status, out) == (1, "")
    assert err.startswith(f"Error: The server cannot listen at http://127.0.0.1:{port}/")
    assert err.count("\n") == 1


def test_a_host_that_is_not_here_is_said(run, bundle_path: Path) -> None:
    status, _, err = run("serve", bundle_path, "--host", "203.0.113.1", "--port", "0")
    assert status == 1
    assert "203.0.113.1" in err


def test_a_missing_bundle_is_said(run, tmp_path: Path) -> None:
    status, _, err = run("serve", tmp_path / "nothing", "--port", "0")
    assert (status, "no bundle" in err) == (1, True)


def test_without_a_model_and_without_the_demo_it_says_so(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run("serve", "--port", "0")
    assert (status, out) == (2, "")
    assert "headway demo" in err


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "latex2mathml"])
def test_without_the_extra_it_says_what_to_install(
    run, bundle_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    status, _, err = run("serve", bundle_path, "--port", "0")
    assert status == 1
    assert "pip install 'headway[serve]'" in err
