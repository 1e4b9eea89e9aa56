"""What is translated is the same for everybody, and nothing is left out in silence."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.bench.material import read_material
from headway.bundle import Bundle
from headway.errors import ConfigError, DataError


def test_blank_lines_go_with_their_references_and_are_counted(
    bundle: Bundle, tmp_path: Path
) -> None:
    source, reference = tmp_path / "s", tmp_path / "r"
    source.write_text("the cat\n \na dog\nfar\n", encoding="utf-8")
    reference.write_text("1\n2\n3\n4\n", encoding="utf-8")
    found = read_material(bundle, source, reference, 3)
    assert found.text.sentences == ("the cat", "a dog")
    assert found.references == ("1", "3")
    assert found.blank == 1
    assert found.text.limit(7) == 11
    assert read_material(bundle, source, None).references is None


def test_the_model_has_no_more_positions(bundle: Bundle, tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("the cat\n", encoding="utf-8")
    changes = {"positions": "learned", "max_positions": 9}
    learned = replace(bundle, config=bundle.config.model_copy(update=changes))
    assert read_material(learned, source, None).text.limit(7) == 8


def test_a_sentence_that_would_be_split_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("the cat\n\n" + "a dog " * 9 + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="Sentence 3 has 54 tokens and would be translated in"):
        read_material(bundle, source, None)


def test_without_text(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no built-in text .* English to German\. Give --source"):
        read_material(bundle, None, None)
    with pytest.raises(ConfigError, match="Give --source, too"):
        read_material(bundle, None, tmp_path / "r")
    blank = tmp_path / "s"
    blank.write_text("\n\n", encoding="utf-8")
    with pytest.raises(DataError, match="no text to translate"):
        read_material(bundle, blank, None)


@pytest.mark.parametrize("korean_first", [True, False])
def test_the_built_in_sentences_serve_both_directions(bundle: Bundle, korean_first: bool) -> None:
    languages = ("Korean", "English") if korean_first else ("English", "Korean")
    decoding = bundle.decoding.model_copy(update={"max_source_pieces": 200})
    fitting = replace(
        bundle, source_language=languages[0], target_language=languages[1], decoding=decoding
    )
    found = read_material(fitting, None, None, 5)
    assert found.references is not None
    korean, english = found.text.sentences[0], found.references[0]
    if not korean_first:
        korean, english = english, korean
    assert english.isascii()
    assert not korean.isascii()


@pytest.mark.parametrize("names", [("ko", "en"), ("Korean", "English")])
def test_the_built_in_text_serves_both_directions_by_name_or_code(
    bundle: Bundle, names: tuple[str, str]
) -> None:
    decoding = bundle.decoding.model_copy(update={"max_source_pieces": 100})
    bundle = replace(bundle, decoding=decoding)
    there, back = (
        read_material(replace(bundle, source_language=a, target_language=b), None, None, 5)
        for a, b in (names, names[::-1])
    )
    assert len(there.text.sentences) == 5
    assert there.text.sentences == back.references
    assert back.text.sentences == there.references
    assert "\uac00" <= there.text.sentences[0][0] <= "\ud7a3"  # Korean
