"""axe finds nothing serious: each screen, both languages, both colour schemes."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

SCREENS = [
    "translate", "attention", "hand", "tree", "what-if", "tensors", "position", "alignment",
    "lessons",
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_serious(see: Callable[..., Any], language: str, scheme: str) -> None:
    seen = see(color_scheme=scheme, reduced_motion="reduce")
    found = {screen: _grave(seen.open(screen, lang=language)) for screen in SCREENS}
    assert {screen: grave for screen, grave in found.items() if grave} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_serious_where_a_sentence_is_chosen(
    see: Callable[..., Any], language: str, scheme: str
) -> None:
    seen = see(color_scheme=scheme, reduced_motion="reduce")
    text = "저는 학생입니다. 수지는 매주 탁구를 칩니다. " * 8  # more than the list shows at once
    assert _grave(seen.open("attention", src=text.strip(), sent=1, lang=language)) == []


def test_headings_come_in_order(seen: Any) -> None:
    for screen in SCREENS:
        page = seen.open(screen)
        levels = page.evaluate(
            "[...document.querySelectorAll('main :is(h1, h2, h3, h4)')]"
            ".filter((own) => own.checkVisibility()).map((own) => Number(own.tagName[1]))"
        )
        assert levels[0] == 1, screen
        assert levels.count(1) == 1, screen
        steps = [(a, b) for a, b in pairwise(levels) if b > a + 1]
        assert steps == [], screen


def _grave(page: Any) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]} {node['any'][0]['message'] if node['any'] else ''}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
