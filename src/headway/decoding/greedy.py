"""Greedy search: the most probable piece at every step."""

import torch
from jaxtyping import Int
from torch import Tensor

from headway.data.tokenizer import END_ID
from headway.decoding.engine import Engine, State
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.length import length_penalty
from headway.decoding.search import SearchOptions, next_log_probs, start_ids


def greedy_search(
    engine: Engine[State], source_ids: Int[Tensor, "B S"], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Return one hypothesis for each sentence, in order."""
    state = engine.encode(source_ids)
    sentences = list(range(source_ids.size(0)))  # the sentence of each row still running
    ids: list[list[int]] = [[] for _ in sentences]
    log_probs = [0.0] * len(sentences)
    found: list[list[Hypothesis]] = [[] for _ in sentences]
    previous = start_ids(len(sentences), source_ids.device)
    step = 0
    while sentences:
        logits = engine.step(state, previous)  # (R, V)
        best = next_log_probs(logits, sentences, step, options).max(dim=-1)
        running = []
        chosen = zip(sentences, best.values.tolist(), best.indices.tolist(), strict=True)
        for row, (sentence, log_prob, piece) in enumerate(chosen):
            log_probs[sentence] += log_prob
            if piece != END_ID:
                ids[sentence].append(piece)
                running.append(row)
                continue
            total = log_probs[sentence]
            found[sentence].append(
                Hypothesis(
                    tuple(ids[sentence]),
                    total,
                    total / length_penalty(step + 1, options.length_penalty),
                    step < options.max_lengths[sentence],
                )
            )
        previous = best.indices
        if len(running) < len(sentences):
            rows = torch.tensor(running, dtype=torch.long, device=source_ids.device)
            engine.compact(state, rows)
            previous = previous[rows]
            sentences = [sentences[row] for row in running]
        step += 1
    return found
