"""How loops are compiled, and for which processor."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event
from numba.core.caching import FunctionCache
from numba.core.codegen import get_host_cpu_features

from headway.kernels.codegen.compile_notice import Patience
from headway.kernels.codegen.private_callees import OwnCopies
from headway.runtime.processor import request_tiles

if getattr(
    config, "DISABLE_JIT", 0
):  # Numba would run the loops as Python, which has no such operations
    raise ImportError("the environment variable NUMBA_DISABLE_JIT is set")

# Sums may be reordered, so that they use the machine's vectors. Not nnan or ninf: a model whose
# numbers are not finite must show it.
FAST = {"reassoc", "contract", "arcp", "nsz"}
_FILES = sorted(Path(__file__).parents[1].rglob("*.py"))  # all of the kernels
# Whoever names a processor, though it be this one, gets other blocks (`host_has`).
_NAMED = tuple(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES"))
_TILES_NEED = "amx-bf16", "amx-int8", "avx512bf16", "avx512vnni"


class _Compilations(event.Listener):
    """Hears when Numba compiles what it has not kept."""

    def __init__(self) -> None:
        self.patience = Patience()

    def on_start(self, event: event.Event) -> None:
        self.patience.begin()

    def on_end(self, event: event.Event) -> None:
        self.patience.end()


event.register("numba:compile", _Compilations())


def host_has(feature: str) -> bool:
    """Tell whether the processor has what LLVM calls so, and Numba compiles for it."""
    if any(_NAMED):
        return False  # somebody wants code for another one
    return f"+{feature}" in get_host_cpu_features().split(",")


@functools.cache
def has_tiles() -> bool:
    """Tell whether the processor multiplies tiles (AMX), and the system lets this process do so."""
    return all(host_has(feature) for feature in _TILES_NEED) and request_tiles()


_SOURCES = (
    *((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in _FILES),
    *_NAMED,
    has_tiles(),
)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call; keep the machine code where a folder can be written for it."""
    dispatcher: Any = numba.njit(function, nogil=True, fastmath=FAST, pipeline_class=OwnCopies)
    # Neither the package's folder nor the user's: compiled in each process.
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _Kept(function)
    return dispatcher


class _Kept(FunctionCache):
    """Machine code on disk; what cannot be read or written there is compiled in this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Numba would look for changes in the function's own file alone, but what it calls is in it.
        # One that keeps its stamp elsewhere does just that; a test would tell.
        with contextlib.suppress(AttributeError):
            self._cache_file._source_stamp = _SOURCES

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError:  # such as a full disk
            return
        except Exception:  # of a damaged file, from which pickle may raise anything
            with contextlib.suppress(OSError):
                self._cache_file.flush()  # forget what there is, so that it is written anew
