"""The shortlist of a student allows the pieces that Marian allows."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headway.bundle import load_bundle
from headway.errors import BundleError
from headway.interop.marian import import_marian
from headway.interop.marian.lexical_shortlist import MAGIC, read_shortlist
from headway.interop.marian.pieces import Renumbered, read_pieces

from .conftest import StudentFiles, marian_pieces

LISTS = [[7, 30 + i % 9, 5][: i % 4] for i in range(40)]


def content(lists: list[list[int]], first: int = 3, magic: int = MAGIC) -> bytes:
    starts, found = np.cumsum([0, *map(len, lists)]), [i for row in lists for i in row]
    head = struct.pack("<6Q", magic, 99, first, 3, len(starts), len(found))
    return head + starts.astype("<u8").tobytes() + np.array(found, "<u4").tobytes()


@pytest.fixture
def pieces() -> Renumbered:
    return read_pieces(marian_pieces(), "x.spm")


def test_each_sentence_has_the_first_pieces_its_own_and_their_translations(
    pieces: Renumbered, tmp_path: Path
) -> None:
    (tmp_path / "lex.bin").write_bytes(content(LISTS))
    shortlist = read_shortlist(tmp_path / "lex.bin", pieces, pieces)

    theirs = [0, 11, 22]  # </s> and two pieces
    expected = {0, 1, 2, *theirs, *(i for piece in theirs for i in LISTS[piece])}
    ours = shortlist.pieces_for(pieces.new_ids[theirs].tolist())
    assert set(ours.tolist()) == {0, 2, *pieces.new_ids[sorted(expected)].tolist()}
    # <pad> and <s>, which Marian does not have, are never chosen.


def test_with_two_vocabularies_a_sentence_does_not_have_its_own_pieces(
    pieces: Renumbered, tmp_path: Path
) -> None:
    other = read_pieces(marian_pieces(41), "y.spm")
    (tmp_path / "lex.bin").write_bytes(content(LISTS))
    shortlist = read_shortlist(tmp_path / "lex.bin", pieces, other)

    assert shortlist.pieces_for([pieces.new_ids[20]]).tolist() == [0, 1, 2, 3, 4]
    found = shortlist.pieces_for([pieces.new_ids[21]]).tolist()
    assert found == [0, 1, 2, 3, 4, other.new_ids[7]]


def test_an_imported_bundle_has_it(
    make_student: Callable[[], StudentFiles], tmp_path: Path
) -> None:
    student = make_student()
    student.files["lex.50.50.xxyy.s2t.bin"] = content(LISTS)
    imported = import_marian(student.write(tmp_path / "in"), tmp_path / "out")

    assert load_bundle(tmp_path / "out").shortlist is not None
    assert any("--shortlist" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cannot be read"),
        (bytes(40), "only 40 bytes"),
        (content(LISTS, magic=7), "begins with 0x7, and not with 0xf11a48d5013417f5"),
        (content(LISTS)[:-1], "but says that it has"),
        (content(LISTS[:39]), "for 39 source tokens; the .spm file has 40"),
        (content([[40]] * 40), "tokens beyond the 40"),
        (content(LISTS, first=41), "tokens beyond the 40"),
        (content(LISTS)[:56] + struct.pack("<Q", 2**62) + content(LISTS)[64:], "do not follow"),
        (struct.pack("<6Q", MAGIC, 0, 1, 1, 2**62, 1) + bytes(99), "says that it has"),
    ],
)
def test_another_file_is_refused(
    pieces: Renumbered, tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "lex.bin").write_bytes(data)
    with pytest.raises(BundleError, match=rf"lex\.bin .*{message}"):
        read_shortlist(tmp_path / "lex.bin", pieces, pieces)
