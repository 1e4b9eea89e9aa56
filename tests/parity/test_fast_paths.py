"""Training takes the same course on every path: the plain equations and what replaces them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.model.attention import scaled_dot_product_attention
from headway.model.embedding import InputEmbedding
from headway.model.residual import Residual
from headway.model.transformer import Transformer
from headway.training.accelerated.dropout import dropout
from headway.training.accelerated.install import accelerated
from headway.training.compiling import CompiledLayers
from headway.training.loss import LossSums, label_smoothed_cross_entropy
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.schedule import Schedule
from headway.training.stream import BatchStream
from headway.training.update import TrainingStep

Build = Callable[..., Transformer]
STEPS = 50


def make_pairs(count: int = 60) -> list[EncodedPair]:
    """Return sequences and the same turned round, so that there is something to learn."""
    rng = np.random.default_rng(1)
    sources = [rng.integers(4, 23, rng.integers(1, 12)).tolist() for _ in range(count)]
    return [EncodedPair(ids, ids[::-1], line) for line, ids in enumerate(sources, start=1)]


def train(
    model: Transformer,
    precision: str = "float32",
    steps: int = STEPS,
    pairs: int = 60,
    layers: CompiledLayers | None = None,
) -> list[float]:
    """Return the loss of each step."""
    objective = Objective(model, 0.1, precision)
    objective.layers = layers
    schedule = Schedule("inverse_sqrt", 0.01, 10, steps)
    step = TrainingStep(objective, build_optimizer(model), schedule, clip_norm=1.0)
    stream = BatchStream(make_pairs(pairs), max_tokens=120, accumulate=2, seed=1)
    numbered = zip(range(1, steps + 1), stream.groups(), strict=False)
    return [step(number, group.batches).loss for number, group in numbered]


def plain_loss(
    model: Transformer, batch: Batch, label_smoothing: float, precision: str
) -> LossSums:
    """Compute all logits at once, and the loss of them as section 5.4 says."""
    with accelerated(model):
        logits = model(batch.source_ids, batch.target_ids)
    loss, nll = label_smoothed_cross_entropy(
        logits.flatten(0, 1), batch.label_ids.flatten(), label_smoothing, model.pad_id
    )
    return LossSums(loss, nll.detach())


def plain_optimizer(model: nn.Module, **settings: Any) -> torch.optim.Adam:
    """Return Adam as PyTorch's documentation writes it down, one parameter at a time."""
    return torch.optim.Adam(
        model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, foreach=False, fused=False
    )


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the equations in the place of everything that is there for speed."""

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, dropout: float) -> Any:
        return scaled_dot_product_attention(q, k, v, mask)[0]

    # Dropout alone is replaced, because masks are drawn from the key of each call.
    masks: dict[type[nn.Module], dict[str, Any]] = {
        Residual: {"add": lambda own, x, y: x + dropout(y, own.dropout, own.training)},
        InputEmbedding: {"drop": lambda own, x: dropout(x, own.dropout, own.training)},
    }
    monkeypatch.setattr("headway.training.accelerated.install._SUBSTITUTES", masks)
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: True)
    monkeypatch.setattr("headway.model.attention.fused_attention", attend)
    monkeypatch.setattr("headway.training.objective.batch_loss", plain_loss)
    monkeypatch.setitem(train.__globals__, "build_optimizer", plain_optimizer)


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_position": "post"},
        {"norm_position": "pre"},
        {"d_k": 16, "d_v": 32, "dropout": 0.1},  # loops are for heads in sixteens
    ],
    ids=["post", "pre", "loops"],
)
def test_the_fast_path_has_the_loss_curve_of_the_plain_one(
    changes: dict[str, Any], build: Build, request: pytest.FixtureRequest
) -> None:
    # Beside ReLU's kink a last bit decides now and then whether a unit learns: courses part.
    changes = changes | {"activation": "gelu"}
    fast = train(build(**changes))
    request.getfixturevalue("plain")
    plain = train(build(**changes))

    assert fast[-1] < 0.8 * fast[0]
    assert fast != plain  # rounding shows that these are two paths
    np.testing.assert_allclose(fast, plain, rtol=1e-5)


def test_the_fused_kernel_has_the_loss_curve_of_the_explicit_equations(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    explicit = train(build())
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: True)
    fused = train(build())
    assert fused != explicit
    np.testing.assert_allclose(fused, explicit, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_compiled_layers_have_the_loss_curve_of_layers_as_they_are(build: Build) -> None:
    # Dynamo and AOTAutograd, but PyTorch's own kernels: no compiler is needed for them.
    graphs = []

    def compile_graph(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    changes = {"dropout": 0.0, "activation": "gelu", "num_decoder_layers": 1}
    model = build(**changes)
    layers = CompiledLayers(model, compile_graph)  # pyright: ignore[reportArgumentType]
    compiled = train(model, layers=layers)
    as_they_are = train(build(**changes))
    assert len(graphs) == 3  # of the trial and of two layers, which are traced once
    np.testing.assert_allclose(compiled, as_they_are, rtol=1e-5)


def test_bfloat16_comes_to_the_same_loss(build: Build) -> None:
    # bfloat16 has 8 bits: a product is off by 0.4 %, with either sign, so that means are not.
    # Of few pairs it learns what held-out ones do not have, and the loss there goes up and down.
    pairs = 1000
    held_out = collate(make_pairs(pairs + 200)[pairs:])

    def loss_after(steps: int, precision: str) -> float:
        model = build()
        train(model, precision, steps, pairs)
        with torch.no_grad():
            sums = plain_loss(model.eval(), held_out, 0.0, "float32")
        return float(sums.nll) / held_out.num_target_tokens

    low, full = loss_after(150, "bfloat16"), loss_after(150, "float32")
    assert low != full  # or bfloat16 was never used
    assert full < 0.8 * loss_after(0, "float32")  # or they agree on nothing learned
    assert low == pytest.approx(full, rel=0.01)
