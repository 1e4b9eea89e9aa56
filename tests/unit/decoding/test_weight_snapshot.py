"""Whatever changes in a model after its weights were prepared is seen, and nothing else is."""

import copy
from collections import OrderedDict
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from headway.decoding.weight_snapshot import WeightSnapshot
from headway.model.transformer import Transformer


def _in_place(model: Transformer) -> None:
    with torch.no_grad():
        model.source_embedding.tokens.weight.zero_()


def _other_parameter(model: Transformer) -> None:
    norm = model.encoder.layers[0].feed_forward_residual.norm
    norm.weight = nn.Parameter(norm.weight.detach().clone())  # type: ignore[union-attr]


def _other_part(model: Transformer) -> None:
    model.decoder.layers[1] = copy.deepcopy(model.decoder.layers[1])


def _one_more_part(model: Transformer) -> None:
    model.encoder.extra = nn.Linear(2, 3)


def _one_part_less(model: Transformer) -> None:
    del model.decoder.layers[1]


def _other_forward(model: Transformer) -> None:
    def forward(x: Tensor) -> Tensor:
        return -x

    model.decoder.layers[0].feed_forward.forward = forward  # type: ignore[union-attr]


def _loaded(model: Transformer) -> None:
    model.load_state_dict(model.state_dict())


def _hook(model: Transformer) -> None:
    model.decoder.layers[0].register_forward_hook(lambda *_: None)


def _hook_before(model: Transformer) -> None:
    model.encoder.register_forward_pre_hook(lambda *_: None)


def _other_data(model: Transformer) -> None:
    weight = model.decoder.layers[0].cross_attention.w_v.weight
    weight.data = weight.data.clone()


def _bias_removed(model: Transformer) -> None:
    model.decoder.layers[0].feed_forward.w_1.bias = None  # type: ignore[union-attr]


def _collection_of_hooks(model: Transformer) -> None:
    model.encoder._forward_hooks = OrderedDict({0: lambda *_: None})


@pytest.mark.parametrize(
    "change",
    [
        _in_place, _other_parameter, _other_part, _one_more_part, _one_part_less, _other_forward,
        _loaded, _hook, _hook_before, _other_data, _bias_removed, _collection_of_hooks,
    ],
)  # fmt: skip
def test_a_change_of_one_of_several_models_is_seen(
    build: Callable[[], Transformer], change: Callable[[Transformer], None]
) -> None:
    models = [build(), build()]
    snapshot = WeightSnapshot(models)
    assert not snapshot.is_stale()

    change(models[1])

    assert snapshot.is_stale()
    assert not snapshot.was_moved()
    assert not WeightSnapshot(models).is_stale()
    assert snapshot.have_hooks() == (change in (_hook, _hook_before, _collection_of_hooks))


def _part_and_memory(model: Transformer) -> None:
    model.share_memory()
    _one_more_part(model)


def _weight_and_memory(model: Transformer) -> None:
    model.share_memory()
    _in_place(model)


def _data_beside_memory(model: Transformer) -> None:
    model.encoder.share_memory()
    _other_data(model)


def test_weights_in_shared_memory_were_moved_and_are_the_same(tiny: Transformer) -> None:
    snapshot = WeightSnapshot([tiny])
    assert not snapshot.is_stale()

    tiny.share_memory()

    assert snapshot.is_stale()
    assert snapshot.was_moved()
    assert not WeightSnapshot([tiny]).is_stale()


def test_a_weight_that_is_absent_has_not_moved(tiny: Transformer) -> None:
    _bias_removed(tiny)
    snapshot = WeightSnapshot([tiny])
    assert not snapshot.is_stale()

    tiny.share_memory()

    assert snapshot.was_moved()


@pytest.mark.parametrize("change", [_part_and_memory, _weight_and_memory, _data_beside_memory])
def test_what_was_moved_and_changed_is_changed(
    tiny: Transformer, change: Callable[[Transformer], None]
) -> None:
    snapshot = WeightSnapshot([tiny])

    change(tiny)

    assert snapshot.is_stale()
    assert not snapshot.was_moved()


@pytest.mark.parametrize("how", [{}, {"fused": True}, {"foreach": True}], ids=str)
@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD])
def test_a_step_of_any_optimizer_is_seen(
    tiny: Transformer, kind: Callable[..., torch.optim.Optimizer], how: dict[str, bool]
) -> None:
    optimizer = kind(tiny.parameters(), lr=0.1, **how)
    snapshot = WeightSnapshot([tiny])
    tiny(torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])).square().sum().backward()
    assert not snapshot.is_stale()

    optimizer.step()

    assert snapshot.is_stale()


def test_a_hook_on_another_part_is_seen_beside_one_that_was_there(tiny: Transformer) -> None:
    _hook(tiny)
    snapshot = WeightSnapshot([tiny])

    _hook_before(tiny)

    assert snapshot.is_stale()


def test_a_hook_for_all_modules_is_seen_until_it_is_removed(tiny: Transformer) -> None:
    snapshot = WeightSnapshot([tiny])
    hook = register_module_forward_hook(lambda *_: None)
    try:
        assert snapshot.is_stale()
        assert snapshot.have_hooks()
    finally:
        hook.remove()
    assert not snapshot.is_stale()
    assert not snapshot.have_hooks()


def test_a_forward_pass_and_a_move_to_where_it_is_change_nothing(tiny: Transformer) -> None:
    snapshot = WeightSnapshot([tiny])

    tiny(torch.tensor([[5, 9, 3]]), torch.tensor([[2, 7]]))
    tiny.cpu().eval().train(False)

    assert not snapshot.is_stale()


def test_weights_made_in_inference_mode_have_no_count_of_changes(
    build: Callable[[], Transformer],
) -> None:
    with torch.inference_mode():
        model = build()
    snapshot = WeightSnapshot([model])

    assert not snapshot.is_stale()
    _other_parameter(model)
    assert snapshot.is_stale()


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")
@pytest.mark.parametrize("compiled", ["script", "trace"])
def test_a_part_that_pytorch_has_compiled_is_a_part_like_others(
    tiny: Transformer, compiled: str
) -> None:
    w_1 = tiny.encoder.layers[0].feed_forward.w_1
    part = torch.jit.script(w_1) if compiled == "script" else torch.jit.trace(w_1, torch.ones(14))
    tiny.encoder.layers[0].feed_forward.w_1 = part  # type: ignore[union-attr]
    snapshot = WeightSnapshot([tiny])

    assert not snapshot.is_stale()
    assert not snapshot.have_hooks()
    with torch.no_grad():
        part.weight.zero_()
    assert snapshot.is_stale()


def test_a_change_that_is_made_in_inference_mode_is_seen(tiny: Transformer) -> None:
    snapshot = WeightSnapshot([tiny])

    with torch.inference_mode():
        tiny.half().float()

    assert snapshot.is_stale()
