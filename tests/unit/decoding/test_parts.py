"""Parts of a text: its sentences, with the tags of the text, and the spaces between them."""

from functools import partial

import pytest

from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.assemble import JoinedText
from headway.decoding.parts import Joint, Part, cut_text, part_texts, word_numbers

from ..data.counted import Counted

TEXT = "The cat sat.  A dog ran far away! 나는 갑니다.\nEnd"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(
        [TEXT, "2ko 0123456789 bcglyz <>"], kind="bpe", vocabulary_size=90, symbols=["<2ko>", "2ko"]
    )


def cut(
    tokenizer: Tokenizer, text: str, longest: int = 100, tags: tuple[str, ...] = ()
) -> list[Part]:
    return cut_text(text, tokenizer, longest, "en", tags={"", *tags}, at_most=1)


def test_each_sentence_has_the_pieces_that_it_has_alone(tokenizer: Tokenizer) -> None:
    parts = cut(tokenizer, TEXT)

    sentences = ["The cat sat.", "A dog ran far away!", "나는 갑니다.", "End"]
    assert [part.ids for part in parts] == [tokenizer.encode(each) for each in sentences]
    assert [part.sentence.text for part in parts] == sentences
    assert [part.joint and part.joint.space for part in parts] == [None, "  ", " ", "\n"]


@pytest.mark.parametrize(
    ("tag", "known"), [("<2ko>", ()), ("<2ko> <2ko>", ()), ("2ko", ("2ko",)), ("  <2ko>", ())]
)
def test_each_sentence_has_the_tags_of_the_text(
    tokenizer: Tokenizer, tag: str, known: tuple[str, ...]
) -> None:
    parts = cut(tokenizer, f"{tag} The cat sat. A dog ran.", tags=known)

    alone = [f"{tag} {sentence}" for sentence in ("The cat sat.", "A dog ran.")]
    assert [part.ids for part in parts] == [tokenizer.encode(each) for each in alone]


def test_a_list_after_a_tag_is_still_a_list(tokenizer: Tokenizer) -> None:
    assert len(cut(tokenizer, "<2ko> 1. The cat sat. 2. A dog ran.")) == 2


@pytest.mark.parametrize("text", ["", "  ", "\u200b", "2ko "])
def test_a_blank_text_has_no_parts(tokenizer: Tokenizer, text: str) -> None:
    assert cut(tokenizer, text, tags=("2ko",)) == []


def test_a_text_of_one_sentence_is_cut_into_pieces_as_it_is(tokenizer: Tokenizer) -> None:
    (part,) = cut(tokenizer, "  The cat sat. ")

    assert part.ids == tokenizer.encode("  The cat sat. ")
    assert part.joint is None


@pytest.mark.parametrize("longest", [4, 7, 30])
def test_a_long_sentence_is_several_parts_of_one(tokenizer: Tokenizer, longest: int) -> None:
    text = "<2ko> The cat sat. A dog ran far away and the cat sat"
    parts = cut(tokenizer, text, longest)
    tag = tokenizer.encode("<2ko>")

    assert all(len(part.ids) <= longest for part in parts)
    assert all(part.ids[: len(tag)] == tag for part in parts if longest > 4)
    assert len({part.sentence for part in parts}) == 2
    words = word_numbers(text, parts, tokenizer)
    assert [len(own) for own in words] == [len(part.ids) for part in parts]
    assert sorted({word for own in words for word in own if word is not None}) == list(
        range(len(text.split()))
    )


@pytest.mark.parametrize(
    "text", ["나는 갑니다.나는 갑니다. End", "The cat sat?A dog ran! End", TEXT]
)
def test_words_are_those_of_the_whole_text(tokenizer: Tokenizer, text: str) -> None:
    parts = cut(tokenizer, text)
    assert len(parts) > 2

    numbers = word_numbers(text, parts, tokenizer)

    for part, own in zip(parts, numbers, strict=True):
        first = len(text[: part.sentence.start].split()) - (
            part.joint is not None and not part.joint.space
        )
        count = len(part.sentence.text.split())
        assert sorted({n for n in own if n is not None}) == list(range(first, first + count))


