"""The pieces that a traced model writes row by row, with their probabilities."""

from dataclasses import dataclass

import torch

from headway.errors import TraceError
from headway.inspection.traced_pass import TracedPass


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One row of the target: the piece that it read, and its probabilities for the next one."""

    reads: str
    writes: str
    probability: float
    """Of the piece that it writes, among the whole vocabulary."""
    best: tuple[tuple[str, float], ...]
    """The most probable pieces, with their probabilities."""
    others: float
    """Probability of all pieces that are not among the best."""
    other_pieces: int
    """The number of these pieces."""
    entropy: float
    """Of the whole row, in nats; 0 if one piece is certain."""


def target_rows(trace: TracedPass, count: int = 3) -> list[TargetRow]:
    """Return each row of the target of a trace of one sentence."""
    sentence = trace.sentence
    if sentence is None:
        raise TraceError(
            "The trace of a module does not know which tokens its rows write.",
            "Use `translator.trace`.",
        )
    probabilities = trace["probabilities"].double().cpu()  # (T, V)
    values, pieces = probabilities.topk(min(count, probabilities.size(-1)), dim=-1)
    return [
        TargetRow(
            reads=sentence.reads[row],
            writes=sentence.writes[row],
            probability=float(probabilities[row, label]),
            best=tuple(
                (sentence.vocabulary[piece], value)
                for piece, value in zip(pieces[row].tolist(), values[row].tolist(), strict=True)
            ),
            others=max(0.0, 1.0 - float(values[row].sum())),
            other_pieces=probabilities.size(-1) - values.size(-1),
            entropy=float(torch.special.entr(probabilities[row]).sum()),
        )
        for row, label in enumerate(sentence.label_ids)
    ]
