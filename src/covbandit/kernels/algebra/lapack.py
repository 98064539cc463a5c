"""LAPACK inside kernels: eigenvectors, without allocation and found again in the cache.

SciPy publishes the addresses of its LAPACK routines. The linker is told each of them under a name of ours, by which
kernels call it; so compiled code on disk holds the name, and every process its own address.

LAPACK is Fortran: what it calls the columns and the upper triangle of a matrix are, in our row-major arrays, rows and
the lower triangle. Each function returns LAPACK's `info`: 0 if all went well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import get_cython_function_address
from numba.extending import intrinsic as _intrinsic
from numba.np.arrayobj import make_array

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import UNCOMPILED, kernel

intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = _intrinsic

DECOMPOSITION_SLABS = 3
"""Workspace of `decompose`, in multiples of d²."""

_DIVIDED_FROM = 24  # options; below, the plain method is faster, and 3 d² numbers would not do for the other

_ROUTINES = ("dsyev", "dsyevd")
_WORD = ir.IntType(64)


def _symbol(routine: str) -> str:
    return f"covbandit.lapack.{routine}"


for _routine in _ROUTINES:
    llvmlite.binding.add_symbol(_symbol(_routine), get_cython_function_address("scipy.linalg.cython_lapack", _routine))


def _array(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any, Any]:
    """Return pointer, first dimension and number of entries of an array."""
    if not (isinstance(kind, types.Array) and kind.dtype == types.float64 and kind.layout == "C"):
        raise TypingError(f"LAPACK takes contiguous arrays of floats, got {kind}")
    array = make_array(kind)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape)[0], array.nitems


def _call(builder: Any, routine: str, *arguments: Any) -> Any:
    """Emit the call of a routine and return its info; Fortran takes letters and integers by address, too.

    Integers stand in 64 bits, of which a LAPACK with 32-bit integers reads and writes the lower half.
    """
    addresses = []
    for argument in (*arguments, _WORD(0)):
        if isinstance(argument, str):
            argument = ir.IntType(8)(ord(argument))
        is_address = isinstance(argument.type, ir.PointerType)
        addresses.append(argument if is_address else cgutils.alloca_once_value(builder, argument))
    kind = ir.FunctionType(ir.VoidType(), [address.type for address in addresses])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, _symbol(routine)), addresses)
    info = builder.trunc(builder.load(addresses[-1]), ir.IntType(32))
    return builder.sext(info, _WORD)


@intrinsic
def _dsyev(typing_context: Any, A: Any, values: Any, work: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, w, space = (_array(context, builder, *pair) for pair in zip(signature.args, given, strict=True))
        return _call(builder, "dsyev", "V", "U", a[1], a[0], a[1], w[0], space[0], space[2])

    return types.int64(A, values, work), lower


@intrinsic
def _dsyevd(typing_context: Any, A: Any, values: Any, work: Any, integers: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, w, space, more = (_array(context, builder, *pair) for pair in zip(signature.args, given, strict=True))
        # The routine's integers are kept in an array of floats, which has more than enough bytes for as many.
        whole = builder.bitcast(more[0], ir.IntType(32).as_pointer())
        return _call(builder, "dsyevd", "V", "U", a[1], a[0], a[1], w[0], space[0], space[2], whole, more[2])

    return types.int64(A, values, work, integers), lower


def _decompose_in_python(A: F64, values: F64, *_: F64) -> int:
    """Do as both of them, for kernels that run uncompiled."""
    from scipy.linalg.lapack import dsyev

    values[:], vectors, info = dsyev(A.T, compute_v=1, lower=0)
    A[:] = vectors.T
    return int(info)


if UNCOMPILED:
    _dsyev = _dsyevd = _decompose_in_python


@kernel()
def decompose(A: F64, values: F64, work: F64) -> int:
    """Replace a symmetric matrix by its eigenvectors, as rows; write their eigenvalues in ascending order.

    Parameters
    ----------
    A : array, d × d
        Only its lower triangle is read.
    values : array of d floats
        Written.
    work : array of `DECOMPOSITION_SLABS` × d² floats
        Workspace of one dimension.

    Returns
    -------
    int
        0, or the number of eigenvalues that did not converge; A is lost then.
    """
    d = values.size
    if d < _DIVIDED_FROM:
        return int(_dsyev(A, values, work))
    return int(_dsyevd(A, values, work[5 * d + 3 :], work[: 5 * d + 3]))
