"""Adapters that let public solvers run the allocation problem of covbandit.

Every peer solves the simplex mean-variance quadratic program

    maximise  w'mean - rho w'Cov w   subject to  w >= 0,  sum(w) = 1

with ``Cov`` symmetric positive semidefinite, behind one method,
``solve(mean, covariance, risk_aversion)``. The adapters try to show each solver at its best: data
that depend on the dimension alone (constraints, sparsity patterns, buffers) are built once, inputs
are passed in the layout that the solver reads without copying, and tolerances are the tightest
that the solver reaches dependably. Weights are returned as the solver gave them: they are neither
clipped, renormalised nor polished, so a caller measures the accuracy that the solver delivers.

Settings that a solver offers for threads are set to one. The BLAS behind NumPy and SciPy is not
touched here; set ``OPENBLAS_NUM_THREADS=1`` before starting Python.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import lapack

FloatArray = npt.NDArray[np.float64]

# Interior-point tolerance. It is absolute as well as relative in PIQP and Clarabel, hence the gap
# relative to the data grows when the data are small (moments of daily returns, say).
_TOLERANCE = 1e-12

# Relative ridge for solvers that factorise the Hessian. Rounding costs about eps / ridge and the
# ridge itself about ridge, so sqrt(eps) balances them: on rank-deficient covariances a smaller one
# passes the Cholesky factorisation but returns weights that miss the constraints (1e-12: by 1e-4).
_RIDGE = 1e-8

_CLARABEL_SETTINGS: dict[str, Any] = {
    "max_threads": 1,
    "tol_feas": _TOLERANCE,
    "tol_gap_abs": _TOLERANCE,
    "tol_gap_rel": _TOLERANCE,
}


class PeerError(RuntimeError):
    """A peer stopped without weights it vouches for."""


class Peer(Protocol):
    """A solver of the simplex mean-variance problem in a fixed dimension.

    Attributes
    ----------
    name : str
        Short unique name.
    note : str
        What a reader of a table should know about how the solver was run.
    warm : bool
        Whether a solver workspace or compiled model survives from one call to the next, so that
        the first call costs more than later ones.
    """

    name: str
    note: str
    warm: bool

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports.

        Parameters
        ----------
        mean : ndarray of shape (d,)
            Expected rewards.
        covariance : ndarray of shape (d, d)
            Symmetric positive semidefinite covariance.
        risk_aversion : float
            Positive weight ``rho`` of the variance.

        Returns
        -------
        ndarray of shape (d,)
            Weights, owned by the caller.

        Raises
        ------
        PeerError
            If the solver reports no solution.
        """
        ...


def _load(module: str, minimum: tuple[int, int]) -> ModuleType:
    """Import a peer's package if it is recent enough for the calls made here.

    Parameters
    ----------
    module : str
        Name of the package, both to import and on the package index.
    minimum : tuple of int
        Oldest accepted ``(major, minor)`` version.

    Returns
    -------
    module
        The imported package.

    Raises
    ------
    ImportError
        If the package is absent or older than `minimum`.
    """
    loaded = importlib.import_module(module)
    version = importlib.metadata.version(module)
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < minimum:
        raise ImportError(f"{module} {version} is older than {minimum[0]}.{minimum[1]}")
    return loaded


