"""Tokenizers are trained the same every time, read safely and refuse what cannot work."""

import pickle
import random
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.data.encodable import encodable
from headway.data.tokenizer import (
    END_ID,
    PAD_ID,
    SPECIAL_PIECES,
    START_ID,
    UNK_ID,
    Kind,
    Normalization,
    Tokenizer,
    train_tokenizer,
)
from headway.errors import ConfigError, DataError, TokenizerError

KINDS: list[Kind] = ["unigram", "bpe", "word", "char"]
SENTENCES = [
    "the cat sat on the mat.",
    "the dog, 12 years old, sat on the cat",
    "a cat-like animal (a dog?) ate the mat",
    "나는 학생입니다. 너는 학교에 갑니다.",
]

SIZE = 46  # these sentences need 40 pieces and give a unigram tokenizer at most 48


def trained(kind: Kind = "unigram", texts: list[str] = SENTENCES, **options: Any) -> Tokenizer:
    size = SIZE + 256 * options.get("byte_fallback", False)
    options.setdefault("vocabulary_size", size if kind in ("unigram", "bpe") else 1000)
    return train_tokenizer(texts, kind=kind, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_special_pieces_come_first(kind: Kind) -> None:
    tokenizer = trained(kind)
    assert (PAD_ID, UNK_ID, START_ID, END_ID) == (0, 1, 2, 3)
    assert tuple(tokenizer.pieces(range(4))) == SPECIAL_PIECES == ("<pad>", "<unk>", "<s>", "</s>")
    assert tokenizer.kind == kind
    assert tokenizer.id(tokenizer.piece(7)) == 7
    assert tokenizer.id("no such piece") == UNK_ID


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("size", [41, 47])
def test_a_piece_vocabulary_has_exactly_the_size_asked_for(kind: Kind, size: int) -> None:
    tokenizer = trained(kind, vocabulary_size=size)
    assert len(tokenizer) == tokenizer.vocabulary_size == size


def test_a_word_vocabulary_has_at_most_the_size_asked_for() -> None:
    words = {word for sentence in SENTENCES for word in sentence.split()}
    assert len(trained("word", vocabulary_size=5000)) == 4 + len(words)
    small = trained("word", vocabulary_size=6)
    assert len(small) == 6
    assert small.piece(4) == "▁the"


def test_a_character_vocabulary_has_at_most_the_size_asked_for() -> None:
    characters = set("".join(SENTENCES))
    assert len(trained("char", vocabulary_size=5000)) == 4 + len(characters)
    assert len(trained("char", vocabulary_size=9)) == 9


def test_words_are_what_stands_between_spaces() -> None:
    tokenizer = trained("word")
    ids = tokenizer.encode("the dog, cat-like 학생입니다. (a dog?) 12")
    assert tokenizer.pieces(ids) == [
        "▁the", "▁dog,", "▁cat-like", "▁학생입니다.", "▁(a", "▁dog?)", "▁12"
    ]  # fmt: skip


def test_characters_are_single() -> None:
    tokenizer = trained("char")
    assert tokenizer.pieces(tokenizer.encode("cat 학생")) == ["▁", "c", "a", "t", "▁", "학", "생"]


@pytest.mark.parametrize("kind", KINDS)
def test_training_twice_gives_the_same_bytes(kind: Kind) -> None:
    one, two = trained(kind), trained(kind, texts=list(SENTENCES))
    assert one.to_bytes() == two.to_bytes()
    assert one == two
    assert hash(one) == hash(two)
    assert one != trained(kind, texts=[*SENTENCES, "zebra"])
    assert one != one.to_bytes()


def test_texts_may_be_read_once_only() -> None:
    assert train_tokenizer(iter(SENTENCES), kind="bpe", vocabulary_size=SIZE) == trained("bpe")


@pytest.mark.parametrize("kind", KINDS)
def test_a_very_long_line_is_used(kind: Kind) -> None:
    tokenizer = trained(kind, texts=["a b " * 5_000 + "q", "a b"], vocabulary_size=8)
    assert tokenizer.unknown_count(tokenizer.encode("q")) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_reserved_mark_does_not_cost_the_line(kind: Kind) -> None:
    size = 8 if kind in ("unigram", "bpe") else 100
    tokenizer = trained(kind, texts=["x ▅ y", "z"], vocabulary_size=size)
    assert tokenizer.unknown_count(tokenizer.encode("x y z")) == 0


@pytest.mark.parametrize("special", ["<s>", "</s>", "<pad>", "<unk>"])
@pytest.mark.parametrize("kind", KINDS)
def test_special_looking_text_is_text(kind: Kind, special: str) -> None:
    texts = [f"the {special} tag {special}{special} and {special}"] * 9
    size = 50 if kind in ("unigram", "bpe") else 1000
    tokenizer = trained(kind, texts=[*texts, *SENTENCES], vocabulary_size=size)
    for text in (special, f"the {special} tag", f"the{special}tag", f"{special} {special}"):
        assert not {PAD_ID, START_ID, END_ID} & set(tokenizer.encode(text))
    if kind != "word":
        assert tokenizer.decode(tokenizer.encode(f"the {special}")) == f"the {special}"


def test_decoding_leaves_control_symbols_out() -> None:
    tokenizer = trained()
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode([START_ID, *ids, END_ID, PAD_ID, PAD_ID]) == "the cat"
    assert tokenizer.decode([PAD_ID, END_ID]) == ""
    assert tokenizer.decode([]) == ""


def test_an_unknown_character_is_counted_and_shown() -> None:
    tokenizer = trained()
    ids = tokenizer.encode("cat é ê cat")
    assert tokenizer.unknown_count(ids) == 2
    assert tokenizer.decode(ids).count("⁇") == 2
    assert tokenizer.unknown_count(tokenizer.encode("éê")) == 1
    assert tokenizer.unknown_texts("cat") == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_unknown_are_characters_or_words(kind: Kind) -> None:
    tokenizer = trained(kind, normalization="identity")
    found = tokenizer.unknown_texts("cat éê ê \ud800\r the éê")
    words = ["éê", "ê", "\ufffd\r", "éê"]
    assert found == (words if kind == "word" else list("".join(words)))


TOKENIZER = trained()


@given(st.text(max_size=20))
def test_a_text_without_the_deleted_characters_has_none(text: str) -> None:
    deleted = TOKENIZER.deleted_texts(text)
    left = encodable(text)
    for character in set(deleted):
        assert TOKENIZER.normalize(character).strip() == ""
        left = left.replace(character, " ")
    assert TOKENIZER.deleted_texts(left) == []


@pytest.mark.parametrize(
    ("normalization", "deleted"),
    [("nmt_nfkc", ["\x07", "\ufffd", "\ufffd", "▁"]), ("nfkc", ["▁"]), ("identity", ["▁"])],
)
def test_deleted_are_characters_with_text_that_normalization_leaves_out(
    normalization: Normalization, deleted: list[str]
) -> None:
    tokenizer = trained(normalization=normalization)
    # Spaces, marks without text, and what becomes another character are not deleted.
    for _ in range(2):  # the second time, the characters of the first are known
        assert tokenizer.deleted_texts("c\x07at \ufffd\ud800▁ the") == deleted
    assert tokenizer.deleted_texts(" \t\n\x0c\u2028\u3000 \u200b\ufeff\u200d\xad ½ e\u0301") == []


def test_a_space_that_leaves_nothing_between_two_words_is_deleted() -> None:
    for space in "\x0b\x1c\x1d\x1e\x1f":
        assert TOKENIZER.normalize(f"the{space}cat") == TOKENIZER.normalize("thecat")
        assert TOKENIZER.deleted_texts(f"the{space}cat") == [space]


def test_unknown_spaces_have_a_name() -> None:
    tokenizer = trained("word", normalization="identity")
    assert tokenizer.unknown_count(tokenizer.encode("cat ▁▁ the")) == 1
    assert tokenizer.unknown_texts("cat ▁▁ the") == ["▁"]


@pytest.mark.parametrize("kind", KINDS)
def test_emoji_survive_through_bytes(kind: Kind) -> None:
    tokenizer = trained(kind, byte_fallback=True)
    text = "the 🐈‍⬛ sat 👩🏽‍🚀"
    ids = tokenizer.encode(text)
    assert UNK_ID not in ids
    assert tokenizer.decode(ids) == tokenizer.normalize(text)
    assert "🐈" in tokenizer.decode(ids)
    assert UNK_ID in trained(kind).encode(text)


def test_decomposed_hangul_is_composed() -> None:
    tokenizer = trained()
    text = "나는 학생입니다"
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    assert tokenizer.encode(apart) == tokenizer.encode(text)
    assert tokenizer.normalize(apart) == text
    assert tokenizer.unknown_count(tokenizer.encode(apart)) == 0
    plain = trained(normalization="identity")
    assert plain.unknown_count(plain.encode(apart)) > 0


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("nmt_nfkc", "The CAT sat"),
        ("nfkc", "The CAT sat"),
        ("nmt_nfkc_cf", "the cat sat"),
        ("nfkc_cf", "the cat sat"),
        ("identity", "The CAT sat"),
    ],
)
def test_normalizations_differ_in_width_and_case(normalization: str, expected: str) -> None:
    tokenizer = trained(normalization=normalization)
    assert tokenizer.normalize("  The  CAT sat ") == expected
    assert (tokenizer.normalize("ｃａｔ") == "cat") == (normalization != "identity")


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nfkc", "identity"])
def test_a_newline_is_a_space(normalization: str) -> None:
    tokenizer = trained(normalization=normalization, texts=[*SENTENCES, "cat\nsat"])
    assert tokenizer.encode("cat\nsat") == tokenizer.encode("cat sat")
    assert tokenizer.normalize("cat\nsat") == "cat sat"


