"""Kernels that call each LAPACK function, for the tests and for the processes that they start."""

from __future__ import annotations

from typing import Any

from covbandit.kernels.compilation import kernel
from covbandit.kernels.lapack import DECOMPOSITION_SLABS, cholesky, decompose, invert_cholesky, solve_cholesky


@kernel("int64(float64[:, ::1], float64[::1], float64[:, :, ::1])")
def eigenvectors(A: Any, values: Any, slabs: Any) -> int:
    d = values.size
    return decompose(A, values, slabs.reshape(DECOMPOSITION_SLABS * d * d))


@kernel("int64(float64[:, ::1])")
def factor(A: Any) -> int:
    return cholesky(A)


@kernel("int64(float64[:, ::1])")
def invert(A: Any) -> int:
    return invert_cholesky(A)


@kernel("int64(float64[:, ::1], float64[::1])")
def solve_one(A: Any, b: Any) -> int:
    return solve_cholesky(A, b)


@kernel("int64(float64[:, ::1], float64[:, ::1])")
def solve_rows(A: Any, b: Any) -> int:
    return solve_cholesky(A, b)
