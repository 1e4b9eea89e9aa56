"""The settings in a checkpoint of fairseq: which of them a bundle has, and which are refused.

Versions to 0.9 save the options of the command line as `args`. Later ones save sections as `cfg`,
whose models have the same options, or sections of their own with the same names behind a dot.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.errors import BundleError
from headway.interop.checkpoints.values import Values
from headway.interop.pickled import unwrapped

EPSILON = 1e-5
PADDING = 1
"""The id of `<pad>` in every dictionary; the first token has the position after it."""
_ARCHITECTURES = (
    "transformer",
    "transformer_tiny",
    "transformer_iwslt_de_en",
    "transformer_wmt_en_de",
    "transformer_vaswani_wmt_en_de_big",
    "transformer_vaswani_wmt_en_fr_big",
    "transformer_wmt_en_de_big",
    "transformer_wmt_en_de_big_t2t",
)
_SECTIONS = ("encoder", "decoder", "quant_noise")
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "swish": "silu",
}
# What other values of these settings compute, a bundle cannot say.
_PLAIN: dict[str, Any] = {
    "adaptive_input": False,
    "adaptive_softmax_cutoff": None,
    "base_layers": 0,
    "char_inputs": False,
    "cross_self_attention": False,
    "decoder_layerdrop": 0,
    "decoder_layers_to_keep": None,
    "decoder_xformers_att_config": None,
    "encoder_layerdrop": 0,
    "encoder_layers_to_keep": None,
    "encoder_xformers_att_config": None,
    "layernorm_embedding": False,
    "merge_src_tgt_embed": False,
    "no_cross_attention": False,
    "no_decoder_final_norm": False,
    "no_token_positional_embeddings": False,
    "quant_noise_pq": 0,
    "quant_noise_scalar": 0,
    "scale_attn": False,
    "scale_fc": False,
    "scale_heads": False,
    "scale_resids": False,
}
# By our name: the encoder's and the decoder's setting, which must be equal.
_EQUAL: dict[str, tuple[str, type, Any]] = {
    "d_model": ("embed_dim", int, None),
    "d_ff": ("ffn_embed_dim", int, None),
    "num_heads": ("attention_heads", int, None),
    "pre": ("normalize_before", bool, False),
    "learned": ("learned_pos", bool, False),
}


def settings_of(content: Mapping[Any, Any], path: Path) -> tuple[Values, Values]:
    """Return the settings of the model and of its task; BundleError if there are none."""
    args = unwrapped(content.get("args"))
    if isinstance(args, Mapping):
        values = Values(_flat(args), path, "args.")
        return values, values
    cfg = unwrapped(content.get("cfg"))
    if isinstance(cfg, Mapping):
        model, task = unwrapped(cfg.get("model")), unwrapped(cfg.get("task"))
        if isinstance(model, Mapping) and isinstance(task, Mapping):
            sections = Values(_flat(model), path, "cfg.model.")
            return sections, Values(_flat(task), path, "cfg.task.")
    raise BundleError(
        f"{path} has neither 'args' nor 'cfg' with the settings of a model and a task.",
        "Give a checkpoint as fairseq writes it.",
    )


def _flat(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Return all settings under the names of the command line, without those that are not set.

    omegaconf writes `???` for a missing value, and `${…}` for the value of another setting.
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        section = unwrapped(value)
        if name in _SECTIONS and isinstance(section, Mapping):
            flat |= {f"{name}_{below}": unwrapped(inner) for below, inner in section.items()}
        else:
            flat[str(name)] = section
    return {
        name: value
        for name, value in flat.items()
        if not (value is None or (isinstance(value, str) and value.startswith(("???", "${"))))
    }


def architecture(model: Values, task: Values) -> dict[str, Any]:
    """Return the values of our configuration, without vocabularies."""
    _check_kind(model, "_name" if "_name" in model.values else "arch", _ARCHITECTURES)
    _check_kind(task, "_name" if "_name" in task.values else "task", ("translation",))
    model.demand(_PLAIN)
    values: dict[str, Any] = {}
    for ours, (name, kind, default) in _EQUAL.items():
        values[ours] = model.get(f"encoder_{name}", kind, default)
        if model.get(f"decoder_{name}", kind, default) != values[ours]:
            raise model.refused(f"decoder_{name}", f"{values[ours]!r}, as the encoder's is")
    model.demand(dict.fromkeys(("decoder_input_dim", "decoder_output_dim"), values["d_model"]))
    activation = model.get("activation_fn", str, "relu")
    if activation not in _ACTIVATIONS:
        raise model.refused("activation_fn", f"one of {', '.join(_ACTIVATIONS)}")
    inner = model.get("activation_dropout", float, 0.0) or model.get("relu_dropout", float, 0.0)
    return {
        "d_model": values["d_model"],
        "d_ff": values["d_ff"],
        "num_heads": values["num_heads"],
        "num_encoder_layers": model.get("encoder_layers", int),
        "num_decoder_layers": model.get("decoder_layers", int),
        "activation": _ACTIVATIONS[activation],
        "norm_position": "pre" if values["pre"] else "post",
        "norm_epsilon": EPSILON,
        "dropout": float(model.get("dropout", float, 0.1)),
        "attention_dropout": float(model.get("attention_dropout", float, 0.0)),
        "activation_dropout": float(inner),
        "scale_embeddings": not model.get("no_scale_embedding", bool, False),
        "output_bias": True,
        **_positions(model, values["learned"]),
    }


def _check_kind(values: Values, name: str, allowed: tuple[str, ...]) -> None:
    """Raise BundleError for a model or a task of another kind."""
    if values.get(name, str, allowed[0] if name == "task" else None) not in allowed:
        raise values.refused(name, " or ".join(map(repr, allowed)))


def _positions(model: Values, is_learned: bool) -> dict[str, Any]:
    if not is_learned:
        return {"sinusoid_layout": "halved", "first_position": PADDING + 1}
    most = model.get("max_source_positions", int, 1024)
    if model.get("max_target_positions", int, 1024) != most:
        raise model.refused("max_target_positions", f"{most}, as max_source_positions is")
    return {"positions": "learned", "max_positions": most}


def is_tied(model: Values) -> tuple[bool, bool]:
    """Return True if all tables are one, and if those of target and output are."""
    everything = model.get("share_all_embeddings", bool, False)
    return everything, everything or model.get("share_decoder_input_output_embed", bool, False)
