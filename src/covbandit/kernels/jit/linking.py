"""Calls from one compiled kernel to another by the name of a symbol, which the linker looks up when code is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import llvmlite.binding
from numba.core import cgutils, types
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import ConcreteTemplate, infer, infer_global
from numba.core.typing.templates import signature as typing_signature
from numba.extending import lower_builtin


def external_call(name: str, symbol: Callable[[], str], signature: object) -> Callable[..., Any]:
    """Return a function that stands, in kernels, for the code at a symbol, of a kernel with the given signature.

    The symbol is asked for when a kernel that calls it is compiled: by then all is known that it depends on.
    """
    arguments, result = normalize_signature(signature)

    def call(*_: object) -> None:
        raise NotImplementedError(f"{name} can be called from kernels only")

    class Template(ConcreteTemplate):
        key = call
        cases: ClassVar[list[Any]] = [typing_signature(result, *arguments)]

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(result, arguments)
        function = cgutils.get_or_insert_function(builder.module, kind, symbol())
        _, answer = convention.call_function(builder, function, result, arguments, values)  # kernels raise nothing
        return answer

    infer(Template)
    infer_global(call, types.Function(Template))
    lower_builtin(call, *arguments)(lower)
    return call


def define(symbol: str, compiled: Any) -> None:
    """Tell the linker where the code of a symbol is."""
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    llvmlite.binding.add_symbol(symbol, address)


def define_as_fatal(symbol: str) -> None:
    """Satisfy the linker in a process that compiles for others; a call would end it."""
    llvmlite.binding.add_symbol(symbol, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value)
