"""What adapters share: the protocol, loading with a least version, the dense objective, cold and warm solves."""

from __future__ import annotations

import importlib
import importlib.metadata
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Interior-point tolerance. It is absolute as well as relative in PIQP and Clarabel, hence the gap
# relative to the data grows when the data are small (moments of daily returns, say).
TOLERANCE = 1e-12


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


def load(module: str, minimum: tuple[int, int]) -> ModuleType:
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


class DenseObjective:
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


class Workspace(Protocol):
    """A solver's data for problems of one dimension, and how it is called."""

    def fill(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> None:
        """Write the objective into the buffers."""
        ...

    def start(self) -> Any:
        """Return a new solver, set up on the current buffers."""
        ...

    def update(self, solver: Any) -> None:
        """Hand the current buffers to a solver that has solved an earlier problem."""
        ...

    def run(self, solver: Any) -> FloatArray:
        """Solve, and return weights that are the caller's own; raise `PeerError` if the solver has none."""
        ...


class WorkspacePeer:
    """A peer that keeps the data of its dimension in a workspace.

    Parameters
    ----------
    d : int
        Number of options.
    """

    name: str
    note: str
    workspace: ClassVar[type[Any]]

    def __init__(self, d: int) -> None:
        self._workspace: Workspace = self.workspace(d)


class ColdPeer(WorkspacePeer):
    """A peer that sets its solver up at each call."""

    warm = False

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        self._workspace.fill(mean, covariance, risk_aversion)
        return self._workspace.run(self._workspace.start())


class WarmPeer(WorkspacePeer):
    """A peer whose solver is kept from call to call and updated in place."""

    warm = True

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self._solver: Any = None

    def solve(self, mean: FloatArray, covariance: FloatArray, risk_aversion: float) -> FloatArray:
        """Return the weights that the solver reports; see `Peer.solve`."""
        workspace = self._workspace
        workspace.fill(mean, covariance, risk_aversion)
        if self._solver is not None:
            try:
                workspace.update(self._solver)
                return workspace.run(self._solver)
            except PeerError:
                # What an earlier problem left does not suit this one: a user would start again from scratch.
                self._solver = None
        solver = workspace.start()
        weights = workspace.run(solver)
        self._solver = solver
        return weights
