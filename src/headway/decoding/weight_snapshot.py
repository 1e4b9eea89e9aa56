"""A snapshot of the models at packing time, used to detect later changes."""

from collections.abc import Sequence
from functools import cache
from itertools import chain, repeat
from operator import attrgetter, contains, itemgetter
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import increment_version
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from headway.errors import ConfigError
from headway.model.customized import have_hooks, hooks_everywhere
from headway.model.probe import listening
from headway.model.transformer import Transformer

_version = attrgetter("_version")


class WeightSnapshot:
    """Parts, weights and hooks of models at one moment."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        """Take a snapshot of these models."""
        _count_fused_steps()
        # Kept alive, so that no later object gets the identity of one of these.
        self.parts = [part for model in models for part in model.modules()]
        self.weights = [weight for model in models for weight in model.parameters()]
        self._contents = [vars(part) for part in self.parts]
        # A part that PyTorch has compiled makes new collections each time it is asked for them.
        self._are_plain = all(isinstance(c.get("_parameters"), dict) for c in self._contents)
        self._children = [*map(dict, self._collections("_modules"))]
        self._before = self._current_state()

    def is_stale(self) -> bool:
        """Return True if a part, a weight, a `forward` or a hook has changed since.

        Every translation calls it, even of one sentence. So it makes and compares whole lists, with
        few steps of Python for each part.
        """
        return not self._has_same_parts() or self._before != self._current_state()

    def was_moved(self) -> bool:
        """Return True if the only change is that weights were moved into shared memory.

        PyTorch moves them in `share_memory()`, and when a model is sent to another process. An
        engine that uses weights in place would then read memory that has been freed.
        """
        *before, addresses_before, versions_before = self._before
        *now, addresses, versions = self._current_state()
        return (
            self._has_same_parts()
            and (before, versions_before) == (now, versions)
            and all(
                address == old or weight.is_shared()
                for weight, address, old in zip(
                    _present(self._places()), addresses, addresses_before, strict=True
                )
            )
        )

    def have_hooks(self) -> bool:
        """Return True if any part has hooks now."""
        collections = map(self._collections, ("_forward_pre_hooks", "_forward_hooks"))
        return hooks_everywhere() or any(map(any, collections))

    def _has_same_parts(self) -> bool:
        return self._children == self._collections("_modules")

    def _collections(self, name: str) -> list[dict[str, Any]]:
        """Return the collection with this name of each part, such as `_parameters`."""
        if self._are_plain:
            return [*map(itemgetter(name), self._contents)]
        return [dict(collection.items()) for collection in map(attrgetter(name), self.parts)]

    def _places(self) -> list[nn.Parameter | None]:
        """Return the weight in each place for one; None where a part has no bias, for example."""
        not_empty = filter(None, self._collections("_parameters"))
        return [*chain.from_iterable(map(dict.values, not_empty))]

    def _current_state(self) -> tuple[Any, ...]:
        """Return the state of parts and weights that may change, except the set of parts."""
        places = self._places()
        weights = _present(places)
        return (
            have_hooks(self.parts) if self.have_hooks() else [],  # the list takes longer
            [*map(contains, self._contents, repeat("forward"))],
            [*map(id, places)],
            # `weight.data = …` does not raise the version. Writing through `weight.data`, or into
            # its memory, cannot be detected.
            [*map(Tensor.data_ptr, weights)],
            _versions(weights),
        )


def _present(places: Sequence[nn.Parameter | None]) -> list[nn.Parameter]:
    return [weight for weight in places if weight is not None]


def _versions(weights: Sequence[Tensor]) -> list[int]:
    """Return the number of changes in place of each weight."""
    try:
        return [*map(_version, weights)]
    except RuntimeError:  # a tensor made in inference mode has no version counter
        return [0 if weight.is_inference() else weight._version for weight in weights]


def check_ready(models: Sequence[Transformer], snapshot: WeightSnapshot | None) -> bool:
    """Refuse to translate in training mode, under a trace, or with weights that have changed.

    snapshot: taken when the engine copied the weights; None if it reads the models. Return True if
    the weights have moved since and must be prepared again.
    """
    if any(model.training for model in models):
        raise ConfigError(
            "The model is in training mode, where dropout makes translations random.",
            "Call its eval() first.",
        )
    if snapshot is None:
        return False
    moved = snapshot.is_stale()
    if moved and not snapshot.was_moved():
        raise ConfigError(
            "The model or its weights have changed since this Translator prepared them.",
            "Make a new Translator, or use engine='reference', which prepares nothing.",
        )
    if listening():
        raise ConfigError(
            "A trace or an edit listens, but the packed engine calls no part of the model.",
            "Load it with engine='reference', or translate outside the `with` block.",
        )
    return moved


@cache
def _count_fused_steps() -> None:
    """Count the steps of fused optimizers as changes of weights, like those of others."""
    register_optimizer_step_post_hook(_count_if_fused)


def _count_if_fused(optimizer: Optimizer, *_: Any) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"] if group.get("fused") else ():
            if weight.grad is not None:
                increment_version(weight)
