"""A new bundle takes the place of an old one beside other files, whole at every moment."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.bundle import Bundle, load_bundle, save_bundle
from headway.bundle_folder import new_bundle, settle, strangers
from headway.config.model import ModelConfig
from headway.data.shortlist import learn_shortlist
from headway.data.tokenizer import train_tokenizer
from headway.errors import BundleError
from headway.interop.folder import new_folder
from headway.model.transformer import Transformer
from headway.saved_bundle import find_bundle, read_bundle, saved_learned

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def old() -> Bundle:
    """Return a bundle with a shortlist and one tokenizer."""
    tokenizer = train_tokenizer(["I am a student you"], kind="word", vocabulary_size=20)
    learned = learn_shortlist([([4, 5], [6]), ([5], [7, 4])], tokenizer, tokenizer, frequent=1)
    config = ModelConfig(
        d_model=6,
        d_ff=9,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        shared_embeddings="none",
        source_vocab_size=len(tokenizer),
        target_vocab_size=len(tokenizer),
    )
    torch.manual_seed(2)
    model = Transformer.from_config(config).eval()
    return Bundle(config, model, tokenizer, tokenizer, card="old", shortlist=learned)


@pytest.fixture(scope="module")
def new(old: Bundle) -> Bundle:
    """Return one without a shortlist, and with two tokenizers."""
    other = train_tokenizer(["we are two students"], kind="word", vocabulary_size=20)
    size = {"target_vocab_size": len(other)}
    torch.manual_seed(3)
    config = old.config.model_copy(update=size)
    model = Transformer.from_config(config).eval()
    return replace(
        old, config=config, model=model, target_tokenizer=other, card="new", shortlist=None
    )


@pytest.fixture
def folder(old: Bundle, tmp_path: Path) -> Path:
    """Return the folder of the old bundle, with files of other kinds in it."""
    save_bundle(tmp_path / "hub", old)
    history = tmp_path / "hub" / ".git" / "objects"
    history.mkdir(parents=True)
    (history / "one").write_text("history")
    (tmp_path / "hub" / "NOTES.txt").write_text("notes")
    (tmp_path / "hub" / "link").symlink_to("NOTES.txt")
    return tmp_path / "hub"


def other_files(folder: Path) -> Files:
    names = [".git/objects/one", "NOTES.txt", "link"]
    return {name: (folder / name).read_bytes() for name in names}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_other_files_stay_and_the_old_bundles_own_go(folder: Path, new: Bundle) -> None:
    inodes = {path: path.lstat().st_ino for path in (folder, *strangers(folder))}
    before = other_files(folder)

    save_bundle(folder, new)

    assert load_bundle(folder).card == "new"
    assert other_files(folder) == before
    assert names(folder) == {
        "config.json", "model.safetensors", "source.model", "target.model", "card.md",
        "manifest.json", ".git", "NOTES.txt", "link",
    }  # fmt: skip
    assert {path: path.lstat().st_ino for path in inodes} == inodes


def test_strangers_are_what_the_manifest_does_not_list(folder: Path) -> None:
    assert {path.name for path in strangers(folder)} == {".git", "NOTES.txt", "link"}


def test_it_works_from_inside(folder: Path, new: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    save_bundle(".", new)
    assert load_bundle(".").card == "new"
    assert Path.cwd() == folder
    assert Path("NOTES.txt").read_text() == "notes"


def test_it_goes_to_the_users_folder(
    new: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    save_bundle("~/b", new)
    assert names(tmp_path) == {"b"}
    assert load_bundle("~/b").card == "new"


def test_modes_stay(folder: Path, new: Bundle) -> None:
    folder.chmod(0o2770)
    for name in ("model.safetensors", "card.md", "manifest.json"):
        (folder / name).chmod(0o640)

    save_bundle(folder, new)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o2770
    for name in ("model.safetensors", "card.md", "manifest.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o640


@pytest.mark.parametrize("shut", ["hub", "model.safetensors", "manifest.json"])
def test_a_bundle_that_may_not_be_written_is_left_alone(
    folder: Path, new: Bundle, monkeypatch: pytest.MonkeyPatch, shut: str
) -> None:
    def access(path: Path, mode: int) -> bool:  # root may always
        return Path(path).name != shut

    monkeypatch.setattr(os, "access", access)
    before = names(folder)
    with pytest.raises(BundleError, match=rf"{shut} may not be written by this user\. Change"):
        save_bundle(folder, new)
    assert load_bundle(folder).card == "old"
    assert names(folder) == before


def test_a_file_of_a_new_name_is_not_written_over(folder: Path, new: Bundle) -> None:
    (folder / "source.model").write_text("mine")
    before = names(folder)
    with pytest.raises(
        BundleError, match=r"source\.model is not part of the bundle there.*Move or"
    ):
        save_bundle(folder, new)
    assert load_bundle(folder).card == "old"
    assert (folder / "source.model").read_text() == "mine"
    assert names(folder) == before


@pytest.mark.parametrize(
    "content", [b'{"name": "My site", "icons": []}', b"{}", b"[]", b"no JSON", b"\xff"]
)
def test_a_manifest_of_something_else_is_no_bundle(
    tmp_path: Path, new: Bundle, content: bytes
) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    (tmp_path / "index.html").write_text("<p>")
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        save_bundle(tmp_path, new)
    assert names(tmp_path) == {"manifest.json", "index.html"}


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the process runs after it."""


