"""After warming up, training and translation compile nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import train_tokenizer
from headway.decoding.drafts import with_drafts
from headway.decoding.translator import TextTranslator
from headway.evaluation.shortlists import with_shortlist
from headway.kernels import dispatch
from headway.model.transformer import Transformer
from headway.training.objective import Objective
from headway.warm_up import warm_up

LINES = ["the cat sat on the mat", "a small dog ran", "two birds sang in a tree"] * 9


@pytest.fixture(scope="module")
def compiling() -> Callable[[], float]:
    """Warm up; return the function that tells the seconds of compiling."""
    pytest.importorskip("numba")
    from headway.kernels.codegen.numba_compiler import seconds_compiling

    assert warm_up() is not None
    return seconds_compiling


@pytest.mark.parametrize(("d_model", "d_ff"), [(64, 128), (512, 768)])
@pytest.mark.parametrize("form", ["plain", "student", "silu", "drafts", "shortlist"])
def test_nothing_is_compiled_afterwards(
    form: str,
    d_model: int,
    d_ff: int,
    compiling: Callable[[], float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = compiling()
    monkeypatch.setattr("headway.decoding.packed.engine._WORTH_GUESSES", 0)
    tokenizer = train_tokenizer(LINES, kind="bpe", vocabulary_size=50)
    config = ModelConfig(
        d_model=d_model, d_ff=d_ff, num_heads=4, num_encoder_layers=1, num_decoder_layers=2,
        source_vocab_size=len(tokenizer), target_vocab_size=len(tokenizer),
        decoder_past="ssru" if form == "student" else "self_attention",
        activation="silu" if form == "silu" else "relu",
    )  # fmt: skip
    model = Transformer.from_config(config)
    ids = [tokenizer.encode(line) for line in LINES]
    batch = collate([EncodedPair(row, row, line) for line, row in enumerate(ids)])
    precision = "bfloat16" if dispatch.onednn_multiplies_bfloat16() else "float32"
    Objective(model, 0.1, precision)(batch).loss.backward()
    bundle = Bundle(config, model, tokenizer, tokenizer)
    if form == "drafts":
        bundle = with_drafts(bundle, zip(LINES, LINES, strict=True))
    if form == "shortlist":
        bundle = with_shortlist(bundle, LINES, LINES)
    translator = TextTranslator(bundle, precision="auto")
    listed = replace(translator.options, shortlist=form == "shortlist")
    for beam_size in (1, 3):
        options = replace(listed, beam_size=beam_size, max_length=5)
        assert len(translator.translate(LINES, options=options)) == len(LINES)
        assert translator.translate(LINES[0], options=options).text is not None

    assert compiling() == before


def test_without_numba_there_is_nothing_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "has_numba", lambda: False)
    assert warm_up() is None


def test_random_numbers_of_the_caller_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr("headway.warm_up._translate", lambda *_: None)
    monkeypatch.setattr("headway.warm_up._compute_gradients", lambda *_: None)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    warm_up()
    assert torch.equal(torch.rand(4), expected)
