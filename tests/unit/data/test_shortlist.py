"""A shortlist: what is in it and why, and what comes back from its file."""

import numpy as np
import pytest
from safetensors.numpy import load, save

from headway.data import shortlist as module
from headway.data.shortlist import Shortlist, learn_shortlist
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.errors import ConfigError, DataError

ENGLISH = ["the house", "the book", "a book", "the dog", "a dog barks"]
GERMAN = ["das haus", "das buch", "ein buch", "das tier", "ein tier bellt"]


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return train_tokenizer(ENGLISH, kind="word", vocabulary_size=30)


@pytest.fixture(scope="module")
def german() -> Tokenizer:
    return train_tokenizer(GERMAN, kind="word", vocabulary_size=30)


def learn(english: Tokenizer, german: Tokenizer, **numbers: float) -> Shortlist:
    pairs = list(zip(english.encode_batch(ENGLISH), german.encode_batch(GERMAN), strict=True))
    return learn_shortlist(pairs, english, german, **numbers)  # type: ignore[arg-type]


def test_a_sentence_has_the_special_the_frequent_and_the_best_pieces(
    english: Tokenizer, german: Tokenizer
) -> None:
    shortlist = learn(english, german, frequent=2, per_piece=1)

    found = shortlist.pieces_for(english.encode("the dog"))

    pieces = german.pieces(found)
    assert set(pieces) == {"<pad>", "<unk>", "<s>", "</s>", "▁das", "▁buch", "▁tier"}
    assert found.tolist() == sorted(set(found.tolist()))
    # `das` and, of three that are twice there, the one that is first in the vocabulary.
    counts = {"▁das": 3, "▁buch": 2, "▁ein": 2, "▁tier": 2}
    first = min((p for p in counts if counts[p] == 2), key=german.id)
    assert set(german.pieces(shortlist.always)) - {*pieces[:4]} == {"▁das", first}


def test_each_number_does_what_it_says(english: Tokenizer, german: Tokenizer) -> None:
    sizes = np.diff(learn(english, german, frequent=0, per_piece=2).starts)
    assert sizes.max() == 2
    assert sizes[:4].tolist() == [0] * 4  # special pieces stand in no text
    everything = learn(english, german, frequent=0, per_piece=99)
    assert len(everything.found) > sizes.sum()
    likely = learn(english, german, frequent=0, per_piece=99, min_probability=0.5)
    assert 0 < len(likely.found) < len(everything.found)
    none = learn(english, german, frequent=0, per_piece=0)
    assert none.pieces_for(english.encode("the book")).tolist() == [0, 1, 2, 3]
    frequent = learn(english, german, frequent=99, per_piece=0)
    assert frequent.pieces_for([]).tolist() == list(range(len(german)))


def test_the_best_come_first_and_by_narrowing_only_the_last_go(
    english: Tokenizer, german: Tokenizer
) -> None:
    wide, narrow = (learn(english, german, per_piece=k) for k in (3, 2))
    for piece in range(len(english)):
        own = [s.found[s.starts[piece] : s.starts[piece + 1]].tolist() for s in (wide, narrow)]
        assert own[0][:2] == own[1]
    assert german.piece(int(wide.found[wide.starts[english.id("▁house")]])) == "▁haus"


def test_an_alphabet_and_bytes_are_in_every_list(
    english: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled = train_tokenizer(GERMAN, kind="bpe", vocabulary_size=285, byte_fallback=True)
    pairs = list(zip(english.encode_batch(ENGLISH), spelled.encode_batch(GERMAN), strict=True))

    always = learn_shortlist(pairs, english, spelled, frequent=0).always

    assert set(spelled.encode("龍")) <= set(always.tolist())  # it is bytes alone
    letters = {piece for piece in spelled.pieces(always) if len(piece) == 1}
    assert set("abdehilnrstu▁") <= letters
    assert all(len(p.removeprefix("▁")) <= 1 or "<" in p for p in spelled.pieces(always))

    monkeypatch.setattr(module, "_LARGEST_ALPHABET", 5)
    without = learn_shortlist(pairs, english, spelled, frequent=0).always
    assert len(without) == 4 + 256


def test_very_much_text_is_taken_at_even_distances(
    english: Tokenizer, german: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn(english, german)
    # All pairs have 3 · 2 links, the last one 4 · 3: 36. Of every second pair there are 24.
    monkeypatch.setattr(module, "_MOST_LINKS", 35)
    part = learn(english, german)
    assert len(part.found) < len(whole.found)
    unseen = english.id("▁dog")
    assert part.starts[unseen + 1] - part.starts[unseen] == 3  # the last pair alone has it
    assert np.array_equal(part.always, whole.always)


def test_a_pair_that_is_no_sentence_costs_no_other_pair(
    english: Tokenizer, german: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [([5, 6], [7, 8])] * 9
    glued = (list(range(4, 20)), list(range(4, 20)))
    monkeypatch.setattr(module, "_MOST_LINKS_OF_A_PAIR", 200)
    monkeypatch.setattr(module, "_MOST_LINKS", 9 * 6)

    assert module.choose_pairs([*pairs[:4], glued, *pairs[4:]]) == pairs
    assert module.choose_pairs(pairs * 2) == pairs  # every second one


def test_a_file_brings_the_same_back(english: Tokenizer, german: Tokenizer) -> None:
    shortlist = learn(english, german)
    data = shortlist.to_bytes()

    again = Shortlist.from_bytes(data, len(english), len(german))

    for name in ("always", "starts", "found", "target_size"):
        assert np.array_equal(getattr(again, name), getattr(shortlist, name))
    assert again.to_bytes() == data


def test_a_file_that_is_none_or_of_another_model_is_refused(
    english: Tokenizer, german: Tokenizer
) -> None:
    sizes = len(english), len(german)
    data = learn(english, german).to_bytes()
    tensors = load(data)

    def changed(**others: np.ndarray) -> bytes:
        return save(tensors | others)

    for bad, message in (
        (b"{}", "not a safetensors file"),
        (save({"always": tensors["always"]}), "does not hold always, starts, found"),
        (changed(found=tensors["found"][None]), "in one dimension each"),
        (changed(starts=tensors["starts"][:-1]), f"is for {sizes[0] - 1} source tokens"),
        (changed(starts=tensors["starts"][::-1].copy()), "do not follow one another"),
        (changed(always=tensors["always"][1:]), "do not ascend from the special ones"),
        (changed(always=np.array([0, 1, 2, 3, 5, 5])), "do not ascend"),
        (changed(found=tensors["found"] + sizes[1]), f"beyond the {sizes[1]} of the tokenizer"),
        (changed(found=tensors["found"] - sizes[1]), f"beyond the {sizes[1]} of the tokenizer"),
    ):
        with pytest.raises(DataError, match=message):
            Shortlist.from_bytes(bad, *sizes)


def test_numbers_that_cannot_be_are_refused(english: Tokenizer, german: Tokenizer) -> None:
    for name, value in (("frequent", -1), ("per_piece", -1), ("min_probability", 1.5)):
        with pytest.raises(ConfigError, match=f"{name} is {value}, but must be"):
            learn(english, german, **{name: value})
