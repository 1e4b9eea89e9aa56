"""Record a search: an observer that makes a tree of the hypotheses of a search."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.data.tokenizer import END_ID, Tokenizer
from headway.decoding.attention import Attend
from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_search import build_search
from headway.decoding.candidates import NEVER_CHOSEN, Floats, candidates
from headway.decoding.engine import Engine, Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Past, Rule, Rules
from headway.decoding.run_search import run_search
from headway.decoding.search import Advance, Extension
from headway.decoding.search_record import Candidate, Expansion, Fate, Node
from headway.errors import ConfigError


@dataclass(slots=True)
class _Look:
    """The possible next pieces of one live hypothesis."""

    model: NDArray[np.float64]
    """The model's log-probabilities, (V,)."""
    likely: list[int]
    """The most probable pieces, best first."""
    counted: dict[int, float]
    """The log-probability that the search counts for each piece that is not forbidden."""


@dataclass(slots=True)
class _Step:
    """The observations of the present step."""

    looks: dict[int, _Look] = field(default_factory=dict)  # by copy
    ranks: dict[Extension, tuple[int, float]] = field(default_factory=dict)  # place, total
    ended: list[int] = field(default_factory=list)  # copies that took the end symbol
    stopped: list[int] = field(default_factory=list)  # copies without a possible piece
    living: dict[int, tuple[Extension, float]] = field(default_factory=dict)  # by new copy


class Watcher(Protocol):
    """Follow a recorded search while it runs; an exception from a method ends the search."""

    def read(self, request: Request, /) -> None:
        """Be told that the source is encoded and the steps begin."""
        ...

    def step(self, expansions: Sequence[Expansion], nodes: Sequence[Node], /) -> None:
        """Receive a step of the record, and the nodes that it made.

        The nodes have no scores yet: with a coverage penalty they are known only at the end.
        """
        ...


