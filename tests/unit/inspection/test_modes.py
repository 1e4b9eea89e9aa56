"""A question asked of a model in training gets the answer of eval mode, and training goes on."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.model import Architecture
from headway.data.batching import collate
from headway.data.tokenizer import train_tokenizer
from headway.evaluation.aligning import align_pairs
from headway.evaluation.scoring import encode_pairs, score_pairs
from headway.inspection.ablation import head_importance
from headway.inspection.attribution import attribute
from headway.model.modes import evaluating
from headway.model.transformer import Transformer
from headway.training.loss import label_smoothed_cross_entropy

SOURCE, TARGET = "one two three", "two one"
QUESTIONS: dict[str, Callable[[Bundle], Any]] = {
    "score": lambda own: score_pairs(own, [SOURCE], [TARGET]),
    "alignment": lambda own: align_pairs(own, [SOURCE], [TARGET]),
    "importance": lambda own: str(head_importance(own, [SOURCE], [TARGET])),
    "attribution": lambda own: attribute(own, SOURCE, TARGET, 1, method="gradient_x_input"),
}


@pytest.fixture
def bundle() -> Bundle:
    tokenizer = train_tokenizer([SOURCE], kind="word", vocabulary_size=20)
    sizes = {"d_model": 12, "d_ff": 20, "num_heads": 2, "num_encoder_layers": 1, "dropout": 0.5}
    config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
    torch.manual_seed(3)
    return Bundle(config, Transformer.from_config(config), tokenizer, tokenizer)


def _modes(model: torch.nn.Module) -> list[bool]:
    return [part.training for part in model.modules()]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_that_of_eval_mode_and_each_part_keeps_its_own(
    bundle: Bundle, name: str
) -> None:
    bundle.model.eval()
    expected = QUESTIONS[name](bundle)
    bundle.model.train()
    bundle.model.encoder.layers[0].eval()  # as where a part is held still
    before = _modes(bundle.model)

    assert QUESTIONS[name](bundle) == expected
    assert _modes(bundle.model) == before


def test_questions_between_updates_change_no_bit_of_a_training(bundle: Bundle) -> None:
    batch = collate(encode_pairs(bundle, [SOURCE], [TARGET]))

    def weights(questions: Iterable[Callable[[Bundle], Any]]) -> list[torch.Tensor]:
        own = copy.deepcopy(bundle)
        optimizer = torch.optim.Adam(own.model.parameters(), lr=0.01)
        own.model.train()
        torch.manual_seed(4)
        for _ in range(4):
            logits = own.model(batch.source_ids, batch.target_ids)
            labels = batch.label_ids.flatten()
            loss = label_smoothed_cross_entropy(logits.flatten(0, 1), labels).loss
            optimizer.zero_grad()
            loss.backward()
            for question in questions:
                question(own)
            optimizer.step()
        return list(own.model.parameters())

    for one, other in zip(weights(()), weights(QUESTIONS.values()), strict=True):
        assert torch.equal(one, other)


def test_modes_come_back_after_an_error(bundle: Bundle) -> None:
    bundle.model.train()

    with pytest.raises(ZeroDivisionError), evaluating(bundle.model):
        print(1 / any(_modes(bundle.model)))  # none of them is in training mode

    assert all(_modes(bundle.model))
