"""A bundle comes back as it was, is replaced as a whole, and is refused when it is not whole."""

import errno
import hashlib
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from safetensors.torch import save as save_safetensors

from headway import bundle as bundle_module
from headway.bundle import (
    Bundle,
    load_bundle,
    load_mapped_bundle,
    model_tensors,
    save_bundle,
    set_model_tensors,
)
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.draft_counts import count_drafts
from headway.data.shortlist import Shortlist, learn_shortlist
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.errors import BundleError
from headway.model.transformer import Transformer
from headway.runtime.atomic_files import partial_path, write_atomically
from headway.runtime.memory import forget_peak, peak_memory
from headway.saved_bundle import find_bundle, read_bundle, which_weights

CHECKED = {"config.json", "model.safetensors", "tokenizer.model"}
FILES = {"config.json", "model.safetensors", "tokenizer.model", "card.md", "manifest.json"}


def load_mapped(path: Path) -> Bundle:
    bundle, weights = load_mapped_bundle(path)
    weights.let_go()
    return bundle


either_way = pytest.mark.parametrize("load", [load_bundle, load_mapped])
Load = Callable[[Path], Bundle]


@pytest.fixture(scope="session")
def korean() -> Tokenizer:
    return train_tokenizer(["나는 학생 입니다 너는"], kind="word", vocabulary_size=20)


@pytest.fixture(scope="session")
def english() -> Tokenizer:
    return train_tokenizer(["I am a student you"], kind="word", vocabulary_size=20)


def make_bundle(
    source: Tokenizer, target: Tokenizer, sharing: str = "all", seed: int = 0
) -> Bundle:
    config = ModelConfig.parse(
        {
            "d_model": 14,
            "d_ff": 19,
            "num_heads": 3,
            "d_k": 5,
            "d_v": 4,
            "num_encoder_layers": 1,
            "num_decoder_layers": 2,
            "shared_embeddings": sharing,
            "source_vocab_size": source.vocabulary_size,
            "target_vocab_size": target.vocabulary_size,
        }
    )
    torch.manual_seed(seed)
    return Bundle(
        config=config,
        model=Transformer.from_config(config),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=DecodingConfig.parse({"beam_size": 3, "length_penalty": 0.9}),
        source_language="ko",
        target_language="en",
        record={"steps": 7, "note": "한국어", "scores": [{"value": 0.1 + 0.2}]},
        card="# 카드\n",
    )


@pytest.fixture
def joint(korean: Tokenizer) -> Bundle:
    return make_bundle(korean, korean)


@pytest.fixture
def saved(joint: Bundle, tmp_path: Path) -> Path:
    save_bundle(tmp_path / "b", joint)
    return tmp_path / "b"


def rewrite(folder: Path, name: str, data: bytes) -> None:
    """Change a file and its checksum, as someone would who means it."""
    (folder / name).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest[name] = hashlib.sha256(data).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@either_way
@pytest.mark.parametrize("sharing", ["all", "target", "none"])
def test_what_is_saved_comes_back(
    korean: Tokenizer, english: Tokenizer, tmp_path: Path, sharing: str, load: Load
) -> None:
    bundle = make_bundle(korean, korean if sharing == "all" else english, sharing)

    save_bundle(tmp_path / "b", bundle)
    loaded = load(tmp_path / "b")

    for name in ("config", "decoding", "source_language", "target_language", "record", "card"):
        assert getattr(loaded, name) == getattr(bundle, name)
    assert loaded.source_tokenizer == bundle.source_tokenizer
    assert loaded.target_tokenizer == bundle.target_tokenizer
    expected, tensors = model_tensors(bundle.model), model_tensors(loaded.model)
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensors[name], tensor), name
    source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 4]])
    bundle.model.eval()
    assert torch.equal(loaded.model(source, target), bundle.model(source, target))
    assert not loaded.model.training


@pytest.mark.parametrize(("sharing", "num_tables"), [("all", 1), ("target", 2), ("none", 3)])
def test_a_shared_table_is_stored_once_and_shared_again(
    korean: Tokenizer, tmp_path: Path, sharing: str, num_tables: int
) -> None:
    save_bundle(tmp_path / "b", make_bundle(korean, korean, sharing))

    shapes = [tuple(t.shape) for t in load_file(tmp_path / "b" / "model.safetensors").values()]
    model = load_bundle(tmp_path / "b").model

    assert shapes.count((korean.vocabulary_size, 14)) == num_tables
    tables = {
        id(model.source_embedding.tokens.weight),
        id(model.target_embedding.tokens.weight),
        id(model.output_projection.weight),
    }
    assert len(tables) == num_tables


