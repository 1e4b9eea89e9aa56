"""Codes of languages as clients write them, and the directions in which models translate."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headway.data.languages import ENGLISH_NAMES, is_language, language_code
from headway.errors import ConfigError

_ALIASES = {"zh-hans": "zh", "zh-cn": "zh", "zt": "zh-hant", "zh-tw": "zh-hant", "pb": "pt-br"}
"""Other codes for the same language."""
_SHOWN = {"zh-hant": "zh-Hant"}


class Direction(NamedTuple):
    """The codes of the languages that a model translates from and to."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


def code_of(name: str) -> str:
    """Return the code of a language as answers write it.

    >>> code_of("Korean"), code_of("zh-Hans"), code_of("PB"), code_of("xx")
    ('ko', 'zh', 'pt-BR', 'xx')
    """
    code = language_code(name)
    code = _ALIASES.get(code, code)
    main, hyphen, region = code.partition("-")
    return _SHOWN.get(code, f"{main}{hyphen}{region.upper()}")


def name_of(code: str) -> str:
    """Return the English name of a language; the code if it has no name here.

    >>> name_of("ko"), name_of("pt-BR"), name_of("xx")
    ('Korean', 'Portuguese (BR)', 'xx')
    """
    main, _, region = code.partition("-")
    name = ENGLISH_NAMES.get(main)
    if name is None:
        return code
    return f"{name} ({region})" if region else name


def direction_of(source: str, target: str) -> Direction | None:
    """Return the direction of a bundle's two languages; None if one of them is not known.

    >>> direction_of("Korean", "en"), direction_of("source", "target")
    (Direction(source='ko', target='en'), None)
    """
    if not (is_language(source) and is_language(target)):
        return None
    return Direction(code_of(source), code_of(target))


def parse_direction(text: str) -> Direction:
    """Read a direction such as `de-en`; ConfigError for any other text.

    >>> parse_direction("pt-BR:en")
    Direction(source='pt-BR', target='en')
    """
    source, _, target = text.partition(":" if ":" in text else "-")
    direction = direction_of(source, target)
    if direction is None or direction.source == direction.target:
        raise ConfigError(
            f"The languages are {text!r}, but must be two codes of languages.",
            "Write them as de-en, or as pt-BR:en if a code has a hyphen.",
        )
    return direction


class Routes:
    """The ways from one language to another: a model, or two models through a third language."""

    def __init__(self, models: Mapping[str, Direction], pivot: str | None = None) -> None:
        """Use the direction of each model, by name; of equal directions the first counts.

        pivot: the language between two models; None to translate with one model only.
        """
        self._direct: dict[Direction, str] = {}
        for name, direction in models.items():
            self._direct.setdefault(direction, name)
        self.pivot = pivot
        self.codes = list(dict.fromkeys(code for direction in self._direct for code in direction))

    def models(self, source: str, target: str) -> Sequence[str] | None:
        """Return the names of the models to apply, one after the other; None without a route.

        Text that is already in the target language needs no model.
        """
        if source == target and source in self.codes:
            return ()
        if (name := self._direct.get(Direction(source, target))) is not None:
            return (name,)
        if self.pivot is None:
            return None
        first = self._direct.get(Direction(source, self.pivot))
        second = self._direct.get(Direction(self.pivot, target))
        return None if first is None or second is None else (first, second)

    def targets(self, source: str) -> list[str]:
        """Return the languages that this language can be translated to, itself included."""
        return [code for code in self.codes if self.models(source, code) is not None]

    def sources(self, target: str) -> list[str]:
        """Return the languages that can be translated to this one, itself included."""
        return [code for code in self.codes if self.models(code, target) is not None]

    def described(self) -> list[dict[str, object]]:
        """Return the languages as LibreTranslate's `/languages` lists them."""
        return [
            {"code": code, "name": name_of(code), "targets": self.targets(code)}
            for code in self.codes
        ]


def check_pivot(pivot: str, directions: Iterable[Direction]) -> str:
    """Return the code of the language between two models; ConfigError if no two models meet."""
    code, directions = code_of(pivot), list(directions)
    into = any(direction.target == code for direction in directions)
    if into and any(direction.source == code for direction in directions):
        return code
    raise ConfigError(
        f"No model translates into {pivot!r} while another translates from it.",
        "Serve both models, or leave --pivot out.",
    )
