"""The page's texts: the same keys in both languages, and every key that a module asks for."""

import json
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[3] / "src" / "headway" / "serving" / "static"
TEXTS = sorted((STATIC / "app" / "texts").glob("*.js"))
MODULES = sorted(path for path in (STATIC / "app").rglob("*.js") if path.parent.name != "texts")
_LEAD = "export default "


def _texts(path: Path) -> dict[str, dict[str, str]]:
    text = path.read_text("utf-8").strip()
    assert text.startswith(_LEAD)
    return json.loads(text.removeprefix(_LEAD).removesuffix(";"))


def _all(language: str) -> dict[str, str]:
    return {key: text for path in TEXTS for key, text in _texts(path)[language].items()}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_both_languages_have_the_same_keys_and_the_same_holes(path: Path) -> None:
    texts = _texts(path)
    assert list(texts) == ["en", "ko"]
    assert list(texts["en"]) == list(texts["ko"])
    for key, english in texts["en"].items():
        korean = texts["ko"][key]
        assert english.strip()
        assert korean.strip()
        holes = [set(re.findall(r"\{(\w+)\}", text)) for text in (english, korean)]
        assert holes[0] == holes[1], key


def test_no_key_is_in_two_files() -> None:
    keys = [key for path in TEXTS for key in _texts(path)["en"]]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(STATIC / "app")))
def test_every_key_that_a_module_asks_for_exists(path: Path) -> None:
    known = _all("en")
    code = path.read_text("utf-8")
    for key in re.findall(r"""\bt\(\s*["']([^"'$]+)["']""", code):
        assert key in known, key
    for start in re.findall(r"""\bt\(\s*`([^`$]+)\$\{""", code):
        assert any(key.startswith(start) for key in known), start


def test_a_particle_that_depends_on_a_sound_follows_a_number() -> None:
    """The sound of a token or a name is unknown: behind it, both forms would stay."""
    particles = r"\{(\w+)\}[”’»\"')`\]]*(?:\(으\)로|(?:을|를|은|는|이|가|과|와|으로|로)(?![가-힣]))"
    fields = {name for text in _all("ko").values() for name in re.findall(particles, text)}
    numbers = {"after", "alpha", "head", "heads", "pos", "scoreA", "size", "sumA", "width"}
    assert fields == numbers  # and the head, which the page writes with its number or in Hangul


def test_mathematics_is_between_pairs_of_back_ticks() -> None:
    for language in ("en", "ko"):
        for key, text in _all(language).items():
            assert text.count("`") % 2 == 0, key
            for expression in re.findall("`([^`]*)`", text):
                assert expression.count("(") == expression.count(")"), key
                assert not re.search("[가-힣]", expression), key


def test_korean_texts_are_korean() -> None:
    english, korean = _all("en"), _all("ko")
    same = [key for key, text in korean.items() if text == english[key]]
    # Names and formulas are the same in all languages; sentences are not.
    assert [key for key in same if len(re.findall(r"[A-Za-z]{3,}", english[key])) > 3] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(STATIC / "app")))
def test_modules_import_each_other_by_bare_names_that_exist(path: Path) -> None:
    code = path.read_text("utf-8")
    names = re.findall(r"""(?:from|^import)\s+["']([^"']+)["']""", code, flags=re.MULTILINE)
    for name in names:
        assert name.startswith("app/"), name  # anything else could not be in a page of one file
        assert (STATIC / name).is_file(), name
    assert not re.search(r"""https?://(?!www\.w3\.org/)""", code)
    assert code.count("\n") <= 300
