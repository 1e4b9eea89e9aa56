"""Find the parts of a model whose computation differs from Headway's own classes.

Code that reads weights and calls no module, such as the packed engine, computes only the equations
of these classes.
"""

from collections.abc import Iterable
from operator import attrgetter

from torch import nn
from torch.nn.modules import module as torch_modules

from headway.model.attention import MultiHeadAttention
from headway.model.decoder import Decoder, DecoderLayer
from headway.model.embedding import InputEmbedding, OutputProjection, TokenEmbedding
from headway.model.encoder import Encoder, EncoderLayer
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from headway.model.residual import Residual
from headway.model.ssru import RecurrentDecoderLayer, SimpleRecurrentUnit
from headway.model.transformer import Transformer

_OWN: dict[type[nn.Module], object] = {
    kind: kind.forward
    for kind in (
        Transformer, Encoder, EncoderLayer, Decoder, DecoderLayer, RecurrentDecoderLayer,
        MultiHeadAttention, SimpleRecurrentUnit,
        PositionwiseFeedForward, Residual, TokenEmbedding, InputEmbedding, OutputProjection,
        SinusoidalPositionalEncoding, LearnedPositionalEncoding,
        nn.Linear, nn.LayerNorm, nn.ModuleList,
    )
}  # fmt: skip
_hooks = attrgetter("_forward_pre_hooks", "_forward_hooks")


def changed_parts(model: nn.Module) -> dict[str, str]:
    """Return the classes of all changed parts of a model, by path.

    A part is changed if its class is another one, even a subclass of Headway's. It is also changed
    if a method was replaced in the object, or `forward` in its class. The model has the path "".
    """
    return {path: _named(part) for path, part in model.named_modules() if is_customized(part)}


def other_settings(model: nn.Module, plain: nn.Module) -> dict[str, str]:
    """Return the settings that differ from those of a model of the same configuration, by path.

    Loading by the configuration alone would lose them: an activation, a number of heads, an
    epsilon. Rates of dropout are ignored, because they do not affect a trained model. plain: the
    model of the configuration.
    """
    parts, differences = dict(model.named_modules()), {}
    for path, part in plain.named_modules():
        for name, value in vars(part).items() if path in parts else ():
            if name in ("training", "dropout") or not isinstance(value, bool | int | float | str):
                continue
            if (setting := getattr(parts[path], name, value)) != value:
                differences[path] = f"{type(part).__qualname__} with {name} {setting}"
    return differences


def lost_buffers(model: nn.Module) -> list[str]:
    """Return the names of buffers in a model's state, which a bundle does not save."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return [name for name in model.state_dict() if name not in parameters]


def hooked_parts(model: nn.Module) -> list[str]:
    """Return the paths of all parts with forward hooks."""
    paths, parts = zip(*model.named_modules(), strict=True)
    return [path for path, hooked in zip(paths, have_hooks(parts), strict=True) if hooked]


def describe_customizations(model: nn.Module) -> str:
    """Describe the parts that must be called to compute their results; empty if none."""
    changes = [
        f"{path or 'the model'} is of class {kind}" for path, kind in changed_parts(model).items()
    ]
    changes += [f"{path or 'the model'} has hooks" for path in hooked_parts(model)]
    changes += [f"{path or 'the stack'} {words}" for path, words in _unusual_norms(model).items()]
    if len(changes) > 1:
        return f"{changes[0]} ({len(changes)} such parts in all)"
    return "".join(changes)


def have_hooks(parts: Iterable[nn.Module]) -> list[bool]:
    """Return True for each part with hooks before or after its forward pass."""
    everywhere = hooks_everywhere()
    hooks = map(_hooks, parts)
    return [bool(before or after or everywhere) for before, after in hooks]


def hooks_everywhere() -> bool:
    """Return True if PyTorch has forward hooks for all modules."""
    return bool(torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks)


def _unusual_norms(model: nn.Module) -> dict[str, str]:
    """Describe the stacks that are neither entirely post-norm nor entirely pre-norm, by path.

    Their modules compute the mixture correctly. Code that reads weights assumes pre-norm for a
    stack that ends with a LayerNorm, and post-norm for one without.
    """
    mixtures: dict[str, str] = {}
    for path, stack in model.named_modules():
        if type(stack) is Encoder or type(stack) is Decoder:
            frames = [part for part in stack.modules() if isinstance(part, Residual)]
            if stack.norm is None and any(frame.norm_position == "pre" for frame in frames):
                mixtures[path] = "has pre-norm frames and no norm at its end"
            elif stack.norm is not None and any(f.norm_position == "post" for f in frames):
                mixtures[path] = "has post-norm frames and a norm at its end"
    return mixtures


def is_customized(part: nn.Module) -> bool:
    """Return True if a part's class, a method or its forward is not Headway's."""
    kind = type(part)
    return kind not in _OWN or kind.forward is not _OWN[kind] or bool(_replaced(part))


def _named(part: nn.Module) -> str:
    replaced = _replaced(part)
    return f"{type(part).__qualname__}{f' with another {replaced[0]}' if replaced else ''}"


def _replaced(part: nn.Module) -> list[str]:
    """Return the names of methods that this object replaces."""
    return [
        name
        for name, value in vars(part).items()
        if callable(value) and callable(getattr(type(part), name, None))
    ]
