"""The branch-and-bound solver SCIP on the optimistic problem."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from peers.base import FloatArray, PeerError, load


class OptimisticSolution(NamedTuple):
    """What SCIP found, what it proved, and the CPU seconds that writing the model and solving it took."""

    weights: FloatArray
    bound: float
    build_seconds: float
    solve_seconds: float


class ScipPeer:
    """Spatial branch and bound, package ``pyscipopt``, on the problem of an optimistic learner.

    It maximises ``w'mean + sqrt(max(w'bonus w, 0)) - rho w'risk w`` over weights that sum to one
    and are each zero or at least `min_weight`. Binaries choose the options; the root and the risk
    are each a variable that a non-convex quadratic constraint bounds, so that the objective is
    linear.

    Parameters
    ----------
    d : int
        Number of options.
    min_weight : float
        Least positive weight ``c``.
    gap : float
        Difference between bound and objective at which SCIP may stop, relative to the largest of
        the means' range, the root of the largest entry of ``bonus`` and ``rho`` times that of ``risk``.
    limit : float
        Seconds after which a solve is given up.
    feasibility : float
        By how much a constraint may be violated, in the same unit; SCIP's own default is 1e-6.
    """

    name = "scip"
    note = "non-convex quadratic constraints with binaries, feasibility tolerance 1e-9, one thread, cold"
    warm = False

    def __init__(
        self, d: int, min_weight: float, gap: float = 1e-9, limit: float = 60.0, feasibility: float = 1e-9
    ) -> None:
        self._scip = load("pyscipopt", (6, 0))
        self._d = d
        self._min_weight = min_weight
        self._settings = {
            "limits/absgap": gap,
            "limits/time": limit,
            "lp/threads": 1,
            "numerics/feastol": feasibility,
            "parallel/maxnthreads": 1,
            # The limit is in seconds of the wall clock: SCIP looks at its clock all the time, and asking for CPU
            # seconds is a system call, which on some machines takes half of the time of a solve.
            "timing/clocktype": 2,
        }

    def solve(self, mean: FloatArray, bonus: FloatArray, risk: FloatArray, risk_aversion: float) -> OptimisticSolution:
        """Return the weights that SCIP reports, its bound and its times.

        Parameters
        ----------
        mean : ndarray of shape (d,)
            Estimated rewards.
        bonus : ndarray of shape (d, d)
            Symmetric matrix under the root.
        risk : ndarray of shape (d, d)
            Symmetric matrix of the risk, possibly indefinite.
        risk_aversion : float
            Weight ``rho`` of the risk, at least zero.

        Returns
        -------
        OptimisticSolution

        Raises
        ------
        PeerError
            If SCIP stops before the gap is reached, or fails.
        """
        begun = time.process_time()
        # Tolerances of SCIP are absolute: it gets the problem in units in which its entries are at most one.
        offset = float(mean.min())
        unit = float(max(np.ptp(mean), np.sqrt(np.abs(bonus).max()), risk_aversion * np.abs(risk).max())) or 1.0
        model, weights = self._model((mean - offset) / unit, bonus / unit**2, risk_aversion * risk / unit)
        built = time.process_time()
        try:
            model.optimize()
        except Exception as error:  # such as "error in LP solver", for which PySCIPOpt has no class of its own
            raise PeerError(str(error)) from error
        solved = time.process_time()
        if model.getStatus() not in ("optimal", "gaplimit"):
            raise PeerError(model.getStatus())
        return OptimisticSolution(
            weights=np.array([model.getVal(weight) for weight in weights]),
            bound=offset + unit * model.getDualbound(),
            build_seconds=built - begun,
            solve_seconds=solved - built,
        )

    def _model(self, gains: FloatArray, squares: FloatArray, costs: FloatArray) -> tuple[Any, list[Any]]:
        """Return the model and its weights, for entries of at most one."""
        model, total = self._scip.Model(), self._scip.quicksum
        model.hideOutput()
        model.setParams(self._settings)
        w = [model.addVar(lb=0.0, ub=1.0) for _ in range(self._d)]
        model.addCons(total(w) == 1.0)
        for weight in w:
            chosen = model.addVar(vtype="B")
            model.addCons(weight >= self._min_weight * chosen)
            model.addCons(weight <= chosen)

        def form(matrix: FloatArray) -> Any:
            doubled = np.triu(matrix, 1) + np.triu(matrix)
            return total(doubled[i, j] * w[i] * w[j] for i in range(self._d) for j in range(i, self._d))

        # On the simplex a quadratic form lies between the least and the largest entry of its matrix.
        most = float(np.sqrt(max(squares.max(), 0.0)))
        root = model.addVar(lb=0.0, ub=most)
        least = float(squares.min())
        if least >= 0.0 or np.linalg.eigvalsh(squares)[0] >= 0.0:
            model.addCons(root * root <= form(squares))
        else:
            # Where the radicand is negative, the root is zero and its constraint is void.
            rooted = model.addVar(vtype="B")
            model.addCons(root <= most * rooted)
            model.addCons(root * root <= form(squares) - least * (1.0 - rooted))
        cost = model.addVar(lb=float(costs.min()), ub=float(costs.max()))
        model.addCons(cost >= form(costs))
        model.setObjective(total(gains[i] * w[i] for i in range(self._d)) + root - cost, "maximize")
        return model, w
