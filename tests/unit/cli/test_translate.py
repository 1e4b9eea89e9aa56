"""`headway translate`: one line in, one line out, always."""

import codecs
import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO
from unittest.mock import Mock

import pytest

from headway.cli.lines import _arriving_lines
from headway.data.output import OutputFile
from headway.errors import DataError

MESSY = [
    "저는 갑니다 .",
    "",
    "   ",
    "\t",
    "the cat\x00sat\x07",
    "emoji 😀👩‍👩‍👧 here",
    unicodedata.normalize("NFD", "저는 갑니다 ."),
    "a\u2028b\u0085c\rd",
    "ran far " * 300,
    "<s> </s> <pad>",
    "last line",
]


def _write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def test_one_line_out_for_one_line_in(run, bundle_path: Path, tmp_path: Path) -> None:
    status, out, err = run("translate", bundle_path, _write(tmp_path / "in.txt", MESSY))

    lines = out.split("\n")
    assert status == 0
    assert lines.pop() == ""
    assert len(lines) == len(MESSY)
    assert [bool(line) for line in lines[1:4]] == [False] * 3
    assert lines[6] == lines[0]  # decomposed Hangul is the same text
    assert "Note: line 9: longer than the model can take; translated in" in err


def test_quiet_prints_no_notes(run, bundle_path: Path, tmp_path: Path) -> None:
    assert run("translate", bundle_path, _write(tmp_path / "in.txt", MESSY), "--quiet")[2] == ""


