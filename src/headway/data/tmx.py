"""Read both sides of a corpus from TMX, the exchange format of translation memories.

A file is never held whole. It must not declare entities, because they can make a small file huge or
read another file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from headway.counted import listed
from headway.data.compression import StrPath, readable
from headway.data.languages import is_same_language, language_code
from headway.errors import DataError

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = {"bpt", "ept", "it", "ph", "ut"}  # their content is markup of the document
_STAND_ALONE = {"it", "ph", "ut"}  # those of them that may separate two words
_SPACE = re.compile(r"[ \t\r\n]+")


def tmx_pairs(
    path: StrPath, languages: tuple[str, str], *, with_outer_spaces: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the segments of two languages, a pair for each unit; `en` also takes `en-US`.

    If a unit lacks one language, that side is empty; a unit without either gives no pair. The first
    of several variants of a language is used. Markup (bpt, ept, it, ph, ut) is left out, and white
    space becomes one space. with_outer_spaces: keep the spaces around a segment, unless they have a
    line end, as indented XML does. Raises DataError with the languages of the file if one of the
    two is missing, and for incomplete XML.
    """
    languages_seen: dict[str, int] = {}
    seen = [False, False]
    for unit in _units(path):
        for language in unit:
            languages_seen[language] = languages_seen.get(language, 0) + 1
        pair = [_of_language(unit, language) for language in languages]
        seen = [was or text is not None for was, text in zip(seen, pair, strict=True)]
        if pair != [None, None]:
            source, target = pair[0] or "", pair[1] or ""
            yield (source, target) if with_outer_spaces else (source.strip(), target.strip())
    if not all(seen):
        raise _no_language(path, languages_seen, languages)


def tmx_languages(path: StrPath) -> tuple[str, str] | None:
    """Return the two languages of a file in the order of their first texts; None for more or fewer.

    Regional variants count as one language, unless the file has only two of them.
    """
    codes = dict.fromkeys(language for unit in _units(path) for language in unit)
    plain = dict.fromkeys(language_code(code).partition("-")[0] for code in codes)
    for names in (tuple(codes), tuple(plain)):
        if len(names) == 2 and all(names):
            return names
    return None


def _units(path: StrPath) -> Iterator[dict[str, str]]:
    """Yield the text of each language of each translation unit."""
    with readable(path) as file:
        try:
            yield from _parsed(file)
        except DefusedXmlException:
            raise DataError(
                f"{path} declares entities of its own, which a TMX file does not need.",
                "Take <!ENTITY …> out of its head, and write its characters as they are.",
            ) from None
        except (ParseError, LookupError, ValueError) as error:
            raise DataError(
                f"{path} is not whole XML: {error}.",
                "Export it again from the translation memory.",
            ) from None


def _parsed(file: IO[bytes]) -> Iterator[dict[str, str]]:
    above: list[Element] = []
    for event, element in iterparse(file, events=("start", "end")):
        if event == "start":
            above.append(element)
            continue
        above.pop()
        if _name(element) == "tu":
            yield _texts(element)
            above[-1].remove(element) if above else None


def _texts(unit: Element) -> dict[str, str]:
    texts: dict[str, str] = {}
    for variant in unit:
        if _name(variant) == "tuv":
            language = variant.get(_LANG) or variant.get("lang") or ""
            segment = next((child for child in variant if _name(child) == "seg"), None)
            if segment is not None:
                texts.setdefault(language, _with_single_spaces(_plain(segment)))
    return texts


def _with_single_spaces(text: str) -> str:
    """Return a text with plain single spaces; those around it stay, unless they have a line end."""
    inner = text.strip()
    before, _, after = text.partition(inner) if inner else ("", "", "")
    edges = ["" if "\n" in edge else edge for edge in (before, after)]
    return edges[0] + _SPACE.sub(" ", inner) + edges[1]


def _plain(element: Element) -> str:
    """Return the text of a segment without its markup."""
    text = element.text or ""
    for child in element:
        tail = child.tail or ""
        if _name(child) not in _CODES:
            text += _plain(child)
        elif _name(child) in _STAND_ALONE and text[-1:].isalnum() and tail[:1].isalnum():
            text += " "  # for markup such as a line break, which separated two words
        text += tail
    return text


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _of_language(unit: Mapping[str, str], language: str) -> str | None:
    """Return the text in this language; an exact code is preferred to one with a region."""
    exact = (text for code, text in unit.items() if language_code(code) == language_code(language))
    near = (text for code, text in unit.items() if is_same_language(code, language))
    return next(exact, next(near, None))


def _no_language(path: StrPath, known: Mapping[str, int], languages: Iterable[str]) -> DataError:
    if not known:
        return DataError(f"{path} holds no translation unit.", "Give a file with some.")
    languages_there = listed(f"{code or 'one without a code'} ({n:,})" for code, n in known.items())
    source, target = [*known, "…"][:2]
    return DataError(
        f"{path} holds the languages {languages_there}, and not both of {' and '.join(languages)}.",
        f"Choose two: --set data.source_language={source} --set data.target_language={target}",
    )