def test_saving_a_loaded_bundle_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    save_bundle(tmp_path / "again", load_bundle(saved))

    assert {path.name for path in saved.iterdir()} == FILES
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
    assert read_bundle(saved).checksum == read_bundle(tmp_path / "again").checksum


def test_a_shortlist_is_one_file_more_and_comes_back(joint: Bundle, tmp_path: Path) -> None:
    assert joint.shortlist is None
    tokenizer = joint.source_tokenizer
    learned = learn_shortlist([([4, 5], [6]), ([5], [7, 4])], tokenizer, tokenizer, frequent=1)

    save_bundle(tmp_path / "b", replace(joint, shortlist=learned))

    assert {path.name for path in (tmp_path / "b").iterdir()} == FILES | {"shortlist.safetensors"}
    loaded = load_bundle(tmp_path / "b").shortlist
    assert loaded is not None
    assert loaded.to_bytes() == learned.to_bytes()
    assert loaded.pieces_for([5]).tolist() == learned.pieces_for([5]).tolist()
    # Without it the file is gone.
    save_bundle(tmp_path / "b", joint)
    assert {path.name for path in (tmp_path / "b").iterdir()} == FILES


def test_drafts_are_one_file_more_and_those_of_another_model_are_refused(
    joint: Bundle, tmp_path: Path
) -> None:
    sizes = joint.config.source_vocab_size, joint.config.target_vocab_size
    pairs = [([4, 5], [6, 7]), ([5], [6, 7])]
    counted = count_drafts(pairs, *sizes)
    save_bundle(tmp_path / "b", replace(joint, drafts=counted))

    assert {path.name for path in (tmp_path / "b").iterdir()} == FILES | {"drafts.safetensors"}
    loaded = load_bundle(tmp_path / "b").drafts
    assert loaded is not None
    assert loaded.to_bytes() == counted.to_bytes()

    other = count_drafts(pairs, sizes[0] + 1, sizes[1])
    save_bundle(tmp_path / "b", replace(joint, drafts=other))
    message = rf"drafts\.safetensors: It is for {sizes[0] + 1} source tokens"
    with pytest.raises(BundleError, match=message):
        load_bundle(tmp_path / "b")


def test_a_shortlist_of_another_vocabulary_is_refused(joint: Bundle, tmp_path: Path) -> None:
    size = joint.source_tokenizer.vocabulary_size
    other = Shortlist(np.arange(4), np.zeros(size, np.int64), np.empty(0, np.int64), size)
    save_bundle(tmp_path / "b", replace(joint, shortlist=other))

    with pytest.raises(BundleError, match=rf"shortlist\.safetensors: It is for {size - 1} source"):
        load_bundle(tmp_path / "b")


def test_separate_tokenizers_are_two_files(
    korean: Tokenizer, english: Tokenizer, tmp_path: Path
) -> None:
    save_bundle(tmp_path / "b", make_bundle(korean, english, "none"))

    names = {path.name for path in (tmp_path / "b").iterdir()}

    assert names == FILES - {"tokenizer.model"} | {"source.model", "target.model"}


def test_loading_draws_nothing_random(saved: Path) -> None:
    before = torch.get_rng_state()

    load_bundle(saved)

    assert torch.equal(torch.get_rng_state(), before)


