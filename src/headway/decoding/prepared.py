"""What models were like when their weights were prepared, to tell when that is no longer so."""

from collections.abc import Sequence

from headway.model.changes import has_hooks
from headway.model.transformer import Transformer


class Prepared:
    """Remembers parts, weights and hooks of models."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        """Look at these models as they are now."""
        # Kept, so that no other object ever has the identity of one of these.
        self.parts = [part for model in models for part in model.modules()]
        self.weights = [weight for model in models for weight in model.parameters()]
        self._before = self._now()

    def is_past(self) -> bool:
        """Tell whether a part, a weight, a `forward` or a hook has been changed since."""
        return self._before != self._now()

    def have_hooks(self) -> bool:
        """Tell whether any part has hooks now."""
        return any(map(has_hooks, self.parts))

    def _now(self) -> list[tuple[object, ...]]:
        """Return of each part what it consists of, and how often its weights were changed."""
        return [
            (
                has_hooks(part),
                "forward" in vars(part),
                *map(id, part._modules.values()),
                *(
                    (id(weight), 0 if weight.is_inference() else weight._version)
                    for weight in part._parameters.values()
                    if weight is not None
                ),
            )
            for part in self.parts
        ]
