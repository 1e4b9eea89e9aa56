"""Translators that change text in a known way, for tests of what must stay as it is."""

from collections.abc import Callable, Sequence

from headway.data.sentences import split_sentences
from headway.decoding.parts import Joint
from headway.documents.forms import Content, Finished, Steps
from headway.documents.sentences import TextSentence
from headway.documents.steps import Answer, Wish

Translate = Callable[[Wish], Answer | None]


def same(wish: Wish) -> Answer:
    return Answer(wish.text)


def upper(wish: Wish) -> Answer:
    """Change addresses and placeholders, too, so that they must be put back."""
    words = len(wish.text.split())
    return Answer(wish.text.upper(), tuple((n, n) for n in range(words)))


def upper_unaligned(wish: Wish) -> Answer:
    return Answer(wish.text.upper())


def reverse(wish: Wish) -> Answer:
    words = wish.text.split()
    last = len(words) - 1
    alignment = tuple(sorted((n, last - n) for n in range(last + 1)))
    return Answer(" ".join(reversed(words)), alignment)


def nothing(wish: Wish) -> Answer:
    return Answer("")


def twice(wish: Wish) -> Answer:
    return Answer(f"{wish.text} {wish.text}")


def other(wish: Wish) -> Answer:
    """Have other words, none of which is aligned, and an address of its own."""
    return Answer("<b> & http://example.org/new {own} it", ())


ALL: dict[str, Translate] = {
    f.__name__: f for f in (same, upper, upper_unaligned, reverse, nothing, twice, other)
}


def split(text: str) -> list[TextSentence]:
    """Return the sentences of English text."""
    sentences: list[TextSentence] = []
    place = 0
    for stretch in split_sentences(text):
        written = stretch.strip()
        start = place + len(stretch) - len(stretch.lstrip())
        place += len(stretch)
        if written:
            joint = None
            if sentences:
                before = sentences[-1].end
                joint = Joint(text[before - 1], text[before:start], text[start])
            sentences.append(TextSentence(start, start + len(written), written, joint))
    return sentences


def finish(steps: Steps[Content], translate: Translate) -> tuple[Finished[Content], list[Wish]]:
    """Return the document and all wishes."""
    asked: list[Wish] = []
    try:
        wishes: Sequence[Wish] = next(steps)
        while True:
            asked += wishes
            wishes = steps.send([translate(wish) for wish in wishes])
    except StopIteration as end:
        return end.value, asked
