"""A data set in a folder is read like a file; what is wrong with its name is said."""

import sys
from pathlib import Path

import pytest

from headway.data.corpus import Pair, file_digest, matching_files, read_pairs
from headway.data.hub import rows_of
from headway.errors import ConfigError, DataError, MissingExtraError

PAIRS = [Pair("하나", "one"), Pair("", "two\tthree"), Pair("셋 넷", "four")]
FIELDS = {"source_field": "translation.ko", "target_field": "translation.en"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import datasets

    folder = tmp_path_factory.mktemp("saved")
    rows = [{"translation": {"ko": pair.source, "en": pair.target}} for pair in PAIRS]
    whole = datasets.Dataset.from_list(rows)
    whole.save_to_disk(folder / "whole")
    splits = datasets.DatasetDict({"train": whole, "other": whole.select([1])})
    splits.save_to_disk(folder / "splits")
    return folder


def test_the_rows_of_a_folder_are_its_pairs(saved: Path) -> None:
    assert read_pairs(f"hf://{saved}/whole", **FIELDS) == PAIRS
    assert read_pairs(f"hf://{saved}/splits?split=other", **FIELDS) == PAIRS[1:2]


def test_the_fingerprint_is_that_of_the_rows(saved: Path) -> None:
    whole, same, other = (
        file_digest(f"hf://{saved}/{name}", ("translation.ko", "translation.en"))
        for name in ("whole", "splits?split=train", "splits?split=other")
    )

    assert whole == same != other


@pytest.mark.parametrize("fields", [("source", "target"), ("both.ko", "both.en")])
def test_pictures_beside_the_text_are_not_looked_at(
    tmp_path: Path, fields: tuple[str, str]
) -> None:
    import datasets

    both = [{"ko": pair.source, "en": pair.target} for pair in PAIRS]
    text = {"source": [one["ko"] for one in both], "target": [one["en"] for one in both]}
    text["both"] = both
    broken = [{"bytes": b"no picture", "path": None}] * len(PAIRS)
    plain = datasets.Dataset.from_dict(text)
    kinds = datasets.Features({**plain.features, "image": datasets.Image()})
    datasets.Dataset.from_dict(text | {"image": broken}, kinds).save_to_disk(tmp_path / "images")
    plain.save_to_disk(tmp_path / "plain")
    images = f"hf://{tmp_path}/images"

    assert read_pairs(images, source_field=fields[0], target_field=fields[1]) == PAIRS
    assert file_digest(images, fields) == file_digest(f"hf://{tmp_path}/plain", fields)
    assert file_digest(images, fields) != file_digest(images, ("source", "source"))


def test_its_name_is_no_pattern(saved: Path) -> None:
    name = f"hf://{saved}/splits?split=train"
    assert matching_files(Path("elsewhere"), name) == (name,)


@pytest.mark.parametrize(
    ("name", "kind", "problem"),
    [
        ("splits", ConfigError, r"has the splits train, other\. .*\?split=train"),
        ("splits?split=tset", ConfigError, "not 'tset'"),
        ("whole?split=train", ConfigError, "has no splits"),
        ("whole?spilt=train", ConfigError, "has the option 'spilt'"),
        ("", DataError, "cannot be opened"),
    ],
)
def test_a_wrong_name_is_refused(
    saved: Path, name: str, kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind, match=problem):
        read_pairs(f"hf://{saved}/{name}", **FIELDS)


def test_a_field_that_is_not_there_is_named(saved: Path) -> None:
    with pytest.raises(DataError, match=r"row 1, has no field 'translation\.de'"):
        read_pairs(f"hf://{saved}/whole", source_field="translation.de")


def test_a_missing_library_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[datasets\]'"):
        read_pairs(f"hf://{saved}/whole", **FIELDS)


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(ConfigError, match=r"hf://x\[1\] is not an address"):
        next(rows_of("hf://x[1]", ("source", "target")))
