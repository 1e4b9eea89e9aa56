"""What the protocol of engines promises to every search holds for the reference engine."""

import torch

from headway.decoding.reference import ReferenceEngine
from headway.model.transformer import Transformer

SOURCE = torch.tensor([[5, 9, 3, 0], [7, 8, 22, 3]])


def test_a_step_gives_one_row_of_logits_for_each_hypothesis(tiny: Transformer) -> None:
    engine = ReferenceEngine(tiny)
    state = engine.encode(SOURCE, copies=3)

    assert engine.step(state, torch.full((6,), 2)).shape == (6, 23)
    engine.compact(state, torch.tensor([3, 4, 5]))
    assert engine.step(state, torch.tensor([4, 5, 6])).shape == (3, 23)


def test_reordering_lets_a_row_go_on_from_another_of_its_sentence(tiny: Transformer) -> None:
    engine = ReferenceEngine(tiny)
    state = engine.encode(SOURCE, copies=2)
    engine.step(state, torch.full((4,), 2))
    engine.step(state, torch.tensor([4, 5, 6, 7]))

    engine.reorder(state, torch.tensor([1, 1, 3, 2]))
    logits = engine.step(state, torch.full((4,), 8))

    pasts = torch.tensor([[2, 5, 8], [2, 5, 8], [2, 7, 8], [2, 6, 8]])
    expected = tiny(SOURCE[[0, 0, 1, 1]], pasts)[:, -1]
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
