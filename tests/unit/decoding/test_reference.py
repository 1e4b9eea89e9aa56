"""The reference engine is the model itself."""

import torch

from headway.decoding.reference import ReferenceEngine
from headway.model.masks import padding_mask
from headway.model.transformer import Transformer

SOURCE = torch.tensor([[5, 9, 3, 0], [7, 8, 22, 3]])


def test_rows_of_a_sentence_stand_next_to_each_other(tiny: Transformer) -> None:
    state = ReferenceEngine(tiny).encode(SOURCE, copies=3)

    memory = tiny.encode(SOURCE, padding_mask(SOURCE))
    assert torch.equal(state.memory, memory[[0, 0, 0, 1, 1, 1]])
    assert torch.equal(state.source_mask, padding_mask(SOURCE)[[0, 0, 0, 1, 1, 1]])


def test_the_memory_is_projected_once_for_all_steps(tiny: Transformer) -> None:
    engine, calls = ReferenceEngine(tiny), []
    for layer in tiny.decoder.layers:
        layer.cross_attention.w_k.register_forward_hook(lambda *_: calls.append(1))
    state = engine.encode(SOURCE)

    for piece in (2, 5, 6):
        engine.step(state, torch.tensor([piece, piece]))

    assert len(calls) == len(tiny.decoder.layers)
    assert state.cache.length == 3


def test_compacting_forgets_the_other_rows(tiny: Transformer) -> None:
    engine = ReferenceEngine(tiny)
    state = engine.encode(SOURCE)
    engine.step(state, torch.tensor([2, 2]))

    engine.compact(state, torch.tensor([1]))
    logits = engine.step(state, torch.tensor([6]))

    expected = tiny(SOURCE[1:], torch.tensor([[2, 6]]))[:, 1]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
