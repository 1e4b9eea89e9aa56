"""Names of repairs and drops lead to ids of findings, and every option that is named is one."""

import pytest

from headway.data.mending.choices import Choices, remedy
from headway.data.problems import problems
from headway.errors import ConfigError


def test_a_name_is_an_id_or_stands_for_several() -> None:
    choices = Choices.of(["html", "nbsp"], ["length", "script", "empty", "copies", "shared-target"])
    assert choices.fixed == {"html-codes", "spaces"}
    assert choices.fixes("html-codes-target")
    assert not choices.fixes("mojibake-target")
    assert choices.dropped == {
        *("length-short", "length-long", "foreign-script-source", "foreign-script-target"),
        *("empty-source", "empty-target", "copies", "shared-target"),
    }


def test_none_is_what_is_safe_and_an_empty_list_is_nothing() -> None:
    assert Choices.of() == Choices.of(
        ["mojibake", "html", "nfc", "spaces", "shift", "exchanged"], ["empty", "duplicates"]
    )
    assert Choices.of([], []) == Choices(frozenset(), frozenset())


@pytest.mark.parametrize(
    "name",
    ["lenght", "in-training", "other-script", "no-letters-source", "exchanged-files", "end-marks"],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"no finding to drop '{name}'"):
        Choices.of(drop=[name])
    with pytest.raises(ConfigError, match="of type str"):
        Choices.of(fix="html")


def test_the_option_for_a_finding_takes_its_lines() -> None:
    nothing = Choices.of([], [])
    remedies = {row.id: remedy(row.id, nothing) for row in problems()}
    for id, option in filter(lambda each: each[1], remedies.items()):
        kind, name = option.split()
        names = name.split(",")
        choices = Choices.of(names, []) if kind == "--fix" else Choices.of([], names)
        assert choices.fixes(id) != choices.drops(id)
    assert Choices.of([], ["language"]).dropped == {
        "exchanged", "wrong-language-source", "wrong-language-target"
    }  # fmt: skip
    assert not remedies["in-training"]
    assert remedies["length-long"] == "--drop length-long"
    assert remedies["duplicate-pairs"] == "--drop duplicate-pairs"
    assert remedies["misaligned"] == "--fix shift"
    assert remedies["unrelated"] == "--drop unrelated"
    assert remedy("misaligned", Choices()) == "--drop empty,duplicates,misaligned"
    assert not remedy("length-long", Choices.of([], ["length"]))


def test_the_option_for_a_finding_keeps_the_choices_of_the_cleaning() -> None:
    drops = ["script", "empty", "duplicates", "length-short", "copies"]
    chosen = Choices.of(["mojibake", "spaces"], drops)

    assert remedy("number-mismatch", Choices()) == "--drop empty,duplicates,number-mismatch"
    assert remedy("number-mismatch", chosen) == (
        "--drop empty,duplicates,foreign-script,copies,length-short,number-mismatch"
    )
    assert remedy("exchanged", chosen) == "--fix mojibake,nbsp,exchanged"
    for row in problems():
        option = remedy(row.id, chosen)
        kind, _, names = option.partition(" ")
        if kind == "--drop":
            assert Choices.of([], names.split(",")).dropped == chosen.dropped | {row.id}, option
        elif kind == "--fix":
            assert Choices.of(names.split(","), []).fixed > chosen.fixed


def test_the_commands_that_check_names_exist() -> None:
    for row in problems():
        for words in (row.remedy.split(), row.held_out.split()):
            if words[:2] == ["headway", "clean"] and len(words) > 2:
                assert words[2] in ("--drop", "--fix")
                names = words[3].strip(",").split(",")
                assert Choices.of(*((names, []) if words[2] == "--fix" else ([], names)))
