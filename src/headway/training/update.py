"""One update (section 5): forward, backward, accumulate, clip, Adam.

In a run an update goes from `Trainer` to `WatchedStep` (watched_step.py: says what goes wrong), to
`FittingStep` (micro_batches.py: in parts, if memory demands it), which is a `TrainingStep`; its
`accumulate` asks the `Objective` for the loss of each part, and that asks `batch_loss`.
"""

import contextlib
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import START_ID
from headway.errors import NotFiniteError
from headway.model.customized import changed_parts
from headway.model.transformer import Transformer
from headway.training.accelerated.cross_entropy import Compute, projected_cross_entropy
from headway.training.accelerated.install import accelerated
from headway.training.compiling import CompiledLayers
from headway.training.cuda_graphs import Limits, RecordedPasses
from headway.training.diagnosis import gentler
from headway.training.distributed import World
from headway.training.loss import LossSums, label_smoothed_cross_entropy
from headway.training.random_numbers import RandomNumbers
from headway.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one update did."""

    loss: float
    """Smoothed loss, mean over real target pieces."""
    target_tokens: int
    gradient_norm: float
    rate: float


class TrainingStep:
    """Update the model from one group of batches."""

    def __init__(
        self,
        objective: "Objective",
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        *,
        clip_norm: float | None,
        seed: int = 0,
        parts: int = 1,
        world: World | None = None,
        divided: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Join what an update needs.

        seed: decides dropout, together with the step. parts: how many parts each batch is cut into,
        which the processes of the world divide among them. divided: each process holds but a share
        of the weights (shards.py). limits: of all batches, so that padding keeps to them.
        """
        self.model = objective.model
        self.optimizer = optimizer
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.seed = seed
        self.parts = parts
        self.world = world or World()
        self.divided = divided
        self.objective = objective if divided else self.world.wrap(objective)
        self.device = next(self.model.parameters()).device
        # A GPU that is alone gets its work without a pause, and is asked for answers at the end.
        self.waits = self.device.type != "cuda" or self.world.size > 1 or divided
        self.recorded: RecordedPasses | None = None
        compiled = objective.layers is not None
        self.random_numbers = RandomNumbers(self.model, self.device, compiled=compiled)
        if compiled and not self.waits:
            self.recorded = RecordedPasses(self._pass, self.device, limits)
        if self.world.size > 1 and not divided:
            self._rehearse()

    def _rehearse(self) -> None:
        """Make one backward pass and forget it.

        DistributedDataParallel orders its sums by what it sees in its first pass. Without this, a
        run that is continued would sum in another order than one that never stopped.
        """
        self._pass(_smallest_batch().to(self.device), 1.0)
        self.forget_gradients()

    def __call__(self, step: int, batches: Sequence[Batch]) -> StepResult:
        """Make update number `step`, the first being 1, from all these batches together.

        The loss is a mean over the real target pieces of all batches, so that splitting one batch
        into several, or among processes, changes nothing but rounding. Random numbers depend on
        seed, step and part alone, and not on who computes the part.
        """
        self.model.train()
        tokens = sum(batch.num_target_tokens for batch in batches)
        sums = self.accumulate(step, batches, tokens)
        norm = self._norm()
        rate = self.schedule(step)
        if not self.waits:
            # Clipping multiplies what is below the limit by 1.
            self._update(rate, norm if self.clip_norm else None, ~torch.isfinite(norm + sums))
        (loss,) = self.world.sum(float(sums))
        total_norm = float(self.world.whole(norm))
        if not (math.isfinite(loss) and math.isfinite(total_norm)):
            self.forget_gradients()
            raise NotFiniteError(
                f"The loss or its gradient is not finite at step {step} (rate {rate:.2g}).",
                f"Start another run with {gentler(self.clip_norm)}; the last checkpoint is good.",
            )
        if self.waits:
            large = self.clip_norm is not None and total_norm > self.clip_norm
            self._update(rate, norm if large else None)
        self.forget_gradients()
        return StepResult(loss / tokens, tokens, total_norm, rate)

    def _update(
        self,
        rate: float,
        norm: Float[Tensor, ""] | None,
        unless: Bool[Tensor, ""] | None = None,
    ) -> None:
        """Take Adam's step, unless that holds true; scale gradients of this norm down before."""
        if norm is not None and self.clip_norm is not None:
            nn.utils.clip_grads_with_norm_(self._with_gradients(), self.clip_norm, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if unless is not None:
            # Where loss scaling leaves word for a fused Adam, which then changes nothing.
            self.optimizer.found_inf = unless.float()  # type: ignore[attr-defined]
        self.optimizer.step()

    def accumulate(
        self, step: int, batches: Sequence[Batch], tokens: int
    ) -> Float[Tensor, ""] | float:
        """Add up the gradients of this process's parts, and return the sum of their losses."""
        own = self._own_parts(batches)
        # Whatever wraps the objective takes the mean over processes of these sums.
        scale = self.world.size / tokens
        total: Tensor | float = 0.0
        for place, (part, batch) in enumerate(own, start=1):
            with (
                self.random_numbers.of(self.seed, step, part),
                self.world.exchanging(self.objective, last=place == len(own)),
            ):
                if self.recorded is None:
                    total += self._pass(batch.to(self.device), scale)
                else:
                    total += self.recorded(batch, scale, self.parts)
        if self.divided:
            self._keep_pace(len(own), math.ceil(len(batches) * self.parts / self.world.size))
        return total

    def _pass(self, batch: Batch, scale: Tensor | float) -> Float[Tensor, ""]:
        """Go forward and backward; add gradients of the losses' sum times scale, return the sum."""
        loss = self.objective(batch).loss
        (loss * scale).backward()
        return loss.detach()

    def _keep_pace(self, done: int, most: int) -> None:
        """Make passes that add nothing, while others have parts left and need this one's shares."""
        for _ in range(most - done):
            self._pass(_smallest_batch().to(self.device), 0.0)

    def preparations(self) -> int:
        """Return how many passes have prepared later ones, and took longer; 0 if none do so now."""
        if self.recorded is None or self.recorded.stopped:
            return 0
        return self.recorded.preparations

    def could_record(self) -> bool:
        """Tell whether passes would be recorded if layers were compiled, which they are not."""
        return self.recorded is None and not self.waits

    def forget_gradients(self) -> None:
        """Begin anew; where passes are recorded, the next ones write to the same places."""
        self.optimizer.zero_grad(set_to_none=self.recorded is None)

    def _own_parts(self, batches: Sequence[Batch]) -> list[tuple[int, Batch]]:
        """Return the parts of this process, each with its number among all."""
        every = [(batch, index) for batch in batches for index in range(self.parts)]
        return [
            (number, batch.part(index, self.parts))
            for number, (batch, index) in enumerate(every)
            if number % self.world.size == self.world.rank
        ]

    def _norm(self) -> Float[Tensor, ""]:
        """Return the norm of all gradients together; of divided ones as a tensor of that kind."""
        grads = [p.grad for p in self._with_gradients() if p.grad is not None]
        return nn.utils.get_total_norm(grads)

    def _with_gradients(self) -> list[nn.Parameter]:
        return [p for p in self.model.parameters() if p.grad is not None]


class Objective(nn.Module):
    """What training minimizes, as a module, so that it can be wrapped like one."""

    def __init__(self, model: Transformer, label_smoothing: float, precision: str) -> None:
        """Join the model and how its loss is computed; precision: float32 or bfloat16."""
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.precision = precision
        self.layers: CompiledLayers | None = None

    def compile_layers(self) -> None:
        """Have torch.compile compile the layers, where the model is now (compiling.py)."""
        self.layers = CompiledLayers(self.model)

    def forward(self, batch: Batch) -> LossSums:
        """Return the summed losses of a batch."""
        asked = self.model, batch, self.label_smoothing, self.precision
        if self.layers is None:
            return batch_loss(*asked)
        # Compiled code keeps the kernels that were allowed when it came into being.
        with without_plans_of_attention(), self.layers.in_place():
            return batch_loss(*asked, self.layers.losses)


def _smallest_batch() -> Batch:
    """Return a batch without an axis of 1, for which torch.compile would make code of its own."""
    return collate([EncodedPair([START_ID] * 2, [START_ID] * 3, line) for line in (1, 2)])


def batch_loss(
    model: Transformer,
    batch: Batch,
    label_smoothing: float,
    precision: str,
    compute: Compute | None = None,
) -> LossSums:
    """Return the summed losses of a batch, computed in this precision.

    compute: see `projected_cross_entropy`.
    """
    device = batch.source_ids.device.type
    with autocast(precision, device), without_plans_of_attention(), accelerated(model):
        hidden = model.hidden(batch.source_ids, batch.target_ids).flatten(0, 1)  # (B * T, d_model)
        labels, output = batch.label_ids.flatten(), model.output_projection
        # Its weights alone do not say then what it computes. Hooks of all modules only look on: a
        # counter of operations is to count those of training.
        if changed_parts(output) or output._forward_hooks or output._forward_pre_hooks:
            logits = output(hidden).float()
            return label_smoothed_cross_entropy(logits, labels, label_smoothing, model.pad_id)
        return projected_cross_entropy(
            hidden, output.weight, output.bias, labels, label_smoothing, model.pad_id, None, compute
        )


def autocast(precision: str, device: str) -> contextlib.AbstractContextManager[object]:
    """Return the context in which matrix products take this precision."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.bfloat16)


@contextlib.contextmanager
def without_plans_of_attention() -> Iterator[None]:
    """Leave cuDNN's kernels of attention out, where PyTorch has others.

    In half types it prefers them on some GPUs, and they are prepared anew for each shape, of which
    batches have a hundred: a small model makes a hundred updates in the time that one of them
    takes. At the lengths of sentences the others are as fast (benchmarks/log/065).
    """
    switches = torch.backends.cuda
    with _switching:
        if not _wanted:
            _wanted.append(switches.cudnn_sdp_enabled())
            switches.enable_cudnn_sdp(_wanted[0] and not switches.mem_efficient_sdp_enabled())
        else:
            _wanted.append(_wanted[0])
    try:
        yield
    finally:
        with _switching:
            wanted = _wanted.pop()
            if not _wanted:
                switches.enable_cudnn_sdp(wanted)


_wanted: list[bool] = []
"""How the switch, which is one for the process, was before: once for each who is within now."""
_switching = threading.Lock()