class SearchRecorder:
    """Collect the nodes and steps of the search for one sentence."""

    def __init__(
        self, request: Request, target: Tokenizer, count: int, watcher: Watcher | None = None
    ) -> None:
        """Record this request; count: the number of pieces to list after each hypothesis."""
        if watcher is not None and not callable(getattr(watcher, "read", None)):
            remedy = "Give an object with the methods `read` and `step`."
            raise ConfigError(f"watcher is of type {type(watcher).__name__}.", remedy)
        self.watcher = watcher
        self.request, self.target, self.count = request, target, count
        self.vocabulary = len(target) if request.allowed is None else len(request.allowed)
        self.nodes = [Node(0, None, 0, None, None, 0.0, 0.0, "kept")]
        self.live = {0: 0}  # node of each copy
        self.steps: list[tuple[Expansion, ...]] = []
        self.finished: list[int] = []  # nodes, in order of completion
        self.ranking: list[int] = []
        self.now = _Step()

    def begin(self) -> None:
        """Tell the watcher that the source is encoded."""
        if self.watcher is not None:
            self.watcher.read(self.request)

    def look(
        self,
        copies: Sequence[int],
        logits: Float[Tensor, "R V"],
        only: Sequence[int | None],
        rules: Rules,
        pasts: Sequence[Past],
    ) -> None:
        """Keep the logits of live hypotheses, which the search changes afterwards."""
        shares = logits.double().log_softmax(dim=1)
        likely = shares.topk(min(self.count, shares.size(1)), dim=1).indices.tolist()
        model = shares.cpu().numpy()
        likely = [
            [piece for piece in pieces if model[row, piece] > -math.inf]
            for row, pieces in enumerate(likely)
        ]
        # With an only choice, no other piece counts.
        also = [
            [piece for piece in pieces if piece not in NEVER_CHOSEN] if choice is None else []
            for pieces, choice in zip(likely, only, strict=True)
        ]
        log_probs, pieces = candidates(logits.clone(), 1, only, rules, pasts, also)
        self.now = _Step()
        for row, copy in enumerate(copies):
            counted = _finite(pieces[row], log_probs[row])
            self.now.looks[copy] = _Look(model[row], likely[row], counted)

    def offer(self, copy: int, pieces: Ints, log_probs: Floats) -> None:
        """Keep the log-probabilities that the search counts; none if no piece is possible."""
        possible = _finite(pieces, log_probs)
        look = self.now.looks[copy]
        look.counted = look.counted | possible if possible else {}

    def rank(self, ranks: Mapping[Extension, tuple[int, float]]) -> None:
        """Keep the best extensions."""
        self.now.ranks = dict(ranks)

    def end(self, copy: int, *, complete: bool) -> None:
        """Keep a copy that took the end symbol, or had no possible piece."""
        (self.now.ended if complete else self.now.stopped).append(copy)

    def go_on(self, living: Mapping[int, tuple[Extension, float]]) -> None:
        """Keep the copies of the next step, and close the step."""
        self.now.living = dict(living)
        self._close_step()

    def decide(self, advance: Advance, ids: Sequence[int], before: float, after: float) -> None:
        """Keep the piece that the only hypothesis took, and close the step."""
        step = self.now
        if not step.looks[0].counted:
            step.stopped.append(0)
        else:
            piece = END_ID if advance.finished else ids[-1]
            # A drawn piece may not be among the listed ones.
            total = before + step.looks[0].counted.setdefault(piece, after - before)
            step.ranks[0, piece] = (1, total)
            if advance.finished:
                step.ended.append(0)
            else:
                step.living[0] = ((0, piece), total)
        self._close_step()
        for _, hypotheses in advance.finished:
            self.finish(hypotheses)

    def _close_step(self) -> None:
        """Make the nodes and expansions of a step after all its decisions."""
        step, before = self.now, len(self.nodes)
        fates: dict[Extension, tuple[Fate, int]] = {}
        for copy in step.ended:
            total = step.ranks[copy, END_ID][1]
            fates[copy, END_ID] = ("finished", self._finish(copy, END_ID, total))
        for copy in step.stopped:
            self._finish(copy, None, self.nodes[self.live[copy]].total)
        living = {}
        for copy, ((parent, place), total) in step.living.items():
            living[copy] = self._add(parent, place, total, "kept")
            fates[parent, place] = ("kept", living[copy])
        self.steps.append(tuple(self._expansion(copy, fates) for copy in sorted(step.looks)))
        self.live = living
        if self.watcher is not None:
            self.watcher.step(self.steps[-1], self.nodes[before:])

    def finish(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Take the scores of the finished hypotheses, in order of completion."""
        for node, hypothesis in zip(self.finished, hypotheses, strict=True):
            self.nodes[node] = replace(
                self.nodes[node], score=hypothesis.score, complete=hypothesis.complete
            )
        order = sorted(range(len(hypotheses)), key=lambda place: -hypotheses[place].score)
        self.ranking = [self.finished[place] for place in order]

    def _finish(self, copy: int, place: int | None, total: float) -> int:
        self.finished.append(self._add(copy, place, total, "finished"))
        return self.finished[-1]

    def _add(
        self, parent: int, place: int | None, total: float, fate: Literal["kept", "finished"]
    ) -> int:
        """Add a node and return its number; place: None if rules forbade every piece."""
        parent_node, number = self.nodes[self.live[parent]], len(self.nodes)
        piece, log_prob = None, 0.0
        if place is not None:
            piece, log_prob = self._piece(place), self.now.looks[parent].counted[place]
        text = None if piece is None else self.target.piece(piece)
        self.nodes.append(
            Node(
                number,
                parent_node.number,
                parent_node.step + 1,
                text,
                piece,
                log_prob,
                total,
                fate,
            )
        )
        return number

    def _piece(self, place: int) -> int:
        return self.request.pieces([place])[0]

    def _expansion(self, copy: int, fates: dict[Extension, tuple[Fate, int]]) -> Expansion:
        look, node = self.now.looks[copy], self.nodes[self.live[copy]]
        ranked = [place for parent, place in self.now.ranks if parent == copy]
        shown = list(dict.fromkeys([*look.likely, *ranked]))
        shown.sort(key=lambda place: (-look.model[place], place))
        unshown = np.exp(np.delete(look.model, shown))
        return Expansion(
            node.number,
            tuple(
                self._candidate(copy, place, look, node.total, fates.get((copy, place)))
                for place in shown
            ),
            self.vocabulary - len(shown),
            float(unshown.sum()),
        )

    def _candidate(
        self,
        copy: int,
        place: int,
        look: _Look,
        so_far: float,
        fate_and_node: tuple[Fate, int] | None,
    ) -> Candidate:
        piece, log_prob = self._piece(place), look.counted.get(place)
        default: Fate = "forbidden" if log_prob is None else "pruned"
        fate, node = (default, None) if fate_and_node is None else fate_and_node
        return Candidate(
            piece=self.target.piece(piece),
            piece_id=piece,
            probability=math.exp(look.model[place]),
            fate=fate,
            log_prob=log_prob,
            total=None if log_prob is None else so_far + log_prob,
            rank=self.now.ranks[copy, place][0] if (copy, place) in self.now.ranks else None,
            node=node,
        )


def record_search(
    engine: Engine,
    recorder: SearchRecorder,
    options: SearchOptions,
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
) -> list[Hypothesis]:
    """Search for the recorder's sentence; return its hypotheses, best first.

    Raises ConfigError for searches that cannot be recorded: several samples, or a beam with groups.
    """
    request = recorder.request
    search = build_search(
        options, attend=attend, banned=banned, terms=bool(request.terms), observer=recorder
    )
    with torch.inference_mode():
        batch = StepwiseBatch(engine, search, 1)
        ((_, hypotheses),) = run_search(batch, [(0, request)], slots=1)
    return hypotheses


def _finite(pieces: Ints, log_probs: Floats) -> dict[int, float]:
    """Return the possible pieces with their log-probabilities."""
    pairs = zip(pieces.tolist(), log_probs.tolist(), strict=True)
    return {piece: log_prob for piece, log_prob in pairs if log_prob > -math.inf}
