"""The choices of a cleaning: names of repairs, and of findings whose lines are dropped."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from headway.data.problems import problems
from headway.errors import ConfigError, require_type, suggest

_FIXES = {
    "mojibake": ("mojibake",),
    "html": ("html-codes",),
    "nfc": ("decomposed",),
    "nbsp": ("spaces",),
    "spaces": ("spaces",),
    "shift": ("misaligned",),
    "exchanged": ("exchanged",),
}
_GROUPS = {
    "duplicates": ("duplicate-pairs",),
    "length": ("length-short", "length-long"),
    "script": ("foreign-script",),
    "language": ("exchanged", "wrong-language"),
    "shift": ("misaligned", "unrelated"),
    "html": ("html-codes",),
}
# Findings on a whole text, or on one text compared with another: no single line is wrong.
_OF_WHOLE_TEXTS = (
    *("exchanged-files", "other-direction", "other-language", "other-script", "new-script"),
    *(
        "no-letters",
        "tokenized",
        "capitals",
        "end-marks",
        "in-training",
        "source-in-training",
        "in-corpus",
    ),
)
_SIDES = ("-source", "-target")
_DROPPED = frozenset({"empty-source", "empty-target", "duplicate-pairs"})
IN_VALIDATION = "in-validation"
OF_VALIDATION = frozenset({IN_VALIDATION, "source-in-validation"})
"""The findings that need validation text."""
_SAFE = _DROPPED | {IN_VALIDATION}


@dataclass(frozen=True, slots=True)
class Choices:
    """Name the repairs and the findings whose lines are dropped, by ids without their side.

    The defaults are safe, because correct pairs stay correct. Characters are repaired if the result
    is certain, shifted stretches are realigned, and exchanged sides are exchanged back. A dropped
    pair teaches nothing: one of its sides is empty, or the same pair came before. Before choosing
    any other finding, look at the text.
    """

    fixed: frozenset[str] = frozenset(
        {"mojibake", "html-codes", "decomposed", "spaces", "misaligned", "exchanged"}
    )
    dropped: frozenset[str] = _DROPPED

    @classmethod
    def of(cls, fix: Iterable[str] | None = None, drop: Iterable[str] | None = None) -> "Choices":
        """Return the choices of these names; None gives the safe defaults.

        A name is an id of a finding, an id without `-source` or `-target`, or a group such as
        `length`. Raises ConfigError for an unknown name.
        """
        safe = cls()
        fixed = safe.fixed if fix is None else _ids(fix, _FIXES, "repair")
        dropped = safe.dropped if drop is None else _ids(drop, _named_drops(), "finding to drop")
        return cls(fixed, dropped)

    def fixes(self, id: str) -> bool:
        """Return True if lines with this finding should be repaired."""
        return without_side(id) in self.fixed

    def drops(self, id: str) -> bool:
        """Return True if lines with this finding should be dropped."""
        return id in self.dropped

    def mends(self, id: str) -> bool:
        """Return True if lines with this finding should be repaired or dropped."""
        return self.fixes(id) or self.drops(id)

    def drops_safely(self) -> bool:
        """Return True if only empty, repeated and held-out pairs go, so no new findings appear."""
        return self.dropped <= _SAFE


def without_side(id: str) -> str:
    """Return an id without `-source` or `-target` at its end."""
    return id.removesuffix(_SIDES[0]).removesuffix(_SIDES[1])


def remedy(id: str, choices: Choices) -> str:
    """Return the option of `headway clean` that changes what a cleaning has left, or "".

    choices: those of that cleaning. Lines that stay in spite of their repair can only be dropped.
    An option replaces the earlier one, so the choices of that cleaning are named as well. Nothing
    is named for a finding on a whole text, or for lines that were dropped already in other rounds.
    """
    plain = without_side(id)
    if not choices.fixes(id) and any(plain in ids for ids in _FIXES.values()):
        return f"--fix {','.join(_names_of(choices.fixed | {plain}, _FIXES))}"
    if not can_be_dropped(id) or choices.drops(id):
        return ""
    dropped = choices.dropped - {IN_VALIDATION}  # validation text alone is enough for it
    return f"--drop {','.join([*_names_of(dropped, _short_drops()), id])}"


def _names_of(ids: frozenset[str], known: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the fewest names that mean these ids, in the order of `known`."""
    names: list[str] = []
    missing = set(ids)
    for name, members in known.items():
        if missing.intersection(members) and ids.issuperset(members):
            names.append(name)
            missing.difference_update(members)
    return names


def _short_drops() -> dict[str, tuple[str, ...]]:
    """Return names of --drop, the safe ones first, then those of several ids."""
    known = _named_drops()
    several = {name: ids for name, ids in known.items() if len(ids) > 1 and name not in _GROUPS}
    first = {name: known[name] for name in ("empty", "duplicates")}
    return first | several | known


def can_be_dropped(id: str) -> bool:
    """Return True if a finding is on single lines, which `--drop` can name."""
    return id in _named_drops()


@cache
def _named_drops() -> dict[str, tuple[str, ...]]:
    """Return the ids for each name of --drop."""
    ids = [row.id for row in problems() if not row.id.startswith(_OF_WHOLE_TEXTS)]
    names: dict[str, tuple[str, ...]] = {}
    for id in ids:
        names[id] = (id,)
        plain = without_side(id)
        names[plain] = tuple(dict.fromkeys((*names.get(plain, ()), id)))
    for group, members in _GROUPS.items():
        names[group] = tuple(id for member in members for id in names[member])
    return names


def _ids(
    names: Iterable[str], ids_by_name: dict[str, tuple[str, ...]], what: str
) -> frozenset[str]:
    require_type(
        f"The list for a {what}", names, (list, tuple, set, frozenset), "Give names in a list."
    )
    ids: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name not in ids_by_name:
            raise ConfigError(f"There is no {what} '{name}'.", suggest(str(name), ids_by_name))
        ids.update(ids_by_name[name])
    return frozenset(ids)
