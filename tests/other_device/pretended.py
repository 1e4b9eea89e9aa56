"""A device of its own that computes on the CPU, and refuses what a GPU would refuse.

Its tensors hold one of the CPU each. An operation that is given tensors of both is an error, as on
a GPU, and so are `numpy` and a generator of the CPU. PyTorch lets such a device be registered once
in a process, under the name of a back end of one's own.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import backend_registration

NAME = "pretended"

aten = torch.ops.aten

# What goes from one device to another.
_COPIES = {"aten::_to_copy", "aten::copy_", "aten::_copy_from"}
# A GPU takes places that are on the CPU.
_PLACES = {"aten::index", "aten::index_put_", "aten::_index_put_impl_"}
# Their numbers are rounded under autocast, as on a GPU.
_PRODUCTS = ("addmm", "baddbmm", "bmm", "linear", "matmul", "mm", "scaled_dot_product_attention")
# PyTorch calls these past the class of a tensor.
_CALLED_BY_KEY = (aten.copy_.default, aten._to_copy.default, aten.fill_.Scalar, aten.detach.default)


class Pretended(torch.Tensor):
    """A tensor of that device."""

    held: torch.Tensor

    @staticmethod
    def holding(held: torch.Tensor, kind: type["Pretended"] | None = None) -> "Pretended":
        tensor = torch.Tensor._make_wrapper_subclass(
            kind or Pretended,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        tensor.held = held
        return tensor

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None):
        return compute(operator, args, kwargs or {})

    def as_subclass(self, kind: type) -> torch.Tensor:
        if isinstance(self, kind):
            return self
        return self.holding(self.held, type(kind.__name__, (kind, Pretended), {}))

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.held.untyped_storage()

    def tolist(self) -> Any:
        return self.held.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError(f"can't convert {NAME} device type tensor to numpy")

    def __repr__(self, **_: Any) -> str:
        return f"{self.held!r} on {NAME}"


def compute(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute with what the tensors hold; a result is where they are, or where it is asked for."""
    name = operator._schema.name
    ours: list[Pretended] = []
    others: list[object] = []

    def unpacked(value: Any) -> Any:
        if isinstance(value, Pretended):
            ours.append(value)
            return value.held
        if isinstance(value, torch.Tensor) and value.dim():  # numbers may be of the CPU
            places = name in _PLACES and value.dtype in (torch.int64, torch.bool)
            others.extend([] if places or name in _COPIES else [value])
        elif isinstance(value, torch.Generator):
            others.append(value)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    device = kwargs.get("device")
    unpacked_args, unpacked_kwargs = _each(unpacked, (args, kwargs))
    here = bool(ours) if device is None else torch.device(device).type == NAME
    if others and (ours or here):
        raise RuntimeError(f"{name}: expected all tensors to be on the same device.")
    # A view of a tensor that remembers its versions does so in inference mode, too.
    remembers = bool(ours) and not ours[0].is_inference()
    inference = torch.is_inference_mode_enabled() and not (operator.is_view and remembers)
    with torch.inference_mode(inference):
        result = operator(*unpacked_args, **unpacked_kwargs)
        returns = operator._schema.returns
        if not returns:
            return None
        if "out" in kwargs:
            return kwargs["out"]
        if returns[0].alias_info is not None and returns[0].alias_info.is_write:
            return args[0]
        if not here:
            return result
        return _each(lambda r: Pretended.holding(r) if isinstance(r, torch.Tensor) else r, result)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """Change what tuples, lists and dicts hold; PyTorch's own `tree_map` takes half of all time."""
    if isinstance(value, tuple | list):
        return type(value)([_each(change, one) for one in value])
    if isinstance(value, dict):
        return {key: _each(change, one) for key, one in value.items()}
    return change(value)


class _Backend(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]

    def get_rng_state(self, _: object = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, _: object = None) -> None:
        torch.set_rng_state(state)


def register() -> list[torch.library.Library]:
    """Make the device known for the rest of this process; keep what is returned."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, _Backend())
    # A tensor that moves stays the same object on a GPU, and so stays shared.
    torch.__future__.set_swap_module_params_on_conversion(True)
    # It is done with an operation when the call returns, and has no streams to wait for.
    torch.accelerator.synchronize = lambda device=None: None
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(lambda op, *args, **kwargs: compute(op, args, kwargs), "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    some = torch.library.Library("aten", "IMPL")
    for operator in _CALLED_BY_KEY:
        some.impl(operator, _kernel(operator), "PrivateUse1")
    for name in _PRODUCTS:
        operator = getattr(aten, name).default
        some.impl(operator, _rounding(operator), "AutocastPrivateUse1")
    return [everything, some]


def _kernel(operator: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: compute(operator, args, kwargs)


def _rounding(operator: Any) -> Callable[..., Any]:
    autocast = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def rounded(value: Any) -> Any:
        low = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return value.to(torch.get_autocast_dtype(NAME)) if low else value

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(autocast):
            args, kwargs = _each(rounded, (args, kwargs))
            return operator(*args, **kwargs)

    return call
