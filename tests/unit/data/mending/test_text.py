"""Text of any form and size is cleaned; nothing is lost, and nothing that is read is changed."""

import gzip
from pathlib import Path

import pytest

import headway
from headway.data.corpus import Pair, read_pairs
from headway.data.mending import text as module
from headway.errors import ConfigError, DataError

from ..parallel_text import sentences

MESSY = [
    Pair("eins", "one"),
    Pair("", "two"),
    Pair("Q&amp;A", "Fragen &amp; mehr"),
    Pair("eins", "one"),
    Pair("vier\u00a05", "four 5"),
    Pair("gleich", "gleich"),
]
SIDES = [("eins", "one"), ("Q&A", "Fragen & mehr"), ("vier 5", "four 5"), ("gleich", "gleich")]


def _files(folder: Path) -> tuple[Path, Path]:
    paths = folder / "a.de", folder / "a.en"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in MESSY), encoding="utf-8")
    return paths


def test_two_files_become_two(tmp_path: Path) -> None:
    source, target = _files(tmp_path)
    before = source.read_bytes()

    done = headway.clean_text(source, target, out=tmp_path / "c.{de,en}")

    assert read_pairs(tmp_path / "c.de", tmp_path / "c.en") == [Pair(*pair) for pair in SIDES]
    assert (done.pairs, done.kept) == (6, 4)
    assert done.dropped == {"empty-source": 1, "duplicate-pairs": 1}
    assert done.repaired == {
        "html-codes-source": 1, "html-codes-target": 1, "spaces-source": 1
    }  # fmt: skip
    assert done.left == {"copies": 1}
    assert done.lines()[1:] == [
        "  copies: 1 left (to drop them: --drop empty,duplicates,copies)",
        "    line 6: 'gleich' | 'gleich'",
        "  html-codes-source: 1 repaired",
        "  html-codes-target: 1 repaired",
        "  duplicate-pairs: 1 dropped",
        "  spaces-source: 1 repaired",
        "  empty-source: 1 dropped",
        f"The lines that are left are kept, and listed in {done.log}.",
    ]
    log = (tmp_path / "c.removed.tsv").read_text(encoding="utf-8").splitlines()
    assert log == [
        "line\tid\taction\tsource\ttarget\tnew source\tnew target",
        "2\tempty-source\tdropped\t\ttwo\t\t",
        "3\thtml-codes-source\trepaired\tQ&amp;A\tFragen &amp; mehr\tQ&A\tFragen &amp; mehr",
        "3\thtml-codes-target\trepaired\tQ&A\tFragen &amp; mehr\tQ&A\tFragen & mehr",
        "4\tduplicate-pairs\tdropped\teins\tone\t\t",
        "5\tspaces-source\trepaired\tvier\u00a05\tfour 5\tvier 5\tfour 5",
        "6\tcopies\tleft\tgleich\tgleich\t\t",
    ]
    assert source.read_bytes() == before


@pytest.mark.parametrize("out", ["c.tsv", "c.jsonl", "c.tsv.gz", "c.{x,y}.bz2"])
def test_other_forms(tmp_path: Path, out: str) -> None:
    table = tmp_path / "a.tsv.gz"
    rows = "".join(f"{number}\t{pair.target}\t{pair.source}\n" for number, pair in enumerate(MESSY))
    table.write_bytes(gzip.compress(rows.encode()))
    done = headway.clean_text(table, out=tmp_path / out, columns=(2, 1))
    assert read_pairs(*done.files) == [Pair(*pair) for pair in SIDES]


def test_each_block_is_looked_at_by_itself_but_for_repeated_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    told: list[int] = []
    done = headway.clean_text(*_files(tmp_path), out=tmp_path / "c.tsv", tell=told.append)
    assert told == [2, 4, 6]
    assert read_pairs(tmp_path / "c.tsv") == [Pair(*pair) for pair in SIDES]
    assert done.dropped == {"empty-source": 1, "duplicate-pairs": 1}
    assert "4\tduplicate-pairs\tdropped" in Path(done.log).read_text(encoding="utf-8")


