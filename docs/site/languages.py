"""Two trees of pages: links from one to the other, to files of the repository, and `hreflang`."""

import posixpath
import re
from pathlib import Path
from typing import Any

from repository_files import publish
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.locale import _ as translated_by_sphinx

NAMES = {"en": "English", "ko": "한국어"}

_DRAFT = {
    "en": "This page is a draft, and is not in Korean yet.",
    "ko": "이 페이지는 초안이며, 아직 영어판이 없습니다.",
}
# What furo says and its translations lack.
_KOREAN = {
    "Back to top": "맨 위로",
    "Home": "홈",
    "Next": "다음",
    "On this page": "이 페이지의 내용",
    "Previous": "이전",
    "Skip to content": "본문으로 건너뛰기",
    "Toggle Light / Dark / Auto color theme": "밝은 색, 어두운 색, 시스템 설정 바꾸기",
    "Toggle site navigation sidebar": "사이트 메뉴 여닫기",
    "Toggle table of contents sidebar": "차례 여닫기",
}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((\.\./[^)#\s]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1[ ]*$", flags=re.DOTALL | re.MULTILINE)


def for_site(text: str, page: Path, docs: Path, language: str, out: Path) -> str:
    """Return a page whose links lead to where the site has their targets.

    A link into the other language becomes one to the built page there, and one to a file of the
    repository leads to its copy below `out`. A link to a folder becomes its text.
    """
    depth = len(page.relative_to(docs).parts) - 1
    root = docs.parent

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = Path(posixpath.normpath((page.parent / target).as_posix()))
        if path.is_relative_to(docs / language):
            return found[0]
        if path.is_dir():
            return words
        if path.suffix == ".md" and path.is_relative_to(docs):
            return f"[{words}](site:{target.removesuffix('.md')}.html{anchor})"
        if path.is_file():
            return f"[{words}](site:{'../' * depth}{publish(path, root, out)}{anchor})"
        return found[0]  # Sphinx warns of it

    def rewritten(prose: str) -> str:
        return _LINK.sub(link, prose)

    written, end = "", 0
    for fence in _FENCE.finditer(text):
        written += rewritten(text[end : fence.start()]) + fence[0]
        end = fence.end()
    return written + rewritten(text[end:])


def marked_as_draft(text: str, language: str) -> str:
    """Return a page with a note below its heading if its front matter says `status: draft`."""
    front = re.match(r"---\n(.*?)\n---\n", text, flags=re.DOTALL)
    if front is None or "status: draft" not in front[1].splitlines():
        return text
    note = f":::{{note}}\n{_DRAFT[language]}\n:::\n"
    return re.sub(r"^(# .*\n)", rf"\1\n{note}", text, count=1, flags=re.MULTILINE)


def _rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    out = Path(app.outdir).parent
    language = app.config.language
    text = marked_as_draft(source[0], language)
    source[0] = for_site(text, page, Path(app.confdir), language, out)


def _switch(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the templates the addresses of this page in each language."""
    up = "../" * (pagename.count("/") + 1)
    docs = Path(app.confdir)
    generated = pagename in ("search", "genindex", "py-modindex")
    translated = [
        language
        for language in NAMES
        if generated or (docs / language / f"{pagename}.md").is_file()
    ]
    context["translated"] = translated
    context["versions"] = {
        language: f"{up}{language}/{pagename if language in translated else 'index'}.html"
        for language in NAMES
    }
    context["language_names"] = NAMES
    if app.config.language == "ko":
        context["_"] = lambda words: _KOREAN.get(words) or translated_by_sphinx(words)
    # Sphinx gives the headings of the navigation no level, which screen readers need.
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def _check_language(app: Sphinx, config: Any) -> None:
    if config.language not in NAMES:
        raise ExtensionError(f"The site has no language '{config.language}'; it has en and ko.")


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite links when pages are read, and prepare the switch when they are written."""
    app.connect("config-inited", _check_language)
    app.connect("source-read", _rewrite)
    app.connect("html-page-context", _switch, priority=900)  # after furo
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
