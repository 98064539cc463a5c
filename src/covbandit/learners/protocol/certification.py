"""Proofs of decisions: the best weights by branch and bound, where asking only searches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covbandit.core.typing import F64
from covbandit.maximization import Optimum, maximize_optimistic


def certify_search(
    in_use: NDArray[np.bool_],
    weights: F64,
    mean: F64,
    bonus: F64 | None,
    risk: F64,
    risk_aversion: float,
    min_weight: float | None,
    tolerance: float,
    node_limit: int,
) -> Optimum:
    """Return the proven best weights of an optimistic utility over the options in use.

    Parameters
    ----------
    in_use : array of d bools
        The options that may have weight.
    weights : array of d floats
        What the search found: branch and bound starts from there.
    mean, bonus, risk
        As in `maximize_optimistic`, of all d options; None for no bonus.
    risk_aversion, min_weight, tolerance, node_limit
        As in `maximize_optimistic`.
    """
    block = np.ix_(in_use, in_use)
    best = maximize_optimistic(
        mean[in_use],
        np.zeros((int(in_use.sum()),) * 2) if bonus is None else bonus[block],
        np.ascontiguousarray(risk[block]),
        risk_aversion,
        min_weight,
        certified=True,
        start=weights[in_use],
        tolerance=tolerance,
        node_limit=node_limit,
    )
    return over_all_options(best, in_use)


def over_all_options(best: Optimum, in_use: NDArray[np.bool_]) -> Optimum:
    """Return an optimum over the options in use as one over all options, with no weight on the others."""
    weights = np.zeros(in_use.size)
    weights[in_use] = best.weights
    return replace(best, weights=weights)
