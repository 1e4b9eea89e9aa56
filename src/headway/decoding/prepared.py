"""What models were like when their weights were prepared, to tell when that is no longer so."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any

from torch.autograd.graph import increment_version
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from headway.model.changes import have_hooks
from headway.model.transformer import Transformer

_children = attrgetter("_modules")
_weights = attrgetter("_parameters")


class Prepared:
    """Remembers parts, weights and hooks of models."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        """Look at these models as they are now."""
        _count_fused_steps()
        # Kept, so that no other object ever has the identity of one of these.
        self.parts = [part for model in models for part in model.modules()]
        self.weights = [weight for model in models for weight in model.parameters()]
        self._contents = [vars(part) for part in self.parts]
        self._children = [dict(children.items()) for children in map(_children, self.parts)]
        self._before = self._now()

    def is_past(self) -> bool:
        """Tell whether a part, a weight, a `forward` or a hook has been changed since.

        Asked before every translation, be it of one sentence: so it looks at whole lists at a time.
        """
        same_parts = self._children == [dict(own.items()) for own in map(_children, self.parts)]
        return not same_parts or self._before != self._now()

    def have_hooks(self) -> bool:
        """Tell whether any part has hooks now."""
        return any(have_hooks(self.parts))

    def _now(self) -> tuple[object, ...]:
        """Return what may change of parts and weights, except the set of parts."""
        weights = [*chain.from_iterable(own.values() for own in map(_weights, self.parts))]
        return (
            have_hooks(self.parts),
            ["forward" in content for content in self._contents],
            [*map(id, weights)],
            # `weight.data = …` counts as no change. Nor does what is written through `weight.data`,
            # or into its memory, which nothing tells.
            [None if w is None else w.data_ptr() for w in weights],
            # Nobody counts the changes of a tensor that was made in inference mode.
            [0 if w is None or w.is_inference() else w._version for w in weights],
        )


@cache
def _count_fused_steps() -> None:
    """Have the steps of fused optimizers count as changes of weights, as those of others do."""
    register_optimizer_step_post_hook(_count_if_fused)


def _count_if_fused(optimizer: Optimizer, *_: Any) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"] if group.get("fused") else ():
            if weight.grad is not None:
                increment_version(weight)
