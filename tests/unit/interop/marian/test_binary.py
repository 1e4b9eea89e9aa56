"""A damaged `.bin` file is refused in one sentence, and nothing is allocated for it."""

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headway.errors import BundleError
from headway.interop.marian.binary import (
    BinaryFile,
    binary_file,
    floats,
    whole_numbers,
)

from .conftest import FLOAT32, INT8, INTGEMM8, StudentFiles, bin_file, padded

Make = Callable[[], StudentFiles]
PARTS = [
    ("w", FLOAT32, (2, 3), padded(np.arange(6, dtype="<f4").tobytes())),
    ("special:model.yml", INT8, (5,), b"a: b\0"),
]


def opened(folder: Path, content: bytes) -> BinaryFile:
    path = folder / "model.bin"
    path.write_bytes(content)
    return BinaryFile(path)


def test_arrays_and_text_by_hand(tmp_path: Path) -> None:
    factor = np.float32(2).tobytes()
    whole = padded(bytes([1, 2, 3, 4, 5, 6]) + factor)
    file = opened(
        tmp_path,
        bin_file([*PARTS, ("q", INTGEMM8, (2, 3), whole), ("Wemb", INTGEMM8, (2, 3), whole)]),
    )
    assert file.numbers("w").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert file.text("special:model.yml") == "a: b"
    assert file.numbers("Wemb").tolist() == [[0.5, 1, 1.5], [2, 2.5, 3]]
    assert file.numbers("q").tolist() == [[0.5, 1.5, 2.5], [1, 2, 3]]  # stored as (out, in)
    with pytest.raises(BundleError, match="is text, but must be numbers"):
        file.numbers("special:model.yml")
    with pytest.raises(BundleError, match="is numbers, but must be text"):
        file.text("w")


def test_a_written_file_is_read_again(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    matrix, row = draw.normal(size=(7, 4)).astype("f4"), draw.normal(size=(1, 9)).astype("f4")
    arrays = {
        "Wemb": whole_numbers(matrix, by_rows=True),
        "a_W": whole_numbers(matrix, by_rows=False),
        "b": floats(row),
        "special:model.yml": (INT8, (3,), b"x\n\0"),
    }
    content = binary_file(arrays)
    file = opened(tmp_path, content)

    step = np.abs(matrix).max() / 127
    for name in ("Wemb", "a_W"):
        errors = file.numbers(name) - matrix
        assert np.square(errors).mean() <= (10 * step) ** 2
        assert np.median(np.abs(errors)) <= step / 2
    np.testing.assert_array_equal(file.numbers("b"), row)
    assert file.items["Wemb"].begin % 256 == 0
    assert (
        bin_file([(n, k, s, d if k == INT8 else padded(d)) for n, (k, s, d) in arrays.items()])
        == content
    )


def test_a_few_large_numbers_do_not_coarsen_the_others(tmp_path: Path) -> None:
    matrix = np.random.default_rng(1).normal(size=(300, 200)).astype("f4")
    matrix[3, 4] = 6.0
    stored = {"a_W": whole_numbers(matrix, by_rows=False)}
    errors = opened(tmp_path, binary_file(stored)).numbers("a_W") - matrix
    assert np.square(errors).sum() < (6 / 127) ** 2 / 12 * matrix.size * 0.8


def test_numbers_that_were_rounded_before_stay(tmp_path: Path) -> None:
    whole = np.arange(-127, 128, 2).reshape(1, -1).repeat(3, 0)
    matrix = (whole * np.float32(1 / 50)).astype("f4")
    stored = {"a_W": whole_numbers(matrix, by_rows=False)}
    read = opened(tmp_path, binary_file(stored)).numbers("a_W")
    np.testing.assert_allclose(read, matrix, rtol=1e-6)


def test_small_changes_of_rounded_numbers_are_not_all_rounded_away(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    before = np.clip(np.rint(12 * draw.normal(size=(300, 200))), -127, 127)
    before[0, 0] = 127
    change = np.float32(0.2)  # of a step, everywhere in one direction
    after = ((before + change) / 50).astype("f4")
    after[0, 0] = 127 / 50
    stored = {"a_W": whole_numbers(after, by_rows=False)}
    kept = opened(tmp_path, binary_file(stored)).numbers("a_W") - before / 50
    assert 0.1 < kept.mean() * 50 < 0.3  # with Marian's factor 0


@pytest.mark.parametrize("step", [61, 256])
def test_a_file_cut_anywhere_is_refused(make_student: Make, tmp_path: Path, step: int) -> None:
    content = make_student().content()
    for end in range(0, len(content) - 1, step * 7):
        with pytest.raises(BundleError, match=r"model\.bin.*(ends|says|bytes|begin|empty)"):
            opened(tmp_path, content[:end])
    with pytest.raises(BundleError, match="3 bytes follow its last array"):
        opened(tmp_path, content + b"abc")


def word(content: bytes, place: int, value: int) -> bytes:
    return content[:place] + struct.pack("<Q", value) + content[place + 8 :]


HUGE = 2**63


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda c: word(c, 0, 2), "begins with 2; a .bin file of Marian begins with 1"),
        (lambda c: word(c, 8, HUGE), f"says that it has {HUGE} arrays, but has"),
        (lambda c: word(c, 16, HUGE), f"name of array 0 has {HUGE} bytes"),
        (lambda c: word(c, 16, 0), "name of array 0 has 0 bytes"),
        (lambda c: word(c, 16, 3), "name of array 0 is not text that ends with a zero"),
        (lambda c: word(c, 24, 0x5101), "'w' has the type 0x5101; known are 0x404, 0x101, 0x4101"),
        (lambda c: word(c, 32, HUGE), f"'w' has {HUGE} axes"),
        (lambda c: word(c, 32, 0), "'w' has 0 axes"),
        (lambda c: word(c, 40, HUGE), f"'w' of shape .* has {HUGE} bytes"),
        (lambda c: word(c, 40, 20), r"'w' of shape \(2, 3\) has 20 bytes"),
        (lambda c: c[:80] + b"\xff" + c[81:], "name of array 0 is not text"),
        (lambda c: c[:100] + struct.pack("<2i", -1, 3) + c[108:], r"'w' has the shape \(-1, 3\)"),
        (lambda c: c[:100] + struct.pack("<2i", 2**30, 2**30) + c[108:], "'w' has the shape"),
        (lambda c: word(c, 112, HUGE), "data would begin at byte"),
    ],
)
def test_lengths_without_sense_are_refused_without_memory(
    tmp_path: Path, spoil: Callable[[bytes], bytes], message: str
) -> None:
    content = bin_file(PARTS)
    assert content[80:82] == b"w\0"
    assert content[100:108] == struct.pack("<2i", 2, 3)
    tracemalloc.start()
    with pytest.raises(BundleError, match=message):
        opened(tmp_path, spoil(content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_names_twice_and_factors_without_sense(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="'w' is there twice"):
        opened(tmp_path, bin_file([PARTS[0], PARTS[0]]))
    for factor in (0.0, -1.0, np.nan, np.inf):
        data = padded(bytes(6) + np.float32(factor).tobytes())
        file = opened(tmp_path, bin_file([("w", INTGEMM8, (2, 3), data)]))
        with pytest.raises(BundleError, match="'w' has the factor"):
            file.numbers("w")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"model\.bin cannot be read: No such file"):
        BinaryFile(tmp_path / "model.bin")