def test_decoding_the_byte_of_a_newline_stays_on_one_line() -> None:
    tokenizer = trained(byte_fallback=True)
    newline = tokenizer.id("<0x0A>")
    assert newline != UNK_ID
    ids = [*tokenizer.encode("cat"), newline, *tokenizer.encode("sat")]
    assert tokenizer.decode(ids) == "cat  sat"


@pytest.mark.parametrize("kind", ["bpe", "char"])
@pytest.mark.parametrize("text", ["The CAT  sat.", "a ﬁne Ⅷ 😀", "\ud83d\ude00 cat", " cat\n"])
def test_each_piece_stands_for_a_stretch_of_the_text(kind: Kind, text: str) -> None:
    tokenizer = train_tokenizer(
        ["the cat sat on a fine mat. viii"] * 3,
        kind=kind,
        vocabulary_size=30,
        normalization="nmt_nfkc_cf",
    )

    stretches = tokenizer.stretches(text)

    assert len(stretches) == len(tokenizer.encode(text))
    assert "".join(stretches).strip() == encodable(text).strip()


def test_surrogates_are_joined_or_replaced() -> None:
    tokenizer = trained(byte_fallback=True)
    assert tokenizer.decode(tokenizer.encode("cat \ud83d\udc08")) == "cat 🐈"
    assert tokenizer.encode("cat \ud83d") == tokenizer.encode("cat \ufffd")
    assert trained("char", texts=["a\ud83d"]) == trained("char", texts=["a\ufffd"])


