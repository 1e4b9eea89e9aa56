"""The files of a bundle, read and checked before a model is built from them.

Loading checks the manifest and never reads a pickle.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor

from headway.bundle_folder import MANIFEST, Identity, has_manifest, identity, places
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.draft_counts import DraftCounts
from headway.data.shortlist import Shortlist
from headway.data.tokenizer import Tokenizer
from headway.errors import (
    BundleError,
    ConfigError,
    DataError,
    TokenizerError,
    permitted,
    require_type,
)
from headway.home import expanded
from headway.hub import downloaded, hub_address
from headway.runtime.mapped_tensors import MappedTensors, map_file, read_tensors

FORMAT = 1
CARD = "card.md"
CODE = "parts.py"
"""Python code with the function `change`, for a model with parts of its author's own."""
DRAFTS = "drafts.safetensors"
SHORTLIST = "shortlist.safetensors"
WEIGHTS = "model.safetensors"
BEST, AVERAGED, REPORT = "best", "averaged", "report.json"
"""Parts of a finished run: two bundles, and the report that names the better one."""
DAMAGED = "Copy the whole bundle again, or train it anew."
_DAMAGED_ON_HUB = (
    "Nothing was loaded. If an interrupted download is to blame, remove {folder} and try again; "
    "otherwise ask the owner to upload the bundle again."
)
_OTHER_VERSION = "It is as it was written: use the version of Headway that wrote it."


@dataclass(frozen=True, slots=True)
class SavedBundle:
    """The content of the files of a bundle."""

    folder: Path
    checksum: str
    """The SHA-256 of the manifest, which stands for the whole bundle."""
    config: ModelConfig
    decoding: DecodingConfig
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    source_language: str
    target_language: str
    record: dict[str, Any]
    card: str
    shortlist: Shortlist | None
    drafts: DraftCounts | None
    changed: dict[str, str]
    """Classes of the parts that are not Headway's own, by their path in the model."""
    code: bytes
    """The file with the code of these parts, which nothing has run; empty without one."""
    tensors: dict[str, Tensor]
    """Weights by their attribute path; a shared weight appears once."""
    mapped: MappedTensors | None
    """The file that holds the weights, unless they were copied."""


def read_bundle(path: str | Path, *, mapped: bool = False) -> SavedBundle:
    """Read and check the files of a bundle, of the better bundle of a run, or of one on the hub.

    mapped: leave the weights in their file. Raises BundleError that names the file which is
    missing, changed or of the wrong kind.
    """
    folder = find_bundle(path)
    files = checked_files(folder, path, mapped=mapped)
    weights = MappedTensors(folder / WEIGHTS, files[WEIGHTS]) if mapped else None
    tensors = weights.tensors() if weights else read_tensors(folder / WEIGHTS, files[WEIGHTS])
    description = _description(folder / "config.json", files["config.json"])
    source, target = _tokenizers(folder, files)
    with as_bundle_error(folder):
        config = ModelConfig.parse(description["model"], "model")
        decoding = DecodingConfig.parse(description["decoding"], "decoding")
    for tokenizer, size in ((source, config.source_vocab_size), (target, config.target_vocab_size)):
        if tokenizer.vocabulary_size > size:
            raise BundleError(
                f"A tokenizer of {folder} has {tokenizer.vocabulary_size} tokens, but the model "
                f"{size}.",
                DAMAGED,
            )
    return SavedBundle(
        folder=folder,
        checksum=hashlib.sha256(files[MANIFEST]).hexdigest(),
        config=config,
        decoding=decoding,
        source_tokenizer=source,
        target_tokenizer=target,
        source_language=description["source_language"],
        target_language=description["target_language"],
        record=description["record"],
        card=files.get(CARD, b"").decode(errors="replace"),
        shortlist=_shortlist(folder, files, source, target),
        drafts=_drafts(folder, files, config),
        changed=description.get("changed", {}),
        code=files.get(CODE, b""),
        tensors=tensors,
        mapped=weights,
    )