def test_a_process_that_translates_does_without_pytorchs_compiler(saved: Path) -> None:
    program = """
import sys
from headway.decoding.translator import load

load(sys.argv[1]).translate(["ab"])
print(sorted({"sympy", "torch._dynamo"} & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(saved)], capture_output=True, check=False, text=True
    )

    assert run.stdout == "[]\n", run.stderr


def test_others_may_read_what_the_umask_lets_them(joint: Bundle, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save_bundle(tmp_path / "b", joint)
    finally:
        os.umask(before)

    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o750
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "b").iterdir()} == {0o640}


@either_way
@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_changed_file_is_named(saved: Path, name: str, load: Load) -> None:
    data = bytearray((saved / name).read_bytes())
    data[len(data) // 2] ^= 1
    (saved / name).write_bytes(data)

    with pytest.raises(BundleError, match=f"{name} has changed since the bundle was written"):
        load(saved)


@either_way
@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_missing_file_is_named(saved: Path, name: str, load: Load) -> None:
    (saved / name).unlink()

    with pytest.raises(BundleError, match=f"{name} is missing.*Copy the whole bundle"):
        load(saved)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), name=st.sampled_from(sorted(FILES - {"card.md"})))
def test_a_file_cut_short_is_noticed(saved: Path, share: float, name: str) -> None:
    whole = (saved / name).read_bytes()
    (saved / name).write_bytes(whole[: int(share * len(whole))])
    try:
        for load in (load_bundle, load_mapped):
            with pytest.raises(BundleError, match=name):
                load(saved)
    finally:
        (saved / name).write_bytes(whole)


@either_way
@pytest.mark.parametrize(
    "card",
    ["# 카드\n- checked by me\n", "# 카드\r\n", "", None],
    ids=["more", "crlf", "empty", "gone"],
)
def test_the_card_is_for_people_to_change(saved: Path, card: str | None, load: Load) -> None:
    before = read_bundle(saved).checksum
    if card is None:
        (saved / "card.md").unlink()
    else:
        (saved / "card.md").write_bytes(card.encode())

    assert load(saved).card == (card or "")
    assert read_bundle(saved).checksum == before
    save_bundle(saved, load_bundle(saved))
    assert load(saved).card == (card or "")


@pytest.mark.parametrize("change", ["crlf", "newline", "both", "last"])
@pytest.mark.parametrize("names", [["config.json"], ["manifest.json"], sorted(FILES)], ids=str)
def test_line_ends_that_git_or_an_editor_changes_do_no_harm(
    saved: Path, names: list[str], change: str
) -> None:
    before = read_bundle(saved)
    for name in names:
        data = (saved / name).read_bytes()
        if name.endswith((".json", ".md")):
            data += {"crlf": b"", "last": b"\r"}.get(change, b"\n")
            data = data if change == "newline" else data.replace(b"\n", b"\r\n")
            (saved / name).write_bytes(data)

    after = read_bundle(saved)
    assert after.checksum == before.checksum
    assert (after.config, after.record) == (before.config, before.record)


def test_another_value_in_the_configuration_is_noticed(saved: Path) -> None:
    text = (saved / "config.json").read_text("utf-8")
    (saved / "config.json").write_bytes(text.replace("0.9", "0.8").encode())
    with pytest.raises(BundleError, match=r"config\.json has changed"):
        load_bundle(saved)


class Bomb:
    """Leave a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


@either_way
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model", "config.json"])
def test_a_pickle_is_refused_and_never_run(
    saved: Path, tmp_path: Path, name: str, load: Load
) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    pickle.loads(bomb)
    (tmp_path / "exploded").unlink()  # it would have worked
    rewrite(saved, name, bomb)

    with pytest.raises(BundleError, match=name):
        load(saved)

    assert not (tmp_path / "exploded").exists()


def test_pytorchs_own_format_is_refused(saved: Path, tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "w.pt")
    rewrite(saved, "model.safetensors", (tmp_path / "w.pt").read_bytes())

    with pytest.raises(BundleError, match=r"not a safetensors file.*pickle.*never read"):
        load_bundle(saved)


def test_a_newer_format_is_refused(saved: Path) -> None:
    description = json.loads((saved / "config.json").read_text()) | {"format": 2}
    rewrite(saved, "config.json", json.dumps(description).encode())

    with pytest.raises(BundleError, match="has format 2; this version reads 1"):
        load_bundle(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"d_model": 14}}, "config.json: 'model.source_vocab_size' is missing"),
        ({"decoding": {"beam": 1}}, "config.json: There is no setting 'decoding.beam'"),
        ({"record": None}, "config.json lacks 'record'"),
    ],
    ids=["model", "decoding", "record"],
)
def test_a_configuration_that_cannot_be_is_a_bundle_error(
    saved: Path, change: dict[str, object], message: str
) -> None:
    description = json.loads((saved / "config.json").read_text()) | change
    if description["record"] is None:
        del description["record"]
    rewrite(saved, "config.json", json.dumps(description).encode())

    with pytest.raises(BundleError, match=message) as error:
        load_bundle(saved)
    assert ("use the version of Headway that wrote it" in str(error.value)) == (
        "record" not in change
    )


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"\xff\xfe", b"null"])
@pytest.mark.parametrize("name", ["config.json", "manifest.json"])
def test_what_is_not_a_json_object_is_refused(saved: Path, name: str, data: bytes) -> None:
    if name == "manifest.json":
        (saved / name).write_bytes(data)
    else:
        rewrite(saved, name, data)

    with pytest.raises(BundleError, match=f"{name} is not a JSON object"):
        load_bundle(saved)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "..", "sub/file", "."])
