"""`headway translate --format`: a document comes back whole, or not at all."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from headway.cli.documents import _OF_LINES, check_options
from headway.data.output import OutputFile

PAGE = '<p class="a">저는 <b>갑니다</b> .</p>\n<pre>너는 온다 !</pre>\n<p>{name}</p>\n'


def test_a_page_keeps_its_tags(run, bundle_path: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.html", tmp_path / "out.html"
    source.write_text(PAGE)

    status, printed, _ = run("translate", bundle_path, source, "--format", "html", "--out", out)

    assert (status, printed) == (0, "")
    text = out.read_text()
    assert text.startswith('<p class="a">')
    assert text.count("<b>") == text.count("</b>") == 1
    assert text.endswith("</p>\n<pre>너는 온다 !</pre>\n<p>{name}</p>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.html", "out.html"]
    assert run("translate", bundle_path, source, "--format", "html")[1] == text
    assert "Replaced" in run("translate", bundle_path, source, "--format", "html", "--out", out)[2]


def test_a_pipe_and_text_are_documents_too(run, bundle_path: Path) -> None:
    wanted = run("translate", bundle_path, "--text", "  저는 갑니다 .  ", "--format", "text")[1]
    piped = subprocess.run(
        [sys.executable, "-m", "headway", "translate", str(bundle_path), "--format", "text"],
        input="  저는 갑니다 .  ".encode(),
        capture_output=True,
        check=True,
    )
    assert piped.stdout.decode() == wanted
    assert wanted[:2] == wanted.removesuffix("\n")[-2:] == "  "


def test_own_texts_are_kept(run, bundle_path: Path) -> None:
    arguments = ("translate", bundle_path, "--text", "저는 Headway로 갑니다 .", "--format", "text")
    _, out, err = run(*arguments, "--keep", "Headway")
    assert out.count("Headway") == 1
    assert "1 of 1 sentence lost an address" in err
    assert run(*arguments, "--keep", "Headway", "--quiet")[2] == ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--format", "odt"],
            "The formats are text, html, srt, po, md, docx.",
        ),
        (["--format", "html", "--json"], "--json is for lines"),
        (["--format", "html", "--nbest", "2"], "--nbest is for lines"),
        (["--keep", "a"], "--keep is for documents"),
    ],
)
def test_other_options_are_refused(
    run, bundle_path: Path, options: list[str], problem: str
) -> None:
    status, _, err = run("translate", bundle_path, "--text", "a", *options)
    assert status == 2
    assert problem in " ".join(err.split())


def test_a_word_document_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    chosen = dict.fromkeys(_OF_LINES, None) | {"nbest": 1, "document_format": "docx"}
    check_options({**chosen, "out": "a.docx"})
    check_options({**chosen, "out": None, "document_format": "html"})
    with pytest.raises(typer.BadParameter, match="--out"):
        check_options({**chosen, "out": None})


def test_a_document_that_cannot_be_read_leaves_no_file(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source, out = tmp_path / "in.html", tmp_path / "out.html"
    source.write_bytes("안녕".encode("euc-kr"))
    status, _, err = run("translate", bundle_path, source, "--format", "html", "--out", out)
    assert status == 1
    assert "not text in UTF-8" in err
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["in.html"]


def test_without_format_a_page_is_refused_with_the_option(
    run, bundle_path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "in.html"
    source.write_text(PAGE)
    status, _, err = run("translate", bundle_path, source)
    assert status == 1
    assert "--format html" in " ".join(err.split())


def test_content_of_a_document_may_have_any_name(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "a.docx", of_lines=False) as file:
        file.write_content(b"\0\r\n")
    assert (tmp_path / "a.docx").read_bytes() == b"\0\r\n"
