"""The rewriting of pages before Sphinx reads them."""

import re
from pathlib import Path

import pytest
from evaluated import with_recorded_values
from explorer_frame import address_of
from korean_search import split
from languages import for_site, marked_as_draft
from myst_nb.core.variables import format_plain_text
from public_names import as_restructured
from repository_files import publish

CELL = "```{code-cell} python\nx = 2\n```\n"


def test_a_value_in_prose_is_recorded_after_the_cell_before_it() -> None:
    page = f"{CELL}x is {{eval}}`x`, {{eval}}`x`.\n{CELL}Now {{eval}}`x`.\n"
    written = with_recorded_values(page)
    assert re.findall(r"_glue\('([\w-]+)', str\(x\)", written) == ["eval-1-0", "eval-2-0"]
    assert re.findall(r"\{glue:text\}`([\w-]+)`", written) == ["eval-1-0", "eval-1-0", "eval-2-0"]
    assert written.index("eval-1-0") < written.index("x is") < written.index("eval-2-0")


def test_a_value_keeps_its_digits() -> None:
    cell = re.findall(r"_glue\(.*", with_recorded_values(CELL + "{eval}`x`"))
    recorded: dict[str, str] = {}
    exec(
        cell[0], {"x": "62.60", "_glue": lambda key, value, display: recorded.update({key: value})}
    )
    (value,) = recorded.values()
    assert format_plain_text(repr(value), "s") == "62.60"


def test_a_page_without_values_stays() -> None:
    assert with_recorded_values(CELL + "Words.\n") == CELL + "Words.\n"


@pytest.mark.parametrize("page", ["{eval}`x`\n", "{eval}`x`\n" + CELL])
def test_a_value_before_the_first_cell_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="no code cell before it"):
        with_recorded_values(page)


def test_an_address_gets_the_sentence_and_the_language() -> None:
    sentence = "%EC%A0%80%EB%8A%94%20%ED%95%99%EC%83%9D%EC%9E%85%EB%8B%88%EB%8B%A4."
    assert address_of("#/tree?l=1", "ko") == f"#/tree?src={sentence}&lang=ko&l=1"


@pytest.mark.parametrize("wrong", ["#/nowhere", "/attention", "#/attention?layer=1"])
def test_an_address_that_the_explorer_does_not_know_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"address"):
        address_of(wrong, "en")


def test_particles_do_not_hide_a_word() -> None:
    assert {*split("마스크")} <= {*split("마스크를 씁니다")}
    assert split("Multi_head 값") == ["Multi_head", "값"]
    assert split("d_k차원") == ["d_k", "차원", "차", "원"]


def test_links_lead_to_the_site(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in (
        "docs/en/howto/a.md",
        "docs/ko/howto/a.md",
        "docs/en/b.md",
        "log/1.md",
        "src/x",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n\n[b](../docs/en/b.md) [c](../src)\n")
    text = (
        "[a](../../ko/howto/a.md#x) [b](../b.md) [log](../../../log/1.md) [src](../../../src) "
        "[x](../../../src/x)\n```\n[a](../../ko/howto/a.md)\n```\n"
    )
    written = for_site(text, docs / "en/howto/a.md", docs, "en", tmp_path / "out")
    assert written == (
        "[a](site:../../ko/howto/a.html#x) [b](../b.md) [log](site:../../files/log/1.html) src "
        "[x](site:../../files/src/x)\n```\n[a](../../ko/howto/a.md)\n```\n"
    )
    page = (tmp_path / "out" / "files" / "log" / "1.html").read_text()
    assert '<a href="../../en/b.html">b</a> <a>c</a>' in page


def test_a_draft_says_so_below_its_heading() -> None:
    page = "---\nstatus: draft\n---\n# A page\n\nWords.\n"
    assert ":::{note}\nThis page is a draft" in marked_as_draft(page, "en").split("Words")[0]
    assert marked_as_draft("# A page\n\nstatus: draft\n", "en") == "# A page\n\nstatus: draft\n"


def test_files_that_link_to_each_other_are_published_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n[b](b.md)\n")
    (tmp_path / "b.md").write_text("# B\n\n[a](a.md)\n")
    assert publish(tmp_path / "a.md", tmp_path, tmp_path / "out") == "files/a.html"
    for name, other in (("a", "b"), ("b", "a")):
        assert f'href="{other}.html"' in (tmp_path / "out" / "files" / f"{name}.html").read_text()


def test_a_docstring_gets_the_marks_of_restructured_text() -> None:
    lines = ["A `x` and *y_ of:", "", "    a_b * c", "", "end"]
    assert as_restructured(lines) == [
        r"A ``x`` and \*y\_ of:", "", "::", "", "    a_b * c", "", "end",
    ]  # fmt: skip
