"""Lines of standard input are read as they come."""

import io
import json
from pathlib import Path

import pytest

from headway.cli.lines import _arriving_lines
from headway.errors import DataError

from .conftest import Run


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"the cat\rsat", 0), (b"the\rcat\rsat\r", 0), (b"the cat\rsat\n", 1)],
)
def test_standard_input_whose_lines_end_in_carriage_returns_alone_is_refused(
    data: bytes, lines: int
) -> None:
    groups = _arriving_lines(io.BytesIO(data))

    for _ in range(lines):  # what came as a whole line is translated at once
        assert next(groups) == [data.decode().removesuffix("\n")]
    with pytest.raises(DataError, match="standard input is a single line with carriage returns"):
        next(groups)


def test_a_paragraph_needs_no_note(run: Run, bundle_path: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the cat sat. a dog ran far! the cat ran.\n", encoding="utf-8")

    _, out, err = run("translate", bundle_path, text, "--json")

    assert json.loads(out)["num_parts"] == 3
    assert "longer" not in err
    text.write_text("the cat sat. " + "a dog ran far " * 9 + "\n", encoding="utf-8")
    assert "a sentence is longer than the model can take" in run("translate", bundle_path, text)[2]