@pytest.fixture
def kill_before() -> Callable[[pytest.MonkeyPatch, int], list[str]]:
    """Return a function that has the n-th change of the disk from now on raise Killed."""

    def kill(patched: pytest.MonkeyPatch, number: int) -> list[str]:
        seen: list[str] = []

        def watch(name: str) -> Callable[..., Any]:
            original = getattr(os, name)

            def change(path: Any, *rest: Any, **named: Any) -> Any:
                seen.append(f"{name} {Path(path).name}")
                if len(seen) > number:
                    raise Killed
                return original(path, *rest, **named)

            return change

        for name in ("rename", "replace", "unlink", "rmdir", "mkdir"):
            patched.setattr(os, name, watch(name))
        return seen

    return kill


def test_killed_at_any_moment_it_is_the_old_or_the_new_one_and_goes_on(
    old: Bundle, new: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_before: Any
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # which would take seconds
    save_bundle(tmp_path / "old", old)
    (tmp_path / "old" / "NOTES.txt").write_text("notes")
    cards = []
    count = 99
    number = 0
    while number <= count:
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "old", folder)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", lambda *given, **named: None)
            seen = kill_before(patched, number)
            try:
                save_bundle(folder, new)
                count = len(seen)
            except Killed:
                pass
        cards.append(load_bundle(folder).card)
        save_bundle(folder, old)
        assert list(saved_learned(folder)[0]) == ["shortlist"]
        assert names(folder) == {
            "config.json", "model.safetensors", "tokenizer.model", "card.md", "manifest.json",
            "shortlist.safetensors", "NOTES.txt",
        }  # fmt: skip
        number += 1

    assert cards == sorted(cards, reverse=True)  # old ones, then new ones
    assert cards.count("new") >= 8  # after it was declared valid, before the last file moved


