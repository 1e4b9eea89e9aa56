"""`headway pull`, and addresses of the hub in place of a folder."""

import json
from pathlib import Path

import pytest
from tests.unit.hub_emulator import Hub, Repository


@pytest.fixture
def revision(hub: Hub, bundle_path: Path) -> str:
    hub.repositories["kim/ko-en"] = repository = Repository()
    files = {path.name: path.read_bytes() for path in bundle_path.iterdir()}
    return repository.commit("main", files)


def test_it_prints_the_revision_and_the_folder(run, revision: str, tmp_path: Path) -> None:
    address, out = f"hf://kim/ko-en@{revision}", tmp_path / "out"
    assert run("pull", "kim/ko-en", "--out", out) == (0, f"Pulled {address} into {out}\n", "")
    status, text, _ = run("pull", address, "--json")
    assert status == 0
    folder = Path(json.loads(text)["folder"])
    assert folder.name == revision
    assert (folder / "config.json").read_bytes() == (out / "config.json").read_bytes()
    assert run("pull", "kim/ko-en", "--quiet") == (0, "", "")


def test_other_commands_take_the_address_and_name_the_revision(run, revision: str) -> None:
    status, out, err = run("info", "hf://kim/ko-en", "--json")
    assert (status, err) == (0, f"Note: hf://kim/ko-en: using revision {revision}.\n")
    assert json.loads(out)["bundle"].endswith(revision)
    plain = ("--text", "the cat", "--engine", "reference", "--precision", "float32")
    status, out, err = run("translate", "hf://kim/ko-en", *plain)
    assert status == 0
    assert out.count("\n") == 1
    assert f"Note: hf://kim/ko-en: using revision {revision}.\n" in err
    assert revision not in run("translate", "hf://kim/ko-en", *plain, "--quiet")[2]


def test_a_shortlist_is_not_written_into_the_cache(run, revision: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("the cat\n")
    text = ("--source", tmp_path / "a", "--target", tmp_path / "a")
    status, _, err = run("shortlist", "hf://kim/ko-en", *text)
    assert status == 2
    assert "Pull it first: headway pull kim/ko-en --out DIR." in err


def test_what_is_missing_is_named(run, revision: str, tmp_path: Path) -> None:
    for status, name, message in (
        (1, "kim/none", "The hub has no model kim/none for this user."),
        (1, "kim/ko-en@v9", "kim/ko-en has no revision 'v9'."),
        (2, "ko-en", "'ko-en' is not an address on the hub."),
    ):
        assert run("pull", name, "--out", tmp_path / "out")[:2] == (status, "")
        assert message in run("pull", name)[2]
    assert not (tmp_path / "out").exists()
