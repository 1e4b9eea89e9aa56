"""Training text is encoded once, kept under a name made of its content, and dealt by weight."""

import errno
import io
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from headway.data.cleaning import Cleaning
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.store import PairStore, StoreWriter, made_once, partial_folder
from headway.data.tokenizer import Tokenizer
from headway.errors import DataError, HeadwayError
from headway.runtime.processes import mapped
from headway.training.encode import EncodedTexts, encode_texts
from headway.training.prepare import build_bundle
from headway.training.reporting import Reporter, Show
from headway.training.run_stream import build_stream
from headway.training.texts import read_texts
from headway.training.tokenizers import build_tokenizers, find_tokenizers

from ..data.made_languages import exchanged, translations
from .conftest import CHARACTERS, TWO, MakeConfig, encode


def test_only_the_training_text_is_cleaned_by_the_rules(make_config: MakeConfig) -> None:
    config = make_config(data={"max_pieces": 3, "drop_identical": True})
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    encoded = encode_texts(texts, *tokenizers, config.data)

    assert all(len(pair.source_ids) <= 3 for pair in encoded.train)
    assert all(pair.source_ids != pair.target_ids for pair in encoded.train)
    assert encoded.report.total == 32
    assert encoded.report.kept == len(encoded.train) < 32
    assert len(encoded.valid) == 7
    assert max(len(pair.source_ids) for pair in encoded.valid) == 3  # cut, not dropped


def test_exchanged_pairs_are_dropped_by_the_languages_of_their_corpus(
    make_config: MakeConfig, data_folder: Path
) -> None:
    pairs = [Pair(source.lower(), target.lower()) for source, target in translations(300)]
    other_direction = [exchanged(pair) for pair in pairs]
    pairs[40] = exchanged(pairs[40])
    names = {"pairs.tsv": pairs, "back.tsv": other_direction}
    for name, both in names.items():
        text = "".join(f"{pair.source}\t{pair.target}\n" for pair in both)
        (data_folder / name).write_text(text, "utf-8")
    corpora = [{"source": "pairs.tsv"}, {"source": "back.tsv", "reverse": True}]
    data = {"source": "", "target": "", "corpora": corpora, "drop_exchanged": True}
    config = make_config(data=data)
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    report = encode_texts(texts, *tokenizers, config.data).report

    assert report.dropped == {"corpus 1: source and target exchanged": 1}
    assert report.examples == {"corpus 1: source and target exchanged": [41]}
    data["drop_exchanged"] = False
    assert encode_texts(texts, *tokenizers, make_config(data=data).data).report.dropped == {}


def test_what_the_tokenizer_makes_of_a_target_is_noted(
    make_config: MakeConfig, data_folder: Path
) -> None:
    config = make_config()
    lines = (data_folder / "train.target").read_text("utf-8").splitlines()
    lines[4] = "eins … zwei"  # nmt_nfkc learns three dots
    (data_folder / "train.target").write_text("\n".join([*lines, ""]), "utf-8")
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    encoded = encode_texts(texts, *tokenizers, config.data)

    assert encoded.report.notes == {"target rewritten by tokenizer.normalization, pair kept": 1}


def test_nothing_left_to_train_on_is_an_error(make_config: MakeConfig, data_folder: Path) -> None:
    config = make_config(data={"max_pieces": 1, "drop_identical": True})
    texts = read_texts(config.data)
    tokenizers = build_tokenizers(config.tokenizer, texts.train, 1)

    with pytest.raises(DataError, match="No pair is left to use"):
        encode_texts(texts, *tokenizers, config.data)


def forbid_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def cleaned(*_: Any) -> None:
        raise AssertionError("the text was encoded again")

    monkeypatch.setattr(Cleaning, "cleaned", cleaned)
    # Validation text is small and encoded each time.
    monkeypatch.setattr("headway.training.encode.clean", lambda *_, **__: ([], None))
    monkeypatch.setattr("headway.training.tokenizers.build_tokenizers", cleaned)


