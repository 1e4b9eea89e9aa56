"""Headway: train a Transformer translator from parallel text, look inside it, and ship it.

    import headway
    translator = headway.load("runs/demo")
    translator.translate("저는 학생입니다.").text

The layers of the paper are names of this package, such as `headway.MultiHeadAttention`; all are in
`headway.model`. Names load on first use, so that importing the package does not import torch.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway import learn
    from headway.bundle import Bundle, load_bundle, save_bundle
    from headway.config import presets
    from headway.config.model import ModelConfig
    from headway.config.run import RunConfig, load_run_config
    from headway.data.mending.text import clean_text
    from headway.decoding.options import Sampling, SearchOptions
    from headway.decoding.translation import Translation
    from headway.errors import HeadwayError
    from headway.evaluation.comparing import compare_texts
    from headway.evaluation.metrics import Score, score_texts
    from headway.inspection.trace import Trace, trace
    from headway.inspection.translator import Translator, load
    from headway.model import (
        MultiHeadAttention,
        PositionwiseFeedForward,
        SinusoidalPositionalEncoding,
        Transformer,
        look_ahead_mask,
        padding_mask,
        scaled_dot_product_attention,
        sinusoid_table,
        target_mask,
    )
    from headway.training.accelerated.install import accelerated
    from headway.training.loss import label_smoothed_cross_entropy
    from headway.training.run import train
    from headway.training.schedule import paper_rate

__version__ = "0.1.0"

__all__ = [
    "Bundle",
    "HeadwayError",
    "ModelConfig",
    "MultiHeadAttention",
    "PositionwiseFeedForward",
    "RunConfig",
    "Sampling",
    "Score",
    "SearchOptions",
    "SinusoidalPositionalEncoding",
    "Trace",
    "Transformer",
    "Translation",
    "Translator",
    "accelerated",
    "clean_text",
    "compare_texts",
    "label_smoothed_cross_entropy",
    "learn",
    "load",
    "load_bundle",
    "load_run_config",
    "look_ahead_mask",
    "padding_mask",
    "paper_rate",
    "presets",
    "save_bundle",
    "scaled_dot_product_attention",
    "score_texts",
    "sinusoid_table",
    "target_mask",
    "trace",
    "train",
]

_HOMES = {
    "Bundle": "headway.bundle",
    "HeadwayError": "headway.errors",
    "ModelConfig": "headway.config.model",
    "MultiHeadAttention": "headway.model.attention",
    "PositionwiseFeedForward": "headway.model.feed_forward",
    "RunConfig": "headway.config.run",
    "Sampling": "headway.decoding.options",
    "Score": "headway.evaluation.metrics",
    "SearchOptions": "headway.decoding.options",
    "SinusoidalPositionalEncoding": "headway.model.positional_encoding",
    "Trace": "headway.inspection.trace",
    "Transformer": "headway.model.transformer",
    "Translation": "headway.decoding.translation",
    "Translator": "headway.inspection.translator",
    "accelerated": "headway.training.accelerated.install",
    "clean_text": "headway.data.mending.text",
    "compare_texts": "headway.evaluation.comparing",
    "label_smoothed_cross_entropy": "headway.training.loss",
    "learn": "headway.learn",
    "load": "headway.inspection.translator",
    "load_bundle": "headway.bundle",
    "load_run_config": "headway.config.run",
    "look_ahead_mask": "headway.model.masks",
    "padding_mask": "headway.model.masks",
    "paper_rate": "headway.training.schedule",
    "presets": "headway.config.presets",
    "save_bundle": "headway.bundle",
    "scaled_dot_product_attention": "headway.model.attention",
    "score_texts": "headway.evaluation.metrics",
    "sinusoid_table": "headway.model.positional_encoding",
    "target_mask": "headway.model.masks",
    "trace": "headway.inspection.trace",
    "train": "headway.training.run",
}


if not TYPE_CHECKING:  # to a type checker each name would be one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for."""
        if name not in _HOMES:
            from headway.errors.elsewhere import missing

            raise missing(sys.modules[__name__], name)
        home = importlib.import_module(_HOMES[name])
        # `learn` and `presets` are modules, everything else is a member of one.
        value = home if name in ("learn", "presets") else getattr(home, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *__all__])
