"""`headway push`: what it prints, and what it refuses."""

import json
import warnings
from pathlib import Path

import pytest
import torch
from tests.unit.hub_emulator import Hub

from headway.bundle import load_bundle, save_bundle
from headway.errors import HeadwayWarning


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


CODE = """
import torch

class Doubled(torch.nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)

def change(model):
    model.encoder.layers[0].feed_forward.w_1 = Doubled(8, 12)
"""


def test_every_command_runs_code_only_if_it_is_trusted(
    run, hub: Hub, bundle_path: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(bundle_path)
    bundle.model.encoder.layers[0].feed_forward.w_1 = Doubled(8, 12)
    save_bundle(tmp_path / "own", bundle)
    (tmp_path / "mine.py").write_text(CODE)
    text, model = tmp_path / "text", "hf://kim/own"
    text.write_text("the cat\n")
    assert run("push", tmp_path / "own", "kim/own", "--code", tmp_path / "mine.py")[0] == 0
    both = ("--source", text, "--target", text)
    for command in (
        ("translate", model, text, "--engine", "reference", "--precision", "float32"),
        ("score", model, *both),
        ("align", model, *both),
        ("evaluate", model, *both[:2], "--reference", text, "--precision", "float32"),
        ("inspect", model, "the cat"),
    ):
        status, out, err = run(*command)
        assert (status, out) == (1, ""), command
        assert "parts.py, which was not run" in err
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadwayWarning)  # parts of one's own are slower
            assert run(*command, "--trust-code")[0] == 0, command


def test_wrong_calls(
    run, hub: Hub, bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, arguments, message in (
        (2, (bundle_path, "ko-en"), "'ko-en' is not an address on the hub. Write OWNER/NAME"),
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
