"""Has a compiled function call the copies of others that were optimised with it, and no others.

Numba links into a function's module copies of all that it calls, and optimises the whole; but a
copy is a weak symbol. A process that has compiled the other functions, too, has these by the same
names already, optimised by themselves, and would call those; one that reads the function from where
it is kept has nothing but the copies. Sums may be reordered (`compiling.FAST`), so the two differ
in last bits, and a run on a fresh machine would not be the run that it is the next time.
"""

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization


class _Library(JITCodeLibrary):
    """A library in which what came from others is its own."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            copied = not function.is_declaration and function.linkage == Linkage.linkonce_odr
            # References are counted in functions that Numba's passes look for as they are.
            if copied and not function.name.startswith("NRT_"):
                function.linkage = "internal"
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
            # Otherwise Numba would do so where it makes the library.
            state.library.enable_object_caching()
        return False


class OwnCopies(CompilerBase):
    """Numba's compiler, with such libraries."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, and the one for the library before what is made is lowered."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_MakeLibrary, IRLegalization)
        passes.finalize()
        return [passes]