def test_kept_text_is_that_in_memory_and_is_not_made_again(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tokenizers, expected = encode(make_config())
    config = make_config(data={"shards": str(tmp_path / "kept")})

    first = encode(config)[2]
    forbid_encoding(monkeypatch)
    _, same_tokenizers, again = encode(config)

    assert list(first.train) == list(again.train) == list(expected.train)
    assert same_tokenizers == tokenizers
    assert again.report == first.report == expected.report
    assert not list((tmp_path / "kept").glob("*.partial"))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_process_that_is_killed_while_it_encodes_is_named_and_leaves_nothing(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    texts = read_texts(config.data)
    tokenizers = find_tokenizers(config, texts).sides
    before = {path.name for path in (tmp_path / "kept").iterdir()}
    here, encode_batch = os.getpid(), Tokenizer.encode_batch

    def killed(self: Tokenizer, batch: list[str]) -> list[list[int]]:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return encode_batch(self, batch)

    monkeypatch.setattr(Tokenizer, "encode_batch", killed)
    monkeypatch.setattr("headway.data.cleaning._CHUNK", 3)
    monkeypatch.setattr("headway.training.encode.cores", lambda: 2)

    with pytest.raises(HeadwayError, match="A worker process was ended"):
        encode_texts(texts, *tokenizers, config.data)

    after = {path.name for path in (tmp_path / "kept").iterdir()}
    assert not [name for name in after - before if not name.endswith(".lock")]


def test_how_far_it_has_come_is_shown(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shown(Reporter):
        counts: ClassVar[dict[str, list[int]]] = {}

        @contextmanager
        def preparing(self, what: str) -> Iterator[Show]:
            yield self.counts.setdefault(what, []).append

    config = make_config(data=TWO)
    monkeypatch.setattr("headway.data.cleaning._CHUNK", 7)
    monkeypatch.setattr("headway.training.tokenizers._SHOWN", 7)
    texts = read_texts(config.data)

    tokenizers = find_tokenizers(config, texts, Shown()).sides
    encoded = encode_texts(texts, *tokenizers, config.data, reporter=Shown())

    total = len(texts.train)
    first, second = encoded.train.sizes
    assert Shown.counts["Training a tokenizer"] == [*range(7, total + 1, 7), total]
    assert Shown.counts["Encoding text"] == [
        *range(7, first, 7), first, *range(first + 7, total, 7), total
    ]  # fmt: skip
    assert second == total - first > 0


def test_equal_pairs_of_other_tags_are_no_duplicates(make_config: MakeConfig) -> None:
    tagged = [{"source": "train.source", "target": "train.target", "tag": tag} for tag in "xyx"]
    corpora = {"source": "", "target": "", "tag": "x", "corpora": tagged, "drop_duplicates": True}
    with pytest.raises(DataError, match=r"^corpus 3: No pair is left .* duplicate"):
        encode(make_config(data=corpora))

    first, second = encode(make_config(data=corpora | {"corpora": tagged[:2]}))[2].train.sizes

    assert first == second > 0


def test_several_processes_encode_what_one_does(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.data.cleaning._CHUNK", 3)
    config = make_config(data=TWO | {"drop_duplicates": True}, tokenizer=CHARACTERS)
    workers: set[int] = set()

    def encode_with(processes: int) -> EncodedTexts:
        monkeypatch.setattr("headway.training.encode.cores", lambda: processes)
        return encode(config)[2]

    def watched(work: Any, items: Any, processes: int) -> Any:
        workers.add(processes)
        return mapped(work, items, processes)

    expected = encode_with(1).train
    monkeypatch.setattr("headway.data.cleaning.mapped", watched)
    found = encode_with(2).train

    assert 2 in workers
    assert list(found) == list(expected)
    assert found.sizes == expected.sizes
    assert [found.text(row) for row in range(len(found))] == [
        expected.text(row) for row in range(len(expected))
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"max_pieces": 4}},
        {"data": {"reverse": True}},
        {"data": {"tag": "<2x>"}},
        {"data": {"drop_duplicates": True}},
        {"tokenizer": {"vocabulary_size": 8}},
    ],
    ids=str,
)
def test_other_settings_are_kept_elsewhere(
    make_config: MakeConfig, tmp_path: Path, changes: dict[str, dict[str, Any]]
) -> None:
    kept = tmp_path / "kept"
    encode(make_config(data={"shards": str(kept)}))
    before = {path.name for path in kept.iterdir()}
    changes["data"] = changes.get("data", {}) | {"shards": str(kept)}

    encode(make_config(**changes))

    new = {path.name for path in kept.iterdir()} - before
    assert any(name.startswith("pairs-") for name in new)


def test_changed_text_is_encoded_anew(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path
) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    before = encode(config)[2].train
    for side in ("source", "target"):
        with (data_folder / f"train.{side}").open("a") as file:
            file.write("three\n")

    after = encode(config)[2].train

    assert len(after) == len(before) + 1


def test_damaged_text_is_refused(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    encode(config)
    (path,) = (tmp_path / "kept").glob("pairs-*/source.bin")
    path.write_bytes(path.read_bytes()[:-2])

    with pytest.raises(DataError, match=r"pairs-\w+ is damaged. Remove that folder"):
        encode(config)


def test_corpora_come_with_their_tags_and_as_often_as_their_weights_say(
    make_config: MakeConfig,
) -> None:
    config = make_config(data=TWO)
    texts, (source, target), encoded = encode(config)
    stream = build_stream(config, texts, encoded, (source, target))

    counts: Counter[int] = Counter()
    for batch in stream.epoch(0):
        counts.update(batch)

    assert [counts[row] for row in range(len(encoded.train))] == [1] * 32 + [2] * 7
    first, last = encoded.train[0], encoded.train[-1]
    assert source.pieces(first.source_ids)[:1] == ["▁<back>"]  # words; the others cut a space off
    pairs = texts.train
    assert source.decode(last.source_ids) == f"<same> {pairs[-1].source}"
    assert target.decode(last.target_ids) == pairs[-1].target
    assert pairs[-1].source == "".join(
        Path(config.data.directory, "valid.target").read_text().splitlines()[-1]
    )


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_a_tagged_pair_is_cut_as_the_text_that_a_translator_gets(
    make_config: MakeConfig, kind: str
) -> None:
    config = make_config(data={"tag": "<2ko>"}, tokenizer={"kind": kind, "vocabulary_size": 24})
    texts, (source, _), encoded = encode(config)

    for pair, kept in zip(texts.train, encoded.train, strict=True):
        assert kept.source_ids == source.encode(f"<2ko> {pair.source}")
    assert texts.valid[0].source.startswith("<2ko> ")


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_a_tag_takes_nothing_of_the_longest_length_wherever_it_is(
    make_config: MakeConfig, data_folder: Path, kind: str
) -> None:
    for side in ("train.source", "train.target", "valid.source", "valid.target"):
        lines = (data_folder / side).read_text().splitlines()
        (data_folder / side).write_text("\n".join(["one two three four five six", *lines, ""]))
    sizes: dict[str, Any] = {"tokenizer": {"kind": kind, "vocabulary_size": 24}}
    source, target = encode(make_config(data={"tag": "<2ko>"}, **sizes))[1]
    whole = source.encode("<2ko> one two three four five six")
    longest = len(whole) - len(source.encode("<2ko>"))

    config = make_config(data={"tag": "<2ko>", "max_pieces": longest}, **sizes)
    encoded = encode(config)[2]
    bundle = build_bundle(config, source, target, torch.device("cpu"))

    assert encoded.valid_report.notes == {}
    assert encoded.valid[0].source_ids == whole
    assert encoded.train[0].source_ids == whole
    assert len(whole) == bundle.decoding.max_source_pieces


def test_a_script_is_that_of_the_side_as_the_file_has_it(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "ko-en.tsv").write_text("하나\tone\n둘\ttwo\n셋 넷\tthree four\n")
    both = [{"source": "ko-en.tsv"}, {"source": "ko-en.tsv", "reverse": True}]
    scripts = {"source_script": "hangul", "target_script": "latin"}
    names = {"source": "", "target": "", "corpora": both, **scripts}

    encoded = encode(make_config(data=names, tokenizer={"kind": "char"}))[2]

    assert encoded.train.sizes == [3, 3]
    names = {"source": "ko-en.tsv", "target": "", "reverse": True, **scripts}
    whole = encode(make_config(data=names, tokenizer={"kind": "char"}))[2]
    assert whole.train.sizes == [3]


def test_a_corpus_of_which_nothing_is_left_is_named(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "empty.tsv").write_text("하나\t\n둘\t\n")
    names = {"source": "", "corpora": [{"source": "train.source", "target": "train.target"},
                                       {"source": "empty.tsv"}]}  # fmt: skip

    with pytest.raises(DataError, match="corpus 2: No pair is left to use: 2 pairs read, 0 kept"):
        encode(make_config(data=names | {"target": ""}))


def test_what_is_dropped_of_several_corpora_is_named_by_corpus(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "some.tsv").write_text("one\ttwo\nthree\t\n")
    names = {"source": "", "target": "", "corpora": [
        {"source": "train.source", "target": "train.target"}, {"source": "some.tsv"},
    ]}  # fmt: skip

    report = encode(make_config(data=names))[2].report

    assert report.dropped == {"corpus 2: empty target": 1}
    assert report.examples == {"corpus 2: empty target": [2]}
    assert (report.total, report.kept) == (34, 33)


def test_what_a_killed_process_left_is_removed(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    encode(config)
    (pairs,) = (tmp_path / "kept").glob("pairs-*")
    leftover = pairs.with_name(f".{pairs.name}-dead.partial")
    pairs.rename(leftover)

    encode(config)

    assert pairs.exists()
    assert not leftover.exists()


def test_what_a_killed_process_left_of_another_text_is_removed_unless_it_is_at_work(
    tmp_path: Path,
) -> None:
    made, dead, alive = (tmp_path / f"pairs-{name}" for name in ("made", "dead", "alive"))
    with made_once(dead):
        left = partial_folder(dead)
    left_before = tmp_path / f".{dead.name}.k3_9xq1c.partial"  # as they once were named
    of_others = tmp_path / ".bundle-0a1b2c3d.partial"
    left_before.mkdir()
    of_others.mkdir()

    with made_once(alive):
        at_work = partial_folder(alive)
        with made_once(made):
            assert not left.exists()
            assert not left_before.exists()
            assert at_work.exists()
            assert of_others.exists()


def test_others_may_read_what_is_kept_as_the_umask_lets_them(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    before = os.umask(0o027)
    try:
        encode(make_config(data={"shards": str(tmp_path / "kept")}))
    finally:
        os.umask(before)

    folders = [path for path in (tmp_path / "kept").iterdir() if path.is_dir()]
    assert [path.stat().st_mode & 0o777 for path in folders] == [0o750, 0o750]


def test_where_all_is_kept_nothing_is_written(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    encode(config)
    for lock in (tmp_path / "kept").glob(".*.lock"):
        lock.unlink()
    before = sorted((tmp_path / "kept").rglob("*"))

    encode(config)

    assert sorted((tmp_path / "kept").rglob("*")) == before


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullFile(io.BytesIO):
    """What a full disk takes: nothing."""

    write = full  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@pytest.mark.parametrize("what", ["folder", "lock", "pieces", "arrays", "numbers", "end"])
def test_a_full_disk_is_a_clear_error_and_leaves_nothing(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    config = make_config(data={"shards": str(tmp_path / "kept")})
    real = Path.open

    def open_file(path: Path, *given: Any, **named: Any) -> Any:
        return FullFile() if path.name == "target.bin" else real(path, *given, **named)

    with monkeypatch.context() as patch:
        if what == "folder":
            patch.setattr(Path, "mkdir", full)
        elif what == "lock":
            patch.setattr("fcntl.flock", full)
        elif what == "pieces":
            patch.setattr(Path, "write_bytes", full)
        elif what == "arrays":
            patch.setattr("headway.data.store.partial_path", full)
        elif what == "numbers":
            patch.setattr(Path, "open", open_file)
        else:
            patch.setattr("headway.data.store.replace", full)
        with pytest.raises(DataError, match=r"kept in .*kept \(No space left.*Free some space"):
            encode(config)
    assert not list(tmp_path.glob("kept/pairs-*"))

    assert list(encode(config)[2].train) == list(encode(make_config())[2].train)
    assert not list(tmp_path.glob("kept/*.partial"))


def test_what_is_kept_is_read_by_many_at_a_time_without_writing_anything(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(data={"shards": "kept"})
    texts, tokenizers, encoded = encode(config)
    folder = Path(config.data.directory) / "kept"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr("headway.training.encode.made_once", None)

    again = encode_texts(texts, *tokenizers, config.data)

    assert list(again.train) == list(encoded.train)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_one_at_a_time_makes_what_is_kept(tmp_path: Path) -> None:
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with made_once(tmp_path / "kept"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with made_once(tmp_path / "kept"):
        inside.set()
        thread.join(timeout=0.2)
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_ids_beyond_a_column_are_refused_and_never_wrapped() -> None:
    pairs = [EncodedPair([70_000], [4], 1)]

    assert list(PairStore.of(pairs)) == pairs
    with pytest.raises(OverflowError, match="70000"):
        StoreWriter().add_corpus(pairs)
