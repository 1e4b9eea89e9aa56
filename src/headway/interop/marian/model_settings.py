"""The settings that Marian stores in a model, `special:model.yml`, and those that fit a bundle."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headway.config.model import Activation
from headway.errors import BundleError, shown

SETTINGS = "special:model.yml"
"""The name of the settings in a file of weights."""
_LINE = re.compile(r"([A-Za-z0-9_-]+):(.*)")
_MOST_LETTERS = 2**16
_ACTIVATION = "transformer-ffn-activation"

# By setting: the values that Headway computes; the first of them stands for a missing setting.
STUDENT: Mapping[str, tuple[str, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("rnn",),
    "dec-cell": ("ssru",),
    "dec-cell-base-depth": ("2", "1"),
    "dec-cell-high-depth": ("1",),
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("dan", "da", "an"),
    "transformer-postprocess-top": ("",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-ffn-activation": ("relu", "swish"),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-no-projection": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-no-affine": ("false",),
    "transformer-rnn-projection": ("false",),
    "transformer-pool": ("false",),
    "transformer-tied-layers": ("",),
    "transformer-train-position-embeddings": ("false",),
    "lemma-dim-emb": ("0",),
    "lemma-dependency": ("",),
    "ulr": ("false",),
    "right-left": ("false",),
    "output-omit-bias": ("false",),
    "layer-normalization": ("false", "true"),
}
_OF_RECURRENCE = ("dec-cell", "dec-cell-base-depth", "dec-cell-high-depth")
ORIGINAL: Mapping[str, tuple[str, ...]] = {
    **{name: allowed for name, allowed in STUDENT.items() if name not in _OF_RECURRENCE},
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-activation": ("swish", "relu"),
}
"""The same for models whose decoder attends to its past."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of a model that its tensors do not show."""

    num_heads: int
    activation: Activation
    alignment_layer: int | None
    """The decoder layer, from 0, whose first head was trained on alignments; None if none was."""


def parse_settings(text: str) -> dict[str, str | list[str]]:
    """Read YAML of one level, as Marian writes it: `name: value`, or a list below its name.

    Raises BundleError for text that is not of this kind.
    """
    if len(text) > _MOST_LETTERS:
        raise BundleError(
            f"The settings have {len(text):,} letters, more than {_MOST_LETTERS:,}.",
            "Give a model as Marian wrote it.",
        )
    settings: dict[str, str | list[str]] = {}
    name = ""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        entries = settings.get(name)
        if bare.startswith("- ") and (entries == "" or isinstance(entries, list)):
            settings[name] = [*entries, _value(bare[2:])]
        elif match := _LINE.fullmatch(line.rstrip()):
            name, value = match[1], _value(match[2])
            settings[name] = [] if value == "[]" else value
        else:
            raise BundleError(
                f"The model's settings have the line {shown(bare)}, which is not a setting.",
                "Give a model as Marian wrote it.",
            )
    return settings


def _value(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def check_settings(
    settings: Mapping[str, str | list[str]],
    sizes: Mapping[str, int],
    allowed_values: Mapping[str, tuple[str, ...]] = STUDENT,
) -> ModelSettings:
    """Refuse settings that Headway does not compute, by name; return those that it needs.

    sizes: by setting, the number that the tensors show; a setting may not contradict it.
    allowed_values: STUDENT or ORIGINAL.
    """
    for name, allowed in allowed_values.items():
        value = settings.get(name, allowed[0])
        text = " ".join(value) if isinstance(value, list) else value
        if text not in allowed:
            raise BundleError(
                f"{name} is '{text}'; Headway computes {' or '.join(map(repr, allowed))}.",
                "A model with another setting cannot be imported.",
            )
    for name, size in sizes.items():
        if settings.get(name, str(size)) != str(size):
            raise BundleError(
                f"{name} is {settings[name]}, but the model's tensors show {size}.",
                "Give a model whose settings and tensors belong together.",
            )
    heads = settings.get("transformer-heads", "8")
    width = sizes["dim-emb"]
    if not isinstance(heads, str) or not heads.isdecimal() or not _divides(int(heads[:9]), width):
        raise BundleError(
            f"transformer-heads is {heads}, which does not divide dim-emb {width}.",
            "Give a model as Marian wrote it.",
        )
    activation = settings.get(_ACTIVATION, allowed_values[_ACTIVATION][0])
    return ModelSettings(
        int(heads),
        "silu" if activation == "swish" else "relu",
        _alignment_layer(settings, sizes["dec-depth"]),
    )


def _divides(part: int, whole: int) -> bool:
    return part > 0 and whole % part == 0


def _alignment_layer(settings: Mapping[str, str | list[str]], layers: int) -> int | None:
    """Return the layer of the guided head; Marian counts from 1, or says `last`."""
    layer = settings.get("transformer-guided-alignment-layer")
    if layer == "last":
        return layers - 1
    if isinstance(layer, str) and layer.isdecimal() and 1 <= int(layer[:9]) <= layers:
        return int(layer) - 1
    return None
