"""A trained model on disk: config, tokenizer, weights and card, with a checksum of each file.

A bundle is a folder:

    config.json         sizes of the model, default search, languages, record of the training
    model.safetensors   weights by their attribute path; a shared table is stored once
    tokenizer.model     SentencePiece, for both sides; or source.model and target.model
    card.md             the same for people: data, scores with signatures, licence, how trained
    manifest.json       SHA-256 of each of the files above

Loading checks the manifest and never reads a pickle.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import Tensor, nn

from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.tokenizer import Tokenizer
from headway.errors import BundleError, ConfigError
from headway.model.transformer import Transformer

FORMAT = 1
MANIFEST = "manifest.json"


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

    @property
    def joint(self) -> bool:
        """Tell whether both sides share one tokenizer."""
        return self.source_tokenizer == self.target_tokenizer


def save_bundle(path: str | Path, bundle: Bundle) -> None:
    """Write a bundle; a reader sees the whole old one or the whole new one.

    Raises BundleError when the folder exists and is not a bundle, or cannot be written.
    """
    target = Path(path)
    if target.exists() and not (target / MANIFEST).is_file() and _has_content(target):
        raise BundleError(
            f"{target} exists and is not a bundle.", "Choose another folder or remove it."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            _write_files(fresh, bundle)
            _replace_folder(fresh, target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise BundleError(
            f"The bundle {target} cannot be written ({error.strerror or error}).",
            "Free some space or choose another folder; an older bundle there is unchanged.",
        ) from error


def load_bundle(path: str | Path, device: torch.device | str = "cpu") -> Bundle:
    """Read and check a bundle; a run folder gives its averaged bundle, or else its best one.

    Raises BundleError that names the file which is missing, changed or not what it should be.
    """
    folder = find_bundle(path)
    # A run may replace the bundle between two reads; then the manifest has changed as well.
    before = _read(folder / MANIFEST)
    try:
        files = _checked_files(folder, before)
    except BundleError:
        after = _read(folder / MANIFEST)
        if after == before:
            raise
        files = _checked_files(folder, after)
    return _assemble(folder, files, device)


def find_bundle(path: str | Path) -> Path:
    """Return the bundle's folder for a bundle or for a run that holds bundles."""
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
        name: parameter.detach().cpu().contiguous()
        for name, parameter in model.named_parameters()
    }


def set_model_tensors(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copy tensors into the parameters of these names.

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
            parameter.copy_(tensors[name])


def bundle_checksum(path: str | Path) -> str:
    """Return one SHA-256 for the whole bundle: that of its manifest."""
    return hashlib.sha256(_read(find_bundle(path) / MANIFEST)).hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step, so that a stop at any moment leaves the old or the new one."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _write_files(folder: Path, bundle: Bundle) -> None:
    description = {
        "format": FORMAT,
        "model": bundle.config.model_dump(),
        "decoding": bundle.decoding.model_dump(),
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "record": bundle.record,
    }
    files = {
        "config.json": json.dumps(description, indent=2, ensure_ascii=False).encode(),
        "model.safetensors": save_safetensors(model_tensors(bundle.model)),
        "card.md": bundle.card.encode(),
        **_tokenizer_files(bundle),
    }
    manifest = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    for name, data in files.items():
        write_atomically(folder / name, data)
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=2).encode())
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)


def _tokenizer_files(bundle: Bundle) -> dict[str, bytes]:
    if bundle.joint:
        return {"tokenizer.model": bundle.source_tokenizer.to_bytes()}
    return {
        "source.model": bundle.source_tokenizer.to_bytes(),
        "target.model": bundle.target_tokenizer.to_bytes(),
    }


def _replace_folder(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    retired = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    target.rename(retired / target.name)
    fresh.rename(target)
    shutil.rmtree(retired, ignore_errors=True)


def _has_content(folder: Path) -> bool:
    return not folder.is_dir() or any(folder.iterdir())


def _checked_files(folder: Path, manifest: bytes) -> dict[str, bytes]:
    try:
        checksums = json.loads(manifest)
        names = [str(name) for name in checksums]
    except (ValueError, TypeError):
        raise BundleError(f"{folder / MANIFEST} is not JSON.", _DAMAGED) from None
    files: dict[str, bytes] = {}
    for required in ("config.json", "model.safetensors"):
        if required not in names:
            raise BundleError(f"{folder / MANIFEST} does not list {required}.", _DAMAGED)
    for name in names:
        if Path(name).name != name:
            raise BundleError(f"{folder / MANIFEST} lists {name!r}, outside the bundle.", _DAMAGED)
        files[name] = _read(folder / name)
        if hashlib.sha256(files[name]).hexdigest() != checksums[name]:
            raise BundleError(
                f"{folder / name} has changed since the bundle was written.", _DAMAGED
            )
    return files


_DAMAGED = "Copy the whole bundle again, or train it anew."


def _assemble(folder: Path, files: dict[str, bytes], device: torch.device | str) -> Bundle:
    description = json.loads(files["config.json"])
    if description.get("format") != FORMAT:
        raise BundleError(
            f"{folder} has format {description.get('format')!r}; this version reads {FORMAT}.",
            "Use the version of Headway that wrote it.",
        )
    with _as_bundle_error(folder):
        config = ModelConfig.parse(description["model"], "model")
        decoding = DecodingConfig.parse(description["decoding"], "decoding")
    try:
        tensors = load_safetensors(files["model.safetensors"])
    except SafetensorError:
        raise BundleError(
            f"{folder / 'model.safetensors'} is not a safetensors file.",
            "Other formats, pickle above all, are never read.",
        ) from None
    with torch.device("meta"):
        model = Transformer.from_config(config)
    model = model.to_empty(device=device)
    set_model_tensors(model, tensors)
    source, target = _tokenizers(folder, files)
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
    )


def _tokenizers(folder: Path, files: dict[str, bytes]) -> tuple[Tokenizer, Tokenizer]:
    if "tokenizer.model" in files:
        joint = Tokenizer.from_bytes(files["tokenizer.model"])
        return joint, joint
    if "source.model" in files and "target.model" in files:
        return (
            Tokenizer.from_bytes(files["source.model"]),
            Tokenizer.from_bytes(files["target.model"]),
        )
    raise BundleError(f"{folder} has no tokenizer.", _DAMAGED)


@contextlib.contextmanager
def _as_bundle_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise BundleError(f"{folder / 'config.json'}: {error.message}", _DAMAGED) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BundleError(f"{path} is missing.", _DAMAGED) from None
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read ({error.strerror}).", "Check its permissions."
        ) from None
