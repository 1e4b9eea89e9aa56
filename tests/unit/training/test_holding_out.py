"""Pairs that are held out can be used, are written down, and nothing like them is trained on."""

import json
import re
import string
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.config.run import RunConfig
from headway.data.corpus import Corpus, Pair
from headway.errors import ConfigError, RunError
from headway.training import holding_out
from headway.training.encode import encode_texts
from headway.training.holding_out import HeldOut, hold_out
from headway.training.reporting import Reporter, Show
from headway.training.run import train
from headway.training.texts import read_texts
from headway.training.tokenizers import build_tokenizers

MakeConfig = Callable[..., RunConfig]
HELD_OUT = {"valid_source": "", "valid_target": ""}
EQUAL = "equal to a pair that is held out"
NEAR = f"{EQUAL}, but for case, digits, punctuation or spaces"


def word(number: int) -> str:
    """Return a word of small letters, another one for each number."""
    return "".join(string.ascii_lowercase[int(digit)] for digit in str(number))


def write(folder: Path, pairs: Sequence[Pair]) -> None:
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"train.{side}").write_text(text, encoding="utf-8")


def held_out_of(folder: Path, pairs: Sequence[Pair], count: int) -> HeldOut:
    write(folder, pairs)
    return hold_out(Corpus((folder / "train.source",), (folder / "train.target",)), count)


BLANKS = {
    "both": Pair("", ""),
    "source": Pair("", "text"),
    "target": Pair("text", ""),
    "spaces": Pair("  \t ", " "),
    "ideographic": Pair("\u3000", "\u3000"),
    "no width": Pair("\u200b", "text"),
}


@pytest.mark.parametrize("blank", BLANKS.values(), ids=BLANKS)
def test_no_pair_with_a_blank_side_is_held_out(tmp_path: Path, blank: Pair) -> None:
    pairs = [
        blank if line % 2 else Pair(f"{word(line)} yes", f"{word(line)} ja") for line in range(80)
    ]

    for count in (1, 10, 39):
        held = held_out_of(tmp_path, pairs, count)
        assert len(held.pairs) == count
        assert blank not in held.pairs
        assert [pairs[line - 1] for line in held.lines] == held.pairs
        assert sum(pair == blank for pair in held.remaining) == 40  # which cleaning calls empty


def test_blank_lines_are_called_empty(make_config: MakeConfig, data_folder: Path) -> None:
    pairs = [Pair("", "") if n % 2 else Pair(word(n), f"{word(n)} {word(n)}") for n in range(80)]
    write(data_folder, pairs)
    config = make_config(data=HELD_OUT | {"hold_out": 10})
    texts = read_texts(config.data)

    encoded = encode_texts(texts, *build_tokenizers(config.tokenizer, texts.train, 1), config.data)

    assert len(encoded.valid) == 10
    assert encoded.valid_report.dropped == {}
    assert encoded.report.dropped == {"empty source and target": 40}


@pytest.mark.parametrize(
    "other",
    [
        Pair("SECTION ONE", "abschnitt eins"),
        Pair("Section one: 3.14", "Abschnitt eins: 3,14"),
        Pair("section — one!", "(Abschnitt eins)"),
        Pair("  Sectionone", "Abschnitt  eins\u3000"),
    ],
    ids=["case", "digits", "punctuation", "spaces"],
)
def test_what_differs_in_no_letter_from_a_held_out_pair_is_not_trained_on(
    make_config: MakeConfig, data_folder: Path, other: Pair
) -> None:
    menu = Pair("Section one", "Abschnitt eins")
    # Each word comes in two forms, so that whatever is held out has another one like it.
    words = [Pair(f"{word(n)}{end}", f"{word(n)} {word(n)}{end}") for n in range(3) for end in ".!"]
    write(data_folder, [menu, other, *words])
    config = make_config(data=HELD_OUT | {"hold_out": 3})
    texts = read_texts(config.data)
    encoded = encode_texts(texts, *build_tokenizers(config.tokenizer, texts.train, 1), config.data)

    assert len({pair.source.strip("!.") for pair in texts.valid}) == 3
    assert encoded.report.dropped == {NEAR: 3}
    assert (encoded.report.total, encoded.report.kept) == (5, 2)
    assert len(texts.train) == 2
    both = {menu, other}
    assert both <= set(texts.train) or len(both & set(texts.valid)) == 1
    assert not texts.held_out_as_before


