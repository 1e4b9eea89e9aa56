"""The record of a search: the pieces considered at each step, and their fates.

A record is a tree. Its root is the empty translation. Each other node is a hypothesis that was kept
or that finished. Every step lists the possible next pieces of each live hypothesis. All numbers are
finite, so that JSON can represent them.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from headway.decoding.options import SearchOptions
from headway.decoding.translation import Translation

Fate = Literal["kept", "finished", "pruned", "forbidden"]
"""kept: stays live. finished: ended, and is ranked. pruned: others were better.

forbidden: excluded by a prefix, the output limit or a rule, or because the piece is not an output
(padding, start, the unknown piece).
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible next piece of a hypothesis."""

    piece: str
    piece_id: int
    probability: float
    """The model's probability over the whole vocabulary, before any rule."""
    fate: Fate
    log_prob: float | None
    """The log-probability that the search counts; None if the piece is forbidden.

    It is the logarithm of `probability` unless options change the model's logits
    (repetition_penalty, prefix_bias).
    """
    total: float | None
    """The sum of log_prob over the hypothesis with this piece; None if it is forbidden."""
    rank: int | None
    """The rank, from 1, among the extensions of all hypotheses that the search considered.

    None for others. A beam considers the best 2 * beam_size extensions, a greedy search one.
    """
    node: int | None
    """The node of the extended hypothesis; None unless kept or finished."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The possible next pieces of one hypothesis."""

    node: int
    """The number of the hypothesis's node."""
    candidates: tuple[Candidate, ...]
    """The most probable pieces, and all that were kept, finished or ranked; best first."""
    other_pieces: int
    """The number of pieces that are not among the candidates."""
    other_probability: float
    """The probability of these together."""


@dataclass(frozen=True, slots=True)
class Node:
    """A hypothesis: its parent's pieces and one more."""

    number: int
    """The node's place in `SearchRecord.nodes`; 0 is the root."""
    parent: int | None
    step: int
    """The number of pieces, end symbol included; 0 at the root."""
    piece: str | None
    """The newest piece; None at the root, and if rules forbade every piece after the parent.

    In the second case the node is a leaf that represents its parent.
    """
    piece_id: int | None
    log_prob: float
    """The log-probability that the search counts for the newest piece."""
    total: float
    """Sum of log_prob from the root to here."""
    fate: Literal["kept", "finished"]
    score: float | None = None
    """If finished: total divided by the length penalty, plus the coverage penalty."""
    complete: bool = True
    """False if the output limit forced the end, or rules forbade every piece."""


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One greedy or beam search, from the empty translation to the ranking."""

    source_pieces: tuple[str, ...]
    """`</s>` included."""
    vocabulary_size: int
    """The number of pieces of the probabilities: those of the shortlist if one is used."""
    options: SearchOptions
    nodes: tuple[Node, ...]
    steps: tuple[tuple[Expansion, ...], ...]
    """For each step an expansion of every live hypothesis, the most probable first."""
    ranking: tuple[int, ...]
    """The finished nodes, best first; the search returned the first n_best."""
    translation: Translation
    """The result of `Translator.translate`."""

    @property
    def best(self) -> Node:
        """Return the leaf of the translation."""
        return self.nodes[self.ranking[0]]

    def children(self, node: int) -> list[Node]:
        """Return the hypotheses that extend this one, the most probable first."""
        extended = [child for child in self.nodes if child.parent == node]
        return sorted(extended, key=lambda child: -child.total)

    def path(self, node: int) -> list[Node]:
        """Return the nodes from the first piece to this one; none for the root."""
        nodes: list[Node] = []
        place: int | None = node
        while place:  # the root is 0, and its parent None
            nodes.append(self.nodes[place])
            place = self.nodes[place].parent
        return nodes[::-1]

    def pieces(self, node: int) -> tuple[str, ...]:
        """Return the pieces of a hypothesis, without an end symbol."""
        path = self.path(node)
        ended = bool(path) and path[-1].fate == "finished"
        return tuple(n.piece for n in (path[:-1] if ended else path) if n.piece is not None)

    def walk(self) -> Iterator[Node]:
        """Yield all nodes, each before its children, the most probable child first."""
        waiting = [self.nodes[0]]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += self.children(node.number)[::-1]

    def outline(self) -> str:
        """Return the tree as an indented list: piece, log-probability, sum, final rank."""
        places = {node: place for place, node in enumerate(self.ranking, 1)}
        return "\n".join(self._line(node, places.get(node.number)) for node in self.walk())

    def _line(self, node: Node, place: int | None) -> str:
        if node.number == 0:
            return " ".join(self.source_pieces)
        piece = "(nothing may follow)" if node.piece is None else node.piece
        line = f"{'  ' * node.step}{piece}  {node.log_prob:.3f}  sum {node.total:.3f}"
        if place is None or node.score is None:
            return line
        return f"{line}  #{place}, score {node.score:.3f}"

    def as_dict(self) -> dict[str, Any]:
        """Return the record as lists, dictionaries, texts and finite numbers, for JSON.

        The translation has only text, score and completeness; its hypotheses are in the nodes.
        """
        translation = self.translation
        return {
            "source_pieces": list(self.source_pieces),
            "vocabulary_size": self.vocabulary_size,
            "options": asdict(self.options),
            "nodes": [asdict(node) for node in self.nodes],
            "steps": [[asdict(expansion) for expansion in step] for step in self.steps],
            "ranking": list(self.ranking),
            "translation": {
                "text": translation.text,
                "score": translation.score,
                "complete": translation.complete,
            },
        }
