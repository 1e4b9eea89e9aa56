"""A hub on this machine, for all tests of what is shared there."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hub_emulator import TOKEN, Hub, emulated


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Return an empty hub, the only address that this process can reach, with a cache of its own.

    The library has read the environment when it was imported, so its constants are replaced.
    """
    from huggingface_hub import constants

    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"A test reached for {address}."
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    with emulated() as hub:
        files = "{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{hub.address}/{files}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        yield hub
