"""What risk aversion is chosen for: mean, covariance and names of the options, from returns or from a problem."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.data import Returns
from covbandit.data.returns import mean_and_covariance
from covbandit.errors import InvalidInput, Unsupported
from covbandit.problems.problem import Problem

_RISKLESS = 1e-14  # a variance below this share of what cancelled in it is rounding, so zero


class Moments(NamedTuple):
    """Mean and covariance of the options' rewards, and the options' names if known."""

    mean: F64
    covariance: F64
    options: tuple[str, ...] | None

    def sd(self, weights: F64) -> float:
        """Return the standard deviation of the reward of given weights."""
        variance = float(weights @ self.covariance @ weights)
        uncancelled = float(weights @ np.abs(self.covariance) @ weights)
        return float(np.sqrt(variance)) if variance > _RISKLESS * uncancelled else 0.0


def read_moments(returns: object) -> Moments:
    """Return the mean and covariance of returns, both dividing by n, or those of a Problem without caps."""
    if isinstance(returns, Problem):
        if returns.max_weight is not None:
            raise Unsupported(
                "a Problem with max_weight is not supported here in this version; build it without max_weight"
            )
        return Moments(returns.mean.copy(), returns.covariance.copy(), returns.options)  # kernels need writable arrays
    if isinstance(returns, Returns):
        return Moments(returns.mean.copy(), returns.covariance.copy(), returns.options)
    options: tuple[str, ...] | None = None
    table: Any = returns
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        options = validation.as_options([str(name) for name in table.columns], None)
        table = _numeric(table.to_numpy(), options)
    array = validation.as_array(table, "returns", 2)
    periods, d = array.shape
    if periods < 2 or d < 1:
        raise InvalidInput(
            f"returns must have at least two rows (periods) and one column (option), got shape {array.shape}"
        )
    bad = ~(np.abs(array) <= validation.LARGEST)
    if bad.any():
        row, column = (int(index) for index in np.argwhere(bad)[0])
        raise InvalidInput(
            f"{validation.label(column, options)}: the return in row {row} is {array[row, column]}, which is not "
            f"finite or beyond ±{validation.LARGEST:g}; drop or fill such rows"
        )
    return Moments(*mean_and_covariance(array), options)


def _numeric(table: NDArray[Any], options: tuple[str, ...] | None) -> NDArray[Any]:
    """Refuse text or dates by the name of their column."""
    for i in range(table.shape[1] if table.dtype == object else 0):
        try:
            table[:, i].astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{validation.label(i, options)}: its returns are not all numbers; drop the column, make it the index, "
                "or fill what is missing"
            ) from None
    return table
