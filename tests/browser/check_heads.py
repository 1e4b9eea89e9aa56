"""Heads are counted from 1 wherever they are shown."""

from typing import Any


def test_sorted_heads_have_the_numbers_of_their_names(seen: Any) -> None:
    page = seen.open("attention", view="cross", show="sharp")
    heads = page.locator("button.head:not([data-key$=':-1'])").evaluate_all(
        "(all) => all.map((own) => [own.ariaLabel, own.querySelector('.head-words').innerText])"
    )
    assert heads
    for name, words in heads:
        assert f"head {words.split()[0]}." in name.lower().replace(",", "")
