"""Several processes, or machines, that train one model; nothing else knows torch.distributed.

Each process computes gradients on its part of every batch, DistributedDataParallel sums them, and
all make the same update. Or weights, gradients and optimizer are divided among them (FSDP2), and
each updates its share. Process 0 leads: it prepares, records and saves. `torchrun` starts the
processes and tells each its place by environment variables; without them, one process is all.
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

# Process 0 may encode a large corpus while the others wait; one that died is noticed at once.
_PATIENCE = timedelta(hours=12)

T = TypeVar("T")


class World:
    """The processes of a run, seen from one of them."""

    def __init__(self, rank: int = 0, size: int = 1, store: Store | None = None) -> None:
        """Name the place of this process, from 0, among so many.

        store: that of `torchrun`, which outlives these processes.
        """
        self.rank = rank
        self.size = size
        self._store = store

    @property
    def leads(self) -> bool:
        """Tell whether this is the process that prepares, records and saves."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every process is here."""
        self.sum(0.0)  # barrier() would have NCCL guess a device, and warn of it

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
        """Tell whether the value is true in one process at least."""
        return self.sum(float(value))[0] > 0

    def agree(self, value: T) -> T:
        """Return the value of process 0 in each process."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0)
        return values[0]

    def gather(self, own: list[T]) -> list[T]:
        """Join what each process has, where item i of the whole is with process i % size."""
        if self.size == 1:
            return own
        shares: list[list[T]] = [[]] * self.size
        dist.all_gather_object(shares, own)
        return [shares[i % self.size][i // self.size] for i in range(sum(map(len, shares)))]

    def wrap(self, module: nn.Module) -> nn.Module:
        """Return the module so that its gradients become those of all processes.

        Their mean, as DistributedDataParallel takes it: multiply a sum by `size` beforehand.
        """
        if self.size == 1:
            return module
        with warnings.catch_warnings():
            # Tables of positions are buffers, grow in each process as its sentences need, and must
            # be left alone. PyTorch 2.13 has no other word for that, but calls it deprecated.
            warnings.filterwarnings("ignore", ".*broadcast_buffers.*", FutureWarning)
            return DistributedDataParallel(
                module, broadcast_buffers=False, gradient_as_bucket_view=True
            )

    def divide(self, module: nn.Module, units: Iterable[nn.Module]) -> None:
        """Leave each process its share of all parameters, which become tensors of another kind.

        Every process must hold the same values beforehand. A unit is gathered while it computes,
        what is in no unit while the module does. Gradients become their mean, as in `wrap`. All
        processes must then call the module equally often: each waits for the others' shares.
        """
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp import fully_shard  # takes half a second, and few need it

        everyone = dist.group.WORLD
        assert everyone is not None, "divide is for processes that have joined"
        # Not init_device_mesh: on a machine with a GPU that makes another group for gloo, and waits
        # for all processes, which may be elsewhere.
        mesh = DeviceMesh.from_group(everyone, _device_type())
        for unit in units:
            fully_shard(unit, mesh=mesh)
        fully_shard(module, mesh=mesh)

    def whole(self, tensor: Tensor) -> Tensor:
        """Return all of a tensor that may be divided; if it is, all processes must ask at once."""
        if self.size == 1:
            return tensor
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def collect(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors, whole and on the CPU, to process 0, and nothing to the others."""
        collected: dict[str, Tensor] = {}
        for name, tensor in tensors.items():
            whole = self.whole(tensor.detach())
            if self.leads:
                collected[name] = whole.cpu()
        return collected

    def share(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return this process's share of a whole tensor, divided as the other one is, if it is."""
        if self.size == 1:
            return tensor
        from torch.distributed.tensor import DTensor, distribute_tensor

        if not isinstance(like, DTensor):
            return tensor
        here = tensor.to(like.device)
        return distribute_tensor(here, like.device_mesh, like.placements, src_data_rank=None)

    def exchanging(self, module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Return the context of one backward pass; gradients are exchanged in the last one.

        Those of a divided module are exchanged in each: to add them up beforehand, every process
        would have to hold all of them.
        """
        if last or not isinstance(module, DistributedDataParallel):
            return nullcontext()
        return module.no_sync()


def is_leader() -> bool:
    """Tell whether this process leads, before or after the others are met."""
    return _place(os.environ)[0] == 0


def is_alone() -> bool:
    """Tell whether this is the only process of the run."""
    return _place(os.environ)[1] == 1


def restarted() -> bool:
    """Tell whether `torchrun` started this process in place of one that had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def is_one_of_several() -> bool:
    """Tell whether this process has others beside it."""
    return _place(os.environ)[1] > 1


def own_device(device: str) -> torch.device:
    """Return the device of this process; each on a machine has a GPU of its own."""
    if device == "cuda" and _place(os.environ)[1] > 1:
        own = int(os.environ.get("LOCAL_RANK", "0"))
        if own >= torch.cuda.device_count():
            raise ConfigError(
                f"Process {own} of this machine has no GPU: there are {torch.cuda.device_count()}.",
                "Start as many processes as GPUs (--nproc-per-node), or use --device cpu.",
            )
        torch.cuda.set_device(own)
        return torch.device("cuda", own)
    return torch.device(device)


@contextmanager
def joined(device: torch.device) -> Iterator[World]:
    """Meet the other processes of the run, if there are any, and part from them at the end."""
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
    """Send to standard error what the block prints on standard output, whatever language prints it.

    Gloo tells of its connections there (seen in PyTorch 2.8 to 2.10), amid a command's results.
    """
    if sys.stdout is None:  # closed from the beginning: there are none, and 1 may be any file
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
    """Drop the last reference to groups that are at rest, before Python ends.

    Gloo's threads end with their group. One that still holds what it has summed would otherwise ask
    for Python's lock while Python ends, which aborts the process (seen in PyTorch 2.13).
    """
    gc.collect()  # what refers to the group in a cycle, such as DistributedDataParallel
    groups.clear()  # last, for this alone is done without Python's lock, which the threads may want


def _device_type() -> str:
    """Return where the tensors must be that processes exchange; NCCL moves no others."""
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


def _meeting(store: Store, rank: int, size: int) -> str:
    """Return a name that the processes which are there now agree on, and none that has died.

    `torchrun` keeps its store when it starts processes anew, and what the dead ones wrote there
    would send the new ones to addresses where nobody listens. So each gives itself a name of its
    own, and process 0 answers names until as many as there are have heard of its own.
    """
    own = uuid.uuid4().hex
    if rank > 0:
        store.set(f"headway/name/{rank}", own)
        meeting = store.get(f"headway/meeting of {own}").decode()
        store.add(f"headway/heard/{meeting}", 1)
        return meeting
    others = range(1, size)
    while store.add(f"headway/heard/{own}", 0) < len(others):
        for other in others:
            if store.check([f"headway/name/{other}"]):
                name = store.get(f"headway/name/{other}").decode()
                store.set(f"headway/meeting of {name}", own)
        time.sleep(0.02)
    return own


def _place(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the rank of this process and the number of all."""
    return int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1"))
