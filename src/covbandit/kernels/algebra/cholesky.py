"""Cholesky factors inside kernels, of matrices with up to some hundred rows.

LAPACK has these too, but OpenBLAS shares even small ones among threads: that took up to four hundred times as long on a
busy machine, and the last bits depended on the number of its threads. These run in the caller's thread, always give
the same bits, and go along rows, which the compiler vectorises.

A factored matrix holds L in its lower and L' in its upper triangle.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


@kernel()
def cholesky(A: F64) -> int:
    """Replace a symmetric matrix, of which the lower triangle is read, by its Cholesky factor: A = LL'.

    Returns
    -------
    int
        0, or k if the leading k × k part is not positive definite; A is lost then.
    """
    n = A.shape[0]
    for k in range(n):
        pivot = A[k, k]
        if not pivot > 0.0:
            return k + 1
        pivot = np.sqrt(pivot)
        A[k, k] = pivot
        for i in range(k + 1, n):
            A[i, k] /= pivot
            A[k, i] = A[i, k]
        for i in range(k + 1, n):
            factor = A[i, k]
            for j in range(k + 1, i + 1):
                A[i, j] -= factor * A[k, j]
    return 0


@kernel()
def solve_cholesky(A: F64, b: F64) -> None:
    """Replace a right-hand side by the solution for the matrix that `cholesky` factored in A."""
    n = b.size
    for k in range(n):
        b[k] /= A[k, k]
        for i in range(k + 1, n):
            b[i] -= b[k] * A[k, i]
    for k in range(n - 1, -1, -1):
        b[k] /= A[k, k]
        for i in range(k):
            b[i] -= b[k] * A[k, i]


@kernel()
def invert_cholesky(A: F64) -> None:
    """Replace what `cholesky` left in A by the inverse of the matrix, both triangles."""
    n = A.shape[0]
    for i in range(n):  # L⁻¹, row by row, into the lower triangle
        inverse = 1.0 / A[i, i]
        for j in range(i):
            A[i, j] = 0.0
        for k in range(i):
            factor = A[k, i]
            for j in range(k + 1):
                A[i, j] -= factor * A[k, j]
        for j in range(i):
            A[i, j] *= inverse
        A[i, i] = inverse
    for k in range(n):  # its transpose times itself; row k of L⁻¹ is not needed any more after step k
        for i in range(k):
            factor = A[k, i]
            for j in range(i + 1):
                A[i, j] += factor * A[k, j]
        factor = A[k, k]
        for j in range(k + 1):
            A[k, j] *= factor
    for i in range(n):
        for j in range(i):
            A[j, i] = A[i, j]
