"""Which parts of a model compute something else than this package's own classes do.

What reads weights instead of calling modules, as the packed engine does, knows the equations of
those classes alone.
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
from headway.model.transformer import Transformer

_OWN: dict[type[nn.Module], object] = {
    kind: kind.forward
    for kind in (
        Transformer, Encoder, EncoderLayer, Decoder, DecoderLayer, MultiHeadAttention,
        PositionwiseFeedForward, Residual, TokenEmbedding, InputEmbedding, OutputProjection,
        SinusoidalPositionalEncoding, LearnedPositionalEncoding,
        nn.Linear, nn.LayerNorm, nn.ModuleList,
    )
}  # fmt: skip
_hooks = attrgetter("_forward_pre_hooks", "_forward_hooks")


def changed_parts(model: nn.Module) -> dict[str, str]:
    """Return the classes of all parts of a model that are not as this package has them, by path.

    A part is changed when its class is another one, even a subclass, when a method was replaced in
    the object, or `forward` in its class. The model itself has the path "".
    """
    return {path: _named(part) for path, part in model.named_modules() if is_customized(part)}


def other_settings(model: nn.Module, plain: nn.Module) -> dict[str, str]:
    """Return the settings in which parts of a model differ from those of a plain one, by path.

    Loading by the configuration alone would lose them: an activation, a number of heads, an
    epsilon. The rates of dropout are not counted, for they say nothing of a trained model.
    """
    parts, found = dict(model.named_modules()), {}
    for path, part in plain.named_modules():
        for name, value in vars(part).items() if path in parts else ():
            if name in ("training", "dropout") or not isinstance(value, bool | int | float | str):
                continue
            if (own := getattr(parts[path], name, value)) != value:
                found[path] = f"{type(part).__qualname__} with {name} {own}"
    return found


def lost_buffers(model: nn.Module) -> list[str]:
    """Return the names of numbers that are part of a model's state without being parameters."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return [name for name in model.state_dict() if name not in parameters]


def hooked_parts(model: nn.Module) -> list[str]:
    """Return the paths of all parts whose forward pass somebody's hooks take part in."""
    paths, parts = zip(*model.named_modules(), strict=True)
    return [path for path, hooked in zip(paths, have_hooks(parts), strict=True) if hooked]


def changes_in_words(model: nn.Module) -> str:
    """Say which parts only a call of them computes; nothing where there are none."""
    found = [
        f"{path or 'the model'} is of class {kind}" for path, kind in changed_parts(model).items()
    ]
    found += [f"{path or 'the model'} has hooks" for path in hooked_parts(model)]
    found += [f"{path or 'the stack'} {words}" for path, words in _unusual_norms(model).items()]
    return f"{found[0]} ({len(found)} such parts in all)" if len(found) > 1 else "".join(found)


def have_hooks(parts: Iterable[nn.Module]) -> list[bool]:
    """Tell of each part whether hooks are called before or after its forward pass."""
    everywhere = torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks
    hooks = map(_hooks, parts)
    return [bool(before or after or everywhere) for before, after in hooks]


def _unusual_norms(model: nn.Module) -> dict[str, str]:
    """Say of stacks how they are neither post- nor pre-norm all through, by path.

    They compute that as it stands; what reads weights takes a stack that ends with a LayerNorm for
    pre-norm, and one without for post-norm.
    """
    found: dict[str, str] = {}
    for path, stack in model.named_modules():
        if type(stack) is Encoder or type(stack) is Decoder:
            frames = [part for part in stack.modules() if isinstance(part, Residual)]
            if stack.norm is None and any(frame.norm_position == "pre" for frame in frames):
                found[path] = "has pre-norm frames and no norm at its end"
            elif stack.norm is not None and any(f.norm_position == "post" for f in frames):
                found[path] = "has post-norm frames and a norm at its end"
    return found


def is_customized(part: nn.Module) -> bool:
    """Return True if a part is not of this package's class, or has another method or forward."""
    kind = type(part)
    return kind not in _OWN or kind.forward is not _OWN[kind] or bool(_replaced(part))


def _named(part: nn.Module) -> str:
    replaced = _replaced(part)
    return f"{type(part).__qualname__}{f' with another {replaced[0]}' if replaced else ''}"


def _replaced(part: nn.Module) -> list[str]:
    """Return the methods that this object has in place of those of its class."""
    return [
        name
        for name, value in vars(part).items()
        if callable(value) and callable(getattr(type(part), name, None))
    ]