@pytest.mark.parametrize("ids", [[-1], [4, SIZE], [10**9]])
def test_an_id_outside_the_vocabulary_is_named(ids: list[int]) -> None:
    tokenizer = trained()
    for use in (tokenizer.decode, tokenizer.pieces):
        with pytest.raises(TokenizerError, match=f"no token {ids[-1]}; .* tokens 0 to {SIZE - 1}"):
            use(ids)


def test_a_tokenizer_survives_a_file_bytes_and_pickle(tmp_path: Path) -> None:
    tokenizer = trained("bpe")
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.to_bytes())
    copies = [
        Tokenizer.from_file(path),
        Tokenizer.from_file(str(path)),
        Tokenizer.from_bytes(tokenizer.to_bytes()),
        pickle.loads(pickle.dumps(tokenizer)),
    ]
    for copy in copies:
        assert copy == tokenizer
        assert copy.kind == "bpe"
        assert copy.encode("the cat") == tokenizer.encode("the cat")


def test_any_sentencepiece_program_reads_the_file() -> None:
    tokenizer = trained("bpe")
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.to_bytes())
    assert processor.encode("the cat") == tokenizer.encode("the cat")
    specials = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
    assert specials == (PAD_ID, UNK_ID, START_ID, END_ID)


def test_it_shows_what_it_is() -> None:
    assert repr(trained("bpe")) == "Tokenizer(kind='bpe', vocabulary_size=46)"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a model",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: b"PK\x03\x04" + data,
    ],
    ids=["empty", "text", "half", "one byte short", "other start"],
)
def test_a_damaged_model_is_refused_by_name(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "broken.model"
    path.write_bytes(damage(trained().to_bytes()))
    with pytest.raises(TokenizerError, match=r"broken\.model: This is not a SentencePiece") as info:
        Tokenizer.from_file(path)
    assert info.value.remedy


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"nowhere\.model cannot be read"):
        Tokenizer.from_file(tmp_path / "nowhere.model")
    with pytest.raises(TokenizerError, match="cannot be read"):
        Tokenizer.from_file(tmp_path)


