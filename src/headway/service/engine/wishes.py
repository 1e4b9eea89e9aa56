"""The options of a request, and which sentences can share a batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway.decoding.banned import BannedTexts
from headway.decoding.options import SearchOptions, changed_options


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of a request, as the web process sends them: plain values."""

    n_best: int = 1
    beam_size: int | None = None
    """None for the bundle's."""
    alignments: bool = False
    split_sentences: bool | None = None
    terms: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()
    glossary: Mapping[str, str] | None = None
    """None for the server's."""
    parts: bool = False
    """Also send the translation of each part of a text, as soon as it is complete."""
    form: str | None = None
    """Translate a text as a document of this format (`headway.documents`); None for plain text."""
    file: bool = False
    """The texts are the contents of files, in base64, and so are the answers."""
    keep: tuple[str, ...] = ()
    """Texts that are not translated in a document."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Wish":
        """Read the values of a message."""
        lists = {
            name: tuple(values[name]) for name in ("terms", "banned", "keep") if name in values
        }
        return cls(**{**values, **lists})

    def as_message(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, for a message."""
        defaults = Wish()
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value != getattr(defaults, name)}

    def options(self, defaults: SearchOptions) -> SearchOptions:
        """Return the options of the search; the beam is at least as wide as n_best."""
        values: dict[str, Any] = {}
        if self.n_best != defaults.n_best:
            values["n_best"] = self.n_best
        if self.beam_size not in (None, defaults.beam_size):
            values["beam_size"] = self.beam_size
        return changed_options(defaults, values)


class Kind(NamedTuple):
    """The properties that all sentences of a batch share."""

    options: SearchOptions
    terms: bool
    """True if they have terms that must occur."""
    lists: bool
    """True if they have lists of allowed pieces."""
    banned: BannedTexts | None
