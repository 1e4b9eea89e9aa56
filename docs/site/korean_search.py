"""Search that finds Korean: Hangul is indexed as pairs of syllables, other words as English is.

Korean adds particles and endings to its words, so "마스크를" must be found by "마스크". A run of
syllables is indexed as its overlapping pairs, and as single syllables for words of one syllable. A
query of several syllables asks for all its pairs. `splitQuery` is the same rule for the browser.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_WORD = re.compile(r"[가-힣]+|[^\W가-힣]+")
_HANGUL = re.compile(r"[가-힣]+")


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run of syllables; a single syllable is itself.

    >>> pairs("마스크"), pairs("키")
    (['마스', '스크'], ['키'])
    """
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def split(text: str) -> list[str]:
    """Return the terms under which a text is found.

    >>> split("Mask: 마스크")
    ['Mask', '마스', '스크', '마', '스', '크']
    """
    terms = []
    for word in _WORD.findall(text):
        if not _HANGUL.fullmatch(word):
            terms.append(word)
        else:
            terms += [*pairs(word), *(word if len(word) > 1 else "")]
    return terms


class SearchKorean(SearchEnglish):
    """Syllable pairs for Hangul; stems of English for the names and terms between them."""

    lang = "ko"
    language_name = "English"  # of the stemmer: Sphinx writes `window.Stemmer = EnglishStemmer`
    js_splitter_code = """
function splitQuery(query) {
  const words = query.match(/[가-힣]+|[\\p{Letter}\\p{Number}_]+/gu) ?? [];
  const parts = words.flatMap((word) => word.split(/([가-힣]+)/u)).filter((part) => part !== "");
  return parts.flatMap((part) => {
    if (!/^[가-힣]{2,}$/u.test(part)) return [part];
    return [...part].slice(1).map((syllable, at) => [...part][at] + syllable);
  });
}
"""

    def split(self, input: str) -> list[str]:
        """Return the terms of a text."""
        return split(input)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make `html_search_language = "ko"` this one."""
    app.add_search_language(SearchKorean)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
