"""Read a folder with a Marian model and write it as a bundle."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from headway.bundle import Bundle, save_bundle
from headway.bundle_folder import check_place
from headway.home import expanded
from headway.interop.marian.hugging_face import read_hugging_face
from headway.interop.marian.original import read_original
from headway.interop.marian.read_model import ReadModel
from headway.interop.marian.recognition import Kind, MarianFolder, recognize
from headway.interop.marian.student import read_student


@dataclass(frozen=True, slots=True)
class Imported:
    """The written bundle."""

    folder: Path
    kind: Kind
    """The kind of the folder that was read."""
    bundle: Bundle
    notes: list[str]
    """Notes on the files, one sentence each."""


READERS: dict[Kind, Callable[[MarianFolder], ReadModel]] = {
    "hugging-face": read_hugging_face,
    "marian": read_original,
    "student": read_student,
}
"""By kind: the function that reads such a folder."""


def import_marian(
    path: str | Path,
    out: str | Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Imported:
    """Read a folder with a Marian model, and write it as a bundle into the folder `out`.

    source_language, target_language: names or codes, in place of those in the files. Raises
    BundleError that names the file or the setting which does not fit; then nothing is
    written. Code in the files is never executed.
    """
    check_place(out)  # before the work
    folder = recognize(path)
    read = READERS[folder.kind](folder)
    bundle = replace(
        read.bundle,
        source_language=source_language or read.bundle.source_language,
        target_language=target_language or read.bundle.target_language,
    )
    save_bundle(out, bundle)
    return Imported(expanded(out).resolve(), folder.kind, bundle, read.notes)
