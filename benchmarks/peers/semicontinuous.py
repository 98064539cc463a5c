"""Public portfolio optimisers with weights that are zero or at least a threshold."""

from __future__ import annotations

from peers.base import load
from peers.frameworks import SkfolioPeer


class SkfolioThresholdPeer(SkfolioPeer):
    """``MeanRisk`` of package ``skfolio`` with ``threshold_long``, solved by SCIP.

    Parameters
    ----------
    d : int
        Number of options.
    min_weight : float
        Least positive weight ``c``.
    """

    name = "skfolio-threshold"
    note = (
        "MeanRisk, utility, given moments, threshold_long; cone program with binaries rebuilt at each fit, solver SCIP"
    )

    def __init__(self, d: int, min_weight: float) -> None:
        super().__init__(d)
        load("pyscipopt", (6, 0))
        self._model.set_params(
            threshold_long=min_weight,
            # Here the upper bound is needed: it multiplies the binaries.
            max_weights=1.0,
            solver="SCIP",
            solver_params={"scip_params": {"numerics/feastol": 1e-9, "lp/threads": 1}},
        )
