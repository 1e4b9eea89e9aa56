"""A limit on the requests of each client in a period, with bounded memory."""

import ipaddress
import re
from collections import OrderedDict
from typing import NamedTuple

from headway.errors import ConfigError

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_RATE = re.compile(r"(\d{1,9})\s*/\s*(second|minute|hour|day)")
_CLIENTS = 10_000  # to remember; beyond that, the one whose last request is oldest is forgotten


class Rate(NamedTuple):
    """A number of texts in a number of seconds."""

    texts: int
    seconds: int

    def __str__(self) -> str:
        """Return the rate as LibreTranslate's clients read it."""
        unit = next(unit for unit, seconds in _SECONDS.items() if seconds == self.seconds)
        return f"{self.texts} per 1 {unit}"


def parse_rate(text: str) -> Rate:
    """Read a rate such as `120/minute`; ConfigError for any other text.

    >>> str(parse_rate("120/minute"))
    '120 per 1 minute'
    """
    match = _RATE.fullmatch(text.strip())
    if match is None or int(match[1]) < 1:
        raise ConfigError(
            f"The rate is {text!r}, but must be a number per second, minute, hour or day.",
            "Write it as 120/minute.",
        )
    return Rate(int(match[1]), _SECONDS[match[2]])


class RateLimit:
    """Let each client send the texts of a rate at once, and then one text per step of time."""

    def __init__(self, rate: Rate) -> None:
        """Begin without clients."""
        self.rate = rate
        self._step = rate.seconds / rate.texts
        self._free_at: OrderedDict[str, float] = OrderedDict()
        """For each client, the time from which its whole rate is free again (the generic cell rate
        algorithm)."""

    def use(self, client: str, cost: int, now: float) -> float:
        """Let a client send `cost` texts at the time `now`; return 0, or the seconds to wait.

        A request of more texts than the rate may begin when the client's whole rate is free.
        """
        free_at = max(self._free_at.pop(client, now), now)
        wait = free_at + min(cost, self.rate.texts) * self._step - now - self.rate.seconds
        allowed = wait <= 1e-9
        self._free_at[client] = free_at + (cost * self._step if allowed else 0)
        if len(self._free_at) > _CLIENTS:
            self._free_at.popitem(last=False)
        return 0.0 if allowed else wait


def client_of(address: str) -> str:
    """Return the name of the client at an address: the address, or its /64 network in IPv6.

    An IPv4 address within IPv6, as a server on `::` sees it, counts as the IPv4 address.

    >>> client_of("192.0.2.7"), client_of("2001:db8::1:2"), client_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    if ":" not in address:  # IPv4
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
