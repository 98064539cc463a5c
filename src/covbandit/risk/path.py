"""The optimal weights along risk aversion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.tables import data_frame
from covbandit.core.typing import F64
from covbandit.maximization import solve
from covbandit.problems.problem import Problem
from covbandit.risk.landmarks import WITHIN, Ends, crossing, find_ends, practically_minimal_from
from covbandit.risk.option_moments import Moments, read_moments
from covbandit.risk.presentation import describe_landmarks, option_names, plot_path, tabulate, three_digits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RiskPath:
    """The optimal weights along a grid of risk aversions ρ, made by `risk_path`.

    ``print(path)`` shows a table of every few rows.

    Attributes
    ----------
    risk_aversion : ndarray, n
        ρ, increasing, evenly spaced on a logarithmic scale. Its unit is 1 / (unit of reward).
    weights : ndarray, n × d
        The optimal weights for each ρ.
    mean, sd : ndarray, n
        Mean and standard deviation of the reward of these weights, in units of reward.
    single_option_below : float
        Up to this ρ one option holds everything. 0 if several options share the best mean and mixing them pays from the
        start; infinite if one option has the best mean and no mixture has less risk.
    minimum_variance_above : float
        From this ρ on, the sd is within 1 % of the least sd: more risk aversion saves next to nothing. 0 if that
        holds for every ρ; infinite if the least sd is zero, which no finite ρ reaches.
    minimum_sd : float
        The least sd of any weights.
    options : tuple of str or None
        The options' names, if known.
    """

    risk_aversion: F64
    weights: F64
    mean: F64
    sd: F64
    single_option_below: float
    minimum_variance_above: float
    minimum_sd: float
    options: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"RiskPath({self.weights.shape[1]} options, {self.risk_aversion.size} risk aversions from "
            f"{three_digits(self.risk_aversion[0])} to {three_digits(self.risk_aversion[-1])})"
        )

    def __str__(self) -> str:
        return f"{tabulate(self)}\n\n{describe_landmarks(self)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists (landmarks may be infinite)."""
        return {
            "risk_aversion": self.risk_aversion.tolist(),
            "weights": self.weights.tolist(),
            "mean": self.mean.tolist(),
            "sd": self.sd.tolist(),
            "single_option_below": self.single_option_below,
            "minimum_variance_above": self.minimum_variance_above,
            "minimum_sd": self.minimum_sd,
            "options": None if self.options is None else list(self.options),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame, one row per ρ: risk_aversion, mean, sd and ``weight_<option>`` for each option.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        columns = {"risk_aversion": self.risk_aversion, "mean": self.mean, "sd": self.sd}
        for i, name in enumerate(option_names(self)):
            columns[f"weight_{name}"] = self.weights[:, i]
        return data_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean against the sd, with ρ written along the curve; readable in black and white.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        matplotlib Axes
        """
        return plot_path(self, ax)


def risk_path(returns: ArrayLike | Problem | pd.DataFrame, points: int = 61) -> RiskPath:
    r"""Return the optimal weights along risk aversions from "one option wins" to "practically minimum variance".

    For each ρ of a logarithmic grid, chosen from the data's own scale, the weights maximise
    :math:`w'θ - ρ\,w'Σw` exactly.

    Parameters
    ----------
    returns : array, n × d, DataFrame or Problem
        One row per period, one column per option; a DataFrame's column names become the options' names. Mean and
        covariance divide by n. Or a `Problem` without caps, whose mean and covariance are used (its ρ is not).
    points : int
        How many ρ, at least 2.

    Returns
    -------
    RiskPath

    Notes
    -----
    ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward): returns in percent instead of
    fractions divide ρ by 100. With i the option of the best mean,

    .. math:: \text{single\_option\_below} = \min_{j:\,Σ_{ii} > Σ_{ij}} \frac{θ_i - θ_j}{2(Σ_{ii} - Σ_{ij})}

    Examples
    --------
    >>> import covbandit as cb
    >>> path = cb.risk_path(cb.problems.etf(), points=6)
    >>> print(path)
    risk_aversion   mean     sd    SPY    EFA    TLT    VNQ    XLE
          0.00226  14.18  9.372  1.000      0      0      0      0
          0.00986  14.00  8.124  0.861      0      0  0.139      0
           0.0430  13.57  6.647  0.630      0  0.031  0.339      0
            0.187  12.57  5.469  0.605      0  0.251  0.144      0
            0.818  10.55  5.062  0.344  0.192  0.325  0.105  0.033
             3.57   9.24  4.963  0.167  0.311  0.354  0.095  0.073
    <BLANKLINE>
    Up to 0.00678, one option holds everything.
    From 1.19 on, the sd is within 1% of its minimum.
    """
    moments = read_moments(returns)
    points = validation.as_count(points, "points", 2)
    ends = find_ends(moments)
    settled = practically_minimal_from(moments, ends)
    low, high = _grid_range(moments, ends, settled)
    grid = np.geomspace(low, high, points)
    weights = np.empty((points, moments.mean.size))
    start = np.zeros(moments.mean.size)
    for k, rho in enumerate(grid):
        start = weights[k] = solve(moments.mean, moments.covariance, float(rho), None, start).weights
    sds = np.array([moments.sd(w) for w in weights])
    means = weights @ moments.mean
    for array in (grid, weights, means, sds):
        array.setflags(write=False)
    return RiskPath(
        risk_aversion=grid,
        weights=weights,
        mean=means,
        sd=sds,
        single_option_below=ends.single_option_below,
        minimum_variance_above=settled,
        minimum_sd=ends.least_sd,
        options=moments.options,
    )


def _grid_range(moments: Moments, ends: Ends, settled: float) -> tuple[float, float]:
    """Return a range of ρ in which everything happens, at least three decades wide."""
    if np.isinf(settled):  # a riskless mixture is only approached: go until 1 % of the risk is left
        settled = crossing(moments, ends.onset, WITHIN * ends.most_sd)
    marks = [rho for rho in (ends.onset, settled) if 0 < rho < np.inf]
    if not marks:  # nothing ever changes, so any range of a sensible scale will do
        scale = float(np.ptp(moments.mean)) or float(np.abs(moments.mean).max()) or 1.0
        marks = [scale / (float(moments.covariance.diagonal().max()) or 1.0)]
    low = min(marks) / 3
    return low, max(3 * max(marks), 1000 * low)
