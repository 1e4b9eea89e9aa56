"""Where a run happens, and who is told of it."""

from dataclasses import dataclass

import torch

from headway.bundle import Change
from headway.training.budget import Budget
from headway.training.distributed import World
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens: its folder, this process and the others, and who is told."""

    folder: RunFolder
    device: torch.device
    world: World
    reporter: Reporter
    change: Change | None = None
    """Puts a user's own parts into the new model."""
    budget: Budget | None = None
    """How long a new run may take."""

    def hardware(self, shard: bool) -> str:
        """Describe that on which equal computations give equal bits."""
        processes = f", {self.world.size} processes" if self.world.size > 1 else ""
        shares = " with a share each" if shard else ""
        return f"{self.device.type}, {torch.get_num_threads()} threads{processes}{shares}"
