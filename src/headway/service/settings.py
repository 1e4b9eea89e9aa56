"""The settings of the service that `headway serve` runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.service.rate import Rate

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and other settings of a service; the defaults are those of the command."""

    char_limit: int | None = None
    """Characters of a text; None for as many as `queue` allows."""
    batch_limit: int = 1000
    """Texts of a request."""
    alternatives_limit: int = 10
    body_limit: int = 10 * MEGABYTE
    """Bytes of a request."""
    queue: int = 200_000
    """Characters that a model has accepted and not yet translated."""
    timeout: float = 30.0
    """Seconds until a request is given up."""
    files: bool = True
    """Translate files, too."""
    rate: Rate | None = None
    """Texts of one client in a period."""
    api_keys: Path | None = None
    require_key: bool = False
    pivot: str | None = None
    glossary: Path | None = None
    cors: Sequence[str] = ()
    """Origins of web pages that may send requests."""
    hosts: Sequence[str] = ()
    """Names, besides its address, by which clients reach the server."""
    proxy: str | None = None
    """Addresses of proxies whose X-Forwarded headers are trusted, separated by commas."""