def test_a_model_with_other_special_pieces_is_refused(tmp_path: Path) -> None:
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(prefix), vocab_size=45, minloglevel=9
    )
    with pytest.raises(TokenizerError, match="starts with the tokens <unk>, <s>, </s>"):
        Tokenizer.from_file(f"{prefix}.model")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_too_large_a_vocabulary_names_the_largest_that_works(kind: Kind) -> None:
    with pytest.raises(ConfigError, match=f"vocabulary_size is 9000, .* {kind} .* at most") as info:
        trained(kind, vocabulary_size=9000)
    largest = int(info.value.message.split("at most ")[1].split()[0])
    assert f"{largest} or less" in info.value.remedy
    assert len(trained(kind, vocabulary_size=largest)) == largest
    with pytest.raises(ConfigError):
        trained(kind, vocabulary_size=largest + 1)


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_too_small_a_vocabulary_names_the_smallest_that_works(
    kind: Kind, byte_fallback: bool
) -> None:
    size = 5 + 256 * byte_fallback
    with pytest.raises(ConfigError, match=f"vocabulary_size is {size}, .* alone need") as info:
        trained(kind, vocabulary_size=size, byte_fallback=byte_fallback)
    smallest = int(info.value.message.split("alone need ")[1].rstrip("."))
    assert f"{smallest} or more" in info.value.remedy
    tokenizer = trained(kind, vocabulary_size=smallest, byte_fallback=byte_fallback)
    assert len(tokenizer) == smallest


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("size", "byte_fallback"), [(4, False), (0, False), (-3, False), (260, True)]
)
def test_a_vocabulary_of_special_pieces_only_is_refused(
    kind: Kind, size: int, byte_fallback: bool
) -> None:
    with pytest.raises(ConfigError, match=f"vocabulary_size is {size}; it must be at least"):
        trained(kind, vocabulary_size=size, byte_fallback=byte_fallback)


@pytest.mark.parametrize("texts", [[], [""], ["  ", "\t", "\n"], ["\u200b"], ["▅"]])
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_to_train_on_is_an_error(kind: Kind, texts: list[str]) -> None:
    with pytest.raises(DataError, match="no text to train"):
        trained(kind, texts=texts)


def test_an_error_while_reading_the_text_stays_itself() -> None:
    def lines() -> Iterator[str]:
        yield "the cat"
        raise DataError("line 2 is broken.")

    with pytest.raises(DataError, match=r"^line 2 is broken\.$"):
        train_tokenizer(lines(), kind="bpe", vocabulary_size=SIZE)


def test_what_else_fails_in_training_is_told() -> None:
    with pytest.raises(
        TokenizerError, match=r"cannot train a bpe tokenizer of 90 tokens: .*too long"
    ):
        trained("bpe", vocabulary_size=90, symbols=["a" * 9_000])