def test_equal_pairs_are_counted_as_such_and_are_chosen_last(
    make_config: MakeConfig, data_folder: Path
) -> None:
    often = Pair("one", "eins")
    write(data_folder, [often if n % 2 else Pair(word(n), f"{word(n)} a") for n in range(60)])

    few = read_texts(make_config(data=HELD_OUT | {"hold_out": 29}).data)
    assert often not in few.valid
    assert len(few.train) == 31

    write(data_folder, [*[often] * 50, *[Pair("two", "zwei")] * 49])
    config = make_config(data=HELD_OUT | {"hold_out": 1})
    texts = read_texts(config.data)
    encoded = encode_texts(texts, *build_tokenizers(config.tokenizer, texts.train, 1), config.data)
    assert texts.valid == [Pair("two", "zwei")]  # which takes less out of the training
    assert encoded.report.dropped == {EQUAL: 48}


def test_text_without_letters_is_marked_by_all_of_it(tmp_path: Path) -> None:
    pairs = [Pair(f"{n} + 1", f"{n + 1}") for n in range(30)]

    held = held_out_of(tmp_path, pairs, 7)

    assert len(held.pairs) == 7
    assert len(list(held.remaining)) == 23


def test_digits_count_where_they_are_what_tells_pairs_apart(tmp_path: Path) -> None:
    pairs = [Pair(f"w{n} w{n % 7}", f"v{n}") for n in range(60)]

    held = held_out_of(tmp_path, [*pairs, Pair("w3 W3!", "V3")], 8)

    assert len(held.pairs) == 8
    assert len(list(held.remaining)) == 53 - len(held.remaining.near)


