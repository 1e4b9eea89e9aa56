"""The text of a run is found, read in its direction, and held out, or refused in one sentence."""

import gzip
import os
import re
from pathlib import Path
from typing import Any

import pytest

from headway.data.corpus import Pair
from headway.errors import ConfigError, DataError
from headway.training import texts as texts_module
from headway.training.texts import Texts, held_out_files, read_texts

from .conftest import TWO, MakeConfig, encode


def test_all_files_are_read(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "test.tsv").write_text("one two\ttwo one\n")

    texts = read_texts(make_config(data={"test_source": "test.tsv"}).data)

    assert (len(texts.train), len(texts.valid)) == (32, 7)
    assert texts.test == [Pair("one two", "two one")]
    assert texts.train[-1] == Pair("one two three four five six", "six five four three two one")


@pytest.mark.parametrize("key", ["source", "valid_source"])
def test_a_missing_file_name_is_a_missing_key(make_config: MakeConfig, key: str) -> None:
    target = key.replace("source", "target")
    with pytest.raises(ConfigError, match=rf"'data\.{key}' is missing\. Name "):
        read_texts(make_config(data={key: "", target: ""}).data)


@pytest.mark.parametrize("split", ["", "valid_", "test_"])
@pytest.mark.parametrize(("present", "missing"), [("source", "target"), ("target", "source")])
def test_a_side_without_the_other_is_refused_by_its_names(
    make_config: MakeConfig, split: str, present: str, missing: str
) -> None:
    named = {f"{split}{present}": "valid.source", f"{split}{missing}": ""}
    with pytest.raises(ConfigError) as refused:
        read_texts(make_config(data=named).data)
    told = f"'data.{split}{present}' is given, but 'data.{split}{missing}' is missing. Name both"
    assert told in str(refused.value)
    option = f"--{split}{missing}".replace("_", "-")
    assert (option in str(refused.value)) == (split != "test_")


def test_a_missing_target_is_told_before_missing_validation_text(make_config: MakeConfig) -> None:
    named = {"target": "", "valid_source": "", "valid_target": ""}
    with pytest.raises(ConfigError, match=r"'data\.target' is missing"):
        read_texts(make_config(data=named).data)


@pytest.mark.parametrize("name", ["train.source", "train.target", "valid.source", "valid.target"])
def test_the_checksum_changes_with_each_file(
    make_config: MakeConfig, data_folder: Path, name: str
) -> None:
    before = read_texts(make_config().data).checksum
    text = (data_folder / name).read_text()
    (data_folder / name).write_text(text.replace("one", "two", 1))

    assert read_texts(make_config().data).checksum != before


