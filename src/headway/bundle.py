"""A trained model on disk: config, tokenizer, weights and card, with a checksum of each file.

A bundle is a folder:

    config.json         sizes of the model, default search, languages, record of the training,
                        and the classes of parts that are not Headway's own, if there are any
    model.safetensors   weights by their attribute path; a shared table is stored once
    tokenizer.model     SentencePiece, for both sides; or source.model and target.model
    card.md             the same for people: data, scores with signatures, licence, how trained
    shortlist.safetensors   where one was learned: which pieces a sentence's translation may need
    manifest.json       SHA-256 of each of the files above

Loading checks the manifest and never reads a pickle.
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_safetensors
from torch import Tensor, nn

from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.shortlist import Shortlist
from headway.data.tokenizer import Tokenizer
from headway.errors import BundleError, ConfigError, DataError, TokenizerError
from headway.mapping import MappedTensors, map_file, read_tensors
from headway.model.changes import changed_parts, lost_buffers, other_settings
from headway.model.empty import empty_model
from headway.model.transformer import Transformer
from headway.replacing import partial_path, replace_folder, write_atomically

FORMAT = 1
MANIFEST = "manifest.json"
SHORTLIST = "shortlist.safetensors"
WEIGHTS = "model.safetensors"
Change = Callable[[Transformer], object]
"""What puts parts of a user's own into a model: called with it before weights are set."""
_DAMAGED = "Copy the whole bundle again, or train it anew."
_OTHER_VERSION = "It is as it was written: use the version of Headway that wrote it."


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model with all that it needs to translate text."""

    config: ModelConfig
    model: Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    source_language: str = "source"
    target_language: str = "target"
    record: dict[str, Any] = field(default_factory=dict)
    """How it was trained and what it scored: plain JSON values."""
    card: str = ""
    shortlist: Shortlist | None = None
    """Learned from parallel text (`headway shortlist`); used where a search asks for it."""

    @property
    def joint(self) -> bool:
        """Tell whether both sides share one tokenizer."""
        return self.source_tokenizer == self.target_tokenizer


def save_bundle(path: str | Path, bundle: Bundle) -> None:
    """Write a bundle; a reader sees the whole old one or the whole new one.

    Raises BundleError when the folder exists and is not a bundle, or cannot be written.
    """
    target = Path(path).resolve()
    if target.exists() and not (target / MANIFEST).is_file() and _has_content(target):
        raise BundleError(
            f"{path} exists and is not a bundle.", "Choose another folder or remove it."
        )
    if lost := lost_buffers(bundle.model):
        raise BundleError(
            f"{lost[0]} is a buffer, which a bundle does not hold.",
            "Make it a parameter, or persistent=False if it can be computed anew.",
        )
    fresh = partial_path(target)
    try:
        fresh.mkdir(parents=True)
        _write_files(fresh, bundle)
        replace_folder(fresh, target)
    except OSError as error:
        raise BundleError(
            f"The bundle {path} cannot be written ({error.strerror or error}).",
            "Free some space or choose another folder; an older bundle there is unchanged.",
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # a failed attempt, or the replaced bundle


def load_bundle(
    path: str | Path, device: torch.device | str = "cpu", change: Change | None = None
) -> Bundle:
    """Read and check a bundle; a run folder gives its averaged bundle, or else its best one.

    change: puts the parts of its own into the model that it was saved with. Raises BundleError that
    names the file which is missing, changed or not what it should be, or such a part.
    """
    folder = find_bundle(path)
    files = _read_whole(folder)
    tensors = read_tensors(folder / WEIGHTS, files[WEIGHTS])
    return _assemble(folder, files, device, tensors, change)


def load_mapped_bundle(
    path: str | Path, change: Change | None = None
) -> tuple[Bundle, MappedTensors]:
    """Read and check a bundle for the CPU whose weights stay in their file; return that, too."""
    folder = find_bundle(path)
    files = _read_whole(folder, mapped=True)
    weights = MappedTensors(folder / WEIGHTS, files[WEIGHTS])
    return _assemble(folder, files, "cpu", weights.tensors(), change, copy=False), weights


def find_bundle(path: str | Path) -> Path:
    """Return the folder of a bundle; of a run, that of its averaged or else its best bundle."""
    folder = Path(path)
    for candidate in (folder, folder / "averaged", folder / "best"):
        if (candidate / MANIFEST).is_file():
            return candidate
    if not folder.exists():
        raise BundleError(f"There is no bundle {folder}.", "Check the name of the folder.")
    raise BundleError(
        f"{folder} is not a bundle: it has no {MANIFEST}.",
        "Give the folder of a trained model, as `headway train` writes it.",
    )


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters by attribute path, each shared one once, on the CPU."""
    return {
        name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()
    }