def test_a_file_a_pipe_and_out_give_the_same(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in.txt", MESSY)
    out = tmp_path / "out.txt"
    _, printed, _ = run("translate", bundle_path, source)

    run("translate", bundle_path, source, "--out", out)
    piped = subprocess.run(
        [sys.executable, "-m", "headway", "translate", str(bundle_path)],
        input=source.read_bytes(),
        capture_output=True,
        check=True,
    )

    assert out.read_bytes().decode() == printed
    assert piped.stdout.decode() == printed


def test_what_surrounds_a_line_is_not_translated(run, bundle_path: Path, tmp_path: Path) -> None:
    plain, surrounded = tmp_path / "plain.txt", tmp_path / "surrounded.txt"
    plain.write_bytes("저는 갑니다 .\n나는 너를 본다 .\n".encode())
    surrounded.write_bytes("\ufeff저는 갑니다 .\r\n \t나는 너를 본다 .  \r\n".encode())

    _, expected, _ = run("translate", bundle_path, plain, "--json")
    status, found, err = run("translate", bundle_path, surrounded, "--json")

    assert status == 0, err
    texts = [[json.loads(line)["text"] for line in out.splitlines()] for out in (expected, found)]
    assert texts[0] == texts[1]
    assert all(texts[0])


def test_an_older_file_that_is_replaced_is_named(run, bundle_path: Path, tmp_path: Path) -> None:
    source, out = _write(tmp_path / "in.txt", ["저는 갑니다 ."]), tmp_path / "out.txt"

    _, _, first = run("translate", bundle_path, source, "--out", out)
    _, _, second = run("translate", bundle_path, source, "--out", out)

    assert "Replaced" not in first
    assert f"Replaced older text in {out}." in second


def test_a_last_line_without_a_newline_counts(run, bundle_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a dog\nthe cat")
    assert run("translate", bundle_path, path)[1].count("\n") == 2


def test_somebody_who_waits_for_each_line_gets_it(bundle_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "headway", "translate", str(bundle_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    for line in (b"the cat\n", b"a dog ran\n"):
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")  # would wait forever otherwise
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()


@pytest.mark.parametrize("last", [b"", b"\n"])
def test_a_byte_order_mark_may_come_in_two_parts(
    last: bytes,
) -> None:
    parts = [codecs.BOM_UTF8[:2], codecs.BOM_UTF8[2:] + b"the", b" cat" + last, b""]
    assert list(_arriving_lines(Mock(read=Mock(side_effect=parts)))) == [["the cat"]]


def _environment(*, buffered: bool) -> dict[str, str]:
    """Return this environment, with or without a wish of the user's for no buffers."""
    wishes = {} if buffered else {"PYTHONUNBUFFERED": "1"}
    return {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"} | wishes


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", ["info", "translate"])
def test_a_reader_that_leaves_early_is_no_fault(
    bundle_path: Path, tmp_path: Path, command: str, buffered: bool
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat"] * 50)
    files = f"{bundle_path} {source if command == 'translate' else ''}"
    line = f"{sys.executable} -m headway {command} --quiet {files} | true"
    done = subprocess.run(
        ["bash", "-c", line], env=_environment(buffered=buffered),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""


def test_lines_before_an_unreadable_one_are_not_lost(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"the cat\na dog\nbad \xff byte\nthe cat\n")

    status, out, err = run("translate", bundle_path, path)

    assert status == 1
    assert out.count("\n") == 2
    assert f"{path}, line 3, byte 5" in err
    assert "UTF-8" in err


def test_the_unreadable_line_of_a_pipe_is_named(bundle_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headway", "translate", str(bundle_path)],
        input=b"the cat\n\xfe\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 1
    assert b"standard input, line 2" in done.stderr


def test_nbest_prints_number_score_and_text(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "a dog"])
    _, best, _ = run("translate", bundle_path, source, "--beam", 3)

    status, out, _ = run("translate", bundle_path, source, "--nbest", 2, "--beam", 3)

    rows = [line.split("\t") for line in out.splitlines()]
    assert status == 0
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert float(rows[0][1]) >= float(rows[1][1])
    assert [rows[0][2], rows[2][2]] == best.splitlines()


def test_what_ran_away_is_searched_again_unless_it_is_to_be_kept(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "ran far", ""])
    _, out, mended = run("translate", bundle_path, source, "--json")
    _, kept_out, kept = run("translate", bundle_path, source, "--json", "--keep-runaways")

    after, before = ([json.loads(line) for line in text.splitlines()] for text in (out, kept_out))
    flagged = ["repeated" in line["flags"] for line in before]
    assert any(flagged)
    assert ["repeated" in line["flags"] for line in after] == flagged
    changed = [one["text"] != other["text"] for one, other in zip(before, after, strict=True)]
    assert changed == flagged
    assert "the translation repeated itself or was far too long; it was searched again" in mended
    assert "the translation repeated itself or was far too long.\n" in kept


def test_json_says_what_happened_to_each_line(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "ran far " * 20, "Q", "\ufffd", ""])
    _, out, err = run("translate", bundle_path, source, "--json", "--nbest", 2)

    short, long, unknown, deleted, blank = (json.loads(line) for line in out.splitlines())
    assert short["num_parts"] == 1
    assert long["num_parts"] > 1
    assert unknown["unknown_pieces"] > 0
    assert (deleted["deleted_characters"], deleted["empty_parts"]) == (1, 1)
    assert (blank["deleted_characters"], blank["empty_parts"]) == (0, 0)
    assert "line 4: deleted by the tokenizer: '\ufffd'." in err
    assert "line 4: the translation is empty." in err
    assert "line 5" not in err
    assert len(short["hypotheses"]) == 2
    assert short["text"] == short["hypotheses"][0]["text"]


def test_a_prefix_begins_the_translation(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "a dog"])
    prefix = _write(tmp_path / "prefix.txt", ["너는", ""])

    status, out, _ = run("translate", bundle_path, source, "--prefix", prefix)

    free = run("translate", bundle_path, source)[1].splitlines()
    assert status == 0
    assert out.splitlines()[0].startswith("너는")
    assert out.splitlines()[1] == free[1]


def test_too_few_prefixes_are_an_error(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "a dog"])
    status, _, err = run(
        "translate", bundle_path, source, "--prefix", _write(tmp_path / "p", ["너는"])
    )
    assert status == 1
    assert "fewer lines than there are sentences" in err


@pytest.mark.parametrize(
    ("name", "message"), [("none.txt", "There is no file"), (".", "is a folder")]
)
def test_an_unusable_input_is_one_clear_line(
    run, bundle_path: Path, tmp_path: Path, name: str, message: str
) -> None:
    status, out, err = run("translate", bundle_path, tmp_path / name)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_an_output_that_cannot_be_written_is_said_before_the_work(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat"])
    status, _, err = run("translate", bundle_path, source, "--out", tmp_path / "no" / "out.txt")
    assert status == 1
    assert "cannot be written" in err


def test_a_wrong_beam_is_a_wrong_call(run, bundle_path: Path) -> None:
    assert run("translate", bundle_path, os.devnull, "--beam", 0)[0] == 2


def test_an_unknown_device_names_the_known_ones(run, bundle_path: Path) -> None:
    status, _, err = run("translate", bundle_path, os.devnull, "--device", "tpu")
    assert status == 2
    assert "'tpu' is not available here. Choose auto or one of:" in err


def test_out_is_written_where_it_leads(run, bundle_path: Path, tmp_path: Path) -> None:
    source = _write(tmp_path / "in", ["the cat", "a dog"])
    _, expected, _ = run("translate", bundle_path, source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    os.mkfifo(tmp_path / "pipe")

    assert run("translate", bundle_path, source, "--out", tmp_path / "link")[0] == 0
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text, encoding="utf-8")
        assert run("translate", bundle_path, source, "--out", tmp_path / "pipe")[0] == 0
        assert read.result(timeout=20) == expected
    reader, writer = os.pipe()  # as of `--out >(gzip > x.gz)`
    try:
        assert run("translate", bundle_path, source, "--out", f"/dev/fd/{writer}")[0] == 0
        assert os.read(reader, 1000).decode() == expected
    finally:
        os.close(reader)
        os.close(writer)
    status, out, err = run("translate", bundle_path, source, "--out", tmp_path / "folder")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_text(encoding="utf-8") == expected
    assert (tmp_path / "pipe").is_fifo()
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "folder cannot be written (Is a directory)" in err


def test_an_error_leaves_the_old_output_and_says_where_the_new_lines_are(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    out = _write(tmp_path / "out", ["old"])
    source = tmp_path / "in"
    source.write_bytes(b"the cat\n\xff\n")

    status, _, err = run("translate", bundle_path, source, "--out", out)

    assert status == 1
    assert out.read_text() == "old\n"
    (saved,) = tmp_path.glob("out-*.partial")
    assert f"1 line so far is in {saved}" in err
    assert saved.read_bytes().count(b"\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_who_is_asked_to_end_says_where_the_lines_so_far_are(
    bundle_path: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    out = _write(tmp_path / "out", ["old"])
    command = [sys.executable, "-m", "headway", "translate", str(bundle_path), "--out", str(out)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("the cat\n")
        process.stdin.flush()
        end = time.monotonic() + 60
        while not any(path.stat().st_size for path in tmp_path.glob("out-*.partial")):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate()

    assert process.returncode == status
    assert out.read_text() == "old\n"
    (saved,) = tmp_path.glob("out-*.partial")
    assert f"1 line so far is in {saved}" in err
    assert "Traceback" not in err


def test_pieces_that_the_vocabulary_does_not_know_are_noted(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    text = [
        "the cat",
        "the Q",
        "Q the \u2003☕Q the Q",
        "A the B the D the F the G the H",
        "A B D F G",
    ]
    file = _write(tmp_path / "in", text)

    _, _, err = run("translate", bundle_path, file, "--keep-runaways")

    assert [line for line in err.splitlines() if "unknown" in line] == [
        "Note: line 2: unknown to the vocabulary: 'Q'.",
        "Note: line 3: unknown to the vocabulary: 'Q', '☕'.",
        "Note: line 4: unknown to the vocabulary: 'A', 'B', 'D', 'F', 'G' and 1 more.",
        "Note: line 5: unknown to the vocabulary: 'A', 'B', 'D', 'F', 'G'.",
    ]
    assert run("translate", bundle_path, file, "--stream")[2] == err


def test_a_byte_order_mark_on_standard_input_is_no_text(bundle_path: Path) -> None:
    def translated(data: bytes) -> bytes:
        command = [sys.executable, "-m", "headway", "translate", str(bundle_path)]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    assert translated(b"\xef\xbb\xbfthe cat\n") == translated(b"the cat\n")


def test_a_prefix_that_cannot_be_written_is_refused(run, bundle_path: Path, tmp_path: Path) -> None:
    prefix = _write(tmp_path / "prefix", ["Q"])
    status, out, err = run(
        "translate", bundle_path, _write(tmp_path / "in", ["the cat"]), "--prefix", prefix
    )
    assert (status, out) == (2, "")
    assert "The prefix 'Q' has 1 token that the vocabulary does not know" in err


def _lines(run, bundle_path: Path, tmp_path: Path, *options: object) -> list[str]:
    source = _write(tmp_path / "in.txt", ["the cat", "a dog ran far", "너는 온다 !"])
    status, out, err = run("translate", bundle_path, source, "--quiet", *options)
    assert (status, err) == (0, "")
    return out.splitlines()


def test_each_way_to_search_has_its_option(run, bundle_path: Path, tmp_path: Path) -> None:
    def lines(*options: object) -> list[str]:
        return _lines(run, bundle_path, tmp_path, *options)

    free = lines()
    assert lines("--min-length", 0, "--patience", 1, "--length-form", "gnmt") == free
    letters = sorted(set("".join(lines("--min-length", 9))) - {" "})[:2]
    banned = lines("--ban", letters[0], "--ban", letters[-1], "--min-length", 9)
    assert not [line for line in banned if set(letters) & set(line)]
    assert all(len(line) <= 4 for line in lines("--max-length", 4))
    assert all(len(line) >= 9 for line in lines("--min-length", 12, "--no-repeat-ngram", 2))
    for options in (
        ("--groups", 2, "--diversity", 1),
        ("--repetition-penalty", 1.3, "--length-form", "plain", "--patience", 2),
        ("--ensemble", bundle_path),
        ("--engine", "reference"),
        ("--engine", "packed", "--precision", "bfloat16"),
    ):
        assert len(lines(*options)) == 3


def test_what_is_drawn_depends_on_the_seed_and_the_line(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    def lines(*options: object) -> list[str]:
        return _lines(run, bundle_path, tmp_path, *options)

    drawn = lines("--sample")

    assert lines("--sample", "--seed", 0) == drawn
    assert lines("--temperature", 1) == lines("--top-p", 1, "--seed", 0) == drawn
    assert lines("--sample", "--seed", 1) != drawn
    assert lines("--sample", "--top-k", 1, "--min-p", 0) == lines("--beam", 1, "--keep-runaways")
    assert len(lines("--sample", "--nbest", 5)) == 15


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--seed", 3), "add --sample"),
        (("--diversity", 0.5), "add --groups"),
        (("--prefix-bias", 0.5), "with --prefix"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    run, bundle_path: Path, options: tuple, remedy: str
) -> None:
    status, out, err = run("translate", bundle_path, os.devnull, *options)
    assert (status, out) == (2, "")
    assert remedy in err


def test_records_are_no_sentences(run, bundle_path: Path, tmp_path: Path) -> None:
    path = _write(tmp_path / "in.jsonl", ['{"source": "a", "target": "b"}'])

    sides = ("--source", path, "--reference", path)
    for command in (("translate", bundle_path, path), ("evaluate", bundle_path, *sides)):
        status, out, err = run(*command)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert "in.jsonl holds records, but a file with one sentence a line is needed" in err


@pytest.mark.parametrize("name", ["in.tsv", "in.TSV", "in.tsv.gz"])
def test_columns_are_no_sentences(run, bundle_path: Path, tmp_path: Path, name: str) -> None:
    path = _write(tmp_path / name, ["고양이 가 온다", "a\tb"])
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))

    status, out, err = run("translate", bundle_path, path, "--quiet")

    assert (status, out.count("\n"), err.count("\n")) == (1, 1, 1)
    assert f"{name}, line 2 has columns, but a file with one sentence a line is needed" in err
    text = _write(tmp_path / "in.txt", ["a\tb"])
    assert run("translate", bundle_path, text)[0] == 0


def test_terms_occur(run, bundle_path: Path, tmp_path: Path) -> None:
    terms = _write(tmp_path / "terms", ["cat\tdog", "", "온다"])

    first, second, third = _lines(run, bundle_path, tmp_path, "--terms", terms, "--beam", 3)

    assert "cat" in first
    assert "dog" in first
    assert second == _lines(run, bundle_path, tmp_path, "--beam", 3)[1]
    assert "온다" in third


def test_a_stream_prints_the_same_notes(run, bundle_path: Path, tmp_path: Path) -> None:
    long = " ".join(["the cat"] * 40)
    path = _write(tmp_path / "in", ["the cat", long, "", "the Q"])
    for options in ((), ("--max-length", 2)):
        _, _, notes = run("translate", bundle_path, path, "--keep-runaways", *options)
        assert "parts" in notes
        assert "unknown" in notes
        assert ("may lack its end" in notes) or not options

        assert run("translate", bundle_path, path, "--stream", *options)[2] == notes
        assert run("translate", bundle_path, path, "--stream", "--quiet", *options)[2] == ""


def test_a_stream_prints_the_same_lines(run, bundle_path: Path, tmp_path: Path) -> None:
    expected = _lines(run, bundle_path, tmp_path, "--keep-runaways")
    assert _lines(run, bundle_path, tmp_path, "--stream") == expected
    status, _, err = run("translate", bundle_path, os.devnull, "--stream", "--json")
    assert status == 2
    assert "--stream prints text alone" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "fast"), "There is no engine 'fast'"),
        (("--precision", "int4"), "There is no precision 'int4'"),
        (("--groups", 2, "--beam", 3), "groups is 2, but must be a divisor of beam_size 3"),
        (("--top-p", 0), "top_p is 0.0, but must be above 0"),
        (("--length-form", "long"), "length_form is long, but must be gnmt or plain"),
    ],
)
def test_a_wrong_option_is_one_clear_line(
    run, bundle_path: Path, options: tuple, message: str
) -> None:
    status, out, err = run("translate", bundle_path, os.devnull, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_alignments_have_a_line_for_each_line_of_the_output(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source, out = _write(tmp_path / "in.txt", MESSY), tmp_path / "out"
    aligned = tmp_path / "aligned"

    status, _, _ = run(
        "translate", bundle_path, source, "--quiet", "--out", out, "--alignments", aligned
    )

    assert status == 0
    assert out.read_text("utf-8") == run("translate", bundle_path, source)[1]
    texts, lines = (path.read_text("utf-8").split("\n") for path in (out, aligned))
    assert len(lines) == len(texts) == len(MESSY) + 1
    assert lines[1:4] == ["", "", ""]
    for text, line in zip(texts, lines, strict=True):
        pairs = [tuple(map(int, pair.split("-"))) for pair in line.split()]
        assert pairs == sorted(pairs)
        assert sorted(target for _, target in pairs) == list(range(len(text.split())))
    assert not list(tmp_path.glob("*.partial"))


def test_alignments_of_several_hypotheses_and_of_json(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    aligned = tmp_path / "aligned"
    options = ("--nbest", 2, "--min-length", 5, "--alignments", aligned)

    plain = _lines(run, bundle_path, tmp_path, *options)
    lines = aligned.read_text().splitlines()
    values = [json.loads(line) for line in _lines(run, bundle_path, tmp_path, "--json", *options)]

    assert len(plain) == len(lines) == 6
    for row, line in zip(plain, lines, strict=True):
        assert len(line.split()) == len(row.split("\t")[2].split())
    assert [h["alignment"] for value in values for h in value["hypotheses"]] == lines
    assert [value["alignment"] for value in values] == lines[::2]
    assert aligned.read_text().splitlines() == lines[::2]
    assert "alignment" not in json.loads(_lines(run, bundle_path, tmp_path, "--json")[0])


def test_alignments_that_cannot_be_written_are_said_before_the_work(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source, out = _write(tmp_path / "in.txt", ["the cat"]), tmp_path / "out"
    nowhere = tmp_path / "no" / "aligned"

    status, _, err = run("translate", bundle_path, source, "--out", out, "--alignments", nowhere)

    assert status == 1
    assert "cannot be written" in err
    assert "Choose another one with --alignments." in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
    status, _, err = run("translate", bundle_path, source, "--out", out, "--alignments", out)
    assert status == 2
    assert "--out and --alignments are one file" in err
    status, _, err = run("translate", bundle_path, source, "--stream", "--alignments", out)
    assert status == 2
    assert "--stream prints text alone" in err


@pytest.mark.parametrize("output", ["--out", "--alignments"])
@pytest.mark.parametrize("given", ["FILE", "--prefix", "--terms"])
def test_an_output_does_not_take_the_place_of_what_is_read(
    run, bundle_path: Path, tmp_path: Path, output: str, given: str
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat"])
    wishes = _write(tmp_path / "wishes.txt", [""])
    (tmp_path / "link").symlink_to(source if given == "FILE" else wishes)
    options = [] if given == "FILE" else [given, wishes]

    status, _, err = run("translate", bundle_path, source, *options, output, tmp_path / "link")

    assert status == 2
    assert f"{given} and {output} are one file; choose two." in err
    assert source.read_text() == "the cat\n"
    assert wishes.read_text() == "\n"


def test_a_text_that_is_read_is_not_added_to(
    run, bundle_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat"])
    with open(source, "a") as behind:  # as `>> in.txt` does
        monkeypatch.setattr(sys, "stdout", behind)
        status, _, err = run("translate", bundle_path, source)
    assert status == 2
    assert "FILE and standard output are one file; choose two." in err
    assert source.read_text() == "the cat\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("output", ["--out", "--alignments"])
def test_a_full_disk_is_said_of_the_file_that_did_not_fit(
    run, bundle_path: Path, tmp_path: Path, output: str
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat", "I am"])

    status, _, err = run("translate", bundle_path, source, output, "/dev/full")

    assert status == 1
    assert "The file /dev/full cannot be written (No space left on device)." in err
    assert f"Free some space, or choose another one with {output}." in err
    assert "fault of Headway" not in err


@pytest.mark.parametrize("lines", [[], ["one", "two"]])
def test_what_did_fit_is_said_and_an_empty_file_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str]
) -> None:
    out = OutputFile(tmp_path / "out", "--out").__enter__()
    for line in lines:
        out.write(line)
    out.flush()
    out.file = _Full(out.file)
    with pytest.raises(DataError, match=r"out cannot be written \(No space left"):
        out.__exit__(None, None, None)

    err = capsys.readouterr().err
    if lines:
        (kept,) = tmp_path.iterdir()
        assert kept.read_text() == "one\ntwo\n"
        assert err == f"Note: 2 lines so far are in {kept}.\n"
    else:
        assert list(tmp_path.iterdir()) == []
        assert err == ""


class _Full:
    """A file that has room for nothing more."""

    def __init__(self, file: IO[str] | None) -> None:
        self.file = file

    def close(self) -> None:
        assert self.file is not None
        self.file.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", ["info", "translate"])
def test_standard_output_that_is_full_is_no_fault_of_ours(
    bundle_path: Path, tmp_path: Path, command: str, buffered: bool
) -> None:
    source = _write(tmp_path / "in.txt", ["the cat"] * 3)
    arguments = [command, str(bundle_path), *([str(source)] if command == "translate" else [])]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "headway", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=_environment(buffered=buffered),
        )  # fmt: skip

    assert ended.returncode == 1
    assert "Exception ignored" not in ended.stderr
    assert "The output cannot be written (No space left on device). Free some" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_coverage_and_its_layer_have_options(run, bundle_path: Path, tmp_path: Path) -> None:
    def scores(*options: object) -> list[float]:
        rows = _lines(run, bundle_path, tmp_path, "--nbest", 2, "--keep-runaways", *options)
        return [float(row.split("\t")[1]) for row in rows]

    free = scores()
    assert scores("--coverage-penalty", 0, "--attention-layer", 0) == free
    covering = scores("--coverage-penalty", 0.5)
    assert covering == scores("--coverage-penalty", 0.5, "--attention-layer", 0)  # the only one
    assert all(ours < theirs for ours, theirs in zip(covering[::2], free[::2], strict=True))
    status, out, err = run("translate", bundle_path, os.devnull, "--attention-layer", 1)
    assert (status, out) == (0, "")  # no sentence, no layer
    source = _write(tmp_path / "in.txt", ["the cat"])
    status, out, err = run("translate", bundle_path, source, "--attention-layer", 1)
    assert (status, out) == (2, "")
    assert "attention_layer is 1, but the decoder has layers 0 to 0" in err


def test_what_an_earlier_run_saved_is_not_written_over(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_bytes(b"the cat\n\xff\n")
    assert run("translate", bundle_path, source, "--out", out)[0] == 1
    (saved,) = tmp_path.glob("out*")
    before = saved.read_bytes()

    source.write_bytes(b"\xff\n")
    assert run("translate", bundle_path, source, "--out", out)[0] == 1
    source.write_bytes(b"the cat\nI am\n")
    assert run("translate", bundle_path, source, "--out", out)[0] == 0

    assert before.count(b"\n") == 1
    assert saved.read_bytes() == before
    assert out.read_bytes().count(b"\n") == 2
    assert {path.name for path in tmp_path.iterdir()} == {"source", "out", saved.name}


def test_any_name_may_end_like_what_is_being_written(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source, alignments = _write(tmp_path / "out.partial", ["the cat", "I am"]), tmp_path / "a"
    out = tmp_path / "out"

    status, _, _ = run("translate", bundle_path, source, "--out", out, "--alignments", alignments)

    assert status == 0
    plain = run("translate", bundle_path, source)[1]
    assert out.read_text(encoding="utf-8") == plain
    assert source.read_text(encoding="utf-8") == "the cat\nI am\n"
    given = "--out", tmp_path / "b", "--alignments", tmp_path / "b.partial"
    assert run("translate", bundle_path, source, *given)[0] == 0
    assert (tmp_path / "b").read_text(encoding="utf-8") == plain
    assert (tmp_path / "b.partial").read_bytes() == alignments.read_bytes()
