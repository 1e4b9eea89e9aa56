"""`headway push`: what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest
import torch
from tests.unit.hub_emulator import Hub

from headway.bundle import load_bundle, save_bundle


class Doubled(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


def test_it_prints_the_page_and_the_revision(run, hub: Hub, bundle_path: Path) -> None:
    status, out, err = run("push", bundle_path, "kim/ko-en", "--license", "mit")
    repository = hub.repositories["kim/ko-en"]
    revision = repository.branches["main"]
    assert (status, err) == (0, "")
    assert out == f"Pushed to {hub.address}/kim/ko-en\nThis revision is hf://kim/ko-en@{revision}\n"
    assert b"license: mit" in repository.files("main")["README.md"]

    status, out, _ = run("push", bundle_path, "kim/new", "--private", "--revision", "v2", "--json")
    assert status == 0
    assert json.loads(out)["revision"] == hub.repositories["kim/new"].branches["v2"]
    assert hub.repositories["kim/new"].private
    assert "model.safetensors" not in hub.repositories["kim/new"].files("main")
    assert run("push", bundle_path, "kim/ko-en", "--quiet")[:2] == (0, "")


def test_parts_without_code_are_remarked_on(
    run, hub: Hub, bundle_path: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(bundle_path)
    bundle.model.encoder.layers[0].feed_forward.w_1 = Doubled(8, 12)
    save_bundle(tmp_path / "own", bundle)
    _, _, err = run("push", tmp_path / "own", "kim/own")
    assert err.startswith("Note: the model has parts of your own. Without --code FILE, others")
    assert run("push", tmp_path / "own", "kim/own", "--quiet")[2] == ""


def test_wrong_calls(
    run, hub: Hub, bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, arguments, message in (
        (2, (bundle_path, "ko-en"), "'ko-en' is no address on the hub. Write OWNER/NAME"),
        (2, (bundle_path, "kim/x@v1"), "'kim/x@v1' names a revision."),
        (2, (bundle_path, "kim/x", "--code", "x.py"), "has no parts that need code. Leave --code"),
        (1, (tmp_path / "none", "kim/x"), "There is no bundle"),
    ):
        assert run("push", *arguments)[:2] == (status, ""), arguments
        assert message in run("push", *arguments)[2]
    monkeypatch.setenv("HF_TOKEN", "")
    status, out, err = run("push", bundle_path, "kim/x")
    assert (status, out) == (1, "")
    assert "log in with `hf auth login`, or set HF_TOKEN" in err
    assert hub.repositories == {}