def find_bundle(path: str | Path) -> Path:
    """Return the folder of a bundle; for a run, the folder of its better weights.

    These are `best` or `averaged`, as report.json says; `best` while the run is not finished. For
    an address on the hub, such as `hf://OWNER/NAME`, it is a folder of the cache.
    """
    require_type("A bundle", path, (str, PathLike), "Give the name of its folder.")
    if address := hub_address(path):
        return downloaded(address)
    folder = expanded(path)
    with permitted(folder, BundleError):
        if has_manifest(folder):
            return folder
        bundles = [name for name in (BEST, AVERAGED) if has_manifest(folder / name)]
    if len(bundles) > 1 and best_is_better(folder) is False:
        return folder / AVERAGED
    if bundles:
        return folder / bundles[0]
    if not folder.exists():
        raise BundleError(f"There is no bundle {folder}.", "Check the name of the folder.")
    if not folder.is_dir():
        raise BundleError(
            f"{folder} is a file, and a bundle is a folder.",
            "Give the folder of a trained model; on the command line it comes before any text.",
        )
    if seeds := sorted(path.name for path in folder.glob("seed-*") if path.is_dir()):
        raise BundleError(
            f"{folder} holds runs of several seeds, not one.",
            f"Give one of them: {folder / seeds[0]}.",
        )
    raise BundleError(
        f"{folder} is not a bundle: it has no {MANIFEST}.",
        "Give the folder of a trained model, as `headway train` writes it.",
    )


def best_is_better(run: Path) -> bool | None:
    """Return True if report.json prefers the best step; None while the run is not finished."""
    report = _report(run)
    return None if report is None else bool(report.get("best_is_better"))


def _report(run: Path) -> dict[str, Any] | None:
    """Return the values of report.json; None while the run is not finished."""
    report = run / REPORT
    if not report.is_file():
        return None
    try:
        return _json_object(report, report.read_bytes())
    except (OSError, BundleError) as error:
        reason = getattr(error, "strerror", None) or "it is not a JSON object"
        raise BundleError(
            f"{report}, which says whose weights are better, cannot be read ({reason}).",
            f"Name the weights that you mean: {run / BEST} or {run / AVERAGED}.",
        ) from None


def which_weights(path: str | Path) -> str:
    """Say which bundle of a run is used and why, or which revision of one on the hub.

    Nothing if the path is a bundle itself.
    """
    folder, run = find_bundle(path), expanded(path)
    if address := hub_address(path):
        return f"{address}: using revision {folder.name}."
    if folder == run:
        return ""
    report = _report(run)
    verdict = None if report is None else bool(report.get("best_is_better"))
    better = BEST if verdict is not False else AVERAGED
    if folder.name != better:
        reason = f"because {run / better} is missing"
    elif verdict is None:
        reason = "the best so far of an unfinished run"
    elif report and report.get("same_weights"):
        reason = f"the same as {run / BEST}, because the weights of one validation were averaged"
    else:
        steps = report.get("averaged_steps") or () if report else ()
        averaged = f"those of step {steps[0]:,}" if len(steps) == 1 else "the averaged ones"
        rival = averaged if verdict else "those of the best single step"
        reason = f"which do {'better' if verdict else 'no worse'} on validation text than {rival}"
    return f"{path}: using the weights in {folder}, {reason}."


def unfinished_weights(path: str | Path) -> str:
    """Say which bundle of an unfinished run is used; nothing for a finished one or a bundle."""
    if hub_address(path):
        return ""
    folder, run = find_bundle(path), expanded(path)
    return which_weights(path) if folder != run and best_is_better(run) is None else ""


