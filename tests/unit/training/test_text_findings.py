"""A run names sides of its text that are moved, exchanged or foreign, with harm and remedy."""

import random
from pathlib import Path

import pytest

from headway.config.run import RunConfig, parse_run_config
from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import UNK_ID
from headway.data.trained_direction import TrainedDirection
from headway.training.text_check import TextToCheck
from headway.training.text_findings import (
    _unknown_pieces,
    suspicious_findings,
    trained_on_findings,
    unknown_findings,
)
from headway.training.texts import read_texts

from ..data.made_languages import exchanged, translations
from .conftest import TWO, MakeConfig


def test_stretches_of_each_text_that_are_moved_are_named() -> None:
    def pairs(seed: int) -> list[Pair]:
        words = [random.Random(1000 * seed + n).randint(1, 40) for n in range(400)]
        return [Pair("wort " * count, "word " * count) for count in words]

    def moved(right: list[Pair], *starts: int) -> list[Pair]:
        wrong = list(right)
        for start in starts:
            for line in range(start, start + 40):
                wrong[line] = Pair(right[line].source, right[line + 2].target)
        return wrong

    right = pairs(1)
    assert (
        list(suspicious_findings([TextToCheck("training", "", right), TextToCheck("test", "", [])]))
        == []
    )
    once, often = moved(right, 100), moved(pairs(2), 0, 90, 180, 270, 350)
    looked = [TextToCheck("training, corpus 2", "", once), TextToCheck("test", "", often)]
    first, second = suspicious_findings(looked)
    assert first.problem == "misaligned text, training, corpus 2"
    assert first.message.startswith(
        "Training, corpus 2 text: targets seem to stand 2 lines too early: "
    )
    assert "more" not in first.message
    assert ", and 2 more. " in second.message
    assert "the model learns wrong translations from such lines" in first.message
    assert second.message.endswith("Compare the files there: such lines make scores too low.")


def test_short_validation_text_of_other_sources_is_named_by_training_text() -> None:
    train, right = translations(600), translations(40, seed=5)
    targets = [pair.target for pair in right[7:] + right[:7]]
    wrong = [Pair(pair.source, target) for pair, target in zip(right, targets, strict=True)]
    looked = [TextToCheck("training", "", train), TextToCheck("test", "", right)]

    assert list(suspicious_findings(looked)) == []
    (problem,) = suspicious_findings([*looked, TextToCheck("validation", "", wrong)])
    assert problem.problem == "misaligned text, validation"
    assert problem.message.startswith(
        "Validation text: targets seem to be of other sources: 40 (about lines 1 to 40)"
    )


def test_sides_that_are_exchanged_are_named() -> None:
    right = [Pair("하나 둘", "one two")] * 9
    wrong = [Pair(pair.target, pair.source) for pair in right]
    texts = [
        TextToCheck("training, corpus 1", "<2en>", right),
        TextToCheck("training, corpus 2", "<2ko>", wrong),
        TextToCheck("training, corpus 3", "<2ko>", [*right[:3], *wrong]),
        TextToCheck("validation", "<2ko>", wrong),
    ]
    assert list(suspicious_findings(texts)) == []

    exchanged = TextToCheck("validation", "<2ko>", right)
    (found,) = suspicious_findings([*texts[:3], exchanged])

    assert found.problem == "other script, validation"
    assert found.message.startswith(
        "Validation text: source in Hangul letters, in training text Latin: 9 (lines 1, 2, 3, 4, "
        "5, …); target in Latin letters, in training text Hangul: 9 ("
    )


def _looked(name: str, pairs: list[Pair], tag: str = "") -> TextToCheck:
    return TextToCheck(name, tag, pairs)


@pytest.mark.parametrize(
    "name", ["validation", "test", "training, corpus 2", "validation, first 100,000 pairs"]
)
def test_a_text_that_is_exchanged_as_a_whole_is_named(name: str) -> None:
    train, other = translations(300), translations(80, seed=1)
    wrong = [exchanged(pair) for pair in other]
    assert not list(suspicious_findings([_looked("training", train), _looked(name, other)]))

    (finding,) = suspicious_findings([_looked("training", train), _looked(name, wrong)])

    assert finding.problem == f"exchanged sides, {name}"
    assert "source and target seem exchanged in the whole text, as training text" in finding.message
    assert "Exchange the names of the two files of this text, or" in finding.message
    harm = "learns" if name.startswith("training") else "such lines make scores too low"
    assert harm in finding.message
    others = [_looked("training", train), _looked(name, wrong, "<back>")]
    assert not list(suspicious_findings(others))  # of another tag


