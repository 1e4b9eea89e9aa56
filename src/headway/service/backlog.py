"""The text that a model has accepted but not yet translated, and how long it will take."""

from collections.abc import Callable

_LEAST_SECONDS = 0.25  # of work between two measurements of the speed
_NEWEST = 0.3  # weight of the newest measurement in the mean


class Backlog:
    """Characters that wait or are being translated, limited by their number and their time."""

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float]) -> None:
        """Accept at most `limit` characters, and none while the wait is at least `seconds`.

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
        """Return True if a request of this many characters can be accepted."""
        if not self.characters:
            return True
        return self.characters + characters <= self.limit and self.wait < self.seconds

    def add(self, characters: int) -> None:
        """Count the text of a request."""
        if not self.characters:
            self._since, self._done = self._clock(), 0
        self.characters += characters

    def remove(self, characters: int, *, translated: bool) -> None:
        """Count text that was translated or given up."""
        self.characters -= characters
        if translated:
            self._done += characters
        passed = self._clock() - self._since
        if passed >= _LEAST_SECONDS and self._done:
            speed = self._done / passed
            self.speed = speed if self.speed is None else _weighted_mean(self.speed, speed)
            self._since, self._done = self._clock(), 0


def _weighted_mean(earlier: float, newest: float) -> float:
    return (1 - _NEWEST) * earlier + _NEWEST * newest
