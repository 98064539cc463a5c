"""Interior-point solvers: PIQP and Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from peers.base import TOLERANCE, DenseObjective, FloatArray, PeerError, load

CLARABEL_SETTINGS: dict[str, Any] = {
    "max_threads": 1,
    "tol_feas": TOLERANCE,
    "tol_gap_abs": TOLERANCE,
    "tol_gap_rel": TOLERANCE,
}


class _PiqpProblem(DenseObjective):
    """Data and settings common to both ways of calling PIQP.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self.piqp = load("piqp", (0, 6))
        self.row = np.ones((1, d))
        self.one = np.ones(1)
        self.lower = np.zeros(d)

    def start(self) -> Any:
        """Return a new dense solver, set up on the current buffers."""
        solver = self.piqp.DenseSolver()
        settings = solver.settings
        settings.eps_abs = TOLERANCE
        settings.eps_rel = TOLERANCE
        settings.eps_duality_gap_abs = TOLERANCE
        settings.eps_duality_gap_rel = TOLERANCE
        # Up to 0.6.4, an update of P and c alone that recomputes the scaling, as is the default,
        # leaves the constraints in the old one: feasible problems come back as infeasible.
        settings.preconditioner_reuse_on_update = True
        # PIQP wants Fortran order; the transpose of the symmetric Hessian has it without a copy.
        solver.setup(self.hessian.T, self.linear, self.row, self.one, x_l=self.lower)
        return solver

    def run(self, solver: Any) -> FloatArray | None:
        """Solve, and return the weights if the solver vouches for them."""
        if solver.solve() != self.piqp.PIQP_SOLVED:
            return None
        # The result is a view of the solver's memory, overwritten by its next solve.
        return np.array(solver.result.x)


class PiqpPeer:
    """Proximal interior-point method, dense interface of package ``piqp``, set up at each call.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "piqp"
    note = "dense, cold; tolerances 1e-12"
    warm = False

    def __init__(self, d: int) -> None:
        self._problem = _PiqpProblem(d)

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        self._problem.fill(mean, covariance, risk_aversion)
        solver = self._problem.start()
        weights = self._problem.run(solver)
        if weights is None:
            raise PeerError(f"piqp: {solver.result.info.status}")
        return weights


class PiqpWarmPeer:
    """Proximal interior-point method, dense interface of package ``piqp``, updated in place.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "piqp-warm"
    note = (
        "dense; workspace and scaling kept, but iterations start afresh, as interior-point methods do; tolerances 1e-12"
    )
    warm = True

    def __init__(self, d: int) -> None:
        self._problem = _PiqpProblem(d)
        self._solver: Any = None

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        problem = self._problem
        problem.fill(mean, covariance, risk_aversion)
        if self._solver is not None:
            self._solver.update(P=problem.hessian.T, c=problem.linear)
            weights = problem.run(self._solver)
            if weights is not None:
                return weights
        # First call, or the scaling of an earlier problem does not suit this one.
        self._solver = problem.start()
        weights = problem.run(self._solver)
        if weights is None:
            raise PeerError(f"piqp-warm: {self._solver.result.info.status}")
        return weights


class _ClarabelProblem:
    """Data and settings common to both ways of calling Clarabel.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        self.clarabel = load("clarabel", (0, 11))
        # Upper triangle by columns: column j holds rows 0 to j. Its entries are read from row j of
        # the symmetric covariance, where they are adjacent.
        lengths = np.arange(1, d + 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        self._entries = rows + d * np.repeat(np.arange(d), lengths)
        self.hessian = sp.csc_matrix((np.zeros(starts[-1]), rows, starts), shape=(d, d))
        self.linear = np.empty(d)
        self._constraints = sp.vstack([np.ones((1, d)), -sp.identity(d)], format="csc")
        self._bounds = np.concatenate([[1.0], np.zeros(d)])
        self._cones = [self.clarabel.ZeroConeT(1), self.clarabel.NonnegativeConeT(d)]
        self._settings = self.clarabel.DefaultSettings()
        self._settings.verbose = False
        # Presolve has nothing to remove here, and forbids later updates.
        self._settings.presolve_enable = False
        for key, value in CLARABEL_SETTINGS.items():
            setattr(self._settings, key, value)
        status = self.clarabel.SolverStatus
        # With so tight a tolerance, stalling just short of it is not a failure; the caller sees
        # the gap.
        self._accepted = (status.Solved, status.AlmostSolved, status.InsufficientProgress)

    def fill(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> None:
        """Write the objective into the buffers."""
        # With the default mode NumPy would check the indices into a second buffer.
        values = np.take(covariance, self._entries, out=self.hessian.data, mode="clip")
        values *= 2.0 * risk_aversion
        np.negative(mean, out=self.linear)

    def start(self) -> Any:
        """Return a new solver, set up on the current buffers."""
        return self.clarabel.DefaultSolver(
            self.hessian,
            self.linear,
            self._constraints,
            self._bounds,
            self._cones,
            self._settings,
        )

    def run(self, solver: Any, name: str) -> FloatArray:
        """Solve, and return the weights."""
        solution = solver.solve()
        if solution.status not in self._accepted:
            raise PeerError(f"{name}: {solution.status}")
        return np.array(solution.x)


class ClarabelPeer:
    """Interior-point method, direct interface of package ``clarabel``, set up at each call.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "clarabel"
    note = "direct interface, sparse upper triangle, cold; tolerances 1e-12"
    warm = False

    def __init__(self, d: int) -> None:
        self._problem = _ClarabelProblem(d)

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        self._problem.fill(mean, covariance, risk_aversion)
        return self._problem.run(self._problem.start(), self.name)


class ClarabelWarmPeer:
    """Interior-point method, direct interface of package ``clarabel``, updated in place.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "clarabel-warm"
    note = (
        "direct interface; symbolic factorisation and scaling kept, but iterations start "
        "afresh, as interior-point methods do; tolerances 1e-12"
    )
    warm = True

    def __init__(self, d: int) -> None:
        self._problem = _ClarabelProblem(d)
        self._solver: Any = None

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        problem = self._problem
        problem.fill(mean, covariance, risk_aversion)
        if self._solver is not None:
            self._solver.update(P=problem.hessian.data, q=problem.linear)
            try:
                return problem.run(self._solver, self.name)
            except PeerError:
                # The scaling of an earlier problem does not suit this one: start again below.
                self._solver = None
        self._solver = problem.start()
        return problem.run(self._solver, self.name)
