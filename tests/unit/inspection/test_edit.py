"""Edits: they change the one pass that they are given to, and leave nothing behind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from headway.errors import TraceError
from headway.inspection.catalog import model_names
from headway.inspection.edit import Edit, allow, forbid, replace, zero
from headway.inspection.model_kind import variant_of
from headway.inspection.trace import Trace, trace
from headway.model.attention import MultiHeadAttention
from headway.model.probe import listening
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
SOURCE = torch.tensor([[5, 9, 4, 17, 3]])
OTHER = torch.tensor([[6, 6, 11, 8, 3]])
TARGET = torch.tensor([[2, 7, 19, 5, 8, 10]])
CROSS = "decoder.layers.1.cross_attention"


def run(
    model: Transformer, edit: dict[str, Edit] | None = None, source: torch.Tensor = SOURCE
) -> Trace:
    with torch.no_grad(), trace(model, edit=edit) as seen:
        model(source, TARGET)
    return seen


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_an_edit_changes_its_own_pass_and_no_bit_of_the_next(
    build: Build, norm_position: str
) -> None:
    model = build(norm_position=norm_position)
    before = model(SOURCE, TARGET)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    clean = run(model)
    for edit in (
        {f"{CROSS}.heads": zero(head=1)},
        {"*.weights": zero(query=2)},
        {"target_mask": allow()},
        {"source_mask": forbid(key=[0, 3])},
        {"encoder.output": replace(0.5)},
        {"source_embedding.position": zero(source=1)},  # in the model, a view of a table
        {"decoder.layers.*.input": replace(torch.randn(1, 6, 14), target=[1, 2])},
    ):
        edited = run(model, edit)

        assert not torch.equal(edited["logits"], before)
        assert edited.edits
        assert torch.equal(model(SOURCE, TARGET), before)
        assert run(model).equals(clean)
    assert not clean.edits
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_a_failure_inside_the_run_leaves_nothing_behind_either(tiny: Transformer) -> None:
    before, clean = tiny(SOURCE, TARGET), run(tiny)
    for edit in (
        {f"{CROSS}.heads": zero(head=1), "logits": replace(torch.zeros(2, 2, 2))},
        {f"{CROSS}.heads": zero(head=3)},
        {f"{CROSS}.heads": zero(heads=0)},
    ):
        with pytest.raises(TraceError):
            run(tiny, edit)
        assert not listening()
    with pytest.raises(ZeroDivisionError):
        run_and_fail(tiny)
    assert not listening()

    assert torch.equal(tiny(SOURCE, TARGET), before)
    assert run(tiny).equals(clean)


def run_and_fail(model: Transformer) -> None:
    with trace(model, edit={f"{CROSS}.heads": zero()}):
        model(SOURCE, TARGET)
        raise ZeroDivisionError


@pytest.mark.parametrize("changes", [{}, {"norm_position": "pre", "activation": "swiglu"}])
def test_every_tensor_replaced_by_itself_changes_no_bit(build: Build, changes: dict) -> None:
    model = build(**changes)
    clean = run(model)
    for name in model_names(model, variant_of(model)):
        assert torch.equal(run(model, {name: replace(clean[name])})["logits"], clean["logits"])


def test_every_tensor_can_be_edited_and_is_recorded_as_edited(tiny: Transformer) -> None:
    clean = run(tiny)
    for name in clean:
        is_mask = clean[name].dtype == torch.bool
        edited = run(tiny, {name: replace(torch.ones_like(clean[name]) if is_mask else 0.25)})
        assert (edited[name] == (1 if is_mask else 0.25)).all()
        assert edited.edits == {name: "replace(…)"}


def test_a_head_that_is_off_adds_nothing(tiny: Transformer) -> None:
    clean, edited = run(tiny), run(tiny, {f"{CROSS}.heads": zero(head=1)})

    contributions = edited[f"{CROSS}.contributions"]
    assert (contributions[:, 1] == 0).all()
    without = clean[f"{CROSS}.output"] - clean[f"{CROSS}.contributions"][:, 1]
    torch.testing.assert_close(edited[f"{CROSS}.output"], without)
    assert torch.equal(edited[f"{CROSS}.weights"], clean[f"{CROSS}.weights"])


def test_the_memory_of_another_run_makes_the_decoder_that_of_the_other_run(
    tiny: Transformer,
) -> None:
    other = run(tiny, source=OTHER)

    patched = run(tiny, {"encoder.output": replace(other["encoder.output"])})

    for name in [*other.names("decoder.*"), "logits"]:
        assert torch.equal(patched[name], other[name])
    assert not torch.equal(patched["encoder.layers.0.output"], other["encoder.layers.0.output"])


def test_without_the_look_ahead_mask_the_future_is_seen(tiny: Transformer) -> None:
    name = "decoder.layers.0.self_attention.weights"
    clean, edited = run(tiny)[name], run(tiny, {"target_mask": allow()})[name]
    later = torch.ones(6, 6).triu(1).bool()
    assert (clean[..., later] == 0).all()
    assert (edited[..., later] > 0).all()
    only = run(tiny, {"target_mask": allow(query=1, key=4)})[name]
    assert (only[0, :, 1, 4] > 0).all()
    assert torch.equal(only[:, :, 2:], clean[:, :, 2:])


def test_a_forbidden_piece_of_the_source_gets_no_weight_from_anybody(tiny: Transformer) -> None:
    edited = run(tiny, {"source_mask": forbid(key=2)})
    for name in ("encoder.layers.0.self_attention", "decoder.layers.0.cross_attention", CROSS):
        weights = edited[f"{name}.weights"]
        assert (weights[..., 2] == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))


def test_a_part_alone_can_be_edited_too() -> None:
    attend, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    with trace(attend, edit={"weights": zero(head=0), "heads": zero(head=1)}) as seen:
        output = attend(x, x, x)
    assert (seen["heads"] == 0).all()
    assert torch.equal(output, attend.w_o.bias.expand(1, 3, 8))
    assert seen.edits == {"weights": "zero(head=0)", "heads": "zero(head=1)"}


def test_an_edit_that_was_never_made_is_an_error_and_not_a_silence(tiny: Transformer) -> None:
    attend, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    with pytest.raises(TraceError, match=r"This pass had no 'wieghts'.* Did you mean 'weights'"):
        traced_attention(attend, x, {"wieghts": zero()})
    with pytest.raises(TraceError, match=r"This pass had no 'decoder\.output'"):
        traced_encoder(tiny)
    with trace(attend, edit={"weights": zero()}) as seen:
        pass
    assert not seen


def traced_attention(attend: MultiHeadAttention, x: torch.Tensor, edit: dict[str, Edit]) -> None:
    with trace(attend, edit=edit):
        attend(x, x, x)


def traced_encoder(model: Transformer) -> None:
    with trace(model, edit={"decoder.output": zero()}):
        model.encode(SOURCE, torch.ones(1, 1, 1, 5, dtype=torch.bool))


def test_edits_of_one_tensor_come_in_order(tiny: Transformer) -> None:
    edits = {"*.scores": replace(7.0), f"{CROSS}.scores": zero(head=0, key=1)}
    seen = run(tiny, edits)
    assert seen.edits[f"{CROSS}.scores"] == "replace(…), then zero(head=0, key=1)"
    assert (seen[f"{CROSS}.scores"][:, 0, :, 1] == 0).all()
    assert (seen[f"{CROSS}.scores"][:, 1] == 7).all()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"decoder.layers.2.input": zero()}, "No pass has 'decoder.layers.2.input', so it cannot"),
        ({"*.weight": zero()}, r"No pass has '*.weight'"),
        ({"logits": allow()}, "'allow' is for masks, but 'logits' holds torch.float32"),
        ({"source_mask": zero()}, "'source_mask' is a mask, which has no zeros. Use forbid"),
        ({"logits": replace(torch.zeros(1, 6, 22))}, "has shape (1, 6, 22), but the tensor (1, 6"),
        ({"logits": replace(torch.ones(1, 6, 23).bool())}, "holds torch.bool, but the tensor"),
        ({"source_mask": replace(1.0)}, "holds torch.float32, but the tensor torch.bool"),
        ({"logits": zero(head=1)}, "'logits' has no axis 'head'. Its axes are batch, target, voc"),
        ({"logits": zero(target=6)}, "The axis 'target' has places 0 to 5, but not 6"),
        ({"logits": zero(target="I")}, "No tokens are known along the axis 'target'"),
        (
            {"logits": zero(target=1.0)},
            "1.0 is not a place along the axis 'target'. Give a whole number",
        ),
        ({"logits": zero(target=None)}, "None is not a place along the axis 'target'"),
        ([zero()], "The edits are a list. Give them by name"),
        ({"logits": 0}, "The edit of 'logits' has the type int. Make it with zero, replace, allow"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_in_one_sentence(
    tiny: Transformer, edit: dict, message: str
) -> None:
    with pytest.raises(TraceError) as error:
        run(tiny, edit)
    assert message in str(error.value)


@pytest.mark.parametrize("value", ["x", [1.0, 2.0], None])
def test_only_numbers_take_the_place_of_numbers(value: object) -> None:
    with pytest.raises(TraceError, match="cannot replace a number"):
        replace(value)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("place", [torch.tensor(1), np.int64(1), range(1, 2), (1,), np.array([1])])
def test_a_place_is_any_whole_number_or_several(tiny: Transformer, place: Any) -> None:
    seen = run(tiny, {f"{CROSS}.heads": zero(head=place)})
    assert (seen[f"{CROSS}.heads"][:, 1] == 0).all()
    assert (seen[f"{CROSS}.heads"][:, 0] != 0).all()