def test_what_fails_leaves_no_file(tmp_path: Path) -> None:
    source, target = _files(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="overwritten"):
        headway.clean_text(source, target, out=(source, tmp_path / "c"))
    with pytest.raises(ConfigError, match="overwritten"):
        headway.clean_text(source, target, out=tmp_path / "c.tsv", report=target)
    with pytest.raises(DataError, match="no file"):
        headway.clean_text(source, tmp_path / "none", out=tmp_path / "c.tsv")
    target.write_text("one\n")
    with pytest.raises(DataError, match="6 lines"):
        headway.clean_text(source, target, out=tmp_path / "c.tsv")
    assert sorted(tmp_path.iterdir()) == before


def test_a_text_that_the_form_has_no_room_for_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"source": "a\\tb", "target": "c\\nd"}\n')
    for out in ("c.tsv", "c.{x,y}"):
        with pytest.raises(DataError, match="Line 1 has a line end or a tab"):
            headway.clean_text(file, out=tmp_path / out, fix=[])
        done = headway.clean_text(file, out=tmp_path / out)
        assert read_pairs(*done.files) == [Pair("a b", "c d")]
    headway.clean_text(file, out=tmp_path / "c.jsonl", fix=[])
    assert read_pairs(tmp_path / "c.jsonl") == [Pair("a\tb", "c\nd")]


