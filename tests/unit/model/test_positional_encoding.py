"""Positions are the sinusoids of the paper, for any length, or a trained table."""

import copy
import math
from typing import Any

import pytest
import torch

from headway.errors import ConfigError
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoid_table,
)


def test_sine_and_cosine_take_turns_as_in_the_paper() -> None:
    table = sinusoid_table(3, 6)

    for position in range(3):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-15)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-15)


def test_the_halved_layout_has_all_sines_first_with_the_exponents_of_tensor2tensor() -> None:
    table = sinusoid_table(4, 6, "halved")

    # min_timescale 1 to max_timescale 10000 in three steps: 1, 100, 10000.
    for position in range(4):
        for i, timescale in enumerate((1, 100, 10_000)):
            assert table[position, i].item() == pytest.approx(math.sin(position / timescale))
            assert table[position, 3 + i].item() == pytest.approx(math.cos(position / timescale))


def test_three_layouts_by_hand() -> None:
    # Width 4, position 3. The paper: angles 3 and 3 / 100; tensor2tensor: 3 and 3 / 10000.
    sin, cos = (0.1411200081, 0.0299955002), (-0.9899924966, 0.9995500337)
    by_hand = {
        "interleaved": (sin[0], cos[0], sin[1], cos[1]),
        "split": (*sin, *cos),
        "halved": (sin[0], 0.0002999999955, cos[0], 0.9999999550),
    }
    for layout, row in by_hand.items():
        assert sinusoid_table(4, 4, layout)[3].tolist() == pytest.approx(row, abs=1e-10), layout


def test_the_split_layout_has_the_numbers_of_the_paper_in_another_order() -> None:
    papers = sinusoid_table(40, 6)
    assert torch.equal(
        sinusoid_table(40, 6, "split"), torch.cat([papers[:, 0::2], papers[:, 1::2]], dim=1)
    )


def test_the_first_position_leaves_out_the_positions_before_it() -> None:
    for layout in ("interleaved", "halved", "split"):
        assert torch.equal(sinusoid_table(5, 6, layout, 2), sinusoid_table(7, 6, layout)[2:])
    encoding = SinusoidalPositionalEncoding(6, "halved", 2).double()
    plain = SinusoidalPositionalEncoding(6, "halved").double()
    # Beyond the 512 positions that are prepared, too.
    assert torch.equal(encoding(700, 3), plain(700, 5))


def test_a_shift_is_a_rotation_of_each_pair_whatever_the_position() -> None:
    table = sinusoid_table(40, 8).view(40, 4, 2)  # (position, pair, sine and cosine)
    angle = 5 / 10000 ** (torch.arange(4, dtype=torch.float64) / 4)

    sine, cosine = table[:-5, :, 0], table[:-5, :, 1]

    torch.testing.assert_close(table[5:, :, 0], sine * angle.cos() + cosine * angle.sin())
    torch.testing.assert_close(table[5:, :, 1], cosine * angle.cos() - sine * angle.sin())


def test_an_odd_width_ends_with_a_sine() -> None:
    table = sinusoid_table(3, 5)

    assert table.shape == (3, 5)
    assert table[2, 4].item() == pytest.approx(math.sin(2 / 10000 ** (4 / 5)))


@pytest.mark.parametrize("layout", ["halved", "split"])
def test_these_layouts_need_an_even_width(layout: str) -> None:
    with pytest.raises(ConfigError, match=f"The {layout} layout needs an even d_model, not 5"):
        SinusoidalPositionalEncoding(5, layout)


def test_an_unknown_layout_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'interleaved'"):
        SinusoidalPositionalEncoding(4, "interleave")


def test_any_length_works_and_positions_do_not_depend_on_it() -> None:
    encode = SinusoidalPositionalEncoding(6)
    short = encode(3, start=510)  # crosses the end of the table that it starts with

    far = encode(2, start=5000)

    torch.testing.assert_close(short, sinusoid_table(513, 6)[510:].float(), rtol=0, atol=0)
    torch.testing.assert_close(far, sinusoid_table(5002, 6)[5000:].float(), rtol=0, atol=0)
    assert torch.equal(encode(3, start=510), short)


def test_the_table_is_neither_trained_nor_saved() -> None:
    encode = SinusoidalPositionalEncoding(6)

    assert list(encode.parameters()) == []
    assert encode.state_dict() == {}


def test_a_change_of_type_there_and_back_loses_nothing() -> None:
    encode = SinusoidalPositionalEncoding(6)

    encode.to(torch.bfloat16)
    assert encode(9).dtype == torch.bfloat16
    encode.double()

    assert torch.equal(encode(9), sinusoid_table(9, 6))


def test_a_model_made_without_memory_gets_its_table_when_it_gets_memory() -> None:
    with torch.device("meta"):
        encode = SinusoidalPositionalEncoding(6, "halved")

    encode.to_empty(device="cpu")

    assert torch.equal(encode(7), sinusoid_table(7, 6, "halved").float())


def test_a_table_that_grew_while_translating_still_serves_training() -> None:
    encode = SinusoidalPositionalEncoding(6)
    with torch.inference_mode():
        encode(600)
    x = torch.randn(600, 6, requires_grad=True)

    (x * (x + encode(600))).sum().backward()

    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2 * x.detach() + encode(600))
    assert torch.equal(copy.deepcopy(encode)(600), encode(600))


def test_learned_positions_are_rows_of_a_trained_table() -> None:
    encode = LearnedPositionalEncoding(6, max_positions=9)

    assert torch.equal(encode(3, start=6), encode.weight[6:9])
    assert [name for name, _ in encode.named_parameters()] == ["weight"]


def test_a_position_beyond_the_learned_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="Position 10 is beyond the learned table of 9"):
        LearnedPositionalEncoding(6, max_positions=9)(4, start=6)


def test_a_table_that_grew_while_translating_serves_a_pass_with_gradients() -> None:
    encoding = SinusoidalPositionalEncoding(6)
    with torch.inference_mode():
        encoding(700)
    x = torch.ones(600, 6, requires_grad=True)

    (x * encoding(600)).sum().backward()

    assert x.grad is not None
    assert torch.equal(x.grad, encoding(600))


@pytest.mark.parametrize(
    "encoding", [SinusoidalPositionalEncoding(8), LearnedPositionalEncoding(8, 5)], ids=repr
)
def test_a_tensor_is_no_length(encoding: torch.nn.Module) -> None:
    with pytest.raises(ConfigError, match=r"shape \(1, 3, 8\), but must be a number\. Add"):
        encoding(torch.zeros(1, 3, 8))


@pytest.mark.parametrize("argument", [5000, 0.1])
def test_a_length_or_a_rate_in_place_of_the_layout_is_told_that_none_is_needed(
    argument: Any,
) -> None:
    with pytest.raises(ConfigError, match=rf"^The layout is {argument}, .* it grows; dropout"):
        SinusoidalPositionalEncoding(512, argument)
