"""What does no harm is counted in a word."""

import gzip
from pathlib import Path

from headway.data.corpus import Pair
from headway.data.harmless import line_ends, marked_files, outer_characters


def test_lines_that_end_in_carriage_returns_are_counted() -> None:
    pairs = [Pair("a\r", "b\r"), Pair("a", "b\r"), Pair("a\rb", "c")]
    assert line_ends("training", pairs) == [
        "Training text: 2 lines end in \\r\\n; the \\r is left out."
    ]
    assert line_ends("validation", pairs[:1])[0].startswith("Validation text: 1 line ends in")
    assert line_ends("training", pairs[2:]) == line_ends("training", []) == []


def test_files_with_a_byte_order_mark_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes(b"\xef\xbb\xbfone\n")
    (tmp_path / "b.en.gz").write_bytes(gzip.compress(b"\xef\xbb\xbftwo\n"))
    (tmp_path / "c.en").write_bytes(b"three\xef\xbb\xbf\n")
    files = [str(tmp_path / name) for name in ("a.en", "b.en.gz", "c.en")]
    assert marked_files([*files, "hf://nobody/nothing"]) == [
        "A byte order mark at the beginning is left out, of a.en, b.en.gz."
    ]
    assert marked_files(files[2:]) == []


def test_characters_around_a_text_are_counted_by_pairs() -> None:
    pairs = [Pair("a\r", "b\r"), Pair(" a\r", "b"), Pair("a", "b\u00a0"), Pair("a b", "c\rd")]
    assert outer_characters(pairs) == {"carriage-returns": 2, "outer-spaces": 2}
    assert outer_characters(pairs[3:]) == {}
