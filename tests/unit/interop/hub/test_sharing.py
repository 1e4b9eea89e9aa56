"""Bundles go to the hub whole or not at all, and come back checked."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.unit.hub_emulator import Hub

import headway
from headway.bundle import load_bundle, model_tensors, save_bundle
from headway.errors import BundleError, ConfigError
from headway.interop.hub import pull, push
from headway.saved_bundle import read_bundle

from .conftest import CODE


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_bundle_comes_back_byte_for_byte(hub: Hub, plain: Path, tmp_path: Path) -> None:
    (plain / "notes.txt").write_text("no part of the bundle")
    pushed = push(plain, "kim/ko-en")
    assert pushed.address.revision == hub.repositories["kim/ko-en"].branches["main"]
    assert not pushed.needs_code
    pulled = pull("kim/ko-en", tmp_path / "out")
    assert pulled.address == pushed.address
    (plain / "notes.txt").unlink()
    assert _files(tmp_path / "out") == _files(plain)
    assert pulled.checksum == read_bundle(plain).checksum
    stored = hub.repositories["kim/ko-en"].files("main")
    assert stored.keys() == _files(plain).keys() | {"README.md", ".gitattributes"}


def test_an_address_loads_wherever_a_folder_does(hub: Hub, plain: Path) -> None:
    pushed = push(plain, "kim/ko-en")
    ours, theirs = load_bundle(plain), load_bundle("hf://kim/ko-en")
    assert theirs.folder is not None
    assert theirs.folder.name == pushed.address.revision
    assert theirs.checksum == ours.checksum
    assert model_tensors(theirs.model).keys() == model_tensors(ours.model).keys()
    for name, tensor in model_tensors(ours.model).items():
        assert torch.equal(tensor, model_tensors(theirs.model)[name])
    translator = headway.load(str(pushed.address), engine="reference")
    assert translator.bundle.checksum == ours.checksum
    with pytest.raises(ConfigError, match="hf://kim/new is not a folder"):
        save_bundle("hf://kim/new", ours)


def test_a_branch_leaves_the_main_one_alone(hub: Hub, plain: Path, make_bundle) -> None:
    first = push(plain, "kim/ko-en")
    save_bundle(plain, make_bundle(seed=1))
    second = push(plain, "kim/ko-en", revision="next")
    assert pull("kim/ko-en").address == first.address
    assert pull("kim/ko-en@next").address == second.address
    assert pull("kim/ko-en@next").checksum != pull("kim/ko-en").checksum
    with pytest.raises(ConfigError, match="'kim/ko-en@next' names a revision"):
        push(plain, "kim/ko-en@next")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_a_file_that_is_not_the_manifests_loads_nothing(
    hub: Hub, plain: Path, tmp_path: Path, name: str
) -> None:
    push(plain, "kim/ko-en")
    repository = hub.repositories["kim/ko-en"]
    wrong = repository.files("main")[name].replace(b"s", b"z", 1)
    commit = repository.commit("main", {name: wrong})
    remedy = "Nothing was loaded.* ask the owner to upload the bundle again"
    message = rf"^hf://kim/ko-en, revision {commit}: {name} has changed since .*{remedy}"
    for wants_folder in (True, False):
        with pytest.raises(BundleError, match=message):
            pull("kim/ko-en", tmp_path / "out" if wants_folder else None)
    with pytest.raises(BundleError, match=message):
        headway.load("hf://kim/ko-en")
    assert not (tmp_path / "out").exists()


def test_a_missing_file_loads_nothing(hub: Hub, plain: Path) -> None:
    push(plain, "kim/ko-en")
    repository = hub.repositories["kim/ko-en"]
    commit = repository.commit("main", {})
    del repository.commits[commit]["tokenizer.model"]
    with pytest.raises(BundleError, match=r"tokenizer\.model is missing\. Nothing was loaded"):
        load_bundle("hf://kim/ko-en")


@pytest.mark.parametrize("step", ["PUT /objects", "POST /api/models/kim/ko-en/commit"])
def test_half_an_upload_leaves_nothing_that_loads(
    hub: Hub, plain: Path, make_bundle, step: str
) -> None:
    hub.breaks_at = step
    with pytest.raises(BundleError, match="The hub does not let this user do that"):
        push(plain, "kim/ko-en")
    with pytest.raises(BundleError, match="holds no bundle"):
        load_bundle("hf://kim/ko-en")
    hub.breaks_at = ""
    whole = push(plain, "kim/ko-en")
    hub.breaks_at = step
    save_bundle(plain, make_bundle(seed=1))
    with pytest.raises(BundleError, match="does not let"):
        push(plain, "kim/ko-en")
    assert pull("kim/ko-en").address == whole.address


def test_pulling_replaces_a_bundle_and_nothing_else(
    hub: Hub, plain: Path, tmp_path: Path, make_bundle
) -> None:
    push(plain, "kim/ko-en")
    save_bundle(tmp_path / "older", make_bundle(seed=1))
    pull("kim/ko-en", tmp_path / "older")
    assert _files(tmp_path / "older") == _files(plain)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary").touch()
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        pull("kim/ko-en", tmp_path / "mine")


def test_a_private_repository_stays_private(
    hub: Hub, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(plain, "kim/secret", private=True)
    assert hub.repositories["kim/secret"].private
    push(plain, "kim/secret", private=True)  # again, with nothing new
    push(plain, "kim/open")
    before = hub.repositories["kim/open"].branches["main"]
    with pytest.raises(BundleError, match="kim/open is public, so nothing was uploaded"):
        push(plain, "kim/open", private=True)
    assert hub.repositories["kim/open"].branches["main"] == before
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(BundleError, match="The hub has no model kim/secret for this user"):
        pull("kim/secret")
    with pytest.raises(BundleError, match="log in with `hf auth login`, or set HF_TOKEN"):
        push(plain, "kim/third")


def test_code_of_a_bundle_runs_only_if_it_is_trusted(
    hub: Hub, changed: Path, code: Path, tmp_path: Path
) -> None:
    pushed = push(changed, "kim/own", code=code)  # a check that it fits, by its author
    assert not pushed.needs_code
    ran = tmp_path / "ran"
    ran.unlink()

    pull("kim/own", tmp_path / "out")
    for place in ("hf://kim/own", tmp_path / "out"):
        for load in (load_bundle, headway.load):
            with pytest.raises(BundleError, match=r"parts\.py, which was not run\. .*trust_code"):
                load(place, "cpu")
    with pytest.raises(BundleError, match="which was not run"):
        headway.load(tmp_path / "out", ensemble=["hf://kim/own"])
    assert not ran.exists()

    names: dict = {}
    exec(CODE, names)
    by_hand = load_bundle(changed, change=names["change"])
    trusted = load_bundle("hf://kim/own", trust_code=True)
    save_bundle(tmp_path / "again", trusted)  # with its code
    assert load_bundle(tmp_path / "again", trust_code=True).code == trusted.code != b""
    assert ran.exists()
    ids = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7]])
    assert torch.equal(trusted.model(*ids), by_hand.model(*ids))
    # Change by hand needs no trust.
    ran.unlink()
    load_bundle("hf://kim/own", change=names["change"])
    assert not ran.exists()


def test_code_that_nobody_listed_is_not_even_downloaded(hub: Hub, plain: Path) -> None:
    push(plain, "kim/ko-en")
    hub.repositories["kim/ko-en"].commit("main", {"parts.py": b"raise SystemExit(9)"})
    bundle = load_bundle("hf://kim/ko-en", trust_code=True)
    assert bundle.folder is not None
    assert not (bundle.folder / "parts.py").exists()


def test_code_must_fit_before_it_is_pushed(
    hub: Hub, plain: Path, changed: Path, code: Path
) -> None:
    with pytest.raises(ConfigError, match="has no parts that need code"):
        push(plain, "kim/own", code=code)
    assert push(changed, "kim/own").needs_code  # told, because others may have the code
    for text, message in (
        ("def change(model):\n    pass\n", "is Squared, but here it is that of Headway"),
        ("x = 1\n", "has no function `change`"),
        ("1 / 0\n", "failed with ZeroDivisionError: division by zero"),
        ("def change(:\n", "failed with SyntaxError"),
    ):
        code.write_text(text)
        with pytest.raises(BundleError, match=message):
            push(changed, "kim/other", code=code)
    with pytest.raises(BundleError, match="cannot be read"):
        push(changed, "kim/other", code=code.parent / "none.py")
    assert "kim/other" not in hub.repositories


_ONLY_HERE = """
import socket, sys
connect = socket.socket.connect
def here(self, address):
    if address[0] != "127.0.0.1":
        print("reached for", address, file=sys.stderr)
        raise SystemExit(7)
    connect(self, address)
socket.socket.connect = here
"""
_PUSH = """
from headway.bundle import load_bundle
from headway.interop.hub import push
print(push(sys.argv[1], "kim/ko-en").address.revision)
print(load_bundle("hf://kim/ko-en").folder.name)
"""
_FIND = """
from headway.hub import downloaded, hub_address
print(downloaded(hub_address("hf://kim/ko-en")).name)
"""


def test_the_environment_alone_leads_to_another_hub_and_to_the_cache(
    hub: Hub, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")

    def session(program: str) -> list[str]:
        command = [sys.executable, "-c", _ONLY_HERE + program, plain]
        return subprocess.check_output(command, text=True).split()

    pushed, loaded = session(_PUSH)
    assert pushed == loaded
    hub.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert session(_FIND) == [pushed]
    assert hub.requests == []
