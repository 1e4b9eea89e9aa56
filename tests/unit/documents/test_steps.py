"""What is lost is asked for again, as a term and then piece by piece, and flagged."""

from tests.unit.documents.fake import finish, split, upper

from headway.documents import steps_of_text
from headway.documents.steps import Answer, Wish

TEXT = "Open {file} with %s."


def test_a_kept_text_that_comes_through_takes_one_round() -> None:
    finished, wishes = finish(
        steps_of_text(TEXT, "text", split), lambda wish: Answer("Mit %s öffnet man {file}.")
    )
    assert finished.content == "Mit %s öffnet man {file}."
    assert (len(wishes), dict(finished.flags)) == (1, {})


def test_a_lost_text_is_demanded_as_a_term() -> None:
    def translate(wish: Wish) -> Answer:
        return Answer("Mit %s öffnet man {file}." if wish.terms else "Mit öffnen {FILE}.")

    finished, wishes = finish(steps_of_text(TEXT, "text", split), translate)
    assert finished.content == "Mit %s öffnet man {file}."
    assert [wish.terms for wish in wishes] == [(), ("{file}", "%s")]
    assert dict(finished.flags) == {"kept": 1}


def test_terms_that_the_model_cannot_write_leave_the_text_around_them() -> None:
    def translate(wish: Wish) -> Answer | None:
        return None if wish.terms else Answer(wish.text.upper())

    finished, wishes = finish(steps_of_text(TEXT, "text", split), translate)
    assert finished.content == "OPEN {file} WITH %s."
    assert [wish.text for wish in wishes] == [TEXT, TEXT, "Open", "with"]
    assert dict(finished.flags) == {"kept": 1}


def test_spaces_around_a_kept_text_do_not_count() -> None:
    text = "It is a page. Model one.  Model two."
    for keep in ([" Model"], ["Model "], ["Model", " "]):
        finished, _ = finish(steps_of_text(text, "text", split, keep=keep), upper)
        assert finished.content == "IT IS A PAGE. Model ONE.  Model TWO."


def test_a_text_that_comes_twice_is_not_taken() -> None:
    finished, _ = finish(
        steps_of_text("Open {file}.", "text", split), lambda wish: Answer(f"{wish.text} {{file}}")
    )
    assert finished.content == "Open {file} {file}."  # the piece itself has one more
    assert dict(finished.flags) == {"kept": 1, "changed": 1}


def test_a_new_address_is_flagged() -> None:
    finished, _ = finish(
        steps_of_text("Open it.", "text", split), lambda wish: Answer("See http://example.org/")
    )
    assert dict(finished.flags) == {"changed": 1}


def test_own_texts_are_kept() -> None:
    finished, _ = finish(steps_of_text("Use Headway now.", "text", split, keep=["Headway"]), upper)
    assert finished.content == "USE Headway NOW."


def test_capitals_are_lowered_and_raised_around_what_is_kept() -> None:
    finished, wishes = finish(
        steps_of_text("DO NOT OPEN {file} NOW.", "text", split),
        lambda wish: Answer(wish.text.replace("Do not open", "Nicht öffnen:")),
    )
    assert wishes[0].text == "Do not open {file} now."
    assert finished.content == "NICHT ÖFFNEN: {file} NOW."
    assert dict(finished.flags) == {"capitals": 1}
    _, wishes = finish(
        steps_of_text("DO NOT OPEN {file} NOW.", "text", split, capitals=False), upper
    )
    assert wishes[0].text == "DO NOT OPEN {file} NOW."


def test_flags_of_answers_are_counted() -> None:
    finished, _ = finish(
        steps_of_text("One. Two. Three.", "text", split),
        lambda wish: Answer("x", (), frozenset({"cut"} if wish.text != "Two." else ())),
    )
    assert (dict(finished.flags), finished.sentences) == ({"cut": 2}, 3)


def test_a_sentence_without_a_translation_stays() -> None:
    finished, _ = finish(
        steps_of_text("One. Two {x} three.", "text", split),
        lambda wish: Answer("" if wish.text in ("One.", "three.") else "zwei"),
    )
    assert finished.content == "One. zwei {x} three."
    assert dict(finished.flags) == {"empty": 2, "kept": 1}