def test_a_manifest_does_not_lead_out_of_the_bundle(saved: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("mine")
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest[name] = hashlib.sha256(b"mine").hexdigest()
    (saved / "manifest.json").write_text(json.dumps(manifest))

    with pytest.raises(BundleError, match="outside the bundle"):
        load_bundle(saved)


def test_a_bundle_without_a_tokenizer_is_refused(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest["tokenizer.model"]
    (saved / "manifest.json").write_text(json.dumps(manifest))

    with pytest.raises(BundleError, match="has no tokenizer"):
        load_bundle(saved)


def test_a_tokenizer_with_more_pieces_than_the_model_is_refused(saved: Path) -> None:
    larger = train_tokenizer(["a b c d e f g h i"], kind="word", vocabulary_size=30)
    rewrite(saved, "tokenizer.model", larger.to_bytes())

    with pytest.raises(BundleError, match="has 13 tokens, but the model 8"):
        load_bundle(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("missing", r"lack decoder\.layers\.0\.\w+"),
        ("unknown", "hold extra, which the model does not have"),
        ("shape", r"has shape \(2, 2\), but the configuration says"),
    ],
)
def test_weights_of_another_model_are_refused(saved: Path, change: str, message: str) -> None:
    tensors = load_file(saved / "model.safetensors")
    first = sorted(tensors)[0]
    if change == "missing":
        del tensors[first]
    else:
        tensors["extra" if change == "unknown" else first] = torch.ones(2, 2)
    rewrite(saved, "model.safetensors", save_safetensors(tensors))

    with pytest.raises(BundleError, match=message):
        load_bundle(saved)


@pytest.mark.parametrize(
    ("report", "there", "expected", "words"),
    [
        ('{"best_is_better": true}', ("best", "averaged"), "best", "which do better on validation"),
        ('{"best_is_better": false}', ("best", "averaged"), "averaged", "which do no worse"),
        ('{"steps": 3}', ("best", "averaged"), "averaged", "which do no worse"),
        ('{"same_weights": true}', ("best", "averaged"), "averaged", "the same as RUN/best"),
        (None, ("best", "averaged"), "best", "the best so far of an unfinished run"),
        (None, ("best",), "best", "the best so far of an unfinished run"),
        (None, ("averaged",), "averaged", "because RUN/best is missing"),
        ('{"best_is_better": true}', ("averaged",), "averaged", "because RUN/best is missing"),
        ('{"best_is_better": false}', ("best",), "best", "because RUN/averaged is missing"),
    ],
)  # fmt: skip
def test_a_run_stands_for_its_better_weights(
    joint: Bundle,
    tmp_path: Path,
    report: str | None,
    there: tuple[str, ...],
    expected: str,
    words: str,
) -> None:
    for name in there:
        save_bundle(tmp_path / name, joint)
    if report is not None:
        (tmp_path / "report.json").write_text(report)

    assert find_bundle(tmp_path) == tmp_path / expected
    assert load_bundle(tmp_path).folder == tmp_path / expected
    said = which_weights(tmp_path).replace(str(tmp_path), "RUN")
    assert said.startswith(f"RUN: using the weights in RUN/{expected}, {words}")
    for name in there:
        assert find_bundle(tmp_path / name) == tmp_path / name
        assert which_weights(tmp_path / name) == ""


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_report_that_cannot_be_read_decides_nothing(
    joint: Bundle, tmp_path: Path, text: str
) -> None:
    for name in ("best", "averaged"):
        save_bundle(tmp_path / name, joint)
    (tmp_path / "report.json").write_text(text)

    with pytest.raises(BundleError, match=r"report\.json.*cannot be read.*best or .*averaged"):
        find_bundle(tmp_path)


def test_a_bundle_in_a_folder_that_may_not_be_searched_is_named(
    saved: Path, shut: Callable[[Path], None]
) -> None:
    shut(saved.parent)
    with pytest.raises(BundleError, match=f"{saved} may not be read by this user. Change its perm"):
        load_bundle(saved)


def test_a_folder_that_is_no_bundle_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"is not a bundle: it has no manifest\.json"):
        load_bundle(tmp_path)
    with pytest.raises(BundleError, match=r"There is no bundle .*gone"):
        load_bundle(tmp_path / "gone")
    (tmp_path / "seeds" / "seed-7").mkdir(parents=True)
    with pytest.raises(BundleError, match=r"of several seeds, not one\. Give .*seeds/seed-7"):
        load_bundle(tmp_path / "seeds")
    (tmp_path / "text").write_text("a\n")
    with pytest.raises(BundleError, match=r"text is a file, and a bundle is a folder\. Give the"):
        load_bundle(tmp_path / "text")


