"""Plain text: only the text of lines is translated."""

from tests.unit.documents.fake import finish, reverse, same, split, upper

from headway.documents import steps_of_text

TEXT = "\n  Dr. Smith left.  He was tired. \t\r\n\r\n\tA\tb c.\fNext page\u2028line\n\n- item one\n"


def test_space_within_and_around_lines_stays() -> None:
    assert finish(steps_of_text(TEXT, "text", split), same)[0].content == TEXT
    assert finish(steps_of_text(TEXT, "text", split), upper)[0].content == (
        "\n  DR. SMITH LEFT.  HE WAS TIRED. \t\r\n\r\n\tA B C.\fNEXT PAGE\u2028LINE\n\n- ITEM ONE\n"
    )


def test_each_sentence_is_one_wish() -> None:
    finished, wishes = finish(steps_of_text(TEXT, "text", split), same)
    texts = [wish.text for wish in wishes]
    assert texts == [
        "Dr. Smith left.",
        "He was tired.",
        "A b c.",
        "Next page",
        "line",
        "- item one",
    ]
    assert finished.sentences == 6
    assert not any(wish.split or wish.aligned or wish.terms for wish in wishes)


def test_text_without_letters_is_not_asked_for() -> None:
    text = "1.\n42 %\n😀\n{name}\nhttps://example.com/\n"
    finished, wishes = finish(steps_of_text(text, "text", split), reverse)
    assert (finished.content, wishes) == (text, [])
