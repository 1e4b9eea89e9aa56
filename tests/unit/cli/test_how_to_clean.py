"""The command that follows a check can be pasted."""

import pytest
from tests.unit.data.made_languages import translations

from headway.cli.how_to_clean import how_to_clean
from headway.data.corpus import Corpus, Pair
from headway.data.finding import Finding, on_lines
from headway.data.mending.choices import Choices
from headway.data.mending.rounds import mend
from headway.data.problems import problems
from headway.data.survey import survey


@pytest.mark.parametrize(
    ("corpus", "command"),
    [
        (
            Corpus(("d/a b.en.gz",), ("d/a b.ko.gz",)),
            "headway clean --source 'd/a b.en.gz' --target 'd/a b.ko.gz' --out clean.{en,ko}",
        ),
        (
            Corpus(("clean.en.txt",), ("clean.ko.txt",)),
            "headway clean --source clean.en.txt --target clean.ko.txt "
            "--out cleaned.{source,target}.txt",
        ),
        (
            Corpus(("a.csv",), (), fields=("English text", "target"), languages=("en", "target")),
            "headway clean --source a.csv --source-field 'English text' --source-language en "
            "--out clean.tsv",
        ),
        (
            Corpus(("a.csv",), (), fields=("German", "target"), languages=("German", "en_US")),
            "headway clean --source a.csv --source-field German --out clean.{de,en-us}",
        ),
        (
            Corpus(("a.txt",), ("b.txt",), languages=("de", "en")),
            "headway clean --source a.txt --target b.txt --out clean.{de,en}",
        ),
        (
            Corpus(("a.de",), ("b.en",), languages=("en", "de"), reverse=True),
            "headway clean --source a.de --target b.en --out clean.{de,en}",
        ),
        (
            Corpus(("a.tsv", "b.tsv"), (), columns=(0, 3)),
            "headway clean --source a.tsv --target-column 4 --out clean.tsv (and so for 1 more)",
        ),
    ],
)
def test_the_command_names_the_files_and_how_they_are_read(corpus: Corpus, command: str) -> None:
    found = {"training": [on_lines("empty-source", "empty source", [3])]}
    line = how_to_clean(found, [corpus], {})[0].splitlines()[0]
    assert line == f"Next: {command}"


def test_a_line_is_counted_once_and_under_what_clean_does() -> None:
    found = {
        "training, corpus 2, first 90 pairs": [
            Finding("misaligned", "targets moved", 3, (4,), through=6),
            on_lines("copies", "copies", [5, 8, 9, 10, 11]),
            on_lines("markup-mismatch", "markup", [9, 12]),
            on_lines("spaces-source", "spaces", [9, 10]),
            on_lines("empty-source", "empty source", [6, 8]),
        ],
        "training, corpus 1": [on_lines("copies", "copies", [5])],
        "validation": [on_lines("empty-source", "empty source", [3])],
    }
    corpora = [Corpus((f"{n}.en",), (f"{n}.ko",)) for n in (1, 2)]

    assert how_to_clean(found, corpora, {"validation": ("v.en", "v.ko")}) == [
        "Next: headway clean --source 2.en --target 2.ko --out clean.{en,ko}\n"
        "      repairs or drops about 6 lines; then about 4 lines need your decision."
    ]


@pytest.mark.parametrize("id", ["exchanged", "mojibake-source", "mojibake-target"])
def test_other_findings_in_a_side_that_is_repaired_as_a_whole_need_no_decision(id: str) -> None:
    found = {
        "training": [
            on_lines(id, id, [3, 5]),
            on_lines("foreign-script-source", "source in Hangul letters", [3, 5, 7]),
        ]
    }

    (line,) = how_to_clean(found, [Corpus(("1.en",), ("1.ko",))], {})

    assert line.endswith("about 2 lines; then about 1 line needs your decision.")


@pytest.mark.parametrize(
    ("ids", "deeds"),
    [
        ([], "drops the pairs that validation or test text has; then 0 lines need your"),
        (["copies"], "drops the pairs that validation or test text has; then about 1 line needs"),
        (["spaces-source"], "repairs or drops about 1 line and drops the pairs that validation or"),
    ],
)
def test_pairs_of_validation_text_are_taken_out_by_the_command(ids: list[str], deeds: str) -> None:
    found = {
        "training": [on_lines(id, id, [5]) for id in ids],
        "validation, first 1,000,000 pairs": [on_lines("in-training", "in training", [3])],
        "test": [on_lines("in-training", "in training", [2, 4])],
    }
    held_out = {"validation": ("d/a v.en", "d/v.ko"), "test": ("t.en", "t.ko")}
    (said,) = how_to_clean(found, [Corpus(("a.en",), ("a.ko",))], held_out)
    assert said.startswith(
        "Next: headway clean --source a.en --target a.ko --valid-source 'd/a v.en' "
        "--valid-target d/v.ko --valid-source t.en --valid-target t.ko --out clean.{en,ko}\n"
        f"      {deeds}"
    )
    (said,) = how_to_clean(found, [Corpus(("a.ko",), ("a.en",), reverse=True)], held_out)
    assert "--source a.ko --target a.en --valid-source d/v.ko --valid-target 'd/a v.en'" in said
    del found["validation, first 1,000,000 pairs"]
    (said,) = how_to_clean(found, [Corpus(("a.tsv",), ())], {"test": ("t.tsv",)})
    assert said.startswith(
        "Next: headway clean --source a.tsv --valid-source t.tsv --out clean.tsv\n"
    )


def test_remedies_name_clean_without_options_for_what_it_mends_without_them() -> None:
    for problem in problems():
        is_plain = problem.remedy.partition(",")[0] == "headway clean"
        assert is_plain == Choices().mends(problem.id), problem.id


def test_as_many_lines_need_a_decision_as_the_cleaning_leaves() -> None:
    pairs = translations(150)
    for row in (3, 40, 77):  # repaired, and yet to be decided on
        source, target = pairs[row]
        pairs[row] = Pair(f"{source}  &amp; more", f"<b>{target}</b> &amp; more")
    pairs[50] = Pair(pairs[50].source, "")
    pairs[60] = Pair(pairs[60].source, pairs[60].source)
    pairs[70] = pairs[69]
    pairs[90] = Pair(f"{pairs[90].source} 123", pairs[90].target)

    left = {change.line for change in mend(pairs, 1, Choices()).remaining}

    (said,) = how_to_clean({"training": survey(pairs)}, [Corpus(("a.de",), ("a.en",))], {})
    assert {4, 41, 78, 61, 91} <= left
    assert said.endswith(f"then about {len(left)} lines need your decision.")
