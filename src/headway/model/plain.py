"""Modules that do no more than they say."""

from torch import nn


def is_plain(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Tell whether calling this module is calling `kind`: no subclass, and nobody has hooked it."""
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    return type(module) is kind and not any(hooks)