def test_a_whole_training_text_that_is_exchanged_shows_in_validation_text() -> None:
    wrong = [exchanged(pair) for pair in translations(300)]
    (finding,) = suspicious_findings(
        [_looked("training", wrong), _looked("validation", translations(80, seed=1))]
    )
    assert finding.problem == "exchanged sides, validation"


def test_text_in_other_languages_than_its_names_show_is_named_once() -> None:
    wrong = [Pair("one two", "하나 둘")] * 9
    texts = [_looked(name, wrong) for name in ("training", "validation", "test")]
    (finding,) = suspicious_findings(texts, languages={"": ("ko", "en")})
    assert finding.problem == "other language, training"
    assert finding.message == (
        "Training text: source in Latin letters, but ko is written in Hangul; target in Hangul "
        "letters, but en is written in Latin. The model would be named after the wrong languages: "
        "exchange the names of the two files, or set data.source_language and "
        "data.target_language."
    )
    assert not list(suspicious_findings(texts, languages={"": ("en", "ko")}))
    assert not list(suspicious_findings(texts, languages={"<2en>": ("ko", "en")}))


def test_text_beside_the_model_that_it_starts_from_is_named_once() -> None:
    direction = TrainedDirection(("ko", "en"), ("HANGUL", "LATIN"))

    def found(*pairs: Pair, tag: str = "") -> list[tuple[str, str]]:
        texts = [_looked(name, [*pairs] * 9, tag) for name in ("training", "validation")]
        problems = suspicious_findings(texts, languages={"": ("ko", "en")}, direction=direction)
        return [(problem.problem, problem.message) for problem in problems]

    ((problem, message),) = found(Pair("one two", "하나 둘"))
    assert problem == "exchanged sides, training"
    assert message == (
        "Training text: source and target seem exchanged beside the model that training starts "
        "from, which translates from Hangul to Latin letters: 9 (lines 1, 2, 3, 4, 5, …). Exchange "
        "the two files of this text, or train without --from (training.start_from)."
    )
    ((problem, message),) = found(Pair("один", "one"))
    assert problem == "new script, training"
    assert "source in Cyrillic letters, but the sources that the model was trained on" in message
    assert found(Pair("하나 둘", "one two")) == found(Pair("one", "하나"), tag="<2ko>") == []


def test_exchanged_lines_are_named_unless_they_are_dropped_or_few() -> None:
    def found(train: list[Pair], **named: bool) -> list[tuple[str, str]]:
        texts = [_looked("training", train), _looked("validation", valid)]
        return [
            (finding.problem, finding.message) for finding in suspicious_findings(texts, **named)
        ]

    train, valid = translations(400), translations(60, seed=1)
    for row in (7, 8):
        train[row] = exchanged(train[row])
    assert found(train) == []  # two may be chance
    train[90] = exchanged(train[90])
    ((problem, message),) = found(train)
    assert problem == "exchanged sides, training"
    assert "source and target seem exchanged: 3 (lines 8, 9, 91). Set data.drop_exch" in message
    assert found(train, drops_exchanged=True) == []

    valid[10:20] = [exchanged(pair) for pair in valid[10:20]]
    ((problem, message),) = found(train, drops_exchanged=True)
    assert problem == "exchanged sides, validation"
    assert (
        "10 (lines 11, 12, 13, 14, 15, …). Exchange them with `headway clean --fix exchanged`"
        in message
    )


def test_text_that_was_not_translated_is_named() -> None:
    train = translations(400)
    for row, other in enumerate(translations(5, seed=3, least=6)):
        train[row] = Pair(train[row].source, other.source)
    (finding,) = suspicious_findings([_looked("training", train)])
    assert finding.problem == "wrong language, training"
    assert "target seems to be in the language of the sources: 5 (lines 1, 2" in finding.message


