"""What a maximiser returns: weights with the proof, or the admission that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from covbandit.core.typing import F64

Method = Literal["active set", "branch and bound", "search"]


@dataclass(frozen=True)
class Optimum:
    r"""Weights that maximise a utility, with the proof that they do.

    Attributes
    ----------
    weights : ndarray
        The maximiser. Where weights must be zero or at least c, they are so within 1e-12.
    utility : float
        Its value f(w).
    certificate : float
        A proven bound on what any other feasible weights could gain, infinite if nothing is proven. On the simplex it
        is the Frank-Wolfe gap :math:`\max_v ∇f(w)'(v - w)`, computed without cancellation; else it comes from branch
        and bound.
    tolerance : float
        The certificate below which the optimum counts as certified.
    indefinite : str
        ``"no"`` if the covariance was positive semi-definite; ``"projected"`` if it was not and was replaced by the
        nearest such matrix, to which utility and certificate then refer; ``"exact"`` if it was not and the utility was
        maximised as it is.
    method : {"active set", "branch and bound", "search"}
        How the weights were found. A search proves nothing.
    nodes : int
        Nodes visited by branch and bound; 0 where none was needed.
    iterations : int
        Active-set iterations; 0 where a direct solution passed the certificate.
    """

    weights: F64
    utility: float
    certificate: float
    tolerance: float
    indefinite: str = "no"
    method: Method = "active set"
    nodes: int = 0
    iterations: int = 0

    @property
    def upper_bound(self) -> float:
        """No feasible weights have a utility above this."""
        return self.utility + self.certificate

    @property
    def certified(self) -> bool:
        """Whether the certificate meets the tolerance."""
        return self.certificate <= self.tolerance
