"""The compiler of the kernels: Numba, for this machine's processor.

A compiled function calls the copies of its callees that were optimized with it, and no others.
Numba links copies of all callees into a function's module and optimizes the whole. But a copy is a
weak symbol. A process that has compiled the callees as well has them under the same names,
optimized alone, and would call those; a process that loads the function from disk has only the
copies. Sums may be reordered (`FAST`), so the two differ in the last bits, and a run on a fresh
machine would not be repeated by the next run. `PrivateCallees` makes the copies private.
"""

import contextlib
import functools
import gc
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numba
from llvmlite.binding import Linkage
from numba.core import config, event
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary, get_host_cpu_features
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization

from headway.kernels.codegen.compile_notice import CompilingTime
from headway.runtime.locks import one_process_at_a_time
from headway.runtime.processor import request_tiles

if getattr(config, "DISABLE_JIT", 0):  # Python cannot run the kernels' operations
    raise ImportError("the environment variable NUMBA_DISABLE_JIT is set")

# Sums may be reordered, so that they use the machine's vectors. Not nnan or ninf: numbers that are
# not finite must show.
FAST = {"reassoc", "contract", "arcp", "nsz"}
_FILES = sorted(Path(__file__).parents[1].rglob("*.py"))  # all kernels
# A user who names a processor, even this one, gets other blocks (`host_has`).
_NAMED = tuple(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES"))
_AMX_NEEDS = "amx-bf16", "amx-int8", "avx512bf16", "avx512vnni"


class _Compilations(event.Listener):
    """Listens to Numba's compilations; functions loaded from disk cause none.

    Python's garbage collector is off meanwhile. Numba makes millions of objects, so the collector
    would search all objects of the process many times, which takes a seventh of the time, and free
    few.
    """

    def __init__(self) -> None:
        self.time = CompilingTime()
        self.collects = False

    def on_start(self, event: event.Event) -> None:
        if not self.time.depth:  # Numba's lock lets one thread compile at a time
            self.collects = gc.isenabled()
            gc.disable()
        self.time.begin()

    def on_end(self, event: event.Event) -> None:
        self.time.end()
        if not self.time.depth and self.collects:
            gc.enable()


_compilations = _Compilations()
event.register("numba:compile", _compilations)


def seconds_compiling() -> float:
    """Return the seconds that this process has spent in Numba's compiler."""
    return _compilations.time.taken


def host_has(feature: str) -> bool:
    """Return True if the processor has this feature of LLVM's list, and Numba compiles for it."""
    if any(_NAMED):
        return False  # the user wants code for another processor
    return f"+{feature}" in get_host_cpu_features().split(",")


def has_avx512() -> bool:
    """Return True if kernels may use 32 registers of 16 float32 numbers."""
    return host_has("avx512f")


def has_vnni() -> bool:
    """Return True if one instruction sums four products of bytes in 32 bits."""
    return host_has("avx512vnni" if has_avx512() else "avxvnni")


@functools.cache
def has_amx() -> bool:
    """Return True if the processor has AMX tiles, and the system lets this process use them."""
    return all(host_has(feature) for feature in _AMX_NEEDS) and request_tiles()


_CONTENT = hashlib.sha256(b"".join(file.read_bytes() for file in _FILES)).hexdigest()
# An upgrade that changes no kernel keeps machine code valid, so the files' times do not count.
_SOURCES = (_CONTENT, *_NAMED, has_amx())


# The first two are the folder that NUMBA_CACHE_DIR names, and that of the package.
_LOCATORS = FunctionCache._impl_class._locator_classes
_IN_TREE: Any = _LOCATORS[1]


class _Library(JITCodeLibrary):
    """A library whose copies of other functions are private, with names of their own."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            copied = not function.is_declaration and function.linkage == Linkage.linkonce_odr
            # Numba's passes look for the functions that count references by their names.
            if copied and not function.name.startswith("NRT_"):
                function.linkage = "internal"
                # The linker also finds private symbols. A copy may have lost arguments, so a call
                # by the address of that name would be wrong (`calls`).
                function.name = f"copy.{function.name}"
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _MakeLibrary(AnalysisPass):
    """Makes the library that Numba's own lowering fills."""

    _name = "headway_library"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        if state.library is None:
            state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
            # Numba does so where it makes the library itself.
            state.library.enable_object_caching()
        return False


class PrivateCallees(CompilerBase):
    """Numba's compiler, with libraries whose copies of other functions are private."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, with a pass that makes the library before the lowering."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_MakeLibrary, IRLegalization)
        passes.finalize()
        return [passes]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call; keep the machine code if a folder is writable."""
    return _compiled(function, FAST)


def compiled_exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as `compiled` does, but round each operation by itself, in the order written."""
    return _compiled(function, set())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as a part of each caller, with the caller's freedom to reorder sums.

    For parts of a kernel: Numba would otherwise also optimize each of them by itself.
    """
    return numba.njit(function, inline="always")


def _compiled(function: Callable[..., Any], freedom: set[str]) -> Callable[..., Any]:
    # No kernel is passed to another as a function, which would need a wrapper in C.
    options: Any = {"no_cfunc_wrapper": True, "pipeline_class": PrivateCallees}
    dispatcher: Any = numba.njit(function, nogil=True, fastmath=freedom or False, **options)
    # Without a writable folder, each process compiles.
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _Kept(function)
    return dispatcher


def kept_in(dispatcher: Any) -> Path | None:
    """Return the folder that keeps a compiled function's machine code; None if there is none."""
    cache = dispatcher._cache
    return Path(cache.cache_path) if isinstance(cache, _Kept) else None


def folder_to_keep(dispatcher: Any) -> Path | None:
    """Return the folder that takes more machine code of a function; None if there is none."""
    cache = dispatcher._cache
    only_read = isinstance(cache, _Kept) and isinstance(cache._impl.locator, _Installed)
    return None if only_read else kept_in(dispatcher)


def is_kept(dispatcher: Any, kinds: tuple[Any, ...]) -> bool:
    """Return True if a folder has a function's machine code for arguments of these types."""
    cache = dispatcher._cache
    return isinstance(cache, _Kept) and cache.has(kinds, dispatcher.targetctx.codegen())


class _Installed(_IN_TREE):
    """The package's folder where it cannot be written, with code that another user compiled."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return the folder if it has machine code of these sources."""
        place = cls(py_func, py_file)
        python = f"py{sys.version_info[0]}{sys.version_info[1]}"
        for index in Path(place.get_cache_path()).glob(f"{Path(py_file).stem}.*{python}*.nbi"):
            try:
                with open(index, "rb") as file:
                    version, stamp = pickle.load(file), pickle.loads(file.read())[0]
            except Exception:  # pickle may raise anything for a damaged file
                return None
            return place if (version, stamp) == (numba.__version__, _SOURCES) else None
        return None


class _Places(FunctionCache._impl_class):
    """Folders for machine code: the user's choice, the package's, the user's cache folder."""

    _locator_classes: ClassVar = [*_LOCATORS[:2], _Installed, *_LOCATORS[2:]]


class _Kept(FunctionCache):
    """Machine code on disk; code that cannot be read or written is compiled in this process."""

    _impl_class = _Places

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Numba looks for changes only in the function's own file, but the code contains its
        # callees. A Numba that keeps its stamp elsewhere would do so again; a test would show it.
        with contextlib.suppress(AttributeError):
            self._cache_file._source_stamp = _SOURCES

    def has(self, kinds: tuple[Any, ...], codegen: Any) -> bool:
        """Return True if there is machine code for arguments of these types."""
        index: dict[Any, str] = {}
        with self._guard_against_spurious_io_errors():
            index = self._cache_file._load_index()
        return self._index_key(kinds, codegen) in index

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write machine code; one process at a time, because it numbers the files of a function."""
        with one_process_at_a_time(Path(self.cache_path) / "saving.lock"):
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError:  # such as a full disk
            return
        except Exception:  # pickle may raise anything for a damaged file
            with contextlib.suppress(OSError):
                self._cache_file.flush()  # forget its content, to write it again
