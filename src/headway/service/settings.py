"""The settings of the service that `headway serve` runs."""

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.errors import ConfigError
from headway.service.rate import Rate

MEGABYTE = 2**20

_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Browsers write small letters, no usual port, and no path.
_ORIGIN = re.compile(
    r"(?!http:.*:80$|https:.*:443$)[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and other settings of a service; the defaults are those of the command.

    Raises ConfigError for a host, an origin or a proxy that no request could match.
    """

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

    def __post_init__(self) -> None:
        """Refuse what would be given in vain."""
        if not math.isfinite(self.timeout):
            raise ConfigError(
                f"--timeout is {self.timeout}, but must be a number of seconds.", "Give 3600, say."
            )
        for host in self.hosts:
            if not (_NAME.fullmatch(host) or _parses(host, ipaddress.ip_address)):
                raise ConfigError(
                    f"--allow-host is {host!r}, but must be one name or address, without a port.",
                    "Write it as translate.example.org, once for each name.",
                )
        for origin in self.cors:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"--cors is {origin!r}, but must be an origin as browsers send it: scheme and "
                    "host in small letters, and a port only if it is not the usual one.",
                    "Write it as https://example.org, once for each site.",
                )
        if self.proxy not in (None, "*"):
            for part in self.proxy.split(","):
                if not _parses(part.strip(), ipaddress.ip_network):
                    raise ConfigError(
                        f"--proxy is {self.proxy!r}, but must be addresses or networks, with "
                        "commas between, or * for every sender.",
                        "Write it as 10.0.0.2 or 10.0.0.0/8.",
                    )


def _parses(text: str, parse: Callable[[str], object]) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True
