"""Compiled layers are called in training alone, and a missing compiler is noticed at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headway.bench.work import Task, our_step
from headway.config.run import RunConfig
from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.errors import ConfigError
from headway.model.transformer import Transformer
from headway.training.check import check_run
from headway.training.compiling import CompiledLayers
from headway.training.objective import Objective
from headway.training.random_numbers import seed_random
from headway.training.run import train

# Dynamo looks at gradients of whatever it meets.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")

Build = Callable[..., Transformer]
CPU = torch.device("cpu")


def make_batch() -> Batch:
    return collate([EncodedPair([4, 5, 6], [7, 8], 1), EncodedPair([5, 9], [6, 6, 4, 7], 2)])


class Counted:
    """A backend that runs what Dynamo has found, operation by operation, and counts the graphs."""

    def __init__(self) -> None:
        self.graphs = 0
        self.runs = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        self.graphs += 1

        def run(*arguments: Any) -> Any:
            self.runs += 1
            return graph(*arguments)

        return run


@pytest.fixture(autouse=True)
def nothing_compiled_before() -> None:
    torch.compiler.reset()


def test_each_layer_is_one_graph_that_all_layers_of_its_stack_share(build: Build) -> None:
    backend = Counted()
    model = build(num_encoder_layers=3, num_decoder_layers=2)
    objective = Objective(model, 0.1, "float32")
    plain = objective(make_batch())
    objective.layers = CompiledLayers(model, backend)  # pyright: ignore[reportArgumentType]
    backend.graphs = backend.runs = 0  # without the trial

    compiled = objective(make_batch())

    assert backend.graphs == 2
    assert backend.runs == 5
    torch.testing.assert_close(compiled, plain)
    runs = backend.runs
    model(make_batch().source_ids, make_batch().target_ids)  # not by the objective
    assert backend.runs == runs


def test_sides_of_one_length_are_compiled_for_any_lengths(build: Build) -> None:
    def batch(rows: int, source: int, target: int) -> Batch:
        ids = [4 + i % 5 for i in range(max(source, target))]
        return collate([EncodedPair(ids[:source], ids[:target], row) for row in range(rows)])

    backend, model = Counted(), build()
    objective = Objective(model, 0.1, "float32")
    objective.layers = CompiledLayers(model, backend)  # pyright: ignore[reportArgumentType]
    backend.graphs = 0

    for sizes in ((5, 6, 6), (5, 8, 6), (3, 7, 9), (6, 6, 6)):
        objective(batch(*sizes)).loss.backward()
    assert backend.graphs == 2


def test_compiled_code_is_kept_apart_by_the_attention_that_was_allowed(build: Build) -> None:
    def places(allowed: bool, own: str = "") -> set[str]:
        seen = set()

        def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
            seen.add(torch.compiler.config.cache_key_tag)
            return graph

        torch.compiler.reset()
        objective = Objective(build(), 0.1, "float32")
        objective.layers = CompiledLayers(objective.model, backend)  # pyright: ignore[reportArgumentType]
        seen.clear()  # without the trial
        efficient = torch.backends.cuda.mem_efficient_sdp_enabled()
        torch.backends.cuda.enable_mem_efficient_sdp(allowed)
        try:
            with torch.compiler.config.patch(cache_key_tag=own):
                objective(make_batch())
        finally:
            torch.backends.cuda.enable_mem_efficient_sdp(efficient)
        return seen

    (usual,), (other,), (tagged,) = places(True), places(False), places(True, "mine")
    assert "efficient" in usual
    assert "cudnn" not in usual
    assert "efficient" not in other
    assert "cudnn" in other
    assert tagged == f"mine{usual}"


def test_layers_are_as_they_were_even_after_an_error(build: Build) -> None:
    model = build()
    layers = CompiledLayers(model, "eager")

    def broken() -> None:
        with layers.in_place():
            assert all("forward" in vars(layer) for layer in model.encoder.layers)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()

    assert not any("forward" in vars(layer) for layer in model.modules())


def test_a_forward_of_ones_own_is_compiled_and_stays(build: Build) -> None:
    model = build().eval()
    layer, batch = model.encoder.layers[0], make_batch()
    plain = model(batch.source_ids, batch.target_ids)
    layer.forward = own = lambda x, mask: -x
    changed = model(batch.source_ids, batch.target_ids)
    layers = CompiledLayers(model, "eager")

    with layers.in_place():
        compiled = model(batch.source_ids, batch.target_ids)

    assert vars(layer)["forward"] is own
    torch.testing.assert_close(compiled, changed)
    assert not torch.allclose(changed, plain)


def test_dropout_of_compiled_layers_hangs_on_the_seed(build: Build) -> None:
    model = build(dropout=0.3).train()
    objective = Objective(model, 0.1, "float32")
    objective.layers = CompiledLayers(model, "eager")

    def loss(seed: int) -> float:
        seed_random(CPU, seed)
        return float(objective(make_batch()).loss.detach())

    assert loss(1) == loss(1)
    assert loss(1) != loss(2)


def test_where_nothing_can_be_compiled_one_sentence_says_so(build: Build) -> None:
    def broken(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        raise RuntimeError("No working C++\ncompiler found\n\nSet VERBOSE=1")

    with pytest.raises(
        ConfigError, match=r"does not work on cpu here \(No working C\+\+ compiler found\)\."
    ):
        CompiledLayers(build(), broken)  # pyright: ignore[reportArgumentType]


def test_a_compiler_that_is_missing_is_noticed_before_the_text_is_read(
    make_config: Callable[..., RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Callable[..., Any]:
        raise RuntimeError("No working C++ compiler found")

    monkeypatch.setattr(torch, "compile", broken)
    monkeypatch.setattr("headway.training.begin.read_texts", None)
    monkeypatch.setattr("headway.training.check.read_texts", None)
    config = make_config(training={"compile": True})

    for use in (
        lambda: train(config, tmp_path / "run", device="cpu"),
        lambda: check_run(config, "cpu"),
    ):
        with pytest.raises(ConfigError, match=r"torch\.compile does not work on cpu here"):
            use()

    assert not (tmp_path / "run").exists()  # free for the run without it


def test_a_check_and_a_measurement_compile_where_that_is_asked_for(
    make_config: Callable[..., RunConfig], made: list[CompiledLayers]
) -> None:
    for compiled in (False, True):
        check_run(make_config(training={"compile": compiled}), "cpu")
        our_step(None, Task("tiny", "cpu", 2, 3), "float32", compiled)()
        assert len(made) == 2 * compiled
