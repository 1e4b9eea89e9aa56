"""Make texts of hypotheses: pieces become words, parts become one translation."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from headway.bundle import Bundle
from headway.data.tokenizer import END_ID
from headway.data.words import number_words
from headway.decoding.alignment import Alignment, word_alignment
from headway.decoding.attention import Attend
from headway.decoding.confidence import Confidence, confidence_in, is_low
from headway.decoding.familiarity import unfamiliar_parts
from headway.decoding.flags import flags_where, is_copy
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.parts import Joint, Part
from headway.decoding.translation import Attention, ScoredText, Translation

Words = Sequence[int | None]


class JoinedText:
    """The translations of parts, joined as their sources are."""

    def __init__(self) -> None:
        """Begin with no text."""
        self.text = ""
        self.glued: list[bool] = []
        """For each part, True if no space separates it from the text before it."""
        self._space: Joint | None = None

    def add(self, text: str, joint: Joint | None) -> str:
        """Add the translation of a part; return it with the space before it."""
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


def is_lost(bundle: Bundle, text: str) -> bool:
    """Return True if a text without parts had more than spaces or a tag: all of it was deleted."""
    return bool(text.strip()) and text.strip() not in bundle.tags


class TranslationBuilder:
    """Make one translation of the hypotheses for the parts of a text."""

    def __init__(
        self, bundle: Bundle, options: SearchOptions, confidence: Confidence | None = None
    ) -> None:
        """Use the tokenizers of this bundle; options: those of the search.

        confidence: the calibration, if there is one.
        """
        self.bundle = bundle
        self.confidence = confidence
        self.source, self.target = bundle.source_tokenizer, bundle.target_tokenizer
        self.tags = bundle.tags
        self.n_best = options.n_best
        self.drawn = options.sampling is not None
        self._texts: dict[Sequence[int], str] = {}

    def read(self, hypotheses: Iterable[Hypothesis]) -> None:
        """Decode these hypotheses in threads, which takes less time than one by one."""
        distinct = list({hypothesis.ids for hypothesis in hypotheses})
        self._texts.update(zip(distinct, self.target.decode_batch(distinct), strict=True))

    def join(
        self,
        text: str,
        parts: Sequence[Part],
        hypotheses: Sequence[Sequence[Hypothesis]],
        forced: Sequence[bool],
        attend: Attend | None = None,
        source_words: Sequence[Words] = (),
        *,
        ran_away: Sequence[bool] = (),
    ) -> Translation:
        """Join the hypotheses of each part, best first; without parts the translation is blank.

        text: the source, whose parts these are. forced: for each part, whether a prefix or terms
        were demanded. attend: returns the attention of each hypothesis;
        None leaves out attention and alignment.
        source_words: the word of each piece of each part, needed with attend. ran_away: for each
        part, whether the first search ran away (`headway.decoding.runaway`).
        """
        if not parts:
            blank = ScoredText("", 0.0, 0.0, ())
            return Translation(
                "", 0.0, (), (blank,) * self.n_best,
                empty_parts=int(is_lost(self.bundle, text)),
                deleted_characters=len(self.source.deleted_texts(text)),
            )  # fmt: skip
        combined = self._joined_samples(hypotheses) if self.drawn else self._best(hypotheses)
        attended: list[tuple[_PartAttention, ...]] = [()] * len(combined)
        if attend:
            by_part = zip(parts, zip(*combined, strict=True), source_words, strict=True)
            attended_by_part = [
                self._attention(part.ids, chosen, attend, words) for part, chosen, words in by_part
            ]
            attended = list(zip(*attended_by_part, strict=True))
        joints = [part.joint for part in parts]
        written = [[self._text(part.ids) for part in chosen] for chosen in combined]
        texts = tuple(
            self._scored_text(chosen, part_texts, attentions, joints)
            for chosen, part_texts, attentions in zip(combined, written, attended, strict=True)
        )
        best = texts[0]
        num_sentences = len({part.sentence for part in parts})
        complete = all(part.complete for part in combined[0])
        unfamiliar = unfamiliar_parts(self.bundle, parts, combined[0], forced)
        confidence = confidence_in(self.confidence, combined[0], forced, unfamiliar)
        return Translation(
            text=best.text,
            score=best.score,
            pieces=best.pieces,
            hypotheses=texts,
            num_parts=len(parts),
            num_sentences=num_sentences,
            complete=complete,
            unknown_pieces=sum(self.source.unknown_count(part.ids) for part in parts),
            empty_parts=sum(not text.strip() for text in written[0]),
            unfamiliar_parts=sum(unfamiliar),
            deleted_characters=len(self.source.deleted_texts(text)),
            confidence=confidence,
            flags=flags_where(
                split=len(parts) > num_sentences,
                cut=not complete,
                repeated=any(ran_away),
                copied=is_copy(text, best.text, self.tags),
                low_confidence=is_low(confidence) or any(unfamiliar),
            ),
        )

    def _text(self, ids: Sequence[int]) -> str:
        return self._texts[ids] if ids in self._texts else self.target.decode(ids)

    def _joined_samples(
        self, samples: Sequence[Sequence[Hypothesis]]
    ) -> list[tuple[Hypothesis, ...]]:
        """Return each sample of the first part with one sample of every other part, best first.

        The best sample of each part stays first, because a stream has already sent it. The others
        are shuffled: joined in the order of their scores they would not be samples any more. The
        seed of the shuffle is the pieces of all samples.
        """
        ids = [piece for part in samples for sample in part for piece in sample.ids]
        rng = np.random.default_rng([len(samples), *ids])
        first, *later = samples
        shuffled = [
            [part[0], *(part[1 + i] for i in rng.permutation(len(part) - 1))] for part in later
        ]
        joined = list(zip(first, *shuffled, strict=True))
        return sorted(joined, key=lambda chosen: -sum(h.score for h in chosen))

    def _best(self, hypotheses: Sequence[Sequence[Hypothesis]]) -> list[tuple[Hypothesis, ...]]:
        """Return the n ways to choose one hypothesis of each part that have the highest sums."""
        best: list[tuple[Hypothesis, ...]] = [()]
        for part in hypotheses:
            longer = [(*before, h) for before in best for h in part]
            # A choice that is not among the n best so far cannot be among them with more parts.
            longer.sort(key=lambda chosen: -sum(h.score for h in chosen))
            best = longer[: self.n_best]
        return best

    def _scored_text(
        self,
        parts: Sequence[Hypothesis],
        texts: Sequence[str],
        attentions: Sequence["_PartAttention"],
        joints: Sequence[Joint | None],
    ) -> ScoredText:
        joined = JoinedText()
        for text, joint in zip(texts, joints, strict=True):
            joined.add(text, joint)
        return ScoredText(
            joined.text,
            sum(part.score for part in parts),
            sum(part.log_prob for part in parts),
            tuple(chain.from_iterable(self.target.pieces(part.ids) for part in parts)),
            tuple(part.attention for part in attentions),
            _joined_alignment(attentions, joined.glued),
        )

    def _attention(
        self,
        ids: Sequence[int],
        chosen: Sequence[Hypothesis],
        attend: Attend,
        source_words: Words,
    ) -> list["_PartAttention"]:
        """Return the attention of each hypothesis of one part; several may have the same pieces."""
        distinct = list(dict.fromkeys(hypothesis.ids for hypothesis in chosen))
        source = tuple(self.source.pieces([*ids, END_ID]))
        attentions = {}
        for target_ids, weights in zip(distinct, attend([*ids, END_ID], distinct), strict=True):
            words = number_words(self.target, target_ids)
            attentions[target_ids] = _PartAttention(
                Attention(weights, tuple(self.target.pieces([*target_ids, END_ID])), source),
                word_alignment(weights[:-1, :-1], source_words, words),  # without the end symbols
                1 + max((word for word in words if word is not None), default=-1),
            )
        return [attentions[hypothesis.ids] for hypothesis in chosen]


class _PartAttention(NamedTuple):
    """The attention of one part's translation."""

    attention: Attention
    alignment: Alignment
    num_words: int


def _joined_alignment(parts: Sequence[_PartAttention], glued: Sequence[bool]) -> Alignment:
    """Return the alignment of the whole text: target words are counted from part to part.

    glued: for each part, True if it begins within the last word of the part before.
    """
    sources: dict[int, int] = {}  # by target word
    before = 0
    for part, within in zip(parts, glued, strict=False):  # no parts if attention is not wanted
        before -= within
        for source, target in part.alignment:
            sources.setdefault(before + target, source)  # a shared word belongs to the first part
        before += part.num_words
    return tuple(sorted((source, target) for target, source in sources.items()))
