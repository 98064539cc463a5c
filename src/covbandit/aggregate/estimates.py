r"""Means, covariance and their errors from the sums, without any prior.

Given the weights 1/v, the squared residuals of a weighted regression have the expectation

.. math::
    E\,(z - w'\hat θ)^2 = s - 2a\frac{s}{v}\,w'V^{-1}w + w'V^{-1} \Big(\sum a^2 ww's/v^2\Big) V^{-1}w, \qquad s = x'σ,

linear in σ. So :math:`E \sum a x (z - w'\hat θ)^2/2v^2 = Mσ` with :math:`M = G - 2K + 2GTG_2`, where T takes svec(S) to
svec(V⁻¹SV⁻¹), and :math:`\hat σ = M^{-1} \sum a x (z - w'\hat θ)^2/2v^2` is unbiased whatever the weights and whatever
the distribution of rewards (Hildreth and Houck 1968, in the weighted form). If the weights are right, rewards Gaussian
and all a = 1, its covariance is :math:`M^{-1}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covbandit.aggregate.nearest import nearest_semidefinite
from covbandit.aggregate.sums import Sums, congruence, pack, unpack
from covbandit.core.typing import F64

GAUSSIAN = 2.0
"""κ = E[(ε² - 1)²] of standard Gaussian noise."""

_INDEPENDENT = 1e-12  # least eigenvalue, relative to the largest, of a direction that counts as seen
_LEFT = 1e-8  # least share of the information on σ that must be left by the estimated means


@dataclass(frozen=True, eq=False)
class Estimates:
    """Everything that is estimated; None as far as it is not identified.

    In units of reward, except the covariance of σ̂, which is in fourth powers of the unit: it might overflow.
    """

    theta_rank: int
    sigma_rank: int
    unit: float = 1.0
    theta: F64 | None = None
    covariance: F64 | None = None
    semidefinite: F64 | None = None
    theta_covariance: F64 | None = None
    sigma_covariance: F64 | None = None
    kappa: float | None = None


def independent(V: F64) -> int:
    """Return the number of linearly independent mixes in a sum of their squares."""
    size = np.sqrt(V.diagonal())
    size[size == 0] = 1.0
    values = np.linalg.eigvalsh(V / np.outer(size, size))
    return int(np.sum(values > _INDEPENDENT * values[-1])) if values[-1] > 0 else 0


def estimate(sums: Sums) -> Estimates:
    """Return the estimates from the sums, as far as these identify them."""
    d = sums.b.size
    theta_rank, sigma_rank = independent(sums.V), independent(sums.G)
    if theta_rank < d:
        return Estimates(theta_rank, sigma_rank)
    V_inverse = np.linalg.inv(sums.V)
    V_inverse = (V_inverse + V_inverse.T) / 2
    step = V_inverse @ sums.b
    theta = sums.origin + sums.unit * step
    if sigma_rank < sums.h.size:
        return Estimates(theta_rank, sigma_rank, sums.unit, theta)

    T = congruence(V_inverse)
    M = sums.G - 2 * sums.K + 2 * (sums.G @ T @ sums.G2)
    side = sums.h - 2 * (sums.H @ step) + sums.G @ pack(np.outer(step, step))
    # G = LL', M = L(...)L': the eigenvalues of what is between are the shares of information left by the means.
    back = np.linalg.inv(np.linalg.cholesky(sums.G))
    between = back @ M @ back.T
    left, directions = np.linalg.eigh((between + between.T) / 2)
    if left[0] < _LEFT:
        return Estimates(theta_rank, sigma_rank, sums.unit, theta)
    sigma = np.asarray(np.linalg.solve(M, side), dtype=np.float64)
    raw = unpack(sigma, d)
    semidefinite = nearest_semidefinite(raw, sums.G)

    spread = 2 * unpack(sums.G2 @ pack(semidefinite), d)
    kappa = sums.fourth / sums.freedom if sums.freedom >= 1 else None
    root = back.T @ (directions / np.sqrt(left)) @ directions.T @ back  # N with NGN' = M⁻¹
    sigma_covariance = max(GAUSSIAN, kappa or 0.0) / 2 * (root @ sums.G2 @ root.T)
    return Estimates(
        theta_rank,
        sigma_rank,
        sums.unit,
        theta,
        sums.unit**2 * raw,
        sums.unit**2 * semidefinite,
        sums.unit**2 * (V_inverse @ spread @ V_inverse),
        sigma_covariance,
        kappa,
    )