class QuadprogPeer:
    """Goldfarb-Idnani dual active-set method, package ``quadprog``.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "quadprog"
    note = (
        "factorised by LAPACK; relative ridge 1e-8 only if a Cholesky pivot falls below 1e-8 of "
        "its diagonal entry"
    )
    warm = False

    def __init__(self, d: int) -> None:
        self._solve_qp: Callable[..., Any] = _load("quadprog", (0, 1)).solve_qp
        self._hessian = np.empty((d, d))
        # quadprog stores one constraint per column, the equality first, and reads columns.
        self._constraints = np.asfortranarray(np.hstack([np.ones((d, 1)), np.eye(d)]))
        self._bounds = np.concatenate([[1.0], np.zeros(d)])

    def _cholesky(
        self, covariance: FloatArray, risk_aversion: float, ridge: float
    ) -> FloatArray | None:
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
            raise PeerError("quadprog: the Hessian is not positive definite")
        # Handing over the inverse factor skips quadprog's unblocked factorisation, three times
        # slower than LAPACK's at d = 500.
        inverse, _ = lapack.dtrtri(factor, overwrite_c=1)
        try:
            weights: FloatArray = self._solve_qp(
                inverse, np.array(mean), self._constraints, self._bounds, 1, True
            )[0]
        except ValueError as error:
            raise PeerError(f"quadprog: {error}") from error
        return weights


class _DenseObjective:
    """Buffers for the objective in minimisation form, ``w'Hw / 2 + f'w``.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        self.hessian = np.empty((d, d))
        self.linear = np.empty(d)

    def fill(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> None:
        """Write the objective into the buffers."""
        np.multiply(covariance, 2.0 * risk_aversion, out=self.hessian)
        np.negative(mean, out=self.linear)


class _DaqpProblem(_DenseObjective):
    """Data and settings common to both ways of calling DAQP.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        # DAQP reads raw pointers and refuses read-only arrays: it only ever sees our buffers.
        super().__init__(d)
        self.daqp = _load("daqp", (0, 10))
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
        self._problem = _DaqpProblem(d)

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        problem = self._problem
        problem.fill(mean, covariance, risk_aversion)
        weights: FloatArray
        weights, _, flag, _ = problem.daqp.solve(
            problem.hessian, problem.linear, *problem.constraints, **problem.settings
        )
        if flag <= 0:
            raise PeerError(f"daqp: exit flag {flag}")
        return weights


class DaqpWarmPeer:
    """Dual active-set method, package ``daqp``, started from the previous active set.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name = "daqp-warm"
    note = (
        "workspace and active set kept; a new Hessian is still factorised, so only the "
        "active-set iterations are saved"
    )
    warm = True

    def __init__(self, d: int) -> None:
        self._problem = _DaqpProblem(d)
        self._model: Any = None

    def _start(self) -> None:
        """Set up a fresh workspace on the current buffers."""
        problem = self._problem
        self._model = problem.daqp.Model()
        self._model.settings = problem.settings
        flag, _ = self._model.setup(problem.hessian, problem.linear, *problem.constraints)
        if flag < 0:
            self._model = None
            raise PeerError(f"daqp-warm: set-up flag {flag}")

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        problem = self._problem
        problem.fill(mean, covariance, risk_aversion)
        weights: FloatArray
        if self._model is not None:
            flag = self._model.update(H=problem.hessian, f=problem.linear)
            if flag >= 0:
                weights, _, flag, _ = self._model.solve()
                if flag > 0:
                    return weights
        # First call, or the old active set led nowhere: a user would start again from scratch.
        self._start()
        weights, _, flag, _ = self._model.solve()
        if flag <= 0:
            self._model = None
            raise PeerError(f"daqp-warm: exit flag {flag}")
        return weights


class _PiqpProblem(_DenseObjective):
    """Data and settings common to both ways of calling PIQP.

    Parameters
    ----------
    d : int
        Number of options.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self.piqp = _load("piqp", (0, 6))
        self.row = np.ones((1, d))
        self.one = np.ones(1)
        self.lower = np.zeros(d)

    def start(self) -> Any:
        """Return a new dense solver, set up on the current buffers."""
        solver = self.piqp.DenseSolver()
        settings = solver.settings
        settings.eps_abs = _TOLERANCE
        settings.eps_rel = _TOLERANCE
        settings.eps_duality_gap_abs = _TOLERANCE
        settings.eps_duality_gap_rel = _TOLERANCE
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
        "dense; workspace and scaling kept, but iterations start afresh, as interior-point "
        "methods do; tolerances 1e-12"
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
        self.clarabel = _load("clarabel", (0, 11))
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
        for key, value in _CLARABEL_SETTINGS.items():
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
    note = (
        "parametrised model compiled once, solver Clarabel at 1e-12; mostly modelling overhead "
        "in small dimensions"
    )
    warm = True

    def __init__(self, d: int) -> None:
        # From 1.9, quad_form with a parameter for its matrix is compiled once when the solver
        # takes quadratic objectives. The older form, sum_squares(L.T @ w), takes d more variables
        # and is 2.5 times slower at d = 500.
        cvxpy = _load("cvxpy", (1, 9))
        _load("clarabel", (0, 11))
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
            self._problem.solve(solver=self._cvxpy.CLARABEL, enforce_dpp=True, **_CLARABEL_SETTINGS)
        except self._cvxpy.SolverError as error:
            raise PeerError(f"cvxpy: {error}") from error
        if self._weights.value is None:
            raise PeerError(f"cvxpy: {self._problem.status}")
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

        def __init__(
            self, mean: FloatArray | None = None, covariance: FloatArray | None = None
        ) -> None:
            self.mean = mean
            self.covariance = covariance

        def fit(self, X: FloatArray, y: None = None, **fit_params: Any) -> FixedMoments:
            """Report the given moments, whatever the returns `X` are."""
            self.return_distribution_ = prior.ReturnDistribution(
                mu=self.mean, covariance=self.covariance, returns=X
            )
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
        skfolio = _load("skfolio", (1, 0))
        _load("clarabel", (0, 11))
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
            raise PeerError(f"skfolio: {error}") from error
        return np.array(self._model.weights_)


# What to install for each adapter, in the order of the reports.
_PEERS: tuple[tuple[Callable[[int], Peer], str, str], ...] = (
    (QuadprogPeer, QuadprogPeer.name, "quadprog"),
    (DaqpPeer, DaqpPeer.name, "daqp>=0.10"),
    (DaqpWarmPeer, DaqpWarmPeer.name, "daqp>=0.10"),
    (PiqpPeer, PiqpPeer.name, "piqp>=0.6"),
    (PiqpWarmPeer, PiqpWarmPeer.name, "piqp>=0.6"),
    (ClarabelPeer, ClarabelPeer.name, "clarabel>=0.11"),
    (ClarabelWarmPeer, ClarabelWarmPeer.name, "clarabel>=0.11"),
    (CvxpyPeer, CvxpyPeer.name, "cvxpy>=1.9"),
    (SkfolioPeer, SkfolioPeer.name, "skfolio>=1.0"),
)


def available_peers(d: int) -> list[Peer]:
    """Return an adapter for each peer that can be imported.

    Parameters
    ----------
    d : int
        Number of options.

    Returns
    -------
    list of Peer
        New adapters, without any state from earlier solves.
    """
    peers: list[Peer] = []
    for make, _, _ in _PEERS:
        try:
            peers.append(make(d))
        except ImportError:
            continue
    return peers


def missing_peers() -> dict[str, str]:
    """Return the peers that are absent or too old.

    Returns
    -------
    dict
        What to pass to ``pip install``, by name of the peer.
    """
    missing: dict[str, str] = {}
    for make, name, requirement in _PEERS:
        try:
            make(1)
        except ImportError:
            missing[name] = requirement
    return missing
