"""How helpers with `inline_only` are compiled: without machine code of their own.

A helper is a kernel without a signature, which exists only inside the kernels that call it. Numba makes a library of
every function that it compiles: it optimises the function, makes machine code of it and loads that. A kernel that calls
a helper then takes the helper's code into its own library and optimises it once more. Nobody ever runs the helper's own
machine code, so `kernel(inline_only=True)` makes none.

This is not done for all helpers, because making machine code changes the code that kernels take in, often for the
better: docs/decisions/0003-calls-by-symbol.md has figures. So measure the steps of a kernel before and after.

This uses parts of Numba that it does not promise to keep. MC-Empirical is compiled this way, and many tests
play it, so they fail at once with a version of Numba in which these parts have moved.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference


class _Codegen:
    """Numba's code generator, for code that is never loaded."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: this would write an address into the loaded code."""


class _HelperLibrary(JITCodeLibrary):
    """The code of a helper, optimised, for other libraries to take in; no machine code is made of it."""

    @property
    def codegen(self) -> Any:
        return _Codegen(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # what Numba takes for a function that cannot be called from Python, as helpers cannot

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(FunctionPass):
    """Let the lowering pass, which makes a library unless there is one, find ours."""

    _name = "covbandit_choose_library"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _HelperLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class HelperCompiler(CompilerBase):
    """Numba's compiler up to the code that other kernels take in, without the step that makes machine code of it."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's own passes, and ours among them."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_ChooseLibrary, NopythonTypeInference)
        passes.finalize()
        return [passes]
