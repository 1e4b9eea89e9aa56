"""Figure 1, and one sub-layer."""

import pytest

from headway import learn
from headway.errors import ConfigError
from headway.learn.figures import architecture
from headway.learn.figures.architecture import figure_one, sub_layer
from headway.model.transformer import Transformer


def test_the_blocks_have_the_names_of_the_parts(tiny: Transformer) -> None:
    parts = {name for name, _ in tiny.named_modules()}
    for name, *_ in (*architecture._ENCODER, *architecture._DECODER):
        stack, _, part = name.partition(".")
        path = f"{stack}.layers.0.{part}" if part else name
        assert path in parts or name == "probabilities", path


def test_figure_one_is_drawn_in_both_languages() -> None:
    english = figure_one()
    learn.speak("ko")
    try:
        korean = figure_one()
    finally:
        learn.speak("en")
    assert english.alt.startswith("Figure 1")
    assert korean.alt.startswith("그림 1")
    assert english.svg != korean.svg


def test_a_chosen_block_keeps_its_color_and_a_note_stands_in_its_block() -> None:
    notes = {"encoder.feed_forward": "(5, 128)"}
    blocks = architecture._blocks(notes, ["encoder.feed_forward"])
    colors = {name: box.color for name, box in blocks.items() if box.color != "none"}
    assert {name for name, color in colors.items() if color != "grey"} == {"encoder.feed_forward"}
    assert [box.note for box in blocks.values() if box.note] == ["(5, 128)"]
    plain = architecture._blocks({}, ())
    assert plain["encoder.self_attention"].color == plain["decoder.cross_attention"].color != "grey"


def test_an_unknown_block_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no block 'encoder.attention'. Did you mean"):
        figure_one(chosen=["encoder.attention"])
    with pytest.raises(ConfigError, match="no block 'x'"):
        figure_one(notes={"x": "(3, 4)"})


def test_the_norm_comes_before_or_after() -> None:
    post, pre = (sub_layer("f", alt="A.", norm_position=where) for where in ("post", "pre"))
    assert post.svg != pre.svg
    with pytest.raises(ConfigError, match="norm_position is 'middle'"):
        sub_layer("f", alt="A.", norm_position="middle")
