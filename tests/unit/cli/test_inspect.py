"""`headway inspect`: what it prints, what it writes, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headway.bundle import load_bundle, save_bundle
from headway.decoding.familiarity import FAMILIARITY, Familiarity
from headway.inspection.trace import Trace

NAME = "decoder.layers.0.cross_attention.weights"


def test_it_prints_rows_and_names(run, bundle_path: Path) -> None:
    status, out, _ = run("inspect", bundle_path, "the cat", "--target", "a dog")
    assert status == 0
    rows, names = out.split("\n\n")
    assert rows.split("\n")[0].split() == ["reads", "writes", "p", "most", "probable"]
    assert [line.split()[:2] for line in rows.split("\n")[1:3]] == [["<s>", "▁"], ["▁", "a"]]
    assert len(rows.split("\n")) == 1 + 7
    assert f"{NAME} " in names
    assert "(head=2, query=7, key=9)" in names


def test_a_text_of_several_sentences_is_remarked_on(run, bundle_path: Path) -> None:
    command = ("inspect", bundle_path, "the cat. a dog.")
    status, _, err = run(*command)
    assert status == 0
    assert err.startswith("Note: The text has 2 sentences, which translate takes one by one.")
    assert err.count("\n") == 1
    assert run(*command, "--quiet")[2] == ""
    assert run(*command, "--target", "a dog. the cat.")[2] == ""


def test_a_sentence_beyond_a_calibrated_model_is_remarked_on(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    bundle = load_bundle(bundle_path)
    limits = Familiarity(1e9, frozenset()).record()  # only unknown tokens are beyond them
    save_bundle(tmp_path, replace(bundle, record=bundle.record | {FAMILIARITY: limits}))
    status, _, err = run("inspect", tmp_path, "the cät")
    assert status == 0
    assert err.startswith("Note: beyond what this model knows; ")
    for quiet in (("the cat",), ("the cät", "--quiet"), ("the cät", "--target", "a dog")):
        assert run("inspect", tmp_path, *quiet)[2] == ""
    values = json.loads(run("inspect", tmp_path, "the cät", "--json", "--quiet")[1])
    assert values["unfamiliar"] is True


@pytest.mark.parametrize("form", ["safetensors", "json", "npz"])
def test_it_writes_the_trace(run, bundle_path: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"trace.{form}"
    assert run("inspect", bundle_path, "the cat", "--out", path, "--quiet") == (0, "", "")
    status, out, err = run("inspect", bundle_path, "the cat", "--out", path)
    assert (status, err) == (0, f"Wrote {path}\n")
    assert NAME in out
    seen = Trace.load(path)
    assert seen.sentence is not None
    assert seen.sentence.source == "the cat"
    assert seen[NAME].shape == (2, len(seen.sentence.writes), 9)


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_it_draws_attention(run, bundle_path: Path, tmp_path: Path, form: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"heads.{form}"
    name = "decoder.layers.0.self_attention.weights"
    options = ("--name", name) if form == "svg" else ()
    assert run("inspect", bundle_path, "the cat", *options, "--out", path, "--quiet")[0] == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form]
    assert path.read_bytes().startswith(start)


def test_it_writes_a_page(run, bundle_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("inspect", bundle_path, "the cat", "--out", path) == (0, "", f"Wrote {path}\n")
    page = path.read_text("utf-8")
    assert '"source":"the cat"' in page
    assert "#/attention?lang=ko" not in page
    command = ("inspect", bundle_path, "the cat", "--out", path, "--quiet", "--lang", "ko")
    assert run(*command) == (0, "", "")
    assert "#/attention?lang=ko" in path.read_text("utf-8")


@pytest.mark.parametrize("form", ["png", "svg", "pdf", "json", "npz", "html"])
def test_a_place_that_cannot_be_written_is_said_before_the_work(
    run, bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("headway.inspection.translator.load", None)  # no work is done
    (tmp_path / f"folder.{form}").mkdir()
    for path, message in (
        (tmp_path / "nodir" / f"x.{form}", f"Error: There is no folder {tmp_path}/nodir. Make it"),
        (tmp_path / f"folder.{form}", f"Error: {tmp_path}/folder.{form} is a folder. Name a file"),
    ):
        status, out, err = run("inspect", bundle_path, "the cat", "--out", path)
        assert (status, out) == (1, "")
        assert err.startswith(message)


def test_the_users_folder_is_known_behind_an_equals_sign(
    run, bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").symlink_to(bundle_path)
    assert run("inspect", "~/b", "~/ the cat", "--out=~/trace.json", "--quiet") == (0, "", "")
    trace = Trace.load("~/trace.json")
    assert trace.sentence is not None
    assert trace.sentence.source == "~/ the cat"  # a sentence is no path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "trace.json"]


def test_json_has_rows_and_axes(run, bundle_path: Path) -> None:
    status, out, _ = run("inspect", bundle_path, "the cat", "--target", "a dog", "--json")
    assert status == 0
    values = json.loads(out)
    assert (values["source"], values["target"]) == ("the cat", "a dog")
    assert [row["writes"] for row in values["rows"]][-1] == "</s>"
    assert values["tensors"][NAME] == {"head": 2, "query": 7, "key": 9}


def test_names_can_be_chosen(run, bundle_path: Path) -> None:
    status, out, _ = run("inspect", bundle_path, "the cat", "--name", "*.weights")
    assert status == 0
    assert len(out.strip().split("\n")) == 1 + 3
    assert NAME in out
    assert "probabilities" in run("inspect", bundle_path, "the cat", "--name", "probabilities")[1]
    status, _, err = run("inspect", bundle_path, "the cat", "--name", "logit")
    assert status == 1
    assert "Did you mean 'logits'" in err


@pytest.mark.parametrize("option", ["--name", "--explain"])
def test_a_wrong_name_gets_a_few_names_and_how_to_list_all(
    run, bundle_path: Path, option: str
) -> None:
    for name, told in (("weights", "attention.weights'?"), ("zzzz", " more. ")):
        status, _, err = run("inspect", bundle_path, "a cat", option, name, "--device", "cpu")
        assert (status, told in err) == (1, True)
        assert err.endswith("with --name '*'.\n")
        assert len(err) < 1500


def test_a_number_is_explained_in_both_languages(run, bundle_path: Path) -> None:
    place = ("--explain", NAME, "--at", "head=1", "--at", "query=0", "--at", "key=t")
    command = ("inspect", bundle_path, "the cat", "--target", "a dog", *place)
    status, out, err = run(*command)
    assert status == 1
    assert "The token 't' is at" in err
    place = ("--explain", NAME, "--at", "head=1", "--at", "query=0", "--at", "key=c")
    command = (*command[:5], *place)
    status, out, _ = run(*command)
    assert status == 0
    assert out.startswith(f"{NAME}[head=1, query=0 (<s> → ▁), key=5 (c)] = 0.")
    assert "행에서 가장 큰 값" in run(*command, "--lang", "ko")[1]
    values = json.loads(run(*command, "--json")[1])
    assert values["steps"][-1]["value"] == pytest.approx(values["value"], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "page.doc"), "Write the tensors (.safetensors, .json, .npz), a picture"),
        (("--at", "head=1"), "Add --explain NAME"),
        (("--lang", "ko"), "Add --explain NAME, or --out page.html"),
        (("--lang", "ko", "--out", "heads.png"), "Add --explain NAME, or --out page.html"),
        (("--lang", "fr", "--out", "page.html"), "Choose en or ko"),
        (("--explain", NAME, "--at", "head"), "Write it as --at head=0"),
        (("--explain", NAME, "--lang", "fr", "--at", "head=0"), "Choose en or ko"),
        (("--prefix", "a", "--target", "a"), "nothing to search for"),
        (("--out", "x.png", "--name", "logits"), "not the attention of one layer"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    run, bundle_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, out, err = run("inspect", bundle_path, "the cat", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
