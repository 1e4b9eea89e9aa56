"""What of the pages does not hold yet, in `not_yet.toml`, which only shrinks.

`python -m tests.meta.not_yet` takes out what holds now; it adds nothing.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")
REMEDY = "It holds now: take it from the list with `python -m tests.meta.not_yet`."
_HEAD = """\
# What does not hold yet, by the test that says so. It only shrinks: python -m tests.meta.not_yet
# takes out what holds now. Write nothing in here for a new page: mend the page.
"""


def listed(kind: str) -> dict[str, list[str]]:
    """Return what a list still allows, by place."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))[kind]


def write(lists: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Write all lists."""
    lines = [_HEAD]
    for kind, places in lists.items():
        rows = (f"{json.dumps(place)} = {_row(words)}" for place, words in sorted(places.items()))
        lines += [f"[{kind}]", *rows, ""]
    FILE.write_text("\n".join(lines), encoding="utf-8")


def _row(words: list[str]) -> str:
    return json.dumps(sorted(words), ensure_ascii=False)


def _shrunk() -> dict[str, dict[str, list[str]]]:
    from tests.meta.test_pages_are_bilingual import missing
    from tests.meta.test_sentences import kinds_of_faults
    from tests.meta.test_terms import unwanted_words

    now = {"korean": missing(), "terms": unwanted_words(), "sentences": kinds_of_faults()}
    return {
        kind: {
            place: sorted({*words} & {*now[kind][place]})
            for place, words in listed(kind).items()
            if {*words} & {*now[kind].get(place, [])}
        }
        for kind in now
    }


if __name__ == "__main__":
    write(_shrunk())
