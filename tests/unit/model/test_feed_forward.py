"""The feed-forward network is equation 2, the same at every position."""

import itertools
import math
from typing import get_args

import pytest
import torch

from headway.config.model import Activation
from headway.errors import ConfigError
from headway.model.feed_forward import (
    ACTIVATIONS,
    GATED_ACTIVATIONS,
    PositionwiseFeedForward,
)
from headway.model.probe import listen, stop_listening

FORMULAS = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}
GATES = {
    "glu": lambda x: 1 / (1 + math.exp(-x)),
    "reglu": FORMULAS["relu"],
    "geglu": FORMULAS["gelu"],
    "swiglu": FORMULAS["silu"],
}


def test_equation_2_by_hand() -> None:
    feed_forward = PositionwiseFeedForward(2, 3)
    with torch.no_grad():
        feed_forward.w_1.weight.copy_(torch.tensor([[1.0, 2.0], [-1.0, 0.0], [0.0, 1.0]]))
        feed_forward.w_1.bias.copy_(torch.tensor([1.0, 0.0, -5.0]))
        feed_forward.w_2.weight.copy_(torch.tensor([[1.0, 1.0, 1.0], [2.0, 0.0, 7.0]]))
        feed_forward.w_2.bias.copy_(torch.tensor([0.5, -1.0]))

    output = feed_forward(torch.tensor([[[3.0, 4.0]]]))

    # Inner: 3 + 8 + 1 = 12, -3, 4 - 5 = -1; after the ReLU 12, 0, 0; outer: 12.5, 24 - 1 = 23.
    assert output.tolist() == [[[12.5, 23.0]]]


@pytest.mark.parametrize("name", FORMULAS)
def test_each_activation_is_its_formula(name: str) -> None:
    feed_forward = PositionwiseFeedForward(1, 1, name, bias=False).double()
    with torch.no_grad():
        feed_forward.w_1.weight.fill_(1.0)
        feed_forward.w_2.weight.fill_(1.0)
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)

    output = feed_forward(x[None, :, None]).flatten().tolist()

    assert output == pytest.approx([FORMULAS[name](value) for value in x.tolist()], abs=1e-12)


@pytest.mark.parametrize("name", GATES)
def test_each_gated_variant_multiplies_the_activated_gate_with_the_hidden_layer(name: str) -> None:
    feed_forward = PositionwiseFeedForward(1, 1, name, bias=False).double()
    assert feed_forward.w_gate is not None
    with torch.no_grad():
        feed_forward.w_1.weight.fill_(3.0)
        feed_forward.w_gate.weight.fill_(1.0)
        feed_forward.w_2.weight.fill_(1.0)
    x = torch.linspace(-3, 3, 13, dtype=torch.float64)

    output = feed_forward(x[None, :, None]).flatten().tolist()

    assert output == pytest.approx([GATES[name](v) * 3 * v for v in x.tolist()], abs=1e-12)


def test_relu_is_the_default_and_only_gated_variants_have_a_gate() -> None:
    assert PositionwiseFeedForward(3, 5).activation == "relu"
    assert PositionwiseFeedForward(3, 5).w_gate is None
    assert FORMULAS.keys() == ACTIVATIONS.keys()
    assert GATES.keys() == GATED_ACTIVATIONS.keys()


def test_the_configuration_knows_every_activation() -> None:
    assert set(get_args(Activation)) == ACTIVATIONS.keys() | GATED_ACTIVATIONS.keys()


@pytest.mark.parametrize("name", [*FORMULAS, *GATES])
def test_every_position_is_transformed_on_its_own_and_alike(name: str) -> None:
    feed_forward = PositionwiseFeedForward(3, 5, name).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)

    output = feed_forward(x)

    for sentence, position in itertools.product(range(2), range(4)):
        alone = feed_forward(x[sentence, position])
        torch.testing.assert_close(output[sentence, position], alone, rtol=1e-12, atol=1e-12)


def test_the_named_intermediates_are_the_steps_of_a_gated_variant() -> None:
    named: dict[str, torch.Tensor] = {}
    feed_forward = PositionwiseFeedForward(3, 5, "swiglu")
    token = listen(lambda module, name, tensor: named.setdefault(name, tensor))

    output = feed_forward(torch.randn(2, 4, 3))
    stop_listening(token)

    assert list(named) == ["hidden", "gate", "activated", "output"]
    torch.testing.assert_close(
        named["activated"], torch.nn.functional.silu(named["gate"]) * named["hidden"]
    )
    assert named["hidden"].shape == (2, 4, 5)
    assert output is named["output"]


def test_dropout_falls_on_the_activated_layer_while_training_only() -> None:
    feed_forward = PositionwiseFeedForward(1, 2000, bias=False, dropout=0.5)
    with torch.no_grad():
        feed_forward.w_1.weight.fill_(1.0)
        feed_forward.w_2.weight.fill_(1 / 2000)
    x = torch.ones(1, 50, 1)

    trained, evaluated = feed_forward.train()(x), feed_forward.eval()(x)

    torch.testing.assert_close(evaluated, torch.ones(1, 50, 1))
    # The mean of 2000 numbers that are 0 or 2: deviation 1 / sqrt(2000) = 0.022.
    assert trained.std().item() == pytest.approx(0.022, rel=0.5)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_biases_are_a_choice(bias: bool) -> None:
    names = {name for name, _ in PositionwiseFeedForward(3, 5, bias=bias).named_parameters()}

    assert ("w_1.bias" in names, "w_2.bias" in names) == (bias, bias)


def test_an_unknown_activation_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no activation 'swiglue'\. Did you mean 'swiglu'"):
        PositionwiseFeedForward(3, 5, "swiglue")


def test_a_rate_in_place_of_the_activation_is_told_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^There is no activation '0\.1'\. Write dropout=0\.1"):
        PositionwiseFeedForward(512, 2048, 0.1)  # type: ignore[arg-type]
