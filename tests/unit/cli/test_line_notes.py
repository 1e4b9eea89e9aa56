"""Notes name the first lines of each kind, and the text as a whole if it looks foreign."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from headway.bundle import Bundle, load_bundle
from headway.cli.line_notes import LineNotes
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import StreamEnd

from .conftest import Run

PLAIN = StreamEnd(1, 1, complete=True, unknown_pieces=0, empty_parts=0)
Notes = Callable[..., list[str]]


@pytest.fixture
def notes(bundle_path: Path, capsys: pytest.CaptureFixture[str]) -> Notes:
    bundle = load_bundle(bundle_path)

    def notes_on(
        lines: Iterable[tuple[str, StreamEnd]],
        *,
        script: object = "",
        language: str = "source",
        mended: bool = True,
        quiet: bool = False,
    ) -> list[str]:
        record = {"source_script": script}
        changed: Bundle = replace(bundle, record=record, source_language=language)
        line_notes = LineNotes(RequestMaker([changed]), runaways_mended=mended, quiet=quiet)
        for sentence, result in lines:
            line_notes.add(sentence, result)
        line_notes.finish()
        return capsys.readouterr().err.splitlines()

    return notes_on


def test_a_sentence_that_became_nothing_is_noted(notes: Notes) -> None:
    end = StreamEnd(3, 3, complete=True, unknown_pieces=0, empty_parts=2)
    lines = [
        ("the cat. a dog. the cat.", end),
        ("the cat. a dog.", replace(end, empty_parts=1)),
        ("the cat. a dog.", replace(end, empty_parts=0)),
    ]
    assert notes(lines, language="English") == [
        "Note: line 1: 2 of its 3 translated parts are empty.",
        "Note: line 2: 1 of its 3 translated parts is empty.",
    ]
    assert notes(lines, quiet=True) == []


@pytest.mark.parametrize(
    ("result", "single", "summary"),
    [
        (
            replace(PLAIN, unknown_pieces=1),
            "unknown to the vocabulary: 'ü'",
            "have text that is unknown to the vocabulary; unknown_pieces of --json shows which",
        ),
        (
            replace(PLAIN, deleted_characters=1),
            "deleted by the tokenizer: '\\x07'",
            "have characters that the tokenizer deletes; deleted_characters of --json shows which",
        ),
        (
            replace(PLAIN, complete=False),
            "the output limit ended the translation; it may lack its end",
            "were ended by the output limit; complete of --json shows which",
        ),
        (
            replace(PLAIN, num_parts=2),
            "longer than the model can take; translated in 2 parts",
            "were too long and were translated in parts; num_parts of --json shows which",
        ),
        (
            replace(PLAIN, num_parts=3, num_sentences=3, empty_parts=1),
            "1 of its 3 translated parts is empty",
            "have empty translations or empty parts; empty_parts of --json shows which",
        ),
        (
            replace(PLAIN, flags=("repeated",)),
            "the translation repeated itself or was far too long; it was searched again under "
            "rules",
            "have translations that ran away; flags of --json shows which",
        ),
        (
            replace(PLAIN, unfamiliar_parts=1),
            "beyond what this model knows; it was trained on sentences of a small built-in "
            "grammar, and the translation is a guess",
            "are beyond what this model knows; unfamiliar_parts of --json shows which",
        ),
    ],
)
def test_after_five_notes_of_a_kind_only_their_number_is_printed(
    notes: Notes, result: StreamEnd, single: str, summary: str
) -> None:
    noted, plain = ("the cü\x07 cat", result), ("the cat", PLAIN)
    five = [f"Note: line {line}: {single}." for line in range(2, 7)]
    assert notes([plain, *[noted] * 5, *[plain] * 20], language="English") == five
    assert notes([plain, *[noted] * 8, *[plain] * 20], language="English") == [
        *five,
        f"Note: 8 of 29 lines {summary}.",
    ]


def test_a_runaway_that_was_kept_is_noted_as_such(notes: Notes) -> None:
    assert notes([("the cat", replace(PLAIN, flags=("repeated",)))], mended=False) == [
        "Note: line 1: the translation repeated itself or was far too long."
    ]


def test_the_first_line_that_is_cut_by_the_rules_of_another_language_is_noted(
    notes: Notes,
) -> None:
    cut = ("the cat. a dog.", replace(PLAIN, num_parts=2, num_sentences=2))
    (note,) = notes([("the cat", PLAIN), cut, cut])
    assert note.startswith("Note: line 2 was cut into 2 sentences by the rules of English, because")
    assert "--one-sentence-a-line" in note
    assert notes([("the cat", PLAIN)]) == notes([cut], language="Korean") == []
    assert notes([cut], quiet=True) == []


def test_a_text_that_is_mostly_unknown_seems_to_be_in_another_language(notes: Notes) -> None:
    unknown = ("über", replace(PLAIN, unknown_pieces=1))
    blank = ("", PLAIN)  # which does not count
    text = [*[unknown] * 7, *[("the cat", PLAIN)] * 6, *[blank] * 9]
    assert notes(text, language="Korean")[5:] == [
        "Note: 7 of 22 lines have text that is unknown to the vocabulary; unknown_pieces of "
        "--json shows which.",
        "Note: most lines have text that is unknown to the vocabulary. The text seems not to be in "
        "Korean, the language that this model translates from, or is unlike the training text.",
    ]
    assert "not to be in the language that this model" in notes(text)[-1]
    assert len(notes([*text, ("the cat", PLAIN)])) == 6  # half of the lines are not most of them


def test_a_text_in_another_script_than_the_sources_in_training_is_noted(notes: Notes) -> None:
    english, korean = ("the cat sat", PLAIN), ("나는 학생입니다", PLAIN)
    note = (
        "Note: 2 lines of 3 are in Latin letters, but the sources that the model was trained on "
        "are in Hangul letters. The text seems not to be in Korean, the language that this model "
        "translates from."
    )
    assert notes([english, korean, english], script="HANGUL", language="Korean") == [note]
    assert notes([english, korean, english, korean], script="HANGUL") == []
    assert notes([english, korean, english], script="LATIN") == []
    assert notes([("iPhone", PLAIN), ("12", PLAIN)], script="HANGUL") == []  # a name
    for unknown in ("", None):  # as in a bundle of an earlier version
        assert notes([english, english], script=unknown) == []


def test_foreign_text_has_one_line_out_for_each_line_in(
    run: Run, bundle_path: Path, tmp_path: Path
) -> None:
    text = tmp_path / "in"
    text.write_text("über dem Fluß\n" * 12, encoding="utf-8")
    status, out, err = run("translate", bundle_path, text, "--keep-runaways")
    assert (status, out.count("\n")) == (0, 12)
    assert err.count(": unknown to the vocabulary: ") == 5
    assert "Note: 12 of 12 lines have text that is unknown to the vocabulary; " in err
    assert run("translate", bundle_path, text, "--stream")[2] == err
    assert "unknown" not in run("translate", bundle_path, text, "--quiet")[2]