def test_each_part_has_its_own_stretch_of_the_text_as_it_is_written() -> None:
    text = "<2ko> The cat sat. “A DOG ran far,  ﬁve far THE Cat” sat far far"
    folding = train_tokenizer(
        [TEXT.lower(), "2ko 0123456789 bcglyz <>“”,iv"],
        kind="bpe",
        vocabulary_size=80,
        symbols=["<2ko>"],
        normalization="nmt_nfkc_cf",
    )
    parts = cut(folding, text, 12)[1:]
    assert len(parts) > 2

    texts = part_texts(parts, folding)

    assert "".join(texts) == parts[0].sentence.text == text[19:]
    tag = folding.encode("<2ko>")
    assert [[*tag, *folding.encode(each)] for each in texts if each[0] == " "] == [
        part.ids for part, each in zip(parts, texts, strict=True) if each[0] == " "
    ]


def test_a_long_text_is_cut_without_copies_of_all_that_went_before(tokenizer: Tokenizer) -> None:
    text = Counted("The cat sat. " * 30)

    assert len(cut(tokenizer, text)) == 30
    assert text.taken <= 2 * len(text)


def test_the_words_of_a_long_text_are_counted_once(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    normalize = Tokenizer.normalize

    def counted(self: Tokenizer, text: str) -> str:
        lengths.append(len(text))
        return normalize(self, text)

    monkeypatch.setattr(Tokenizer, "normalize", counted)
    text = "The cat sat. " * 30
    numbers = word_numbers(text, cut(tokenizer, text), tokenizer)

    assert sum(lengths) < 2 * len(text)
    assert [own[0] for own in numbers] == list(range(0, 90, 3))


@pytest.mark.parametrize(
    "text", ["The cat.\u200bA dog. End", "\u200b The cat sat. A dog.A dog. End"]
)
def test_words_before_a_sentence_are_those_of_the_normalized_text(
    tokenizer: Tokenizer, text: str
) -> None:
    parts = cut(tokenizer, text)
    last = word_numbers(text, parts, tokenizer)[-1]

    assert last[0] == len(tokenizer.normalize(text).split(" ")) - 1


@pytest.mark.parametrize(
    ("joint", "written", "following", "between"),
    [
        # The spaces of the source.
        (Joint(".", " ", "A"), "a.", "B", " "),
        (Joint(".", "  ", "A"), "a.", "B", "  "),
        (Joint(".", "\n\n", "A"), "a.", "B", "\n\n"),
        (Joint(".", "", "그"), "a.", "B", ""),
        (Joint("。", "", "我"), "去。", "我", ""),
        (Joint("。", " ", "我"), "去。", "我", " "),
        (Joint("r", "", "s"), "ab", "cd", ""),
        # From a script without spaces into one with them, and the other way.
        (Joint("。", "", "我"), "I go.", "You", " "),
        (Joint("า", "", "ผ"), "I go", "you", " "),
        (Joint(".", " ", "Y"), "我去。", "你", ""),
        (Joint(".", "\n", "Y"), "我去。", "你", "\n"),
        (Joint(".", " ", "Y"), "ไป", "ผม", " "),
        # What ends a line for other programs is a space.
        (Joint(".", "\r\n", "A"), "a.", "B", "\n"),
        (Joint(".", "\u2028", "A"), "a.", "B", " "),
        (Joint(".", "\r", "A"), "a.", "B", " "),
    ],
)
def test_what_stands_between_two_translations(
    joint: Joint, written: str, following: str, between: str
) -> None:
    assert joint.between(written, following) == between


def test_a_part_without_a_translation_leaves_no_space_of_its_own() -> None:
    space, none = Joint("a", " ", "b"), Joint("a", "", "b")
    for texts, joined, glued in (
        ([("", None), ("x", space)], "x", [False, False]),
        ([("x", None), ("", space), ("y", space)], "x y", [False, False, False]),
        ([("x", None), ("", space), ("y", none)], "x y", [False, False, False]),
        ([("x", None), ("", none), ("y", space)], "x y", [False, False, False]),
        ([("x", None), ("y", none), ("", space)], "xy", [False, True, False]),
    ):
        text = JoinedText()
        added = "".join(map(partial(_add, text), texts))
        assert (text.text, added, text.glued) == (joined, joined, glued)


def _add(text: JoinedText, part: tuple[str, Joint | None]) -> str:
    return text.add(*part)