def test_an_empty_folder_that_was_left_in_the_middle_holds_the_bundle(
    new: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "mounted"
    target.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("headway.bundle_folder._move", _killed)
        with pytest.raises(Killed):
            save_bundle(target, new)

    assert find_bundle(tmp_path / "mounted") == target
    assert load_bundle(target).card == "new"
    assert saved_learned(target) == ({}, {})
    settle(target)
    assert load_bundle(target).card == "new"
    assert "manifest.json" in names(target)


def _killed(*given: object) -> None:
    raise Killed


def test_a_full_disk_leaves_the_old_bundle_and_nothing_else(
    folder: Path, new: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(folder)

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(BundleError, match=r"No space left.*an older bundle there is unchanged"):
            save_bundle(folder, new)
    assert load_bundle(folder).card == "old"
    assert names(folder) == before


def test_what_a_bundle_adds_does_not_lead_out_of_its_folder(tmp_path: Path, new: Bundle) -> None:
    """A manifest that names files elsewhere has none of them removed."""
    (tmp_path / "precious").write_text("mine")
    save_bundle(tmp_path / "b", new)
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    manifest |= {"../precious": "0" * 64, "..": "0" * 64}
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(manifest))
    save_bundle(tmp_path / "b", new)
    assert (tmp_path / "precious").read_text() == "mine"
    assert "../precious" not in (tmp_path / "b" / "manifest.json").read_text()


def test_a_bundle_that_is_being_written_is_not_removed_by_another_writer(
    folder: Path, old: Bundle, new: Bundle
) -> None:
    with new_bundle(folder) as fresh:
        (fresh / "one.bin").write_text("one")
        save_bundle(folder, new)
        settle(folder)
        assert (fresh / "one.bin").read_text() == "one"
        assert load_bundle(folder).card == "new"
        shutil.copytree(folder, fresh, dirs_exist_ok=True, ignore=_all_but_the_bundle)
    assert (folder / "one.bin").read_text() == "one"
    assert not list(folder.glob(".bundle*"))


def _all_but_the_bundle(folder: str, content: list[str]) -> list[str]:
    return [name for name in content if name in (".git", "NOTES.txt", "link") or name[0] == "."]


def test_two_writers_of_a_new_bundle_both_finish(tmp_path: Path, old: Bundle, new: Bundle) -> None:
    save_bundle(tmp_path / "old", old)
    with new_bundle(tmp_path / "b") as fresh:
        shutil.copytree(tmp_path / "old", fresh, dirs_exist_ok=True)
        save_bundle(tmp_path / "b", new)
    assert load_bundle(tmp_path / "b").card == "old"
    assert names(tmp_path) == {"old", "b"}
    assert "target.model" not in names(tmp_path / "b")


@pytest.mark.parametrize("place", [".bundle", ".bundle-0a1b2c3d.partial"])
def test_files_of_the_system_are_in_no_ones_way(folder: Path, new: Bundle, place: str) -> None:
    (folder / place).mkdir()
    (folder / place / ".DS_Store").write_text("")
    save_bundle(folder, new)
    assert load_bundle(folder).card == "new"
    assert not list(folder.glob(".bundle*"))


def test_without_locks_only_what_is_a_day_old_is_removed(
    folder: Path, new: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", refuse)
    young, aged = (folder / f".bundle-{number}.partial" for number in "12")
    for place in (young, aged):
        place.mkdir()
    day_before = time.time() - 90_000
    os.utime(aged, (day_before, day_before))
    save_bundle(folder, new)
    assert load_bundle(folder).card == "new"
    assert list(folder.glob(".bundle*")) == [young]


def test_an_error_while_it_is_written_leaves_no_folder(tmp_path: Path) -> None:
    with contextlib.suppress(KeyError), new_bundle(tmp_path / "b") as fresh:
        (fresh / "file").write_text("")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_export_into_an_empty_folder_leaves_the_folder_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inode = tmp_path.stat().st_ino
    with new_folder(".") as fresh:
        (fresh / "file").write_text("text")
    assert tmp_path.stat().st_ino == inode
    assert names(Path()) == {"file"}


def test_the_checksum_is_that_of_the_valid_manifest(folder: Path, new: Bundle) -> None:
    save_bundle(folder.with_name("other"), new)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headway.bundle_folder._move", _killed)
        with pytest.raises(Killed):
            save_bundle(folder, new)
    assert read_bundle(folder).checksum == read_bundle(folder.with_name("other")).checksum
