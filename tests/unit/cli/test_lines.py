"""Lines of standard input, and notes on what became of them."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from headway.bundle import load_bundle
from headway.cli.lines import _arriving_lines, remark
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import StreamEnd
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


def test_a_sentence_that_became_nothing_is_noted(
    bundle_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = RequestMaker([load_bundle(bundle_path)])
    end = StreamEnd(3, 3, complete=True, unknown_pieces=0, empty_parts=2)
    remark(7, "the cat. a dog. the cat.", end, requests)
    remark(8, "the cat. a dog.", replace(end, empty_parts=1), requests)
    remark(9, "the cat. a dog.", replace(end, empty_parts=0), requests)
    assert capsys.readouterr().err == (
        "Note: line 7: 2 of its 3 translated parts are empty.\n"
        "Note: line 8: 1 of its 3 translated parts is empty.\n"
    )
