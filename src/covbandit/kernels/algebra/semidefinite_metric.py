r"""The positive semi-definite matrix that fits best, where entries are known with different precision.

.. math:: \min_{S ⪰ 0}\; (s - \hat σ)'G(s - \hat σ), \qquad s = \mathrm{svec}(S)

The nearest matrix in the Frobenius norm would change well-known entries as much as hardly known ones; a learner that
believed it would forget what it knows. Alternating directions: one step solves the least-squares problem near the
other's answer, the other removes negative eigenvalues. What is returned is an answer of the second kind, so it is
semi-definite.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.algebra.cholesky import cholesky, solve_cholesky
from covbandit.kernels.algebra.semidefinite import call_project_on_semidefinite
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.random_coefficients import multiply_lower, pack, unpack

METRIC_ROWS = 5


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], "
    "float64[:, ::1], float64[::1], float64[::1], float64, int64)"
)
def project_in_metric(
    sigma: F64,
    G: F64,
    extra: F64,
    S: F64,
    factor: F64,
    work: F64,
    vectors: F64,
    values: F64,
    space: F64,
    tolerance: float,
    limit: int,
) -> int:
    """Write the semi-definite matrix S that is nearest to `sigma` in the metric G + diag(extra).

    =========  ==========================  ==========================================
    name       shape                       meaning
    =========  ==========================  ==========================================
    sigma      d̃                           svec of a symmetric matrix
    G, extra   d̃ × d̃, d̃                    the metric; only G's lower triangle is read
    S          d × d                       the answer
    factor     d̃ × d̃                       workspace
    work       METRIC_ROWS × d̃             workspace
    vectors    d × d                       workspace, as are `values` (d) and `space`
    tolerance  scalar                      both steps' answers then differ by this share of the largest entry
    limit      scalar                      steps at most
    =========  ==========================  ==========================================

    Returns
    -------
    int
        The number of steps taken.
    """
    n = sigma.size
    aim = work[0]
    lift = work[1]
    answer = work[2]
    s = work[3]
    new = work[4]
    level = 0.0
    for k in range(n):
        level += np.log(G[k, k] + extra[k]) / n
    level = np.exp(level)
    multiply_lower(G, sigma, aim)
    for k in range(n):
        aim[k] += extra[k] * sigma[k]
        for j in range(k + 1):
            factor[k, j] = G[k, j]
        factor[k, k] += extra[k] + level
        lift[k] = 0.0
    unpack(sigma, S)
    call_project_on_semidefinite(S, vectors, values, space)
    if cholesky(factor) != 0:  # a metric that is no metric, by rounding
        return 0
    pack(S, answer)
    for step in range(limit):
        for k in range(n):
            s[k] = aim[k] + level * (answer[k] - lift[k])
        solve_cholesky(factor, s)
        for k in range(n):
            new[k] = s[k] + lift[k]
        unpack(new, S)
        call_project_on_semidefinite(S, vectors, values, space)
        pack(S, new)
        moved = 0.0
        largest = 0.0
        for k in range(n):
            lift[k] += s[k] - new[k]
            moved = max(moved, max(abs(new[k] - answer[k]), abs(s[k] - new[k])))
            answer[k] = new[k]
            largest = max(largest, abs(new[k]))
        if moved <= tolerance * largest:
            return step + 1
    return limit


call_project_in_metric = out_of_line(project_in_metric)
