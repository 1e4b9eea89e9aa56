"""The list of kernels that are compiled together has all that a translation calls."""

from typing import Any

import pytest

from headway.config.model import ModelConfig
from headway.decoding.options import SearchOptions
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.request import Request
from headway.kernels import dispatch
from headway.model.transformer import Transformer

pytestmark = pytest.mark.skipif(not dispatch.has_numba(), reason="The loop is a compiled kernel.")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(("beam_size", "heads"), [(1, 2), (3, 4)])
def test_the_kernels_of_a_batch_are_all_that_it_calls(
    precision: dispatch.Precision, beam_size: int, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.decoding.packed.numba_backend import NumbaBackend
    from headway.decoding.packed.search_loop import CompiledBatch, CompiledLoop
    from headway.kernels import attention_step, encoder_pass, search_loop
    from headway.kernels.codegen.calls import Form, form

    if precision == "bfloat16" and not dispatch.multiplies_bfloat16():
        pytest.skip("this processor has no sums of bfloat16")
    config = ModelConfig(
        source_vocab_size=19, target_vocab_size=23, d_model=32, num_heads=heads, d_ff=48,
        num_encoder_layers=1, num_decoder_layers=2, shared_embeddings="none",
    )  # fmt: skip
    model = Transformer.from_config(config).eval()
    engine = PackedEngine(model, NumbaBackend(precision))
    compiled: list[list[Form]] = []
    monkeypatch.setattr(f"{CompiledLoop.__module__}.compile_together", compiled.append)
    batch, _ = (engine.batch(SearchOptions(beam_size=beam_size), 3) for _ in range(2))
    assert isinstance(batch, CompiledBatch)
    assert isinstance(engine.search_loop, CompiledLoop)
    called: list[Form] = []
    for module, name in (
        (attention_step, "keep_memory"),
        (encoder_pass, "encode_rows"),
        (search_loop, "search_until_end"),
    ):
        kernel = getattr(module, name)

        def call(*arguments: Any, kernel: Any = kernel) -> Any:
            called.append(form(kernel, *arguments))
            return kernel(*arguments)

        monkeypatch.setattr(module, name, call)
    batch.begin([0, 2], [Request((5, 6, 3), max_length=4), Request((7, 3), max_length=2)])
    while batch.sentences.at_work.any():
        batch.advance()

    monkeypatch.undo()
    kernels = engine.search_loop.kernels(batch)
    assert [set(forms) for forms in compiled] == [set(kernels)]  # once, for all batches
    assert len({form.kernel for form in called}) == 3
    assert set(called) <= set(kernels)
    assert len(kernels) == len(set(kernels))
    assert engine.search_loop.calls is not None
    by_address = {form.address for form in kernels}
    assert {at for at in engine.search_loop.calls if at} <= by_address
    assert set(engine.search_loop.decoder.arguments[2].tolist()) <= by_address