def set_model_tensors(model: nn.Module, tensors: dict[str, Tensor], *, copy: bool = True) -> None:
    """Copy tensors into the parameters of these names, or put them in their place.

    Raises BundleError when a name is missing, unknown or has another shape.
    """
    parameters = dict(model.named_parameters())
    if missing := sorted(parameters.keys() - tensors.keys()):
        raise BundleError(f"The weights lack {missing[0]} ({len(missing)} missing in all).")
    if unknown := sorted(tensors.keys() - parameters.keys()):
        raise BundleError(f"The weights hold {unknown[0]}, which the model does not have.")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                raise BundleError(
                    f"{name} has shape {tuple(tensors[name].shape)}, but the configuration says "
                    f"{tuple(parameter.shape)}."
                )
            if copy or parameter.dtype != tensors[name].dtype:
                parameter.copy_(tensors[name])
            else:
                parameter.data = tensors[name]


def saved_changes(path: str | Path) -> dict[str, str]:
    """Return the classes of all parts that are not Headway's own, by their path in the model."""
    file = find_bundle(path) / "config.json"
    return _description(file, _read(file)).get("changed", {})


def bundle_checksum(path: str | Path) -> str:
    """Return one SHA-256 for the whole bundle: that of its manifest."""
    return hashlib.sha256(_read(find_bundle(path) / MANIFEST)).hexdigest()


def _write_files(folder: Path, bundle: Bundle) -> None:
    description = {
        "format": FORMAT,
        "model": bundle.config.model_dump(),
        "decoding": bundle.decoding.model_dump(),
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "record": bundle.record,
    }
    if changed := _changes(bundle.model, bundle.config):
        description["changed"] = changed
    files = {
        "config.json": json.dumps(description, indent=2, ensure_ascii=False).encode(),
        WEIGHTS: save_safetensors(model_tensors(bundle.model)),
        "card.md": bundle.card.encode(),
        **tokenizer_files(bundle),
    }
    if bundle.shortlist is not None:
        files[SHORTLIST] = bundle.shortlist.to_bytes()
    manifest = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    for name, data in files.items():
        write_atomically(folder / name, data)
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2).encode())


def tokenizer_files(bundle: Bundle) -> dict[str, bytes]:
    """Return names and bytes of the tokenizers as a bundle holds them: one shared, or two."""
    if bundle.joint:
        return {"tokenizer.model": bundle.source_tokenizer.to_bytes()}
    return {
        "source.model": bundle.source_tokenizer.to_bytes(),
        "target.model": bundle.target_tokenizer.to_bytes(),
    }


def _has_content(folder: Path) -> bool:
    return not folder.is_dir() or any(folder.iterdir())