def test_each_file_is_hashed_once(make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    digest = texts_module.file_digest

    def counted(path: Path, fields: tuple[str, str]) -> bytes:
        hashed.append(path.name)
        return digest(path, fields)

    monkeypatch.setattr(texts_module, "file_digest", counted)

    texts = read_texts(make_config().data)

    assert hashed == ["train.source", "train.target", "valid.source", "valid.target"]
    assert texts.checksum != texts.training_checksum


def test_reversed_data_trains_the_other_direction(make_config: MakeConfig) -> None:
    straight = make_config()
    turned = make_config(data={"reverse": True})

    there, back = read_texts(straight.data), read_texts(turned.data)

    assert [(pair.target, pair.source) for pair in there.train] == back.train
    assert turned.data.languages == straight.data.languages[::-1]


def test_columns_of_a_tsv_file_can_be_named(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "three.tsv").write_text("1\tja\tyes\n2\tnein\tno\n", encoding="utf-8")
    names = {"source": "three.tsv", "target": "", "valid_source": "three.tsv", "valid_target": ""}

    config = make_config(data={**names, "source_column": 3, "target_column": 2})

    assert read_texts(config.data).train == [("yes", "ja"), ("no", "nein")]


def test_held_out_pairs_are_not_trained_on(make_config: MakeConfig) -> None:
    whole = read_texts(make_config().data).train
    names = {"valid_source": "", "valid_target": "", "hold_out": 5}

    texts = read_texts(make_config(data=names).data)

    assert len(texts.valid) == 5
    assert not set(texts.valid) & set(texts.train)
    assert set(texts.valid) | set(texts.train) == set(whole)
    assert read_texts(make_config(data=names).data) == texts


def test_holding_everything_out_leaves_nothing_to_train_on(make_config: MakeConfig) -> None:
    def read(count: int) -> Texts:
        names = {"valid_source": "", "valid_target": "", "hold_out": count}
        return read_texts(make_config(data=names).data)

    with pytest.raises(ConfigError, match=r"data\.hold_out is 5000") as caught:
        read(5000)
    numbers = re.search(r"to (\d+) or less; the others are trained on\.", caught.value.remedy)
    assert numbers
    most = int(numbers[1])
    assert len(read(most).valid) == most
    with pytest.raises(ConfigError, match=rf"data\.hold_out is {most + 1}"):
        read(most + 1)


def test_a_test_target_without_its_source_is_refused(make_config: MakeConfig) -> None:
    with pytest.raises(ConfigError, match=r"data\.test_target' is given.*Name both"):
        read_texts(make_config(data={"test_target": "valid.target"}).data)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_tag_that_is_trained_nowhere_is_refused_where_there_is_text_for_it(
    make_config: MakeConfig, split: str
) -> None:
    corpus = {"source": "train.source", "target": "train.target", "tag": "<2a>"}
    data = {"source": "", "target": "", "corpora": [corpus], "valid_source": "", "valid_target": ""}
    assert read_texts(make_config(data=data).data, needs_validation=False).valid == []
    sides = {f"{split}_source": "valid.source", f"{split}_target": "valid.target"}
    with pytest.raises(
        ConfigError, match=r"data\.tag is '', but the tags of the corpora are '<2a>'"
    ):
        read_texts(make_config(data=data | sides).data, needs_validation=False)
    with pytest.raises(ConfigError, match=r"data\.tag is '<2b>', but the tags of the corpora"):
        read_texts(make_config(data=data | {"tag": "<2b>"}).data, needs_validation=False)


def test_what_can_be_read_once_only_is_refused(make_config: MakeConfig, data_folder: Path) -> None:
    (data_folder / "valid.source").unlink()
    os.mkfifo(data_folder / "valid.source")
    with pytest.raises(DataError, match=r"valid\.source is a pipe .*read more than once"):
        read_texts(make_config().data)


def test_several_files_are_one_corpus_in_the_order_of_their_names(
    make_config: MakeConfig, data_folder: Path
) -> None:
    expected = encode(make_config())[2].train
    for side in ("source", "target"):
        lines = (data_folder / f"train.{side}").read_text().splitlines(keepends=True)
        (data_folder / f"part-1.{side}").write_text("".join(lines[:10]))
        with gzip.open(data_folder / f"part-2.{side}.gz", "wt") as file:
            file.writelines(lines[10:])
    names = {"source": "part-*.source*", "target": "part-*.target*"}

    train = encode(make_config(data=names))[2].train

    assert list(train) == list(expected)


def test_a_pattern_that_nothing_matches_is_refused(make_config: MakeConfig) -> None:
    with pytest.raises(DataError, match=r"No file matches .*nothing-\*\.gz"):
        read_texts(make_config(data={"source": "nothing-*.gz"}).data)


def test_files_of_two_patterns_belong_together_by_what_the_patterns_stand_for(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for number in (1, 2, 10):
        (data_folder / f"part-{number}.ko").write_text(f"{number}\n")
        (data_folder / f"part-{number}_en.txt").write_text(f"number {number}\n")
    names = {"source": "part-*.ko", "target": "part-*_en.txt"}

    pairs = read_texts(make_config(data=names).data).train
    assert sorted(pairs) == [(str(n), f"number {n}") for n in (1, 10, 2)]

    (data_folder / "part-10_en.txt").rename(data_folder / "part-11_en.txt")
    with pytest.raises(ConfigError, match=r"part-10\.ko has no partner"):
        read_texts(make_config(data=names).data)


def test_one_file_a_side_is_a_pair_only_if_the_patterns_say_so(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "part-1.ko").write_text("하나\n")
    (data_folder / "part-2.en").write_text("two\n")
    names = {"source": "part-*.ko", "target": "part-*.en"}
    with pytest.raises(ConfigError, match=r"part-1\.ko has no partner"):
        read_texts(make_config(data=names).data)
    (corpus,) = read_texts(make_config(data=names | {"target": "part-2.en"}).data).corpora
    assert [pair.target for pair in corpus] == ["two"]
    (data_folder / "part-2.en").rename(data_folder / "part-1.en")
    (corpus,) = read_texts(make_config(data=names).data).corpora
    assert [pair.target for pair in corpus] == ["two"]


def test_a_held_out_pair_stays_out_with_spaces_around_it_too(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for side in ("source", "target"):
        (data_folder / f"train.{side}").write_text("one\ntwo\n one\n two\none \n")
    names = {"valid_source": "", "valid_target": "", "hold_out": 1}

    texts = read_texts(make_config(data=names).data)

    assert texts.valid[0].source.strip() == "two"
    assert [pair.source for pair in texts.train] == ["one", " one", "one "]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (TWO | {"source": "train.source"}, "Both 'data.source' and 'data.corpora' name"),
        (TWO | {"target": "train.target"}, "Both 'data.target' and 'data.corpora' name"),
        (
            TWO | {"valid_source": "", "valid_target": "", "hold_out": 3},
            "data.hold_out is 3, but there are 2 corpora",
        ),
        (
            {"valid_source": "", "hold_out": 3},
            "data.valid_target' is given, but 'data.valid_source' is missing",
        ),
        ({"source": "*.source", "target": "train.target"}, "names 2 files and train.target 1"),
        (TWO | {"tag": "<bakc>"}, "data.tag is '<bakc>', but the tags of the corpora are '<back>'"),
        ({"tag": "<2 ko>"}, "which holds a space"),
        ({"corpora": [{"source": "a", "weigth": 2.0}], "source": ""}, "no setting .*weigth"),
        (
            {"corpora": [{"source": "a", "weight": 0.0}], "source": ""},
            r"'weight' in entry 1 of 'data\.corpora' is 0\.0",
        ),
    ],
    ids=[
        "both",
        "both-targets",
        "hold-out",
        "half",
        "unequal",
        "foreign-tag",
        "spaced-tag",
        "misspelt",
        "no-weight",
    ],
)
def test_what_does_not_fit_is_refused(
    make_config: MakeConfig, names: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_texts(make_config(data=names).data)


TABLES = {
    "x.tsv": "en\taf\n{rows}",
    "x.csv": "af,en\n{rows}",
    "x.tmx": "<tmx><body>{rows}</body></tmx>",
}
ROW = {
    "x.tsv": "{0}\t{1}\n",
    "x.csv": "{1},{0}\n",
    "x.tmx": (
        '<tu><tuv xml:lang="af"><seg>{1}</seg></tuv><tuv xml:lang="en-GB"><seg>{0}</seg></tuv></tu>'
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_training_validation_and_test_text(
    make_config: MakeConfig, data_folder: Path, name: str
) -> None:
    pairs = [Pair(f"one {number}", f"two {number}") for number in range(12)]
    rows = "".join(ROW[name].format(*pair) for pair in pairs)
    (data_folder / name).write_text(TABLES[name].format(rows=rows))
    own = {"source_language": "en", "target_language": "af", "target": "", "valid_target": ""}
    data = own | {"source": name, "valid_source": name, "test_source": name}

    texts = read_texts(make_config(data=data).data)

    assert texts.train == texts.valid == texts.test == pairs
    assert len(texts.remarks) == (0 if name == "x.tmx" else 1)
    held_out = own | {"source": name, "valid_source": "", "hold_out": 3}
    divided = read_texts(make_config(data=held_out).data)
    assert divided.valid_lines is not None
    assert [pairs[line - 1] for line in divided.valid_lines] == divided.valid
    assert sorted([*divided.train, *divided.valid]) == sorted(pairs)
    turned = read_texts(make_config(data=data | {"reverse": True}).data)
    assert turned.train == [Pair(target, source) for source, target in pairs]


def test_what_is_made_of_a_table_changes_with_the_languages_by_which_it_is_read(
    make_config: MakeConfig, data_folder: Path
) -> None:
    (data_folder / "x.csv").write_text("en,af,de\na,b,c\n")
    data = {"source": "x.csv", "target": "", "source_language": "en"}
    names = {
        read_texts(
            make_config(data=data | {"target_language": language}).data
        ).name_of_what_is_made()
        for language in ("af", "de")
    }
    assert len(names) == 2


def test_files_of_held_out_text_are_named_in_the_direction_of_the_run(
    make_config: MakeConfig, data_folder: Path
) -> None:
    data = make_config(data={"test_source": "test.tsv"}).data
    valid = (data_folder / "valid.source", data_folder / "valid.target")
    assert held_out_files(data) == {"validation": valid, "test": (data_folder / "test.tsv",)}
    assert held_out_files(data.replace({"reverse": True}))["validation"] == valid[::-1]
    assert held_out_files(data.replace({"valid_source": "", "test_source": ""})) == {}
