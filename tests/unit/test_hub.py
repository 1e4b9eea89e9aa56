"""Addresses on the hub, and the download of the files that a manifest lists."""

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hub_emulator import Hub, Repository

from headway.errors import BundleError, ConfigError, MissingExtraError
from headway.hub import HubAddress, downloaded, explained, hub_address, hub_library, parse_address

NAMED = {"config.json": "0" * 64, "model.safetensors": "1" * 64}
FILES = {
    "manifest.json": json.dumps(NAMED).encode(),
    "config.json": b"{}",
    "model.safetensors": bytes(range(251)),
    "pytorch_model.bin": b"a pickle",
}


@pytest.fixture
def stored(hub: Hub) -> Repository:
    hub.repositories["kim/ko-en"] = repository = Repository()
    repository.commit("main", FILES)
    return repository


@pytest.mark.parametrize(
    ("text", "repository", "revision"),
    [
        ("hf://kim/ko-en", "kim/ko-en", ""),
        ("hf://kim/ko-en@v1.0", "kim/ko-en", "v1.0"),
        (Path("hf://kim/ko-en@refs/pr/1"), "kim/ko-en", "refs/pr/1"),  # `Path` drops a slash
    ],
)
def test_an_address_is_a_repository_and_a_revision(
    text: Any, repository: str, revision: str
) -> None:
    address = hub_address(text)
    assert address == HubAddress(repository, revision)
    assert str(address).startswith("hf://kim/ko-en")
    assert parse_address(str(address)) == parse_address(str(address).removeprefix("hf://"))
    assert parse_address(str(address)) == address


@pytest.mark.parametrize("name", ["runs/demo", Path("hf/x"), "./hf:/x", "kim/ko-en@v1"])
def test_a_folder_is_no_address(name: Any) -> None:
    assert hub_address(name) is None


@pytest.mark.parametrize(
    "text", ["kim", "kim/ko-en/more", "kim/ko en", "kim/ko-en@", "kim/x@../../y", "@v1", "", "김/x"]
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not an address on the hub\. Write OWNER/NAME or"):
        parse_address(text)
    with pytest.raises(ConfigError, match="is not an address on the hub"):
        hub_address(f"hf://{text}")


def test_only_the_files_of_the_manifest_are_downloaded(stored: Repository) -> None:
    folder = downloaded(HubAddress("kim/ko-en"))
    assert folder.name == stored.branches["main"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: FILES[name] for name in ("manifest.json", *NAMED)
    }


def test_a_second_time_asks_for_the_revision_alone(stored: Repository, hub: Hub) -> None:
    folder = downloaded(HubAddress("kim/ko-en"))
    hub.requests.clear()
    assert downloaded(HubAddress("kim/ko-en")) == folder
    assert hub.requests == ["HEAD /kim/ko-en/resolve/main/manifest.json"]
    hub.requests.clear()
    assert downloaded(HubAddress("kim/ko-en", folder.name)) == folder
    assert hub.requests == []


def test_a_revision_stays_when_the_branch_moves_on(stored: Repository) -> None:
    first = downloaded(HubAddress("kim/ko-en"))
    stored.commit("main", {"config.json": b"[]"})
    second = downloaded(HubAddress("kim/ko-en", "main"))
    assert second != first
    assert (second / "config.json").read_bytes() == b"[]"
    pinned = downloaded(HubAddress("kim/ko-en", first.name))
    assert (pinned / "config.json").read_bytes() == b"{}"


def test_without_a_connection_the_cache_answers(
    stored: Repository, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = downloaded(HubAddress("kim/ko-en"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub.requests.clear()
    assert downloaded(HubAddress("kim/ko-en")) == folder
    assert downloaded(HubAddress("kim/ko-en", folder.name)) == folder
    with pytest.raises(BundleError, match="is not in the cache, and the hub was not reached"):
        downloaded(HubAddress("kim/other"))
    assert hub.requests == []


def test_the_hub_says_why_there_is_no_bundle(hub: Hub, stored: Repository) -> None:
    hub.repositories["kim/empty"] = Repository()
    hub.repositories["kim/empty"].commit("main", {"README.md": b""})
    for address, message in (
        (HubAddress("kim/none"), r"The hub has no model kim/none for this user\. Check the name"),
        (HubAddress("kim/ko-en", "v9"), r"kim/ko-en has no revision 'v9'\."),
        (HubAddress("kim/empty"), r"hf://kim/empty holds no bundle: it has no manifest\.json\."),
    ):
        with pytest.raises(BundleError, match=message):
            downloaded(address)
    with pytest.raises(ConfigError, match=r"'kim/a\.\.b' is no name on the hub"):
        downloaded(HubAddress("kim/a..b"))


def test_a_private_model_needs_a_token(
    hub: Hub, stored: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.private = True
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(BundleError, match=r"if the model is private, log in with `hf auth login`"):
        downloaded(HubAddress("kim/ko-en"))
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_tests")
    assert downloaded(HubAddress("kim/ko-en")).name == stored.branches["main"]


def test_a_broken_connection_is_told_from_a_wrong_name(hub: Hub, stored: Repository) -> None:
    hub.breaks_at = "GET /kim/ko-en/resolve"
    with pytest.raises(BundleError, match="The hub does not let this user do that with kim/ko-en"):
        downloaded(HubAddress("kim/ko-en"))
    with (
        pytest.raises(BundleError, match=r"could not be used for kim/x: no route\b.* Try again"),
        explained(HubAddress("kim/x")),
    ):
        raise OSError("no route\nfrom here")


def test_without_the_library_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "huggingface_hub":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[hub\]'"):
        hub_library("Reading hf://kim/ko-en")
