"""Adapters that let public solvers run the allocation problem of covbandit.

Every peer solves the simplex mean-variance quadratic program

    maximise  w'mean - rho w'Cov w   subject to  w >= 0,  sum(w) = 1

with ``Cov`` symmetric positive semidefinite, behind one method,
``solve(mean, covariance, risk_aversion)``. The adapters try to show each solver at its best: data
that depend on the dimension alone (constraints, sparsity patterns, buffers) are built once, inputs
are passed in the layout that the solver reads without copying, and tolerances are the tightest
that the solver reaches dependably. Weights are returned as the solver gave them: they are neither
clipped, renormalised nor polished, so a caller measures the accuracy that the solver delivers.

`peers.scip` and `peers.semicontinuous` are about weights that are each zero or at least some ``c``;
their peers are made one by one, since they need that ``c`` and not all solve the same problem.

Settings that a solver offers for threads are set to one. The BLAS behind NumPy and SciPy is not
touched here; set ``OPENBLAS_NUM_THREADS=1`` before starting Python.
"""

from __future__ import annotations

from collections.abc import Callable

from peers.active_set import DaqpPeer, DaqpWarmPeer, QuadprogPeer
from peers.base import Peer, PeerError
from peers.frameworks import CvxpyPeer, SkfolioPeer
from peers.interior_point import ClarabelPeer, ClarabelWarmPeer, PiqpPeer, PiqpWarmPeer

__all__ = ["Peer", "PeerError", "available_peers", "missing_peers"]

# With what to install for each, in the order of the reports.
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
