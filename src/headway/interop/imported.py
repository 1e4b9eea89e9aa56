"""A model of another program: as it was read, and as a bundle that was written."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.bundle import Bundle, save_bundle
from headway.home import expanded


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model as it was read: the bundle, and notes on its files."""

    bundle: Bundle
    notes: list[str] = field(default_factory=list)
    """One sentence each."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The written bundle."""

    folder: Path
    kind: str
    """The kind of the files that were read, such as `student` or `joeynmt`."""
    bundle: Bundle
    notes: list[str]
    """Notes on the files, one sentence each."""


def write_imported(
    model: ReadModel,
    kind: str,
    out: str | Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Imported:
    """Write a model that was read as a bundle into the folder `out`.

    source_language, target_language: names or codes, in place of those in the files.
    """
    bundle = replace(
        model.bundle,
        source_language=source_language or model.bundle.source_language,
        target_language=target_language or model.bundle.target_language,
    )
    save_bundle(out, bundle)
    return Imported(expanded(out).resolve(), kind, bundle, model.notes)