def test_text_of_which_nothing_would_be_left_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tx\n")
    with pytest.raises(
        DataError, match=r"No pair would be left: 1 of 1 pair would be .* as copies"
    ):
        headway.clean_text(tmp_path / "a.tsv", out=tmp_path / "c.tsv", drop=["copies"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]


def test_files_that_do_not_belong_together_are_kept_or_refused_and_said_to_be(
    tmp_path: Path,
) -> None:
    for name, seed, side in (("a", 1, 0), ("b", 2, 1)):
        lines = (pair[side] for pair in sentences(90, seed))
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    files = tmp_path / "a", tmp_path / "b"
    done = headway.clean_text(*files, out=tmp_path / "c.tsv")
    assert (done.kept, done.left["unrelated"]) == (90, 90)
    assert done.options["unrelated"] == "--drop empty,duplicates,unrelated"
    assert "make sure that the files go together" in done.remarks[-1]
    with pytest.raises(DataError, match="dropped as unrelated") as raised:
        headway.clean_text(*files, out=tmp_path / "d.tsv", drop=["unrelated"])
    assert raised.value.remedy == "Make sure that the two files belong together, line by line."


def test_an_option_is_named_only_where_it_changes_something(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\u00e2\u20ac\ta\nb\tu\u0308\n", encoding="utf-8")
    done = headway.clean_text(tmp_path / "a.tsv", out=tmp_path / "c.tsv", fix=[])
    assert done.options == {
        "broken-mojibake-source": "--drop empty,duplicates,broken-mojibake-source",
        "decomposed-target": "--fix nfc",
    }
    done.left, done.options = {"length-long": 2}, {"length-long": ""}
    assert "  length-long: 2 left (to drop them: clean the cleaned text again)" in done.lines()


def test_the_names_of_two_outputs_say_which_languages_of_a_table_are_meant(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("af;en\nja nee;yes no\ngoed;good\n")
    headway.clean_text(tmp_path / "x.csv", out=(tmp_path / "c.en", tmp_path / "c.af"))
    assert (tmp_path / "c.en").read_text() == "yes no\ngood\n"
    assert (tmp_path / "c.af").read_text() == "ja nee\ngoed\n"


def test_outputs_named_after_the_wrong_languages_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one two\nthree\n")
    (tmp_path / "a.ko").write_text("하나 둘\n셋\n", encoding="utf-8")
    files = tmp_path / "a.en", tmp_path / "a.ko"
    right = headway.clean_text(*files, out=tmp_path / "c.{en,ko}")
    table = headway.clean_text(*files, out=tmp_path / "t.tsv")
    assert right.remarks == table.remarks == []
    remark = (
        "Source in Latin letters, but ko is written in Hangul; target in Hangul letters, but en "
        "is written in Latin. Exchange the names of the two files, or end them in the right "
        "languages: headway train reads the languages from them."
    )
    assert headway.clean_text(*files, out=tmp_path / "d.{ko,en}").remarks == [remark]
    swapped = tmp_path / "d.ko", tmp_path / "d.en"
    assert headway.clean_text(*swapped, out=tmp_path / "e.tsv").remarks == [remark]


def test_what_is_taken_off_the_ends_of_text_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_bytes(b"\xef\xbb\xbfeins\r\nzwei\r\n drei\r\n")
    (tmp_path / "a.en").write_bytes(b"one\ntwo\nthree\n")
    done = headway.clean_text(tmp_path / "a.de", tmp_path / "a.en", out=tmp_path / "c.{de,en}")

    assert (tmp_path / "c.de").read_bytes() == b"eins\nzwei\ndrei\n"
    counts = {"byte-order-marks": 1, "carriage-returns": 3, "outer-spaces": 1}
    assert done.trimmed == done.as_dict()["trimmed"] == counts
    assert done.lines()[1:] == [
        "  byte-order-marks: 1 file repaired",
        "  carriage-returns: 3 lines repaired",
        "  outer-spaces: 1 line repaired",
    ]
    assert Path(done.log).read_text(encoding="utf-8").splitlines()[1:] == [
        "3\touter-spaces\trepaired\t drei\tthree\tdrei\tthree",
        "0\tbyte-order-marks\trepaired\t1 file repaired\t\t\t",
        "0\tcarriage-returns\trepaired\t3 lines repaired\t\t\t",
    ]


def test_spaces_taken_off_the_segments_of_a_translation_memory_are_logged(tmp_path: Path) -> None:
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{de}</seg></tuv><tuv xml:lang="en"><seg>{en}</seg></tuv></tu>'
        for de, en in (("eins", "  one  two "), ("\n  drei\n", "three"))
    )
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><body>{units}</body></tmx>')
    done = headway.clean_text(tmp_path / "a.tmx", out=tmp_path / "c.tsv")
    assert (tmp_path / "c.tsv").read_text() == "eins\tone two\ndrei\tthree\n"
    assert done.trimmed == {"outer-spaces": 1}
    rows = Path(done.log).read_text().splitlines()[1:]
    assert rows == ["1\touter-spaces\trepaired\teins\t  one two \teins\tone two"]


def test_pairs_of_validation_text_are_dropped_after_repairs(tmp_path: Path) -> None:
    source, target = _files(tmp_path)
    (tmp_path / "v.tsv").write_text("Q&A\tFragen & mehr\n\ttwo\nvier 5\tfour\n")
    (tmp_path / "t.de").write_text("gleich\n")
    (tmp_path / "t.en").write_text("gleich \n")
    texts = [(tmp_path / "v.tsv",), (tmp_path / "t.de", tmp_path / "t.en")]

    done = headway.clean_text(source, target, out=tmp_path / "c.tsv", held_out=texts, drop=[])

    assert done.dropped == {"in-validation": 2}
    assert (done.kept, done.left["source-in-validation"]) == (4, 1)
    log = Path(done.log).read_text(encoding="utf-8")
    assert "3\tin-validation\tdropped\tQ&A\tFragen & mehr" in log
    drop = done.options["source-in-validation"].removeprefix("--drop ").split(",")
    assert drop == ["source-in-validation"]
    drop += ["empty", "duplicates"]
    done = headway.clean_text(source, target, out=tmp_path / "d.tsv", held_out=texts, drop=drop)
    assert read_pairs(tmp_path / "d.tsv") == [Pair("eins", "one")]
    with pytest.raises(ConfigError, match="'source-in-validation' needs validation text"):
        headway.clean_text(source, target, out=tmp_path / "d.tsv", drop=drop)
    with pytest.raises(ConfigError, match="has 3 files, but one or two"):
        headway.clean_text(source, target, out=tmp_path / "d.tsv", held_out=[("a", "b", "c")])


def test_the_names_of_validation_text_say_that_a_first_line_names_the_columns(
    tmp_path: Path,
) -> None:
    text = tmp_path / "corpus.tsv"
    text.write_text("de\ten\nHallo Welt\thello world\nguten Tag\tgood day\n")
    held_out = tmp_path / "dev.de", tmp_path / "dev.en"
    for path, line in zip(held_out, ("bis bald\n", "see you soon\n"), strict=True):
        path.write_text(line)

    read = [
        headway.clean_text(text, out=tmp_path / "c.tsv", held_out=texts).pairs
        for texts in ([], [held_out])
    ]

    assert read == [3, 2]
