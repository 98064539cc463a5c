"""The nearest positive semi-definite matrix."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.algebra.cholesky import cholesky
from covbandit.kernels.algebra.lapack import decompose
from covbandit.kernels.jit.compilation import kernel, out_of_line


@kernel("int64(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1])")
def project_on_semidefinite(A: F64, vectors: F64, values: F64, work: F64) -> int:
    """Replace a symmetric matrix by the nearest positive semi-definite one (Frobenius norm): no negative eigenvalues.

    ========  ==============================  =======================================
    name      shape                           meaning
    ========  ==============================  =======================================
    A         d × d                           changed in place
    vectors   d × d                           workspace
    values    d                               workspace
    work      `DECOMPOSITION_SLABS` × d²      workspace
    ========  ==============================  =======================================

    Returns
    -------
    int
        The number of eigenvalues that were negative; -1 if LAPACK does not find the eigenvalues, which was never seen:
        then only the diagonal is left, as far as it is positive.
    """
    d = values.size
    for i in range(d):
        for j in range(d):
            vectors[i, j] = A[i, j]
    if cholesky(vectors) == 0:
        return 0
    for i in range(d):
        for j in range(d):
            vectors[i, j] = A[i, j]
    if decompose(vectors, values, work) != 0:
        for i in range(d):
            for j in range(d):
                A[i, j] = max(A[i, i], 0.0) if i == j else 0.0
        return -1
    negative = 0
    for k in range(d):
        negative += values[k] < 0.0
    # Take the negative part away or build up the positive one, whichever has fewer terms.
    first = 0
    last = negative
    if 2 * negative > d:
        first = negative
        last = d
        for i in range(d):
            for j in range(i + 1):
                A[i, j] = 0.0
    for k in range(first, last):
        for i in range(d):
            step = abs(values[k]) * vectors[k, i]
            for j in range(i + 1):
                A[i, j] += step * vectors[k, j]
    for i in range(d):
        for j in range(i):
            A[j, i] = A[i, j]
    return int(negative)


call_project_on_semidefinite = out_of_line(project_on_semidefinite)
