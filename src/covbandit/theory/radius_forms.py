"""Confidence radii as quadratic forms and matrices, from counts and covariances."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.kernels.confidence import unit_covariance_radius as unit_radius
from covbandit.kernels.jit.compilation import uncompiled


@dataclass(frozen=True)
class Radii:
    """Confidence radii at one round.

    Attributes
    ----------
    t : int
        The round: one plus the rounds seen.
    beta : float
        β_t.
    covariance : ndarray, d × d
        g, the radius of each covariance, symmetric; NaN for pairs never seen together.
    mean_form : ndarray, d × d
        A with E_t(w)² = w'Aw.
    covariance_risk : float
        The lemma's bound on the probability that some covariance is farther off than its radius.
    mean_risk : float
        δ_t, the lemma's bound on the probability that a mean is.
    """

    t: int
    beta: float
    covariance: F64
    mean_form: F64
    covariance_risk: float
    mean_risk: float

    def mean(self, weights: ArrayLike) -> F64:
        """Return E_t(w), the radius of the mean of weights; of each row if several are given."""
        d = len(self.mean_form)
        if _is_matrix(weights):
            rows = [validation.as_weights(row, d) for row in validation.as_array(weights, "weights", 2)]
            return root_of_form(self.mean_form, np.array(rows).reshape(-1, d))
        return root_of_form(self.mean_form, validation.as_weights(weights, d)[None]).reshape(())


def _is_matrix(value: ArrayLike) -> bool:
    try:
        return np.ndim(value) == 2
    except ValueError:  # rows of different lengths
        return True


def mean_form(beta: float, regularization: float, counts: F64, variances: F64, total: F64) -> F64:
    """Return A with E(w)² = w'Aw, from variances [..., d] and the sum of covariances over the rounds [..., d, d]."""
    alone = counts.diagonal()
    ridge = (regularization * variances * alone)[..., None] * np.eye(len(alone))
    return np.asarray(2 * beta * (ridge + total) / np.outer(alone, alone))


def root_of_form(form: F64, weights: F64) -> F64:
    """Return √(w'Aw) for each A [..., d, d] and each row w [k, d]; 0 where the radicand is negative."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("ki,...ij,kj->...k", weights, form, weights), 0)))


def unit_covariance_radius(counts: F64, t: int) -> F64:
    """Return g for b = 1, made symmetric, which changes no quadratic form; NaN for pairs never seen."""
    alone = counts.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = uncompiled(unit_radius)(counts, alone[:, None], alone[None, :], log(t))
    return np.where(counts > 0, radius, np.nan)
