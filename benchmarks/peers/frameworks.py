"""Modelling front ends: cvxpy and skfolio."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from peers.base import FloatArray, PeerError, load
from peers.interior_point import CLARABEL_SETTINGS


class CvxpyPeer:
    """Clarabel through a parametrised model, package ``cvxpy``.

    The model is written once with ``mean`` and ``rho Cov`` as parameters and compiled at the
    first call; later calls only map parameter values to solver data (disciplined parametrised
    programming). What remains is mostly modelling overhead in small dimensions, about nine tenths
    of the time up to d = 20, and mostly Clarabel itself from d = 100 on.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "cvxpy"
    note = "parametrised model compiled once, solver Clarabel at 1e-12; mostly modelling overhead in small dimensions"
    warm = True

    def __init__(self, d: int) -> None:
        # From 1.9, quad_form with a parameter for its matrix is compiled once when the solver
        # takes quadratic objectives. The older form, sum_squares(L.T @ w), takes d more variables
        # and is 2.5 times slower at d = 500.
        cvxpy = load("cvxpy", (1, 9))
        load("clarabel", (0, 11))
        self._cvxpy = cvxpy
        self._weights = cvxpy.Variable(d)
        self._mean = cvxpy.Parameter(d)
        # Declaring the parameter PSD would add an eigenvalue computation to every assignment.
        self._covariance = cvxpy.Parameter((d, d), symmetric=True)
        risk = cvxpy.quad_form(self._weights, self._covariance, assume_PSD=True)
        self._problem = cvxpy.Problem(
            cvxpy.Maximize(self._mean @ self._weights - risk),
            [self._weights >= 0.0, cvxpy.sum(self._weights) == 1.0],
        )

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        self._mean.value = mean
        self._covariance.value = risk_aversion * covariance
        try:
            # enforce_dpp turns a silent recompilation at every call into an error.
            self._problem.solve(solver=self._cvxpy.CLARABEL, enforce_dpp=True, **CLARABEL_SETTINGS)
        except self._cvxpy.SolverError as error:
            raise PeerError(str(error)) from error
        if self._weights.value is None:
            raise PeerError(self._problem.status)
        return np.array(self._weights.value)


def _fixed_moments(prior: ModuleType) -> type[Any]:
    """Return a prior estimator of skfolio that passes given moments on.

    Parameters
    ----------
    prior : module
        The module ``skfolio.prior``, needed at run time for the base class.

    Returns
    -------
    type
        Subclass of ``skfolio.prior.BasePrior`` with parameters `mean` and `covariance`.
    """

    class FixedMoments(prior.BasePrior):  # type: ignore[misc, name-defined]
        """Prior whose moments are given rather than estimated."""

        def __init__(self, mean: FloatArray | None = None, covariance: FloatArray | None = None) -> None:
            self.mean = mean
            self.covariance = covariance

        def fit(self, X: FloatArray, y: None = None, **fit_params: Any) -> FixedMoments:
            """Report the given moments, whatever the returns `X` are."""
            self.return_distribution_ = prior.ReturnDistribution(mu=self.mean, covariance=self.covariance, returns=X)
            return self

    return FixedMoments


class SkfolioPeer:
    """Portfolio optimiser ``MeanRisk`` of package ``skfolio``, maximising utility.

    The utility of skfolio, ``mu'w - risk_aversion * variance``, is the objective used here, without
    a factor of one half. The variance is modelled as the square of a standard deviation bounded by
    a second-order cone, which limits the relative gap to about 1e-6. The model is written and
    compiled by CVXPY at each fit.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "skfolio"
    note = (
        "MeanRisk, utility, given moments; cone program rebuilt through CVXPY at each fit, solver "
        "Clarabel at 1e-10; relative ridge 1e-12 by skfolio if the Cholesky factorisation fails"
    )
    warm = False

    def __init__(self, d: int) -> None:
        skfolio = load("skfolio", (1, 0))
        load("clarabel", (0, 11))
        optimization = importlib.import_module("skfolio.optimization")
        self._failure = importlib.import_module("skfolio.exceptions").OptimizationError
        self._prior = _fixed_moments(importlib.import_module("skfolio.prior"))()
        self._model = optimization.MeanRisk(
            objective_function=optimization.ObjectiveFunction.MAXIMIZE_UTILITY,
            risk_measure=skfolio.RiskMeasure.VARIANCE,
            prior_estimator=self._prior,
            min_weights=0.0,
            # The default, w <= 1, follows from the budget and would add d constraints.
            max_weights=None,
            budget=1.0,
            solver="CLARABEL",
            # The cone stalls at tighter tolerances, which skfolio reports as inaccurate.
            solver_params={"max_threads": 1, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10},
        )
        # Fitting needs returns of the right width; the prior ignores their values.
        self._returns = np.zeros((2, d))

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        self._prior.mean = mean
        self._prior.covariance = covariance
        self._model.risk_aversion = risk_aversion
        try:
            self._model.fit(self._returns)
        except self._failure as error:
            raise PeerError(str(error)) from error
        return np.array(self._model.weights_)