@pytest.mark.parametrize(
    "word",
    [
        "x" * 8_000,
        "=" * 30_000,  # three times the length that any kind cuts at
        "가" * 2_700,
        "https://example.com/?data=" + "QUJD" * 2_500,
        "ﷺ" * 300,  # 18 characters each where text is normalized
    ],
)
def test_one_very_long_word_keeps_no_word_tokenizer_from_being_trained(word: str) -> None:
    tokenizer = trained("word", texts=[f"one {word} two", "one two"], vocabulary_size=8000)
    assert tokenizer.unknown_count(tokenizer.encode("one two")) == 0


def test_the_longest_word_that_can_be_a_piece_is_one() -> None:
    for word in ("x" * 7_996, "가" * 2_665):
        tokenizer = trained("word", texts=[f"one {word}"], vocabulary_size=100)
        assert tokenizer.decode(tokenizer.encode(word)) == word
        assert len(tokenizer.encode(word)) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"kind": "wordpiece"}, "'wordpiece' is unknown"),
        ({"normalization": "nfd"}, "'nfd' is unknown"),
        (
            {"character_coverage": 0.97},
            r"is 0\.97; SentencePiece takes 0\.98 to 1",
        ),
        ({"character_coverage": 1.5}, "character_coverage is 1.5"),
        ({"texts": "the cat sat"}, "one string"),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as info:
        trained(**options)
    assert info.value.remedy


def test_less_character_coverage_leaves_rare_characters_unknown() -> None:
    texts = ["a b c " * 200, "한"]
    full = trained("char", texts=texts)
    less = trained("char", texts=texts, character_coverage=0.99)
    assert full.unknown_count(full.encode("한")) == 0
    assert less.unknown_count(less.encode("한")) == 1


def test_training_and_its_errors_are_silent() -> None:
    # SentencePiece writes to the file descriptors, past Python, so a child process is watched.
    script = """
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.errors import HeadwayError
train_tokenizer(["the cat sat"] * 9, kind="unigram", vocabulary_size=11)
for size in (6, 9000):
    try:
        train_tokenizer(["the cat sat"], kind="bpe", vocabulary_size=size)
    except HeadwayError:
        continue
    raise SystemExit("no error")
try:
    Tokenizer(b"broken")
except HeadwayError:
    pass
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("seconds", [0.001, 0.004, 0.01, 0.03])
def test_ctrl_c_at_any_moment_is_ctrl_c_and_no_fault_of_the_text(seconds: float) -> None:
    def train_until_interrupted() -> None:
        # Again after a second, for Python drops what is raised while it frees an object.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1)
        while True:
            train_tokenizer(["one line"] * 300, kind="char", vocabulary_size=30)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_until_interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_while_training_is_ctrl_c_and_no_fault_of_the_text() -> None:
    def interrupted() -> Iterator[str]:
        yield "one line"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_tokenizer(interrupted(), kind="char", vocabulary_size=30)


def test_a_word_that_never_ends_is_no_trouble() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(2, 8))) for _ in range(300)]
    lines = [" ".join(rng.choices(words, k=8)) for _ in range(2_000)]
    endless = "".join(rng.choices("abcdefghz", k=150_000))

    tokenizer = train_tokenizer([*lines, endless], kind="unigram", vocabulary_size=200)

    assert tokenizer.unknown_count(tokenizer.encode("z")) == 0


def test_any_seed_is_a_seed() -> None:
    assert trained(seed=20260101123456) == trained()


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_threads_cut_text_than_pytorch_has(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    tokenizer = trained()
    expected = [tokenizer.encode(text) for text in SENTENCES]
    encode, used = sentencepiece.SentencePieceProcessor.encode, []

    def watched(self: Any, *given: Any, **named: Any) -> Any:
        used.append(named.get("num_threads"))
        return encode(self, *given, **named)

    monkeypatch.setattr(sentencepiece.SentencePieceProcessor, "encode", watched)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)

    assert tokenizer.encode_batch(SENTENCES) == expected
    assert used == [threads]


@given(st.lists(st.lists(st.integers(0, 40)), min_size=1))
def test_lists_of_ids_become_the_texts_of_each(several: list[list[int]]) -> None:
    for tokenizer in (trained(), trained(byte_fallback=True)):
        texts = [tokenizer.decode(ids) for ids in several]
        assert tokenizer.decode_batch(several) == texts
