"""Recognize the kind of a folder with a Marian model by the names of its files."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from headway.errors import BundleError, permitted, require_type
from headway.home import expanded

Kind = Literal["hugging-face", "marian", "student"]

NEEDED: dict[Kind, str] = {
    "hugging-face": "config.json, vocab.json, source.spm, target.spm and the weights",
    "marian": "a .npz file, decoder.yml and the vocabularies",
    "student": "a .bin file and one or two .spm files",
}
"""By kind: the files that its folder holds."""


@dataclass(frozen=True, slots=True)
class MarianFolder:
    """A folder and its kind; its files are not read yet."""

    path: Path
    kind: Kind


def recognize(path: str | Path) -> MarianFolder:
    """Return the folder with its kind; BundleError if it holds no model of Marian."""
    require_type("The folder", path, (str, PathLike), "Give the name of a folder.")
    folder = expanded(path)
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "does not exist"
        raise BundleError(f"{path} {problem}.", "Give the folder with the model's files.")
    with permitted(folder, BundleError):
        names = {file.name for file in folder.iterdir() if file.is_file()}
    if "manifest.json" in names and "model.safetensors" in names:
        raise BundleError(f"{path} is a bundle of Headway.", "Use it as it is.")
    if "config.json" in names:
        return MarianFolder(folder, "hugging-face")
    endings = {Path(name).suffix for name in names}
    if ".npz" in endings:
        return MarianFolder(folder, "marian")
    if ".bin" in endings:
        return MarianFolder(folder, "student")
    raise BundleError(
        f"{path} holds no model of Marian.",
        f"Of Hugging Face it has {NEEDED['hugging-face']}; of Marian itself {NEEDED['marian']}; "
        f"of a Firefox student {NEEDED['student']}.",
    )
