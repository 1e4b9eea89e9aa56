"""The record of a search: what it considered at each step, and what became of that.

A record is a tree. Its root is the empty translation, each further node a hypothesis that was kept
or that finished, and every step lists, for each hypothesis that lived, the pieces it could have
gone on with. All numbers are finite, so that JSON can hold them.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from headway.decoding.options import SearchOptions
from headway.decoding.translation import Translation

Fate = Literal["kept", "finished", "pruned", "forbidden"]
"""kept: lives on. finished: ended, and takes part in the ranking. pruned: others were better.

forbidden: not to be chosen here, by a prefix, the output limit, a rule, or because it is no output
at all (padding, start, the unknown piece).
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece that a hypothesis could have gone on with."""

    piece: str
    piece_id: int
    probability: float
    """What the model gives it, a share of the whole vocabulary, before any rule."""
    fate: Fate
    log_prob: float | None
    """What the search counts for it; None where it is forbidden.

    It is the logarithm of `probability` unless options change the model's logits
    (repetition_penalty, prefix_bias).
    """
    total: float | None
    """The same, of the whole hypothesis with this piece."""
    rank: int | None
    """Place among the extensions of all hypotheses that the search looked at, from 1, else None.

    A beam looks at the best 2 * beam_size of them, a greedy search at one.
    """
    node: int | None
    """The node that it became; None unless kept or finished."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What could have followed one hypothesis."""

    node: int
    """The hypothesis."""
    candidates: tuple[Candidate, ...]
    """The most probable pieces, best first, and each that was kept, that finished or had a rank."""
    other_pieces: int
    """How many pieces are not among the candidates."""
    other_probability: float
    """What the model gives these together."""


@dataclass(frozen=True, slots=True)
class Node:
    """A hypothesis: its parent's pieces and one more."""

    number: int
    """Its place in `SearchRecord.nodes`; 0 is the root."""
    parent: int | None
    step: int
    """How many pieces it has, an end symbol counted; 0 at the root."""
    piece: str | None
    """The newest piece; None at the root, and where rules left a hypothesis nothing to go on with.

    In the second case the node is a leaf that stands for its parent, as it is.
    """
    piece_id: int | None
    log_prob: float
    """What the search counts for the newest piece."""
    total: float
    """Sum of log_prob from the root to here."""
    fate: Literal["kept", "finished"]
    score: float | None = None
    """Of a finished one: total divided by the length penalty, plus the coverage penalty."""
    complete: bool = True
    """False where the output limit forced the end, or rules left nothing to go on with."""


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One greedy or beam search, from the empty translation to the ranking."""

    source_pieces: tuple[str, ...]
    """`</s>` included."""
    vocabulary_size: int
    """Pieces among which probabilities are shares: those of the shortlist, where there is one."""
    options: SearchOptions
    nodes: tuple[Node, ...]
    steps: tuple[tuple[Expansion, ...], ...]
    """For each step an expansion of every hypothesis that lived, the most probable first."""
    ranking: tuple[int, ...]
    """The nodes that finished, best first; the search returned the first n_best of them."""
    translation: Translation
    """The same that `Translator.translate` gives."""

    @property
    def best(self) -> Node:
        """Return the leaf that is the translation."""
        return self.nodes[self.ranking[0]]

    def children(self, node: int) -> list[Node]:
        """Return the hypotheses that were made of this one, the most probable first."""
        made = [child for child in self.nodes if child.parent == node]
        return sorted(made, key=lambda child: -child.total)

    def path(self, node: int) -> list[Node]:
        """Return the nodes from the first piece to this one; none for the root."""
        found: list[Node] = []
        place: int | None = node
        while place:  # the root is 0, and its parent None
            found.append(self.nodes[place])
            place = self.nodes[place].parent
        return found[::-1]

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
        """Return the tree as an indented list: piece, probability, sum, and rank of what ended."""
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
        """Return all of it in lists, dictionaries, texts and finite numbers, for JSON.

        Of the translation only text, score and completeness: the rest is in the nodes.
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
