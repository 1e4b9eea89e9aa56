"""Which characters normalization turns into others is named, with what becomes of them."""

import pytest

from headway.data.rewriting import Rewritten, changes, in_words, rewrites, rewritten
from headway.data.tokenizer import Tokenizer, train_tokenizer


def tokenizer(normalization: str) -> Tokenizer:
    return train_tokenizer(
        ["ab ½ ʰ"],
        kind="char",
        vocabulary_size=30,
        normalization=normalization,  # type: ignore[arg-type]
    )


NFKC = tokenizer("nmt_nfkc")


@pytest.mark.parametrize(
    ("character", "other", "kind"),
    [
        ("ʰ", "h", "phonetic"),
        ("½", "1⁄2", "fraction"),
        ("Ａ", "A", "full-width"),
        ("ﬁ", "fi", "ligature"),
        ("²", "2", "superscript"),
        ("㎏", "kg", "unit"),
        ("µ", "μ", "micro sign, Greek afterwards"),
    ],
)
def test_each_kind_is_named(character: str, other: str, kind: str) -> None:
    found = rewritten([f"x{character}y", f"{character} at the beginning", "plain"], NFKC.normalize)
    assert (found.count, found.changes) == (2, [(character, other)])
    assert str(found) == f"{character} becomes {other}"


@pytest.mark.parametrize("text", ["plain", "é and e\u0301", "two  spaces ", "한국어 ɪtɛ", "日本"])
def test_composition_and_spaces_are_no_rewriting(text: str) -> None:
    assert not rewrites(NFKC.normalize, text)
    assert rewritten([text], NFKC.normalize) == Rewritten(0, [])


def test_what_cannot_be_seen_is_named_by_its_number() -> None:
    assert str(rewritten(["a\u200bb"], NFKC.normalize)) == "U+200B becomes U+0020"
    assert str(rewritten(["a\u0007b"], NFKC.normalize)) == "U+0007 goes"


def test_all_are_known_the_most_frequent_first_and_eight_are_named() -> None:
    texts = ["½ plain", "½ ʰ", "½ ² ³ ¹ ⁴ ⁵ ⁶ ⁷ ⁸", "plain", "plain"]
    found = rewritten(texts, NFKC.normalize)
    assert found.changes == changes(texts, NFKC.normalize)
    assert found.changes[:2] == [("½", "1⁄2"), ("²", "2")]
    assert len(found.changes) == 10
    assert str(found).endswith(", ⁵ becomes 5, ⁶ becomes 6, and 2 more characters")
    assert in_words(found.changes[:8]).endswith(", ⁵ becomes 5, ⁶ becomes 6")


def test_case_counts_where_it_is_folded() -> None:
    found = rewritten(["Ab", "ab"], tokenizer("nfkc_cf").normalize)
    assert (found.count, found.changes) == (1, [("A", "a")])


def test_nothing_is_rewritten_without_normalization() -> None:
    assert rewritten(["½ ʰ Ａ ﬁ ²"], tokenizer("identity").normalize).count == 0
