"""A file keeps its encoding, or is refused."""

import codecs

import pytest
from tests.unit.documents.fake import finish, same, split

from headway.documents import Answer, steps_of_file
from headway.errors import DataError


@pytest.mark.parametrize(
    "data",
    [
        "가나다.\r\n".encode(),
        codecs.BOM_UTF8 + "가나다.".encode(),
        codecs.BOM_UTF16_LE + "가나다.".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "가나다.".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "가나다.".encode("utf-32-le"),
    ],
)
def test_a_byte_order_mark_stays(data: bytes) -> None:
    assert finish(steps_of_file(data, "text", split), same)[0].content == data


def test_a_page_names_its_encoding_and_refers_to_what_that_lacks() -> None:
    data = '<meta charset="euc-kr"><p>안녕 세상</p>'.encode("euc-kr")
    finished, wishes = finish(steps_of_file(data, "html", split), lambda wish: Answer("héllo 세상"))
    assert wishes[0].text == "안녕 세상"
    assert finished.content == '<meta charset="euc-kr"><p>h&#233;llo 세상</p>'.encode("euc-kr")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("안녕".encode("euc-kr"), "not text in UTF-8"),
        (codecs.BOM_UTF16_LE + b"a", "not text in UTF-16"),
        (b'<meta charset="nonsense">x', "is unknown"),
    ],
)
def test_other_files_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=problem) as error:
        finish(steps_of_file(data, "html", split), same)
    assert "UTF-8" in error.value.remedy
