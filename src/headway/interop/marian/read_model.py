"""The result of reading a folder of any kind."""

from dataclasses import dataclass, field

from headway.bundle import Bundle


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model as it was read: the bundle, and notes on its files."""

    bundle: Bundle
    notes: list[str] = field(default_factory=list)
