"""UTF-8 that was read wrong is had back; text that only looks odd is left alone."""

import pytest
from ftfy import bad_codecs

from headway.data.mojibake import is_mojibake, undone

assert bad_codecs  # gives Python the encoding of Windows with all bytes


@pytest.mark.parametrize("encoding", ["latin-1", "sloppy-windows-1252"])
@pytest.mark.parametrize(
    "text",
    [
        "저는 어제 사과 세 개를 먹었습니다.",
        "Eine Frau mit einer großen Geldbörse",
        "déjà vu: «ça alors»",
        "Это предложение.",
        "“Quoted” – and so on…",
    ],
)
def test_text_that_was_read_wrong_is_had_back(encoding: str, text: str) -> None:
    wrong = text.encode().decode(encoding)
    assert is_mojibake(wrong)
    assert undone(wrong) == text


def test_russian_that_was_read_as_another_page_of_codes_is_had_back() -> None:
    wrong = "Привет, как дела?".encode().decode("windows-1251", "replace")
    assert is_mojibake("РџСЂРёРІРµС‚, РєР°Рє РґРµР»Р°?")
    assert undone("РџСЂРёРІРµС‚, РєР°Рє РґРµР»Р°?") == "Привет, как дела?"
    assert wrong


@pytest.mark.parametrize(
    "text",
    ["«aquí…» dijo", "„Maß“", "CAFÉ", "저는 학생입니다.", "5 € – 7 £", "plain", "Привет", "ÃÑ"],
)
def test_text_that_is_right_stays(text: str) -> None:
    assert undone(text) == text
    assert not is_mojibake(text)
