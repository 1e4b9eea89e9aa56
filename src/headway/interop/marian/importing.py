"""Read a folder with a Marian model and write it as a bundle."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.bundle import Bundle
from headway.bundle_folder import check_place
from headway.counted import listed
from headway.errors import BundleError, shown
from headway.interop.folder import check_new
from headway.interop.imported import Imported, ReadModel, write_imported
from headway.interop.marian.hugging_face import read_hugging_face
from headway.interop.marian.original import read_original
from headway.interop.marian.recognition import Kind, MarianFolder, recognize
from headway.interop.marian.student import read_student

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
    tag: str = "",
) -> Imported:
    """Read a folder with a Marian model, and write it as a bundle into the folder `out`.

    source_language, target_language: names or codes, in place of those in the files. tag: one of
    the model's tags, such as `>>deu<<`, which is put before each text without one. Raises
    BundleError that names the file or the setting which does not fit; then nothing is
    written. Code in the files is never executed.
    """
    check_place(out)  # before the work
    check_new(out)
    folder = recognize(path)
    read = READERS[folder.kind](folder)
    bundle = replace(read.bundle, record=_with_tag(read.bundle, tag))
    return write_imported(
        ReadModel(bundle, [*read.notes, *_about_tags(bundle)]),
        folder.kind,
        out,
        source_language=source_language,
        target_language=target_language,
    )


def _with_tag(bundle: Bundle, tag: str) -> dict[str, Any]:
    """Return the record of a bundle with the tag for its texts; BundleError if it lacks the tag."""
    if not tag:
        return bundle.record
    imported = bundle.record.get("imported", {})
    tags = imported.get("tags", [])
    if tag not in tags:
        has = listed(tags) if tags else "none, and needs none"
        raise BundleError(
            f"The tag is {shown(tag)}, but the tags of the model are: {has}.",
            "Give one of these, with its angle brackets, or leave --tag out.",
        )
    return bundle.record | {"imported": imported | {"tag": tag}}


def _about_tags(bundle: Bundle) -> list[str]:
    """Return a sentence on how to use a model of several languages."""
    if bundle.tag or len(bundle.tags) < 2:
        return []
    return [
        f"The model has the tags {listed(bundle.tags)}. Begin each text with one, or import the "
        f"model with one for all texts: --tag '{bundle.tags[0]}'."
    ]
