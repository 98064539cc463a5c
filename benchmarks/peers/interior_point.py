"""Interior-point solvers: PIQP and Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from peers.base import TOLERANCE, ColdPeer, DenseObjective, FloatArray, PeerError, WarmPeer, load

CLARABEL_SETTINGS: dict[str, Any] = {
    "max_threads": 1,
    "tol_feas": TOLERANCE,
    "tol_gap_abs": TOLERANCE,
    "tol_gap_rel": TOLERANCE,
}


class _PiqpWorkspace(DenseObjective):
    """Data, settings and calls of package ``piqp``.

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

    def update(self, solver: Any) -> None:
        """Hand the current buffers to a solver that has solved an earlier problem."""
        solver.update(P=self.hessian.T, c=self.linear)

    def run(self, solver: Any) -> FloatArray:
        """Solve, and return the weights if the solver vouches for them."""
        if solver.solve() != self.piqp.PIQP_SOLVED:
            raise PeerError(str(solver.result.info.status))
        # The result is a view of the solver's memory, overwritten by its next solve.
        return np.array(solver.result.x)


class PiqpPeer(ColdPeer):
    """Proximal interior-point method, dense interface of package ``piqp``, set up at each call."""

    name = "piqp"
    note = "dense, cold; tolerances 1e-12"
    workspace = _PiqpWorkspace


class PiqpWarmPeer(WarmPeer):
    """Proximal interior-point method, dense interface of package ``piqp``, updated in place."""

    name = "piqp-warm"
    note = (
        "dense; workspace and scaling kept, but iterations start afresh, as interior-point methods do; tolerances 1e-12"
    )
    workspace = _PiqpWorkspace


class _ClarabelWorkspace:
    """Data, settings and calls of package ``clarabel``.

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

    def update(self, solver: Any) -> None:
        """Hand the current buffers to a solver that has solved an earlier problem."""
        solver.update(P=self.hessian.data, q=self.linear)

    def run(self, solver: Any) -> FloatArray:
        """Solve, and return the weights."""
        solution = solver.solve()
        if solution.status not in self._accepted:
            raise PeerError(str(solution.status))
        return np.array(solution.x)


class ClarabelPeer(ColdPeer):
    """Interior-point method, direct interface of package ``clarabel``, set up at each call."""

    name = "clarabel"
    note = "direct interface, sparse upper triangle, cold; tolerances 1e-12"
    workspace = _ClarabelWorkspace


class ClarabelWarmPeer(WarmPeer):
    """Interior-point method, direct interface of package ``clarabel``, updated in place."""

    name = "clarabel-warm"
    note = (
        "direct interface; symbolic factorisation and scaling kept, but iterations start "
        "afresh, as interior-point methods do; tolerances 1e-12"
    )
    workspace = _ClarabelWorkspace