@pytest.mark.parametrize(
    ("pairs", "marks"),
    [
        ([Pair(word(n), f"{word(n)} a") for n in range(40)], 40),
        ([Pair(f"w{n}", f"v{n}") for n in range(40)], 80),  # digits tell them apart
        ([Pair(word(n // 2), "a") for n in range(40)], 40),
        ([Pair(word(n // 3), "a") for n in range(40)], 80),
    ],
)
def test_digits_are_looked_at_only_where_letters_tell_few_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: list[Pair], marks: int
) -> None:
    marked = []

    def counted(pair: Pair, *how: Any) -> int:
        marked.append(pair)
        return mark(pair, *how)

    mark = holding_out._mark
    monkeypatch.setattr(holding_out, "_mark", counted)

    assert len(held_out_of(tmp_path, pairs, 9).pairs) == 9
    assert len(marked) == marks


@given(st.text())
def test_what_counts_of_a_text_is_as_the_pattern_says(text: str) -> None:
    assert text.translate(holding_out._LETTERS) == re.sub(r"[\W\d_]+", "", text)
    assert text.translate(holding_out._WORDS) == re.sub(r"[\W_]+", "", text)


def test_how_far_the_choice_has_come_is_shown(
    make_config: MakeConfig, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: dict[str, list[int]] = {}

    class Shown(Reporter):
        @contextmanager
        def preparing(self, what: str) -> Iterator[Show]:
            yield shown.setdefault(what, []).append

    monkeypatch.setattr(holding_out, "_SHOWN", 7)
    write(data_folder, [Pair(word(n), f"{word(n)} a") for n in range(23)])

    read_texts(make_config(data=HELD_OUT | {"hold_out": 3}).data, reporter=Shown())

    assert shown == {"Choosing validation text": [7, 14, 21]}


def test_too_few_different_pairs_are_counted(tmp_path: Path) -> None:
    pairs = [Pair(f"Chapter {'!' * n}", f"Kapitel {'?' * n}") for n in range(30)]
    with pytest.raises(ConfigError, match=r"is 3, but there are 1 training pairs .*digits, punct"):
        held_out_of(tmp_path, pairs, 3)


@given(st.integers(3, 60), st.integers(1, 59), st.integers(0, 3))
def test_all_is_held_out_left_out_or_trained_on(
    tmp_path_factory: pytest.TempPathFactory, size: int, count: int, forms: int
) -> None:
    count = min(count, (size + forms) // (forms + 1) - 1)
    if count < 1:
        return
    # Each word in as many forms: groups of pairs that resemble each other.
    pairs = [Pair(word(n // (forms + 1)) + "!" * (n % (forms + 1)), "x") for n in range(size)]

    held = held_out_of(tmp_path_factory.getbasetemp(), pairs, count)

    lines = {line for line, _ in held.remaining.numbered()}
    assert not lines & set(held.lines)
    assert not held.remaining.near & (lines | set(held.lines))
    assert lines | set(held.lines) | held.remaining.near == set(range(1, size + 1))
    letters = [pair.source.strip("!") for pair in held.pairs]
    assert len(set(letters)) == len(letters) == count
    assert not set(letters) & {pair.source.strip("!") for pair in held.remaining}


def test_different_pairs_are_held_out_as_by_earlier_versions(tmp_path: Path) -> None:
    pairs = [Pair(word(n), f"{word(n)} a") for n in range(50)]

    held = held_out_of(tmp_path, pairs, 9)

    before = np.random.default_rng(0).permutation(50)[:9] + 1
    assert held.lines == sorted(before.tolist())
    assert held.as_before


@pytest.mark.usefixtures("no_picture")
def test_the_run_has_what_is_held_out_before_its_first_step_and_when_it_goes_on(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter
) -> None:
    write(data_folder, [Pair(word(n), f"{word(n)} a") for n in range(40)])
    data = HELD_OUT | {"hold_out": 6, "reverse": True}
    config = make_config(data=data, training={"max_steps": 2})
    run = tmp_path / "run"
    written: list[str] = []
    quiet.start = lambda *_: written.append(  # type: ignore[method-assign]
        (run / "valid.source").read_text()
    )

    train(config, run, reporter=quiet)

    texts = read_texts(config.data)
    assert written == ["".join(f"{pair.source}\n" for pair in texts.valid)]
    expected = "".join(f"{pair.target}\n" for pair in texts.valid)
    assert (run / "valid.target").read_text() == expected
    (run / "valid.source").unlink()
    train(make_config(data=data, training={"max_steps": 3}), run, resume=True, reporter=quiet)
    assert (run / "valid.source").read_text() == written[0]


@pytest.mark.usefixtures("no_picture")
@pytest.mark.parametrize("differ", [True, False])
def test_a_run_of_an_earlier_version_goes_on_only_with_the_same_text(
    make_config: MakeConfig, data_folder: Path, tmp_path: Path, quiet: Reporter, *, differ: bool
) -> None:
    pairs = [Pair(word(n), f"{word(n)} a") for n in range(40)]
    write(data_folder, [*pairs, *([Pair("", "")] * 40 if differ else [])])
    config = make_config(data=HELD_OUT | {"hold_out": 20}, training={"max_steps": 2})
    run = tmp_path / "run"
    train(config, run, reporter=quiet)
    record = json.loads((run / "data.json").read_text())
    assert record.pop("held_out") == 20
    (run / "data.json").write_text(json.dumps(record))

    if differ:
        with pytest.raises(RunError, match=r"earlier version of Headway, which held out other"):
            train(None, run, resume=True, reporter=quiet)
    else:
        assert train(None, run, resume=True, reporter=quiet).finished


def test_a_pair_in_another_unicode_form_is_not_trained_on(tmp_path: Path) -> None:
    pairs = [Pair("eins", "한"), Pair("eins", "\u1112\u1161\u11ab"), Pair("zwei", "ü")]
    held = held_out_of(tmp_path, [*pairs, Pair("zwei", "u\u0308")], 1)
    kept = [line for line, _ in held.remaining.numbered() if line not in held.remaining.near]
    assert kept in ([1, 2], [3, 4])
