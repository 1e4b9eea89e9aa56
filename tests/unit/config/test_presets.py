"""Presets are found by name and are what the paper's Table 3 says."""

from typing import Any

import pytest

from headway.config import presets
from headway.config.model import Architecture
from headway.errors import ConfigError

# Table 3 as printed: N, d_model, d_ff, h, d_k, d_v, P_drop, eps_ls, thousands of steps, millions.
PRINTED: dict[str, tuple[Any, ...]] = {
    "base": (6, 512, 2048, 8, 64, 64, 0.1, 0.1, 100, 65),
    "A-1-head": (6, 512, 2048, 1, 512, 512, 0.1, 0.1, 100, None),
    "A-4-heads": (6, 512, 2048, 4, 128, 128, 0.1, 0.1, 100, None),
    "A-16-heads": (6, 512, 2048, 16, 32, 32, 0.1, 0.1, 100, None),
    "A-32-heads": (6, 512, 2048, 32, 16, 16, 0.1, 0.1, 100, None),
    "B-d_k-16": (6, 512, 2048, 8, 16, 64, 0.1, 0.1, 100, 58),
    "B-d_k-32": (6, 512, 2048, 8, 32, 64, 0.1, 0.1, 100, 60),
    "C-2-layers": (2, 512, 2048, 8, 64, 64, 0.1, 0.1, 100, 36),
    "C-4-layers": (4, 512, 2048, 8, 64, 64, 0.1, 0.1, 100, 50),
    "C-8-layers": (8, 512, 2048, 8, 64, 64, 0.1, 0.1, 100, 80),
    "C-d_model-256": (6, 256, 2048, 8, 32, 32, 0.1, 0.1, 100, 28),
    "C-d_model-1024": (6, 1024, 2048, 8, 128, 128, 0.1, 0.1, 100, 168),
    "C-d_ff-1024": (6, 512, 1024, 8, 64, 64, 0.1, 0.1, 100, 53),
    "C-d_ff-4096": (6, 512, 4096, 8, 64, 64, 0.1, 0.1, 100, 90),
    "D-dropout-0.0": (6, 512, 2048, 8, 64, 64, 0.0, 0.1, 100, None),
    "D-dropout-0.2": (6, 512, 2048, 8, 64, 64, 0.2, 0.1, 100, None),
    "D-smoothing-0.0": (6, 512, 2048, 8, 64, 64, 0.1, 0.0, 100, None),
    "D-smoothing-0.2": (6, 512, 2048, 8, 64, 64, 0.1, 0.2, 100, None),
    "E-learned-positions": (6, 512, 2048, 8, 64, 64, 0.1, 0.1, 100, None),
    "big": (6, 1024, 4096, 16, 64, 64, 0.3, 0.1, 300, 213),
}


@pytest.mark.parametrize("name", PRINTED)
def test_every_row_of_table_3_is_as_printed(name: str) -> None:
    row = presets.TABLE_3[name]
    sizes = row.architecture

    assert PRINTED[name] == (
        sizes.num_encoder_layers,
        sizes.d_model,
        sizes.d_ff,
        sizes.num_heads,
        sizes.d_k or sizes.d_model // sizes.num_heads,
        sizes.d_v or sizes.d_model // sizes.num_heads,
        sizes.dropout,
        row.label_smoothing,
        row.train_steps / 1000,
        row.millions,
    )
    assert sizes.num_decoder_layers == sizes.num_encoder_layers
    assert sizes.positions == ("learned" if name.startswith("E") else "sinusoidal")


def test_table_3_has_no_other_rows() -> None:
    assert presets.TABLE_3.keys() == PRINTED.keys()


@pytest.mark.parametrize("name", ["tiny", "small", "base", "big", "student"])
def test_a_preset_is_a_function_of_the_vocabulary_and_an_architecture_by_name(name: str) -> None:
    config = getattr(presets, name)(vocab_size=77)

    assert config == presets.architecture(name).with_vocabulary(77)


def test_base_and_big_have_the_vocabulary_of_the_paper_unless_told() -> None:
    assert presets.base().target_vocab_size == presets.big().source_vocab_size == 37_000
    assert presets.base().replace({"d_ff": 9}).d_ff == 9


def test_base_and_big_are_the_rows_of_table_3() -> None:
    assert presets.architecture("base") == Architecture() == presets.TABLE_3["base"].architecture
    assert presets.architecture("big") == presets.TABLE_3["big"].architecture


def test_a_row_of_table_3_is_a_preset_too() -> None:
    assert presets.architecture("B-d_k-16").d_k == 16


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"There is no preset 'bas'\. Did you mean 'base'"):
        presets.architecture("bas")


def test_the_sizes_come_first_where_no_name_is_near() -> None:
    with pytest.raises(ConfigError, match=r"'medium'\. Choose tiny, .*, student, or a row"):
        presets.architecture("medium")
