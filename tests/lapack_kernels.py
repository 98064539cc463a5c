"""A kernel that calls LAPACK, for the tests and for the processes that they start."""

from __future__ import annotations

from typing import Any

from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS, decompose
from covbandit.kernels.jit.compilation import kernel


@kernel("int64(float64[:, ::1], float64[::1], float64[:, :, ::1])")
def eigenvectors(A: Any, values: Any, slabs: Any) -> int:
    d = values.size
    return decompose(A, values, slabs.reshape(DECOMPOSITION_SLABS * d * d))
