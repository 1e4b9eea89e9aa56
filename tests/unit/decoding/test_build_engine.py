"""An engine has a name; a wrong one, or one that does not fit, is said in one sentence."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from headway.decoding.build_engine import build_engine
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.reference import ReferenceEngine
from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.residual import Residual
from headway.model.transformer import Transformer


def test_each_name_gives_its_engine(tiny: Transformer) -> None:
    assert isinstance(build_engine(tiny), PackedEngine)
    assert isinstance(build_engine(tiny, "packed"), PackedEngine)
    assert isinstance(build_engine(tiny, "reference"), ReferenceEngine)
    assert isinstance(build_engine(tiny, "reference", "auto"), ReferenceEngine)


def test_the_packed_engine_does_without_numba(
    tiny: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)

    engine = build_engine(tiny, "packed")

    assert isinstance(engine, PackedEngine)
    assert type(engine.backend).__name__ == "TorchBackend"


@pytest.mark.parametrize(
    ("engine", "precision", "message"),
    [
        ("pakced", "float32", "There is no engine 'pakced'. Did you mean 'packed'"),
        ("packed", "float16", "There is no precision 'float16'"),
        ("reference", "int8", "The reference engine computes in float32, not in int8"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused(
    tiny: Transformer, engine: str, precision: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build_engine(tiny, engine, precision)  # type: ignore[arg-type]


class Halved(nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) / 2


def own_class(model: Transformer) -> None:
    model.decoder.layers[0].cross_attention_residual.norm = Halved(
        model.source_embedding.tokens.weight.size(1)
    )


def closing_norms(model: Transformer) -> None:
    size = model.source_embedding.tokens.weight.size(1)
    model.encoder.norm, model.decoder.norm = nn.LayerNorm(size), nn.LayerNorm(size)


def pre_norm_without_one(model: Transformer) -> None:
    for part in model.decoder.modules():
        if isinstance(part, Residual):
            part.norm_position = "pre"


def hook(model: Transformer) -> None:
    model.encoder.layers[0].feed_forward.register_forward_hook(lambda _, __, y: y * 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (own_class, "decoder.layers.0.cross_attention_residual.norm is of class Halved"),
        (hook, "encoder.layers.0.feed_forward has hooks"),
        (closing_norms, "encoder has post-norm frames and a norm at its end"),
        (pre_norm_without_one, "decoder has pre-norm frames and no norm at its end"),
    ],
)
def test_what_only_a_call_computes_goes_to_the_engine_that_calls(
    tiny: Transformer, change: Callable[[Transformer], None], message: str
) -> None:
    change(tiny)

    with pytest.warns(UserWarning, match=f"The reference engine translates.*{message}"):
        assert isinstance(build_engine(tiny), ReferenceEngine)
    with pytest.warns(UserWarning, match=message) as caught:
        assert isinstance(build_engine(tiny, "auto", "auto"), ReferenceEngine)
    assert caught[0].filename == __file__
    assert isinstance(build_engine(tiny, "reference"), ReferenceEngine)  # without a warning
    with pytest.raises(ConfigError, match=f"The packed engine.*{message}.*engine='reference'"):
        build_engine(tiny, "packed")
    with pytest.raises(ConfigError, match=message):
        build_engine(tiny, "auto", "int8")


@pytest.mark.parametrize("attention", ["encoder.layers.0.self", "decoder.layers.1.cross"])
def test_heads_that_were_set_alone_are_refused_by_what_reads_weights(
    tiny: Transformer, attention: str
) -> None:
    part = tiny.get_submodule(f"{attention}_attention")
    assert isinstance(part, MultiHeadAttention)
    part.num_heads = 5  # of 3 heads of 5: as wide, and split otherwise

    with pytest.raises(ConfigError, match="w_q makes 15 numbers, but 5 heads of 5 are 25"):
        build_engine(tiny, "packed")
