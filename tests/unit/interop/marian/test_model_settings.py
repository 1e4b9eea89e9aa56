"""Settings that Headway does not compute are refused by name."""

import pytest

from headway.errors import BundleError
from headway.interop.marian.model_settings import check_settings, parse_settings

from .conftest import SETTINGS

SIZES = {"dim-emb": 6, "transformer-dim-ffn": 10, "enc-depth": 2, "dec-depth": 1}


def test_yaml_of_one_level() -> None:
    text = 'a: b c\nlist:\n  - 1\n  - "x: y"\nnone: []\nempty: ""\nquoted: \'q\'\n# no\n\nend:\n'
    assert parse_settings(text) == {
        "a": "b c", "list": ["1", "x: y"], "none": [], "empty": "", "quoted": "q", "end": "",
    }  # fmt: skip


@pytest.mark.parametrize("line", ["  nested: 1", "no setting", "- 1", "a: b\n  - 1"])
def test_other_yaml_is_refused_by_its_line(line: str) -> None:
    with pytest.raises(BundleError, match=r"the line .*, which is not a setting"):
        parse_settings(line)
    with pytest.raises(BundleError, match="The settings have 100,000 letters"):
        parse_settings(line[0] * 100_000)


def test_the_settings_of_a_student_fit() -> None:
    student = check_settings(parse_settings(SETTINGS), SIZES)
    assert (student.num_heads, student.activation, student.alignment_layer) == (3, "relu", 0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dec-cell", "gru", "dec-cell is 'gru'; Headway computes 'ssru'"),
        ("transformer-decoder-autoreg", "self-attention", "'self-attention'; Headway comp"),
        ("transformer-preprocess", "n", "transformer-preprocess is 'n'"),
        ("transformer-postprocess", "dn", "'dan' or 'da' or 'an'"),
        ("transformer-tied-layers", "1", "transformer-tied-layers is '1'"),
        ("lemma-dim-emb", "64", "lemma-dim-emb is '64'"),
        ("enc-depth", "6", "enc-depth is 6, but the model's tensors show 2"),
        ("transformer-heads", "4", "transformer-heads is 4, which does not divide dim-emb 6"),
        ("transformer-heads", "0", "transformer-heads is 0"),
        ("transformer-heads", "9" * 30, "which does not divide"),
        ("type", "s2s", "type is 's2s'"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        check_settings(parse_settings(SETTINGS) | {name: value}, SIZES)


@pytest.mark.parametrize(
    ("value", "layer"), [("last", 2), ("1", 0), ("3", 2), ("4", None), ("none", None)]
)
def test_the_layer_of_the_guided_head(value: str, layer: int | None) -> None:
    settings = parse_settings(SETTINGS) | {"transformer-guided-alignment-layer": value}
    settings["dec-depth"] = "3"
    assert check_settings(settings, SIZES | {"dec-depth": 3}).alignment_layer == layer
