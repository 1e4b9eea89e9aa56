"""Bundles on the hub of Hugging Face: their addresses, and their download into its cache.

    hf://OWNER/NAME              the newest files
    hf://OWNER/NAME@REVISION     those of a branch, a tag or a commit

The library `huggingface_hub` keeps what it has downloaded in its cache, and knows the user's token.
With `HF_HUB_OFFLINE=1` in the environment it reads the cache alone.
"""

import contextlib
import glob
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from headway.bundle_folder import MANIFEST, manifest_names
from headway.errors import BundleError, ConfigError, HeadwayError, MissingExtraError

_SCHEME = "hf:/"
"""The beginning of all addresses; `Path` makes one slash of two."""
# Git allows no two dots in the name of a revision.
_FORM = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>(?!.*\.\.)[\w./-]+))?", re.ASCII)
_WRITE = "Write OWNER/NAME or OWNER/NAME@REVISION, as in the address of its page on the hub."
_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A repository on the hub and its revision, "" for the newest files."""

    repository: str
    revision: str = ""

    def __str__(self) -> str:
        """Return the address as `headway.load` takes it."""
        return f"hf://{self.repository}" + (f"@{self.revision}" if self.revision else "")


def hub_address(path: str | PathLike[str]) -> HubAddress | None:
    """Return the address that a name of a bundle is; None for the name of a folder.

    Raises ConfigError for an address of another form.
    """
    if not isinstance(path, (str, PathLike)):
        return None  # whatever reads the folder says that it is no name
    text = path if isinstance(path, str) else PurePath(path).as_posix()
    return parse_address(text) if text.startswith(_SCHEME) else None


def refuse_address(path: str | PathLike[str], written: str) -> None:
    """Raise ConfigError if a model that is to be written into is an address and no folder.

    written: the subject and verb of the message, such as `A shortlist is`.
    """
    if address := hub_address(path):
        raise ConfigError(
            f"{written} written into the model, and {address} is not a folder.",
            f"Pull it first: headway pull {address.repository} --out DIR.",
        )


def parse_address(text: str) -> HubAddress:
    """Return the address in a text such as `kim/ko-en@v1`, with or without `hf://`.

    >>> print(parse_address("kim/ko-en@v1"))
    hf://kim/ko-en@v1
    """
    parts = _FORM.fullmatch(text.removeprefix(_SCHEME).lstrip("/"))
    if parts is None:
        raise ConfigError(f"'{text}' is not an address on the hub.", _WRITE)
    return HubAddress(parts["repository"], parts["revision"] or "")


def downloaded(address: HubAddress) -> Path:
    """Return the folder in the cache with a bundle of the hub; download what it lacks.

    The folder's name is the hash of the commit. It has the files that the manifest lists, which
    are still to be checked. Raises BundleError that says why there is none.
    """
    library = hub_library(f"Reading {address}")
    with explained(address):
        manifest = Path(
            library.hf_hub_download(address.repository, MANIFEST, revision=address.revision or None)
        )
        names = manifest_names(manifest) or set()
        if any(not (manifest.parent / name).exists() for name in names):
            library.snapshot_download(
                address.repository,
                revision=manifest.parent.name,
                allow_patterns=[glob.escape(name) for name in names],
            )
    return manifest.parent


def hub_library(purpose: str) -> Any:
    """Return the library `huggingface_hub`; MissingExtraError says for which purpose."""
    try:
        import huggingface_hub
        from huggingface_hub.utils import disable_progress_bars
    except ImportError as error:
        raise MissingExtraError.of(
            "hub", f"{purpose} needs the library huggingface_hub, which is not installed."
        ) from error
    if not sys.stderr.isatty():  # a log has no use for bars
        disable_progress_bars()
    return huggingface_hub


@contextlib.contextmanager
def explained(address: HubAddress) -> Iterator[None]:
    """Raise each error of the library as one of Headway, in a sentence with its remedy."""
    try:
        yield
    except HeadwayError:
        raise
    except Exception as error:  # the library raises those of its own, of HTTP and of files
        raise _explanation(error, address) from error


def _explanation(error: Exception, address: HubAddress) -> HeadwayError:
    from huggingface_hub import errors

    if type(error) is RuntimeError and isinstance(error.__cause__, Exception):
        error = error.__cause__  # the first error says no more than which file was uploaded
    name, revision = address.repository, address.revision
    status = getattr(getattr(error, "response", None), "status_code", None)
    match error:
        case errors.HFValidationError():
            return ConfigError(f"'{name}' is no name on the hub.", _WRITE)
        case errors.GatedRepoError():
            return BundleError(
                f"{name} is open to those who have accepted its conditions.",
                f"Accept them on its page, and {_LOG_IN}.",
            )
        case errors.RevisionNotFoundError():
            return BundleError(
                f"{name} has no revision '{revision}'.", "Take one of those that its page lists."
            )
        case errors.LocalEntryNotFoundError() | errors.OfflineModeIsEnabled():
            return BundleError(
                f"{address} is not in the cache, and the hub was not reached.",
                "Check the connection and HF_HUB_OFFLINE; `headway pull` fills the cache.",
            )
        case errors.EntryNotFoundError():
            return BundleError(
                f"{address} holds no bundle: it has no {MANIFEST}.",
                "Name a model that `headway push` has written.",
            )
        case errors.RepositoryNotFoundError():
            return BundleError(
                f"The hub has no model {name} for this user.",
                f"Check the name; if the model is private, {_LOG_IN}.",
            )
        case _ if status in (401, 403):
            return BundleError(
                f"The hub does not let this user do that with {name}.",
                f"To use a token that may, {_LOG_IN}.",
            )
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    return BundleError(f"The hub could not be used for {name}: {reason}", "Try again later.")
