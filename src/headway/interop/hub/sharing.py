"""Upload a bundle to the hub in one commit, and download one into a folder."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.bundle import bundle_of, change_in
from headway.bundle_folder import MANIFEST, check_place, new_bundle
from headway.errors import BundleError, ConfigError
from headway.home import expanded
from headway.hub import HubAddress, explained, hub_library, parse_address
from headway.interop.hub.card import page
from headway.runtime.atomic_files import writing
from headway.runtime.versions import installed_versions
from headway.saved_bundle import CODE, SavedBundle, checked_files, read_bundle


@dataclass(frozen=True, slots=True)
class Pushed:
    """A bundle on the hub."""

    address: HubAddress
    """The repository, and the hash of the new commit."""
    page: str
    """The address of the repository's page."""
    needs_code: bool
    """True if the model has parts of its author's own and was pushed without their code."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """A bundle that was downloaded and checked."""

    address: HubAddress
    """The repository, and the hash of the commit."""
    folder: Path
    """The folder `out`, or the one in the cache."""
    checksum: str
    """SHA-256 of the bundle's manifest."""


def push(
    path: str | Path,
    repository: str,
    *,
    private: bool = False,
    revision: str = "",
    licence: str = "",
    code: str | Path | None = None,
) -> Pushed:
    """Upload a bundle, or the better bundle of a run, into a repository of the hub.

    All files come in one commit, so that an interrupted upload changes nothing there. The page
    README.md is written from the bundle's card and record.

    repository: OWNER/NAME, which is made if it does not exist. private: make it private. revision:
    a branch, made if it does not exist; "" is the main one. licence: of the model, by the hub's
    name for it, such as `mit`. code: a file with the function `change` of a model with parts of
    your own; it runs here, to check that it fits. Raises BundleError if the bundle is damaged, the
    code does not fit or the hub refuses.
    """
    address = parse_address(repository)
    if address.revision:
        raise ConfigError(
            f"'{repository}' names a revision.", "Name the branch to push to with --revision."
        )
    library = hub_library("Pushing a bundle")
    saved = read_bundle(path)
    files = checked_files(saved.folder, path)
    if code is not None:
        files = _with_code(saved, files, Path(code))
    has_code = CODE in files
    files["README.md"] = page(saved, address.repository, licence, has_code=has_code).encode()
    with explained(HubAddress(address.repository, revision)):
        commit = _upload(library, address.repository, files, private=private, branch=revision)
    return Pushed(
        address=HubAddress(address.repository, commit.oid),
        page=str(commit.repo_url),
        needs_code=bool(saved.changed) and not has_code,
    )


def pull(repository: str, out: str | Path | None = None) -> Pulled:
    """Download a bundle of the hub and check it; its code does not run.

    repository: OWNER/NAME or OWNER/NAME@REVISION. out: a folder for the bundle, which replaces an
    older one there; without it, the bundle stays in the cache of the hub's library. Raises
    BundleError if the hub has no such bundle, or if its files are not those of its manifest; then
    nothing is written.
    """
    address = parse_address(repository)
    if out is not None:
        check_place(out)
    saved = read_bundle(str(address), mapped=True)
    folder = saved.folder
    if out is not None:
        folder = expanded(out).resolve()
        files = checked_files(saved.folder, str(address))
        remedy = "Free some space or choose another folder; an older bundle there is unchanged."
        with writing(f"The bundle {out}", BundleError, remedy), new_bundle(folder) as fresh:
            for name, content in files.items():
                (fresh / name).write_bytes(content)
    return Pulled(HubAddress(address.repository, saved.folder.name), folder, saved.checksum)


def _with_code(saved: SavedBundle, files: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the files of a bundle with this code, after a model was built with it."""
    if not saved.changed:
        raise ConfigError(
            f"The model in {saved.folder} has no parts that need code.", "Leave --code out."
        )
    try:
        code = expanded(path).read_bytes()
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read ({error.strerror}).", "Name a file of Python code."
        ) from None
    bundle_of(saved, change=change_in(code, path, trust_code=True))
    checksums = json.loads(files[MANIFEST]) | {CODE: hashlib.sha256(code).hexdigest()}
    return files | {CODE: code, MANIFEST: json.dumps(checksums, indent=2).encode()}


def _upload(
    library: Any, repository: str, files: dict[str, Any], *, private: bool, branch: str
) -> Any:
    """Make the repository and the branch if need be, and commit the files; return the commit."""
    version = installed_versions(["headway"])["headway"]
    api = library.HfApi(library_name="headway", library_version=version)
    api.create_repo(repository, private=private or None, exist_ok=True)
    if private and not api.model_info(repository).private:
        raise BundleError(
            f"{repository} is public, so nothing was uploaded.",
            "Make it private in its settings on the hub, or leave --private out.",
        )
    if branch:
        api.create_branch(repository, branch=branch, exist_ok=True)
    return api.create_commit(
        repository,
        [library.CommitOperationAdd(name, bytes(content)) for name, content in files.items()],
        commit_message=f"A bundle of Headway {version}",
        revision=branch or None,
    )
