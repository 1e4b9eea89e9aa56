"""Several processes, or machines, that train one model; the only file that uses torch.distributed.

Each process computes gradients on its part of every batch, DistributedDataParallel sums them, and
all make the same update. Alternatively weights, gradients and optimizer are divided among them
(FSDP2), and each updates its share. Process 0 leads: it prepares, records and saves. `torchrun`
starts the processes and gives each its rank by environment variables; without them there is one
process.
"""

import atexit
import gc
import os
import sys
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import (  # public in its documents, but not listed by the module
    PrefixStore,  # pyright: ignore[reportPrivateImportUsage]
    Store,  # pyright: ignore[reportPrivateImportUsage]
    rendezvous,  # pyright: ignore[reportPrivateImportUsage]
)
from torch.nn.parallel import DistributedDataParallel

from headway.errors import ConfigError

# Process 0 may encode a large corpus while others wait; a process that dies is noticed at once.
_PATIENCE = timedelta(hours=12)

T = TypeVar("T")


class World:
    """The processes of a run, seen from one of them."""

    def __init__(self, rank: int = 0, size: int = 1, store: Store | None = None) -> None:
        """Keep the rank of this process, from 0, and the number of processes.

        store: the store of `torchrun`, which outlives these processes.
        """
        self.rank = rank
        self.size = size
        self._store = store

    @property
    def leads(self) -> bool:
        """Return True if this process prepares, records and saves."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every process is here."""
        self.sum(0.0)  # barrier() would make NCCL guess a device, and warn

    def post_marker(self, marker: str) -> None:
        """Leave a marker for the processes that `torchrun` may start in place of these."""
        if self._store is not None:
            self._store.set(f"headway/marker/{marker}", "")

    def has_marker(self, marker: str) -> bool:
        """Return True if earlier processes have left this marker."""
        return self._store is not None and self._store.check([f"headway/marker/{marker}"])

    def sum(self, *values: float) -> list[float]:
        """Return the sums of these values over all processes, the same in each."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64, device=_device_type())
        dist.all_reduce(sums)
        return sums.tolist()

    def any(self, value: bool) -> bool:
        """Return True if the value is true in at least one process."""
        return self.sum(float(value))[0] > 0

    def agree(self, value: T) -> T:
        """Return the value of process 0, in every process."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, share: list[T]) -> list[T]:
        """Return the whole list, whose item i is in the share of process i % size."""
        if self.size == 1:
            return share
        shares: list[list[T]] = [[]] * self.size
        dist.all_gather_object(shares, share)
        return [shares[i % self.size][i // self.size] for i in range(sum(map(len, shares)))]

    def wrap(self, module: nn.Module) -> nn.Module:
        """Return the module with its gradients averaged over all processes.

        DistributedDataParallel takes their mean: multiply a sum by `size` beforehand.
        """
        if self.size == 1:
            return module
        with warnings.catch_warnings():
            # Tables of positions are buffers that grow with the sentences of each process and must
            # not be sent. PyTorch 2.13 has no other option for that, but calls it deprecated.
            warnings.filterwarnings("ignore", ".*broadcast_buffers.*", FutureWarning)
            return DistributedDataParallel(
                module, broadcast_buffers=False, gradient_as_bucket_view=True
            )

    def divide(self, module: nn.Module, units: Iterable[nn.Module]) -> None:
        """Leave each process its share of all parameters, which become DTensors.

        Every process must hold the same values beforehand. A unit is gathered while it computes;
        parameters outside all units are gathered while the module computes. Gradients are averaged
        over the processes, as in `wrap`. All processes must then call the module equally often,
        because each waits for the shares of all.
        """
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp import fully_shard  # takes half a second, and few need it

        everyone = dist.group.WORLD
        assert everyone is not None, "divide is for processes that have joined"
        # Not init_device_mesh: on a machine with a GPU it makes another group for gloo and waits
        # for all processes, which may be busy with other calls.
        mesh = DeviceMesh.from_group(everyone, _device_type())
        for unit in units:
            fully_shard(unit, mesh=mesh)
        fully_shard(module, mesh=mesh)

    def whole(self, tensor: Tensor) -> Tensor:
        """Return a whole tensor; if it is divided, all processes must call together."""
        if self.size == 1:
            return tensor
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def collect(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the whole tensors on the CPU in process 0, and an empty dict in the others."""
        collected: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            whole = self.whole(tensor.detach())
            if self.leads:
                collected[name] = whole.cpu()
        return collected

    def share(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return this process's share of a whole tensor, divided like the tensor `like`."""
        if self.size == 1:
            return tensor
        from torch.distributed.tensor import DTensor, distribute_tensor

        if not isinstance(like, DTensor):
            return tensor
        on_device = tensor.to(like.device)
        return distribute_tensor(on_device, like.device_mesh, like.placements, src_data_rank=None)

    def exchanging(self, module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Return the context of one backward pass; gradients are exchanged in the last one.

        Gradients of a divided module are exchanged in each pass, because a process that added them
        up would have to hold all of them.
        """
        if last or not isinstance(module, DistributedDataParallel):
            return nullcontext()
        return module.no_sync()


def is_leader() -> bool:
    """Return True if this process leads, also before the processes have joined."""
    return _place(os.environ)[0] == 0


def is_alone() -> bool:
    """Return True if this is the only process of the run."""
    return _place(os.environ)[1] == 1


def restarted() -> bool:
    """Return True if `torchrun` started this process in place of one that had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def is_one_of_several() -> bool:
    """Return True if the run has several processes."""
    return _place(os.environ)[1] > 1


def own_device(device: str) -> torch.device:
    """Return the device of this process; each process of a machine has its own GPU."""
    if device == "cuda" and _place(os.environ)[1] > 1:
        gpu = int(os.environ.get("LOCAL_RANK", "0"))
        if gpu >= torch.cuda.device_count():
            raise ConfigError(
                f"Process {gpu} of this machine has no GPU: there are {torch.cuda.device_count()}.",
                "Start as many processes as GPUs (--nproc-per-node), or use --device cpu.",
            )
        torch.cuda.set_device(gpu)
        return torch.device("cuda", gpu)
    return torch.device(device)


@contextmanager
def joined(device: torch.device) -> Iterator[World]:
    """Join the other processes of the run, and leave them at the end of the block."""
    rank, size = _place(os.environ)
    if size == 1 and "TORCHELASTIC_RUN_ID" not in os.environ:
        yield World()
        return
    store, rank, size = next(rendezvous("env://", timeout=_PATIENCE))
    if size == 1:
        yield World(store=store)
        return
    with _output_for_results():
        dist.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            store=PrefixStore(_meeting(store, rank, size), store),
            rank=rank,
            world_size=size,
            timeout=_PATIENCE,
        )
    groups = [dist.group.WORLD]
    try:
        yield World(rank, size, store)
        atexit.register(_let_go, groups)
    finally:
        dist.destroy_process_group()


@contextmanager
def _output_for_results() -> Iterator[None]:
    """Redirect standard output to standard error inside the block, also for C++ code.

    Gloo prints its connections there (seen in PyTorch 2.8 to 2.10), among a command's results.
    """
    if sys.stdout is None:  # closed from the beginning, so descriptor 1 may be any file
        yield
        return
    sys.stdout.flush()
    results = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(results, 1)
        os.close(results)


def _let_go(groups: list[Any]) -> None:
    """Drop the last reference to idle groups before Python ends.

    Gloo's threads end with their group. A thread that still holds a summed tensor would otherwise
    request Python's lock while Python ends, which aborts the process (seen in PyTorch 2.13).
    """
    gc.collect()  # cycles that refer to the group, as in DistributedDataParallel
    groups.clear()  # without Python's lock, which the threads may need


def _device_type() -> str:
    """Return the device of tensors that processes exchange; NCCL moves those of a GPU alone."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


def _meeting(store: Store, rank: int, size: int) -> str:
    """Return a name that the present processes agree on, and no process that has died.

    `torchrun` keeps its store when it restarts processes, and entries of dead processes would send
    the new ones to addresses without a listener. So each process chooses a random name, and
    process 0 answers with its own name until all other processes have read it.
    """
    name = uuid.uuid4().hex
    if rank > 0:
        store.set(f"headway/name/{rank}", name)
        meeting = store.get(f"headway/meeting of {name}").decode()
        store.add(f"headway/heard/{meeting}", 1)
        return meeting
    followers = range(1, size)
    while store.add(f"headway/heard/{name}", 0) < len(followers):
        for follower in followers:
            if store.check([f"headway/name/{follower}"]):
                follower_name = store.get(f"headway/name/{follower}").decode()
                store.set(f"headway/meeting of {follower_name}", name)
        time.sleep(0.02)
    return name


def _place(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the rank of this process and the number of processes."""
    return int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1"))