def _read_whole(folder: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Read the files of one bundle, again if a run put another in its place meanwhile."""
    while True:
        before = _identity(folder)
        try:
            return _checked_files(folder, mapped)
        except BundleError:
            if _identity(folder) == before:
                raise


def _identity(folder: Path) -> tuple[int, int]:
    try:
        status = folder.stat()
    except OSError as error:
        raise BundleError(f"{folder} cannot be read ({error.strerror}).", _DAMAGED) from None
    return status.st_ino, status.st_mtime_ns


def _checked_files(folder: Path, mapped: bool) -> dict[str, Any]:
    """Return the content of each file: bytes, or where that was asked for the mapped weights."""
    checksums = _json_object(folder / MANIFEST, _read(folder / MANIFEST))
    files = {}
    for required in ("config.json", WEIGHTS):
        if required not in checksums:
            raise BundleError(f"{folder / MANIFEST} does not list {required}.", _DAMAGED)
    for name, checksum in checksums.items():
        if Path(name).name != name or name == "..":
            raise BundleError(f"{folder / MANIFEST} lists {name!r}, outside the bundle.", _DAMAGED)
        files[name] = _read(folder / name, mapped=mapped and name == WEIGHTS)
        if hashlib.sha256(files[name]).hexdigest() != checksum:
            message = f"{folder / name} has changed since the bundle was written."
            raise BundleError(message, _DAMAGED)
    return files


def _json_object(path: Path, data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise BundleError(f"{path} is not a JSON object.", _DAMAGED)
    return values


def _assemble(
    folder: Path,
    files: dict[str, Any],
    device: torch.device | str,
    tensors: dict[str, Tensor],
    change: Change | None,
    *,
    copy: bool = True,
) -> Bundle:
    description = _description(folder / "config.json", files["config.json"])
    source, target = _tokenizers(folder, files)
    with _as_bundle_error(folder):
        config = ModelConfig.parse(description["model"], "model")
        decoding = DecodingConfig.parse(description["decoding"], "decoding")
        model = empty_model(config, device)
    if change:
        change(model)
        model.to(device)
    if change or "changed" in description:
        _check_changes(folder, _changes(model, config), description.get("changed", {}))
    for tokenizer, size in ((source, config.source_vocab_size), (target, config.target_vocab_size)):
        if tokenizer.vocabulary_size > size:
            raise BundleError(
                f"A tokenizer of {folder} has {tokenizer.vocabulary_size} pieces, but the model "
                f"{size}.",
                _DAMAGED,
            )
    set_model_tensors(model, tensors, copy=copy)
    return Bundle(
        config=config,
        model=model.eval(),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=decoding,
        source_language=description["source_language"],
        target_language=description["target_language"],
        record=description["record"],
        card=files.get("card.md", b"").decode(),
        shortlist=_shortlist(folder, files, source, target),
    )


def _changes(model: Transformer, config: ModelConfig) -> dict[str, str]:
    """Return what the configuration does not say of a model, by the path of each part."""
    return other_settings(model, empty_model(config, "cpu")) | changed_parts(model)


def _check_changes(folder: Path, found: dict[str, str], saved: dict[str, str]) -> None:
    """Refuse a model whose own parts are not those that it was saved with."""
    for path in sorted(saved.keys() | found.keys()):
        if saved.get(path) != found.get(path):
            usual = "that of Headway"
            raise BundleError(
                f"In {folder} the class of {path or 'the model'} is {saved.get(path, usual)}, but "
                f"here it is {found.get(path, usual)}.",
                "Load it in Python with change=, the function that `headway.train` was given.",
            )


def _description(path: Path, data: bytes) -> dict[str, Any]:
    description = _json_object(path, data)
    if description.get("format") != FORMAT:
        raise BundleError(
            f"{path} has format {description.get('format')!r}; this version reads {FORMAT}.",
            "Use the version of Headway that wrote it.",
        )
    for key in ("model", "decoding", "source_language", "target_language", "record"):
        if key not in description:
            raise BundleError(f"{path} lacks '{key}'.", _DAMAGED)
    return description


def _tokenizers(folder: Path, files: dict[str, bytes]) -> tuple[Tokenizer, Tokenizer]:
    for names in (("tokenizer.model",), ("source.model", "target.model")):
        if all(name in files for name in names):
            tokenizers = [_tokenizer(folder / name, files[name]) for name in names]
            return tokenizers[0], tokenizers[-1]
    raise BundleError(f"{folder} has no tokenizer.", _DAMAGED)


def _tokenizer(path: Path, data: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_bytes(data)
    except TokenizerError as error:
        raise BundleError(f"{path}: {error.message}", _DAMAGED) from None


def _shortlist(
    folder: Path, files: dict[str, bytes], source: Tokenizer, target: Tokenizer
) -> Shortlist | None:
    if SHORTLIST not in files:
        return None
    try:
        return Shortlist.from_bytes(files[SHORTLIST], len(source), len(target))
    except DataError as error:
        raise BundleError(f"{folder / SHORTLIST}: {error.message}", _DAMAGED) from None


@contextlib.contextmanager
def _as_bundle_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise BundleError(f"{folder / 'config.json'}: {error.message}", _OTHER_VERSION) from None


def _read(path: Path, *, mapped: bool = False) -> Any:
    try:
        return map_file(path) if mapped else path.read_bytes()
    except FileNotFoundError:
        raise BundleError(f"{path} is missing.", _DAMAGED) from None
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror})."
        raise BundleError(message, "Check its permissions.") from None
