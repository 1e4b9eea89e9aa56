"""English inflection, against forms written down by hand."""

import pytest

from headway.sample_corpus import english as en
from headway.sample_corpus import words


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("apple", "an apple"), ("cup", "a cup"), ("umbrella", "an umbrella"),
        ("school uniform", "a school uniform"), ("uniform", "a uniform"),
        ("honest cook", "an honest cook"), ("old house", "an old house"),
        ("useful key", "a useful key"), ("expensive ring", "an expensive ring"),
        ("engineer", "an engineer"), ("one", "a one"),
    ],
)  # fmt: skip
def test_the_article_follows_the_first_sound(word: str, expected: str) -> None:
    assert en.with_article(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("apple", "apples"), ("box", "boxes"), ("brush", "brushes"), ("bus", "buses"),
        ("story", "stories"), ("toy", "toys"), ("knife", "knives"), ("wolf", "wolves"),
        ("child", "children"), ("woman", "women"), ("mouse", "mice"), ("tomato", "tomatoes"),
        ("sweet potato", "sweet potatoes"), ("police officer", "police officers"),
        ("butterfly", "butterflies"), ("secretary", "secretaries"), ("photo", "photos"),
        ("bookshelf", "bookshelves"), ("actress", "actresses"), ("piano", "pianos"),
    ],
)  # fmt: skip
def test_plurals(word: str, expected: str) -> None:
    assert en.plural(word) == expected


@pytest.mark.parametrize(
    ("verb", "third", "past", "ing"),
    [
        ("go", "goes", "went", "going"), ("study", "studies", "studied", "studying"),
        ("play", "plays", "played", "playing"), ("wash", "washes", "washed", "washing"),
        ("chop", "chops", "chopped", "chopping"), ("wrap", "wraps", "wrapped", "wrapping"),
        ("sweep", "sweeps", "swept", "sweeping"),
        ("swim", "swims", "swam", "swimming"), ("run", "runs", "ran", "running"),
        ("make", "makes", "made", "making"), ("lie down", "lies down", "lay down", "lying down"),
        ("turn on", "turns on", "turned on", "turning on"), ("fix", "fixes", "fixed", "fixing"),
        ("take care of", "takes care of", "took care of", "taking care of"),
        ("open", "opens", "opened", "opening"), ("visit", "visits", "visited", "visiting"),
        ("carry", "carries", "carried", "carrying"), ("cut", "cuts", "cut", "cutting"),
        ("read", "reads", "read", "reading"), ("see", "sees", "saw", "seeing"),
        ("cook", "cooks", "cooked", "cooking"), ("paint", "paints", "painted", "painting"),
        ("draw", "draws", "drew", "drawing"), ("review", "reviews", "reviewed", "reviewing"),
        ("translate", "translates", "translated", "translating"),
        ("have", "has", "had", "having"), ("cry", "cries", "cried", "crying"),
        ("teach", "teaches", "taught", "teaching"), ("grill", "grills", "grilled", "grilling"),
        ("travel", "travels", "traveled", "traveling"), ("hide", "hides", "hid", "hiding"),
    ],
)  # fmt: skip
def test_verb_forms(verb: str, third: str, past: str, ing: str) -> None:
    assert (en.third_person(verb), en.past(verb), en.ing(verb)) == (third, past, ing)


@pytest.mark.parametrize(
    ("adjective", "comparative", "superlative"),
    [
        ("big", "bigger", "biggest"), ("small", "smaller", "smallest"), ("wide", "wider", "widest"),
        ("heavy", "heavier", "heaviest"), ("noisy", "noisier", "noisiest"),
        ("good", "better", "best"), ("bad", "worse", "worst"), ("thin", "thinner", "thinnest"),
        ("expensive", "more expensive", "most expensive"), ("easy", "easier", "easiest"),
        ("famous", "more famous", "most famous"), ("narrow", "narrower", "narrowest"),
        ("quiet", "quieter", "quietest"), ("cute", "cuter", "cutest"),
        ("cheap", "cheaper", "cheapest"), ("tired", "more tired", "most tired"),
        ("fast", "faster", "fastest"), ("hungry", "hungrier", "hungriest"),
        ("humble", "humbler", "humblest"), ("polite", "more polite", "most polite"),
        ("slow", "slower", "slowest"), ("new", "newer", "newest"), ("sad", "sadder", "saddest"),
        ("diligent", "more diligent", "most diligent"), ("clever", "cleverer", "cleverest"),
    ],
)  # fmt: skip
def test_degrees_of_adjectives(adjective: str, comparative: str, superlative: str) -> None:
    assert en.comparative(adjective) == comparative
    assert en.superlative(adjective) == superlative


def test_the_regular_verbs_of_the_lexicon_are_really_regular() -> None:
    verbs = {entry.english.split(" ")[0] for entry in words() if entry.kind == "verb"}

    regular = {verb for verb in verbs if en.past(verb).endswith("ed") and verb != "feed"}

    # Read through by a person: none of these has an irregular past.
    assert regular <= set(_REGULAR_VERBS.split())


_REGULAR_VERBS = """
    bake borrow carry chop clean close cook copy cough cry dance dislike doze enjoy exercise fix
    grill help interview invite laugh learn like listen live lock love move open order paint
    pick plant play praise pray prepare print push raise receive recommend rest review shout
    show study talk touch translate travel turn use visit wait walk want wash watch wipe work
    wrap yawn
"""