def test_a_folder_that_is_not_a_bundle_is_not_overwritten(joint: Bundle, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(BundleError, match="exists and is not a bundle"):
        save_bundle(tmp_path, joint)
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        save_bundle(tmp_path / "thesis.txt", joint)

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_an_empty_folder_takes_a_bundle(joint: Bundle, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()

    save_bundle(tmp_path / "b", joint)

    assert load_bundle(tmp_path / "b").card == joint.card


def test_a_bundle_replaces_another_and_leaves_nothing_of_it(korean: Tokenizer, saved: Path) -> None:
    newer = make_bundle(korean, korean, seed=1)

    save_bundle(saved, newer)

    loaded = load_bundle(saved)
    for name, tensor in model_tensors(newer.model).items():
        assert torch.equal(model_tensors(loaded.model)[name], tensor)
    assert {path.name for path in saved.iterdir()} == FILES
    assert [path.name for path in saved.parent.iterdir()] == ["b"]


@pytest.mark.parametrize("at_file", [1, 3, 5])
def test_a_full_disk_keeps_the_old_bundle(
    korean: Tokenizer, saved: Path, monkeypatch: pytest.MonkeyPatch, at_file: int
) -> None:
    before = read_bundle(saved).checksum
    count = 0

    def full(_: int) -> None:
        nonlocal count
        count += 1
        if count == at_file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BundleError, match=r"cannot be written \(No space left.*unchanged"):
        save_bundle(saved, make_bundle(korean, korean, seed=1))

    assert read_bundle(saved).checksum == before
    load_bundle(saved)
    assert {path.name for path in saved.iterdir()} == FILES
    assert [path.name for path in saved.parent.iterdir()] == ["b"]


def weight_sum(bundle: Bundle) -> float:
    return float(bundle.model.output_projection.weight.detach().sum())


@either_way
def test_a_reader_sees_the_old_or_the_new_bundle_while_it_is_replaced(
    korean: Tokenizer, saved: Path, load: Load
) -> None:
    versions = [make_bundle(korean, korean, seed=seed) for seed in (1, 2)]
    sums = [weight_sum(version) for version in versions]
    save_bundle(saved, versions[0])
    stop = threading.Event()
    written = 0

    def replace() -> None:
        nonlocal written
        while not stop.is_set():
            save_bundle(saved, versions[(written + 1) % 2])
            written += 1

    seen = []
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        # By counts, not by a clock: a slow disk writes fewer versions in the time of a reading.
        while len(seen) < 30 or (written < 6 and writer.is_alive()):
            seen.append(weight_sum(load(saved)))
    finally:
        stop.set()
        writer.join()

    assert set(seen) == set(sums)
    assert written >= 6


def test_weights_are_set_by_name_and_only_those_of_the_model() -> None:
    model = torch.nn.Linear(2, 3)

    set_model_tensors(model, {"weight": torch.ones(3, 2), "bias": torch.zeros(3)})

    assert model(torch.ones(2)).tolist() == [2.0, 2.0, 2.0]


def test_a_file_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    seen: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(path.read_bytes()))

    write_atomically(path, b"new")

    # The new one is whole before its name is; then the folder is made to last, too.
    assert seen == [b"old", b"new"]
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_file_in_parts_that_ends_early_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, iter([b"o", memoryview(b"ld")]))

    def broken() -> Iterator[bytes]:
        yield b"n"
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        write_atomically(path, broken())

    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_saving_takes_no_second_copy_of_the_weights(
    korean: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"a": torch.ones(20_000_000), "b": torch.ones(5_000_000, dtype=torch.float64)}
    monkeypatch.setattr(bundle_module, "model_tensors", lambda _: large)
    bundle = make_bundle(korean, korean)
    forget_peak(torch.device("cpu"))
    before = peak_memory(torch.device("cpu"))

    save_bundle(tmp_path / "bundle", bundle)

    assert (tmp_path / "bundle" / "model.safetensors").stat().st_size > 120_000_000
    assert peak_memory(torch.device("cpu")) - before < 30_000_000


