"""The order of all pages, in one place; `{contents}` makes the navigation of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


@dataclass(frozen=True)
class Room:
    """Pages that belong together: their heading in both languages, and their names in order."""

    en: str
    ko: str
    pages: tuple[str, ...]


PAPER = (
    "01-why-attention", "02-text-to-vectors", "03-positions", "04-attention", "05-masks",
    "06-heads", "07-around-a-sublayer", "08-whole-model", "09-training", "10-translating",
)  # fmt: skip
ROOMS = (
    Room("Start", "시작하기", ("start/try", "start/install", "start/first-translator")),
    Room(
        "The paper in ten pages",
        "열 페이지로 읽는 논문",
        ("paper/index", *(f"paper/{page}" for page in PAPER)),
    ),
    Room("Keras", "Keras", ("keras/one-page", "keras/use")),
    Room("Questions and names", "질문과 이름", ("questions", "mistakes", "names")),
    Room(
        "How to",
        "방법 안내",
        (
            "howto/corpora", "howto/cleaning", "howto/mixing",
            "howto/continuing", "howto/gpu", "howto/several-processes",
            "howto/watching", "howto/translating", "howto/documents", "howto/decoding",
            "howto/several-sentences", "howto/constraints", "howto/results", "howto/faster",
            "howto/bulk", "howto/scoring",
            "howto/explorer", "howto/inspection", "howto/alignment", "howto/attribution",
            "howto/changing", "howto/production", "howto/serve", "howto/import",
            "howto/hub", "howto/ctranslate2",
        ),
    ),
    Room(
        "Explanation",
        "설명",
        (
            "explain/promises", "explain/architecture", "explain/deviations",
            "explain/performance", "explain/benchmarks",
        ),
    ),
    Room(
        "Reference",
        "참조",
        (
            "reference/settings", "reference/findings",
            "reference/command-line", "reference/serving", "reference/api",
            "reference/catalog", "reference/paper-map",
        ),
    ),
)  # fmt: skip


class Contents(SphinxDirective):
    """The navigation: a list of pages for each room, without pages that do not exist yet."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """Return the toctrees."""
        lists = []
        for room in ROOMS:
            pages = [page for page in room.pages if page in self.env.found_docs]
            if pages:
                caption = getattr(room, self.config.language)
                lines = [":hidden:", f":caption: {caption}", "", *(f"/{page}" for page in pages)]
                lists.append("\n".join(["```{toctree}", *lines, "```"]))
        return self.parse_text_to_nodes("\n\n".join(lists))


def _front_page_again(app: Sphinx, *_: Any) -> list[str]:
    """Read the front page again when a page comes or goes."""
    return ["index"]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("contents", Contents)
    app.connect("env-get-outdated", _front_page_again)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
