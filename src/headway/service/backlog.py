"""The text that a model has accepted and not yet translated, and how long it will take."""

from collections.abc import Callable

_LEAST_SECONDS = 0.25  # of work between two measurements of the speed
_NEWEST = 0.3  # the weight of the newest measurement


class Backlog:
    """Characters that wait or are being translated, limited by their number and their time."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        """Accept `limit` characters at most, and no more than take `seconds`, as far as is known.

        clock: returns the time in seconds.
        """
        self.limit, self.seconds, self._clock = limit, seconds, clock
        self.characters = 0
        self.speed: float | None = None
        """Characters a second while there is work; None until it has been measured."""
        self._since, self._done = 0.0, 0

    @property
    def wait(self) -> float:
        """Return the seconds until all of it will be translated; 0 if that is unknown."""
        return self.characters / self.speed if self.speed else 0.0

    def has_room(self, characters: int) -> bool:
        """Return True if a request of so many characters may come."""
        if not self.characters:
            return True
        return self.characters + characters <= self.limit and self.wait < self.seconds

    def add(self, characters: int) -> None:
        """Count the text of a request."""
        if not self.characters:
            self._since, self._done = self._clock(), 0
        self.characters += characters

    def remove(self, characters: int, *, translated: bool) -> None:
        """Count text that is translated, or given up."""
        self.characters -= characters
        if translated:
            self._done += characters
        passed = self._clock() - self._since
        if passed >= _LEAST_SECONDS and self._done:
            now = self._done / passed
            self.speed = now if self.speed is None else _mixed(self.speed, now)
            self._since, self._done = self._clock(), 0


def _mixed(before: float, now: float) -> float:
    return (1 - _NEWEST) * before + _NEWEST * now
