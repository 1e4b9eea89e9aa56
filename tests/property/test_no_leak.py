"""The future never reaches the past."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
pieces = st.integers(4, 22)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm_position": "pre", "activation": "swiglu"},
    {"positions": "learned", "num_decoder_layers": 1},
    {"decoder_past": "ssru"},
]
IDS = ["post", "pre, gated", "learned", "ssru"]


@pytest.mark.parametrize("variant", VARIANTS, ids=IDS)
@settings(max_examples=30)
@given(
    source=st.lists(pieces, min_size=1, max_size=6),
    target=st.lists(pieces, min_size=1, max_size=8),
    data=st.data(),
)
def test_future_pieces_do_not_change_past_logits(
    build: Build, variant: dict[str, Any], source: list[int], target: list[int], data: st.DataObject
) -> None:
    model = build(dtype=torch.float64, **variant)
    position = data.draw(st.integers(0, len(target) - 1))
    future = data.draw(st.lists(st.integers(0, 22), max_size=5))  # padding and end among them
    changed = [*target[:position], *future]
    if not changed:
        return

    before = model(torch.tensor([source]), torch.tensor([target]))[:, :position]
    after = model(torch.tensor([source]), torch.tensor([changed]))[:, :position]

    torch.testing.assert_close(after, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS, ids=IDS)
def test_the_gradient_of_a_logit_is_exactly_zero_at_every_later_position(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(**variant)
    source, target = torch.tensor([[5, 9, 3]]), torch.tensor([[2, 11, 4, 7, 6]])
    heard: list[torch.Tensor] = []
    model.target_embedding.register_forward_hook(
        lambda module, inputs, output: heard.append(output) or output.retain_grad()
    )

    for position in range(5):
        heard.clear()
        model(source, target)[0, position].square().sum().backward()

        gradient = heard[0].grad[0].abs().sum(-1)
        assert (gradient[position + 1 :] == 0).all()
        assert (gradient[: position + 1] > 0).all()