def saved_learned(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shortlist and the drafts of a bundle, by field, and the record of each.

    A bundle without one of them has no such field. Those of an imported model have no record.
    """
    files = {"shortlist": SHORTLIST, "drafts": DRAFTS}
    if not any(place.is_file() for name in files.values() for place in places(folder, name)):
        return {}, {}
    saved = read_bundle(folder, mapped=True)
    fields = {name: getattr(saved, name) for name in files if getattr(saved, name) is not None}
    return fields, {name: saved.record[name] for name in fields if name in saved.record}


def checked_files(folder: Path, path: str | Path, *, mapped: bool = False) -> dict[str, Any]:
    """Return the files of a bundle by name, after a comparison with the checksums of the manifest.

    path: the name by which the user knows the folder, for errors. mapped: do not read the weights,
    but map them. Raises BundleError that names the file which is missing or changed.
    """
    try:
        return _read_whole(folder, mapped=mapped)
    except BundleError as error:
        if not (address := hub_address(path)):
            raise
        message = error.message.replace(f"{folder}{os.sep}", "")
        raise BundleError(
            f"{address}, revision {folder.name}: {message}", _DAMAGED_ON_HUB.format(folder=folder)
        ) from None


def _read_whole(folder: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Read the files of one bundle; read again if a run replaced them meanwhile."""
    while True:
        before = _identity(folder)
        try:
            return _checked_files(folder, mapped)
        except BundleError:
            if _identity(folder) == before:
                raise


def _identity(folder: Path) -> Identity:
    try:
        folder.stat()
    except OSError as error:
        raise BundleError(f"{folder} cannot be read ({error.strerror}).", DAMAGED) from None
    return identity(folder)


def _checked_files(folder: Path, mapped: bool) -> dict[str, Any]:
    """Return the content of each file as bytes; the weights as a mapped file if that is wanted."""
    manifest = _other_line_ends(_read(folder, MANIFEST), MANIFEST)[-1]
    checksums = _json_object(folder / MANIFEST, manifest)
    files = {MANIFEST: manifest}
    for required in ("config.json", WEIGHTS):
        if required not in checksums:
            raise BundleError(f"{folder / MANIFEST} does not list {required}.", DAMAGED)
    for name, checksum in checksums.items():
        if Path(name).name != name or name == ".." or "\0" in name:
            raise BundleError(f"{folder / MANIFEST} lists {name!r}, outside the bundle.", DAMAGED)
        if name == CARD:  # people may edit this text
            files[name] = _text_of(folder, name)
            continue
        data = _read(folder, name, mapped=mapped and name == WEIGHTS)
        for written in (data, *_other_line_ends(data, name)):
            if hashlib.sha256(written).hexdigest() == checksum:
                files[name] = written
                break
        else:
            message = f"{folder / name} has changed since the bundle was written."
            raise BundleError(message, DAMAGED)
    return files


def _text_of(folder: Path, name: str) -> bytes:
    """Return a text for people; nothing if it is missing."""
    try:
        return _read(folder, name)
    except BundleError:
        return b""


def _other_line_ends(data: Any, name: str) -> list[bytes]:
    """Return the forms of a text before git or an editor changed its line ends."""
    if not name.endswith(".json"):
        return []
    plain = bytes(data).replace(b"\r\n", b"\n")
    return [plain, plain.rstrip(b"\r\n")]


def _json_object(path: Path, data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise BundleError(f"{path} is not a JSON object.", DAMAGED)
    return values


@contextlib.contextmanager
def as_bundle_error(folder: Path) -> Iterator[None]:
    """Name the bundle in the error of a configuration that gives no model."""
    try:
        yield
    except ConfigError as error:
        raise BundleError(f"{folder / 'config.json'}: {error.message}", _OTHER_VERSION) from None


def _description(path: Path, data: bytes) -> dict[str, Any]:
    description = _json_object(path, data)
    if description.get("format") != FORMAT:
        raise BundleError(
            f"{path} has format {description.get('format')!r}; this version reads {FORMAT}.",
            "Use the version of Headway that wrote it.",
        )
    for key in ("model", "decoding", "source_language", "target_language", "record"):
        if key not in description:
            raise BundleError(f"{path} lacks '{key}'.", DAMAGED)
        kind = str if key.endswith("language") else dict
        if not isinstance(description[key], kind):
            raise BundleError(f"'{key}' in {path} is {description[key]!r:.60}.", DAMAGED)
    if not isinstance(description["record"].get("config", {}), dict):
        raise BundleError(f"'record.config' in {path} is not an object.", DAMAGED)
    return description


def _tokenizers(folder: Path, files: dict[str, bytes]) -> tuple[Tokenizer, Tokenizer]:
    for names in (("tokenizer.model",), ("source.model", "target.model")):
        if all(name in files for name in names):
            tokenizers = [_tokenizer(folder / name, files[name]) for name in names]
            return tokenizers[0], tokenizers[-1]
    raise BundleError(f"{folder} has no tokenizer.", DAMAGED)


def _tokenizer(path: Path, data: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_bytes(data)
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", DAMAGED) from None


def _shortlist(
    folder: Path, files: dict[str, bytes], source: Tokenizer, target: Tokenizer
) -> Shortlist | None:
    if SHORTLIST not in files:
        return None
    try:
        return Shortlist.from_bytes(files[SHORTLIST], len(source), len(target))
    except DataError as error:
        raise BundleError(f"{folder / SHORTLIST}: {error.message}", DAMAGED) from None


def _drafts(folder: Path, files: dict[str, bytes], config: ModelConfig) -> DraftCounts | None:
    if DRAFTS not in files:
        return None
    try:
        return DraftCounts.from_bytes(
            files[DRAFTS], config.source_vocab_size, config.target_vocab_size
        )
    except DataError as error:
        raise BundleError(f"{folder / DRAFTS}: {error.message}", DAMAGED) from None


def _read(folder: Path, name: str, *, mapped: bool = False) -> Any:
    path = folder / name
    for place in places(folder, name):
        if place.exists() and not place.is_file():  # such as a pipe, on which reading would wait
            raise BundleError(f"{path} is not a file.", DAMAGED)
        try:
            return map_file(place) if mapped else place.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            message = f"{path} cannot be read ({error.strerror})."
            raise BundleError(message, "Check its permissions.") from None
    raise BundleError(f"{path} is missing.", DAMAGED)
