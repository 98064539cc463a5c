r"""Random-coefficient regression: means and covariance of d options from totals of known mixes.

A total is :math:`y = w'r` with rewards r of mean θ and covariance Σ, so :math:`E\,y = w'θ` and
:math:`\mathrm{Var}\,y = w'Σw = x'σ`, with the pairs :math:`x = \mathrm{svec}(ww')` and :math:`σ = \mathrm{svec}(Σ)`
(√2 on what is off the diagonal, so that lengths agree). Both are linear regressions, weighted by the variance v that
each total is expected to have:

.. math::
    \hat θ &= V^{-1} b, & V &= \sum ww'/v, & b &= \sum wy/v, \\
    \hat σ &= G^{-1} \sum x\,\big((y - w'\hat θ)^2 + w'V^{-1}w\big)/2v^2, & G &= \sum xx'/2v^2.

:math:`w'V^{-1}w` gives back what the residuals lose by being measured from :math:`\hat θ`. The residuals are never
formed: with :math:`H = \sum x y w'/2v^2` and :math:`h = \sum x y^2/2v^2` the sum is
:math:`h - 2H\hat θ + G\,\mathrm{svec}(\hat θ\hat θ' + V^{-1})`. So any number of totals takes the memory of G, d⁴/4.

If the v are right, :math:`V^{-1}` is the covariance of :math:`\hat θ` and :math:`(κ/2)\,G^{-1}` that of
:math:`\hat σ`, with :math:`κ = E[(ε^2 - 1)^2]` of the standardised noise ε; 2 if it is Gaussian.

A prior of independent entries may be added to both: precisions and, for σ, its mean (that of θ is zero).

======  ==========  ======================================================
name    shape       meaning
======  ==========  ======================================================
w       d           weights, summing to one
x       d̃           their pairs; d̃ = d(d+1)/2
V       d × d       only the lower triangle is kept
b       d
G       d̃ × d̃       only the lower triangle is kept
H       d̃ × d
h       d̃
======  ==========  ======================================================

Totals should be measured from somewhere near their mean: y² must not drown their variance.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.algebra.cholesky import cholesky, invert_cholesky
from covbandit.kernels.jit.compilation import kernel, out_of_line

_ROOT_2 = 1.4142135623730951


@kernel()
def pair_count(d: int) -> int:
    """Return d̃, the number of pairs of d options, each with itself included."""
    return d * (d + 1) // 2


@kernel()
def pair_index(i: int, j: int, d: int) -> int:
    """Return where the pair i ≤ j stands: row by row of the upper triangle."""
    return i * d - i * (i - 1) // 2 + j - i


@kernel()
def expand(w: F64, x: F64) -> None:
    """Write the pairs x = svec(ww')."""
    k = 0
    for i in range(w.size):
        x[k] = w[i] * w[i]
        k += 1
        for j in range(i + 1, w.size):
            x[k] = _ROOT_2 * w[i] * w[j]
            k += 1


@kernel()
def pack(S: F64, s: F64) -> None:
    """Write s = svec(S) of a symmetric matrix."""
    d = S.shape[0]
    k = 0
    for i in range(d):
        s[k] = S[i, i]
        k += 1
        for j in range(i + 1, d):
            s[k] = _ROOT_2 * S[i, j]
            k += 1


@kernel()
def unpack(s: F64, S: F64) -> None:
    """Write the symmetric matrix S with svec(S) = s."""
    d = S.shape[0]
    k = 0
    for i in range(d):
        S[i, i] = s[k]
        k += 1
        for j in range(i + 1, d):
            S[i, j] = s[k] / _ROOT_2
            S[j, i] = S[i, j]
            k += 1


@kernel()
def add_total(w: F64, x: F64, y: float, variance: float, V: F64, b: F64, G: F64, H: F64, h: F64) -> None:
    """Add one total y of weights w, expected to have the given variance."""
    d = w.size
    precision = 1.0 / variance
    for i in range(d):
        step = precision * w[i]
        b[i] += step * y
        for j in range(i + 1):
            V[i, j] += step * w[j]
    precision *= 0.5 * precision
    for k in range(x.size):
        step = precision * x[k]
        for j in range(k + 1):
            G[k, j] += step * x[j]
        step *= y
        h[k] += step * y
        for i in range(d):
            H[k, i] += step * w[i]


@kernel()
def multiply_lower(G: F64, x: F64, y: F64) -> None:
    """Write y = Gx for a symmetric G of which only the lower triangle is kept."""
    for k in range(x.size):
        y[k] = 0.0
    for k in range(x.size):
        total = G[k, k] * x[k]
        for j in range(k):
            total += G[k, j] * x[j]
            y[j] += G[k, j] * x[k]
        y[k] += total


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], "
    "float64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)
def solve_random_coefficients(
    V: F64,
    b: F64,
    G: F64,
    H: F64,
    h: F64,
    theta_precision: F64,
    sigma_precision: F64,
    sigma_prior: F64,
    theta: F64,
    sigma: F64,
    theta_covariance: F64,
    sigma_covariance: F64,
    work: F64,
) -> int:
    """Write the estimates and the inverses of V and G, priors included; `work` is 2 × d̃.

    Returns
    -------
    int
        0; 1 if θ, 2 if σ is not identified: the mixes seen so far do not tell all entries apart. Nothing is of use
        then.
    """
    d = b.size
    n = h.size
    for i in range(d):
        for j in range(i + 1):
            theta_covariance[i, j] = V[i, j]
        theta_covariance[i, i] += theta_precision[i]
    if cholesky(theta_covariance) != 0:
        return 1
    invert_cholesky(theta_covariance)
    for i in range(d):
        theta[i] = 0.0
        for j in range(d):
            theta[i] += theta_covariance[i, j] * b[j]
    for k in range(n):
        for j in range(k + 1):
            sigma_covariance[k, j] = G[k, j]
        sigma_covariance[k, k] += sigma_precision[k]
    if cholesky(sigma_covariance) != 0:
        return 2
    invert_cholesky(sigma_covariance)
    square = work[0]
    side = work[1]
    k = 0
    for i in range(d):
        for j in range(i, d):
            square[k] = (theta[i] * theta[j] + theta_covariance[i, j]) * (1.0 if i == j else _ROOT_2)
            k += 1
    multiply_lower(G, square, side)
    for k in range(n):
        side[k] += h[k] + sigma_precision[k] * sigma_prior[k]
        for i in range(d):
            side[k] -= 2.0 * H[k, i] * theta[i]
    for k in range(n):
        sigma[k] = 0.0
        for j in range(n):
            sigma[k] += sigma_covariance[k, j] * side[j]
    return 0


call_solve_random_coefficients = out_of_line(solve_random_coefficients)
