"""Frozen on purpose: sizes of the presets and names of the weights.

A change here breaks the comparison with the paper, or every model that someone has trained.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.config import presets
from headway.model.accounting import count_by_part, count_parameters
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]

GOLDEN = Path(__file__).parent
COUNTS = json.loads((GOLDEN / "table3_parameters.json").read_text(encoding="utf-8"))
PRESETS = [
    *presets.ARCHITECTURES,
    *(name for name in presets.TABLE_3 if name not in ("base", "big")),
]


def parameters(name: str, vocab_size: int) -> int:
    with torch.device("meta"):
        model = Transformer.from_config(presets.architecture(name).with_vocabulary(vocab_size))
    return count_parameters(model)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_with_37000_shared_pieces_has_exactly_as_many_parameters(name: str) -> None:
    assert parameters(name, 37_000) == COUNTS[name]


def test_every_preset_is_pinned() -> None:
    assert COUNTS.keys() == set(PRESETS)


def test_base_by_hand() -> None:
    attention = 4 * (512 * 512 + 512)
    feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512
    norm = 2 * 512
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)

    assert COUNTS["base"] == 37_000 * 512 + encoder + decoder == 63_082_496
    with torch.device("meta"):
        model = Transformer.from_config(presets.base())
    assert count_by_part(dict(model.named_parameters())) == {
        "embedding": 18_944_000,
        "encoder": encoder,
        "decoder": decoder,
        "output": 0,
    }


@pytest.mark.parametrize(
    "name", [name for name, row in presets.TABLE_3.items() if row.millions is not None]
)
def test_with_41000_pieces_a_row_has_the_millions_that_the_paper_prints(name: str) -> None:
    # The paper's 65 million for base means about 41,000 pieces; it says about 37,000.
    printed = presets.TABLE_3[name].millions
    assert printed is not None

    assert parameters(name, 41_000) / 1e6 == pytest.approx(printed, rel=0.05)


def test_the_names_in_a_state_dict_are_attribute_paths(build: Build) -> None:
    model = build(num_encoder_layers=1, num_decoder_layers=1)
    names = list(model.state_dict())

    assert names == (GOLDEN / "state_dict_names.txt").read_text(encoding="utf-8").split()
    for name in names:
        assert model.get_parameter(name) is not None
