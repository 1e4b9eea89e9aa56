"""From what a search found to texts: parts become one translation, pieces become words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID
from headway.data.words import number_words
from headway.decoding.alignment import Alignment, word_alignment
from headway.decoding.attention import Attend
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Joint, Part
from headway.decoding.translation import Attention, ScoredText, Translation

Words = Sequence[int | None]


class JoinedText:
    """The translations of parts, joined as their sources were."""

    def __init__(self) -> None:
        """Begin with no text."""
        self.text = ""
        self.glued: list[bool] = []
        """Of each part, whether it follows on the text before it without a space."""
        self._space: Joint | None = None

    def add(self, text: str, joint: Joint | None) -> str:
        """Add the translation of a part; return it with what stands before it."""
        # An empty part leaves the spaces before it to the next one.
        if self._space is None or not self._space.space:
            self._space = joint
        if not (self.text and text):
            added = text
        else:
            added = (self._space.between(self.text, text) if self._space else "") + text
        self.glued.append(bool(self.text and text) and added == text)
        if text:
            self._space = None
        self.text += added
        return added


class TranslationBuilder:
    """Make a translation of the hypotheses of each part of a sentence."""

    def __init__(self, bundle: Bundle, options: SearchOptions) -> None:
        """Write with the target tokenizer of this bundle what a search with these options found."""
        self.source, self.target = bundle.source_tokenizer, bundle.target_tokenizer
        self.n_best = options.n_best
        self.drawn = options.sampling is not None

    def join(
        self,
        parts: Sequence[Part],
        found: Sequence[Sequence[Hypothesis]],
        attend: Attend | None = None,
        source_words: Sequence[Words] = (),
    ) -> Translation:
        """Join what was found for the parts, best first; of no parts, a blank translation.

        attend: tells the attention that goes with each hypothesis, which also needs source_words,
        the word of each piece of each part; None leaves it out.
        """
        if not parts:
            blank = ScoredText("", 0.0, 0.0, ())
            return Translation("", 0.0, (), (blank,) * self.n_best)
        each = self._drawn(found) if self.drawn else self._best(found)
        seen: list[tuple[_Seen, ...]] = [()] * len(each)
        if attend:
            by_part = zip(parts, zip(*each, strict=True), source_words, strict=True)
            own = [self._seen(part.ids, chosen, attend, words) for part, chosen, words in by_part]
            seen = list(zip(*own, strict=True))
        joints = [part.joint for part in parts]
        hypotheses = tuple(self._as_text(*both, joints) for both in zip(each, seen, strict=True))
        best = hypotheses[0]
        return Translation(
            text=best.text,
            score=best.score,
            pieces=best.pieces,
            hypotheses=hypotheses,
            num_parts=len(parts),
            num_sentences=len({part.sentence for part in parts}),
            complete=all(part.complete for part in each[0]),
            unknown_pieces=sum(self.source.unknown_count(part.ids) for part in parts),
            empty_parts=sum(not self.target.decode(part.ids).strip() for part in each[0]),
        )

    def _drawn(self, found: Sequence[Sequence[Hypothesis]]) -> list[tuple[Hypothesis, ...]]:
        """Return each sample of the first part with one of each other part, the best first.

        The best sample of each part stays first, for a stream has told it already. The others come
        sorted and are shuffled, seeded by what was drawn: best joined with best, and so on, would
        not be samples any more.
        """
        drawn = [number for part in found for sample in part for number in sample.ids]
        rng = np.random.default_rng([len(found), *drawn])
        first, *others = found
        shuffled = [
            [part[0], *(part[1 + i] for i in rng.permutation(len(part) - 1))] for part in others
        ]
        joined = list(zip(first, *shuffled, strict=True))
        return sorted(joined, key=lambda chosen: -sum(h.score for h in chosen))

    def _best(self, found: Sequence[Sequence[Hypothesis]]) -> list[tuple[Hypothesis, ...]]:
        """Return the n ways to choose one of each part whose scores have the highest sums."""
        best: list[tuple[Hypothesis, ...]] = [()]
        for part in found:
            longer = [(*before, h) for before in best for h in part]
            # What is not among the n best of some parts is not with more of them either.
            longer.sort(key=lambda chosen: -sum(h.score for h in chosen))
            best = longer[: self.n_best]
        return best

    def _as_text(
        self, parts: Sequence[Hypothesis], seen: Sequence["_Seen"], joints: Sequence[Joint | None]
    ) -> ScoredText:
        joined = JoinedText()
        for part, joint in zip(parts, joints, strict=True):
            joined.add(self.target.decode(part.ids), joint)
        return ScoredText(
            joined.text,
            sum(part.score for part in parts),
            sum(part.log_prob for part in parts),
            tuple(piece for part in parts for piece in self.target.pieces(part.ids)),
            tuple(part.attention for part in seen),
            _joined(seen, joined.glued),
        )

    def _seen(
        self,
        ids: Sequence[int],
        chosen: Sequence[Hypothesis],
        attend: Attend,
        source_words: Words,
    ) -> list["_Seen"]:
        """Return what is known of the hypotheses of one part; many may be the same one."""
        distinct = list(dict.fromkeys(hypothesis.ids for hypothesis in chosen))
        source = tuple(self.source.pieces([*ids, END_ID]))
        found = {}
        for own, weights in zip(distinct, attend([*ids, END_ID], distinct), strict=True):
            words = number_words(self.target, own)
            found[own] = _Seen(
                Attention(weights, tuple(self.target.pieces([*own, END_ID])), source),
                word_alignment(weights[:-1, :-1], source_words, words),  # without the end symbols
                1 + max((word for word in words if word is not None), default=-1),
            )
        return [found[hypothesis.ids] for hypothesis in chosen]


class _Seen(NamedTuple):
    """What was attended to while one part was written."""

    attention: Attention
    alignment: Alignment
    num_words: int


def _joined(parts: Sequence[_Seen], glued: Sequence[bool]) -> Alignment:
    """Return the alignment of the whole text: target words go on from part to part.

    glued: of each part, whether it begins within the word that ends the part before.
    """
    sources: dict[int, int] = {}  # by target word
    before = 0
    for part, within in zip(parts, glued, strict=False):  # there are no parts unless asked for
        before -= within
        for source, target in part.alignment:
            sources.setdefault(before + target, source)  # a word of two parts is the first one's
        before += part.num_words
    return tuple(sorted((source, target) for target, source in sources.items()))
