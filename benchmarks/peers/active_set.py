"""Active-set solvers: quadprog (dual, Goldfarb and Idnani) and DAQP (dual, warm-started)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from peers.base import DenseObjective, FloatArray, PeerError, WarmPeer, load

# Relative ridge for solvers that factorise the Hessian. Rounding costs about eps / ridge and the
# ridge itself about ridge, so sqrt(eps) balances them: on rank-deficient covariances a smaller one
# passes the Cholesky factorisation but returns weights that miss the constraints (1e-12: by 1e-4).
_RIDGE = 1e-8


class QuadprogPeer:
    """Goldfarb-Idnani dual active-set method, package ``quadprog``.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "quadprog"
    note = "factorised by LAPACK; relative ridge 1e-8 only if a Cholesky pivot falls below 1e-8 of its diagonal entry"
    warm = False

    def __init__(self, d: int) -> None:
        self._solve_qp: Callable[..., Any] = load("quadprog", (0, 1)).solve_qp
        self._hessian = np.empty((d, d))
        # quadprog stores one constraint per column, the equality first, and reads columns.
        self._constraints = np.asfortranarray(np.hstack([np.ones((d, 1)), np.eye(d)]))
        self._bounds = np.concatenate([[1.0], np.zeros(d)])

    def _cholesky(self, covariance: FloatArray, risk_aversion: float, ridge: float) -> FloatArray | None:
        """Factorise the Hessian in place, or return None if it is numerically singular."""
        hessian = np.multiply(covariance, 2.0 * risk_aversion, out=self._hessian)
        diagonal = hessian.diagonal().copy()
        if ridge > 0.0:
            # A zero covariance leaves a linear program: any ridge scale is as good as another.
            hessian.flat[:: len(diagonal) + 1] += ridge * (diagonal.max() or 1.0)
        # The transpose is in Fortran order, so LAPACK overwrites the buffer instead of copying.
        factor: FloatArray
        factor, info = lapack.dpotrf(hessian.T, overwrite_a=1)
        if info != 0:
            return None
        # Pivots are compared with their own diagonal entry: options may differ in scale.
        if ridge == 0.0 and np.any(factor.diagonal() ** 2 < _RIDGE * diagonal):
            return None
        return factor

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        factor = self._cholesky(covariance, risk_aversion, 0.0)
        if factor is None:
            factor = self._cholesky(covariance, risk_aversion, _RIDGE)
        if factor is None:
            raise PeerError("the Hessian is not positive definite")
        # Handing over the inverse factor skips quadprog's unblocked factorisation, three times
        # slower than LAPACK's at d = 500.
        inverse, _ = lapack.dtrtri(factor, overwrite_c=1)
        try:
            weights: FloatArray = self._solve_qp(inverse, np.array(mean), self._constraints, self._bounds, 1, True)[0]
        except ValueError as error:
            raise PeerError(str(error)) from error
        return weights


class _DaqpWorkspace(DenseObjective):
    """Data, settings and calls of package ``daqp``.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        # DAQP reads raw pointers and refuses read-only arrays: it only ever sees our buffers.
        super().__init__(d)
        self.daqp = load("daqp", (0, 10))
        # Bounds on the variables come first, then the single row of constraints, an equality (5).
        # No upper bound: w <= 1 follows from the others and would only add constraints to test.
        self.constraints: tuple[npt.NDArray[Any], ...] = (
            np.ones((1, d)),
            np.concatenate([np.full(d, np.inf), [1.0]]),
            np.concatenate([np.zeros(d), [1.0]]),
            np.concatenate([np.zeros(d), [5]]).astype(np.intc),
        )
        # eta_prox ends the proximal iterations that DAQP adds when the Hessian is singular; at
        # its default they stop with a gap of 1e-7 to 1e-5.
        self.settings = {"primal_tol": 1e-12, "dual_tol": 1e-12, "eta_prox": 1e-12}

    def start(self) -> Any:
        """Return a new model, set up on the current buffers."""
        model = self.daqp.Model()
        model.settings = self.settings
        flag, _ = model.setup(self.hessian, self.linear, *self.constraints)
        if flag < 0:
            raise PeerError(f"set-up flag {flag}")
        return model

    def update(self, model: Any) -> None:
        """Hand the current buffers to a model that has solved an earlier problem."""
        flag = model.update(H=self.hessian, f=self.linear)
        if flag < 0:
            raise PeerError(f"update flag {flag}")

    def run(self, model: Any) -> FloatArray:
        """Solve, and return the weights."""
        return self.vouched(*model.solve())

    def vouched(self, weights: FloatArray, _: float, flag: int, __: Any) -> FloatArray:
        """Return the weights of an answer, if DAQP vouches for them."""
        if flag <= 0:
            raise PeerError(f"exit flag {flag}")
        return weights


class DaqpPeer:
    """Dual active-set method, package ``daqp``, started afresh at each call.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "daqp"
    note = "cold start; proximal iterations, chosen by DAQP, if the covariance is singular"
    warm = False

    def __init__(self, d: int) -> None:
        self._workspace = _DaqpWorkspace(d)

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        workspace = self._workspace
        workspace.fill(mean, covariance, risk_aversion)
        # One call without a model is DAQP's own way for a single problem.
        return workspace.vouched(
            *workspace.daqp.solve(workspace.hessian, workspace.linear, *workspace.constraints, **workspace.settings)
        )


class DaqpWarmPeer(WarmPeer):
    """Dual active-set method, package ``daqp``, started from the previous active set."""

    name = "daqp-warm"
    note = (
        "workspace and active set kept; a new Hessian is still factorised, so only the active-set iterations are saved"
    )
    workspace = _DaqpWorkspace
