"""A translator of the demonstration's form, and what every exercise must hold."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.inspection.translator import Translator
from headway.learn import exercise as exercise_module
from headway.learn.checking import judge
from headway.learn.exercise import Exercise, computed
from headway.learn.judging import Fit, fits, right_value, same_form
from headway.model.transformer import Transformer

_TEXT = ["저는 학생입니다.", "저는 학생입니다.", "I am a student.", "I am a student.", "students"]


@pytest.fixture(scope="session")
def translator() -> Translator:
    """Return a translator of the demonstration's sizes, with random weights and few tokens."""
    tokenizer = train_tokenizer(_TEXT, kind="bpe", vocabulary_size=59)
    sizes = Architecture(
        d_model=128, d_ff=512, num_heads=4, num_encoder_layers=2, num_decoder_layers=2
    )
    config = sizes.with_vocabulary(len(tokenizer))
    torch.manual_seed(5)
    model = Transformer.from_config(config).eval()
    decoding = DecodingConfig(beam_size=4, max_extra_pieces=3)
    return Translator(Bundle(config, model, tokenizer, tokenizer, decoding), engine="reference")


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch, translator: Translator) -> Callable[[Exercise], None]:
    """Return a function that asserts: the right answer is accepted, and each slip is named."""
    monkeypatch.setattr(exercise_module, "demonstration", lambda: translator)

    def check(exercise: Exercise) -> None:
        right = right_value(computed(exercise.answer))
        assert judge(exercise, computed(exercise.answer)) == (True, "Right.")
        if right.dtype.kind == "f":
            assert np.abs(right).max() > 10 * exercise.tolerance, "zero is right by accident"
        for slip in exercise.slips:
            value = computed(slip.value)
            wrong = right_value(value)
            if same_form(right, wrong):
                distance = min(fits(right, wrong, 2 * exercise.tolerance))
                assert distance < Fit.EXACT, "a slip is as good as right"
            sentence = slip.sentence if isinstance(slip.sentence, str) else slip.sentence["en"]
            assert judge(exercise, value) == (False, sentence)

    return check