def test_who_may_read_one_file_of_a_bundle_may_read_all(korean: Tokenizer, tmp_path: Path) -> None:
    save_bundle(tmp_path / "bundle", make_bundle(korean, korean))
    (tmp_path / "plain").touch()

    modes = {path.name: path.stat().st_mode for path in (tmp_path / "bundle").iterdir()}
    assert set(modes.values()) == {(tmp_path / "plain").stat().st_mode}
    assert "model.safetensors" in modes


def test_partial_names_are_hidden_and_never_alike(tmp_path: Path) -> None:
    names = {partial_path(tmp_path / "file").name for _ in range(100)}

    assert len(names) == 100
    assert all(name.startswith(".file-") and name.endswith(".partial") for name in names)


class Doubled(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


def double(model: Transformer) -> None:
    """Put a layer of another class, and one with another weight, into the model."""
    feed_forward = model.encoder.layers[0].feed_forward
    feed_forward.w_1 = Doubled(14, 19)
    feed_forward.w_1.register_parameter("extra", torch.nn.Parameter(torch.ones(2)))


@pytest.mark.parametrize("mapped", [False, True], ids=["whole", "mapped"])
def test_parts_of_ones_own_come_back_with_what_put_them_there(
    joint: Bundle, tmp_path: Path, mapped: bool
) -> None:
    double(joint.model)
    ids = torch.tensor([[4, 5]]), torch.tensor([[1, 6, 7]])
    save_bundle(tmp_path / "b", joint)

    if mapped:
        loaded, weights = load_mapped_bundle(tmp_path / "b", double)
        weights.let_go()
    else:
        loaded = load_bundle(tmp_path / "b", change=double)

    assert torch.equal(loaded.model(*ids), joint.model.eval()(*ids))
    assert json.loads((tmp_path / "b" / "config.json").read_text())["changed"] == {
        "encoder.layers.0.feed_forward.w_1": "Doubled"
    }


def test_without_them_or_with_others_such_a_bundle_is_refused(
    joint: Bundle, tmp_path: Path, saved: Path
) -> None:
    double(joint.model)
    save_bundle(tmp_path / "own", joint)

    with pytest.raises(
        BundleError, match=r"w_1 is Doubled, but here it is that of Headway\. .*cha"
    ):
        load_bundle(tmp_path / "own")
    with pytest.raises(BundleError, match="w_1 is that of Headway, but here it is Doubled"):
        load_bundle(saved, change=double)


def test_hooks_belong_to_the_process_and_not_to_the_bundle(joint: Bundle, tmp_path: Path) -> None:
    joint.model.encoder.register_forward_hook(lambda *_: None)

    save_bundle(tmp_path / "b", joint)

    assert "changed" not in json.loads((tmp_path / "b" / "config.json").read_text())
    load_bundle(tmp_path / "b")


def test_a_setting_that_the_configuration_does_not_say_is_recorded(
    joint: Bundle, tmp_path: Path
) -> None:
    def gelu(model: Transformer) -> None:
        model.encoder.layers[0].feed_forward.activation = "gelu"

    gelu(joint.model)
    save_bundle(tmp_path / "b", joint)

    with pytest.raises(BundleError, match="PositionwiseFeedForward with activation gelu, but here"):
        load_bundle(tmp_path / "b")
    ids = torch.tensor([[4, 5]]), torch.tensor([[1, 6, 7]])
    loaded = load_bundle(tmp_path / "b", change=gelu)
    assert torch.equal(loaded.model(*ids), joint.model.eval()(*ids))


def test_a_buffer_that_would_be_lost_is_refused(joint: Bundle, tmp_path: Path) -> None:
    joint.model.encoder.register_buffer("seen", torch.zeros(3))

    with pytest.raises(BundleError, match=r"encoder\.seen is a buffer"):
        save_bundle(tmp_path / "b", joint)
    assert not (tmp_path / "b").exists()