def test_text_of_another_form_than_training_text_is_named() -> None:
    train, valid = translations(200), translations(80, seed=1)
    small = [Pair(pair.source.lower(), pair.target.replace(".", " .")) for pair in valid]
    (finding,) = suspicious_findings([_looked("training", train), _looked("test", small)])
    assert finding.problem == "other form, test"
    assert "source with 0.0% of its letters capitalized" in finding.message
    assert "target with a space before . and , in 100% of lines" in finding.message
    assert not list(suspicious_findings([_looked("training", train), _looked("test", valid)]))
    corpora = [_looked("training, corpus 1", train), _looked("training, corpus 2", small)]
    assert not list(suspicious_findings(corpora))  # variety is no fault


def test_each_side_of_each_text_is_looked_at() -> None:
    known = [EncodedPair([4] * 50, [5] * 50, line) for line in range(1, 4)]
    broken = [EncodedPair([4] * 49 + [UNK_ID], [UNK_ID, 5], 1)]

    found = list(unknown_findings({"training": known, "validation": broken}, RunConfig()))

    assert [finding.problem for finding in found] == [
        "unknown pieces, validation source",
        "unknown pieces, validation target",
    ]
    assert "2.0% of the tokens of the validation text's source (1 of 50)" in found[0].message


@pytest.mark.parametrize(
    ("settings", "named", "unnamed"),
    [
        ({"tokenizer": {}}, ["byte_fallback"], ["coverage", "new_pieces", "size"]),
        (
            {"tokenizer": {"kind": "word", "character_coverage": 0.99, "byte_fallback": True}},
            ["coverage", "size"],
            ["fallback"],
        ),
        ({"training": {"start_from": "runs/ko-en"}}, ["new_pieces"], ["coverage", "fallback"]),
        ({"tokenizer": {"source_model": "a.model"}}, ["new_pieces"], ["coverage", "fallback"]),
        ({"tokenizer": {"byte_fallback": True}}, ["clean the text"], ["fallback", "coverage"]),
    ],
    ids=str,
)
def test_the_remedy_is_one_that_is_left(
    settings: dict[str, dict[str, object]], named: list[str], unnamed: list[str]
) -> None:
    broken = [EncodedPair([UNK_ID], [5], 1)]

    (found,) = unknown_findings({"training": broken}, parse_run_config(settings))

    assert all(word in found.message for word in named)
    assert not any(word in found.message for word in unnamed)


def test_unknown_pieces_are_said_above_one_in_a_hundred() -> None:
    assert not list(_unknown_pieces("training", "target", 10, 1000, "do it"))
    assert not list(_unknown_pieces("training", "target", 0, 0, "do it"))

    (found,) = _unknown_pieces("validation", "source", 13, 1000, "do it")

    assert found.problem == "unknown pieces, validation source"
    assert "1.3% of the tokens" in found.message
    assert found.message.endswith("In another run: do it.")


def test_validation_and_test_pairs_that_are_trained_on_are_counted(
    make_config: MakeConfig, data_folder: Path
) -> None:
    for side in ("source", "target"):
        lines = (data_folder / f"train.{side}").read_text().splitlines()
        (data_folder / f"valid.{side}").write_text(f"new\n{lines[3]} \n{lines[5]}\n\n")
        (data_folder / f"train.{side}").write_text("\n".join([*lines, "", lines[3], ""]))
    (data_folder / "test.tsv").write_text("seven\tnew\n")
    settings = make_config(data={"test_source": "test.tsv"}).data

    (found,) = trained_on_findings(settings, read_texts(settings))

    assert found.problem == "trained on, validation"
    assert found.message.startswith(
        "Validation text: pair is in the training text too: 2 (lines 2, 3). Its scores are too "
    )
    tags = {key: value for key, value in TWO.items() if key != "corpora"}
    corpora = [{"source": "train.source", "target": "train.target", "tag": "<back>"}]
    tagged = make_config(data={**tags, "corpora": corpora}).data
    assert [each.message for each in trained_on_findings(tagged, read_texts(tagged))] == [
        found.message
    ]
    held_out = make_config(data={"valid_source": "", "valid_target": "", "hold_out": 3}).data
    assert not list(trained_on_findings(held_out, read_texts(held_out)))
