"""How to choose the risk aversion ρ: the optimal weights along ρ, and the ρ that fits what one knows.

ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward). Returns in percent have 100 times the
mean and 10,000 times the variance of the same returns as fractions: ρ = 0.05 there says what ρ = 5 says here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covbandit import validation
from covbandit.errors import InvalidInput, NumericalFailure, Unsupported
from covbandit.maximization import solve
from covbandit.problem import Problem
from covbandit.tables import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

WITHIN = 0.01
"""The sd counts as practically minimal within this share of the least sd."""

_ROUNDING = 1e-12  # relative; below it two sds or covariances count as equal
_TIE = 1e-14  # means closer than this share of the largest differ by rounding only
_AT_THE_EDGE = 1e-9  # relative; a target volatility so close to the end of its range is taken to be the end
_RISKLESS = 1e-14  # a variance below this share of what cancelled in it is rounding, so zero
_TABLE_ROWS = 12
_TABLE_OPTIONS = 8  # with more, a table lists only the largest weights of each row


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
            f"{_compact(self.risk_aversion[0])} to {_compact(self.risk_aversion[-1])})"
        )

    def __str__(self) -> str:
        rows = _spread_out(self.risk_aversion.size, _TABLE_ROWS)
        columns = [
            ("risk_aversion", [_compact(self.risk_aversion[k]) for k in rows]),
            ("mean", _aligned(self.mean[rows])),
            ("sd", _aligned(self.sd[rows])),
            *self._weight_columns(rows),
        ]
        lines = _table(columns)
        lines += ["", *self._landmarks()]
        return "\n".join(lines)

    def _weight_columns(self, rows: Sequence[int]) -> list[tuple[str, list[str]]]:
        names = _names(self.options, self.weights.shape[1])
        if len(names) <= _TABLE_OPTIONS:
            return [(name, [_share(self.weights[k, i]) for k in rows]) for i, name in enumerate(names)]
        return [("largest weights", [_largest(self.weights[k], names) for k in rows])]

    def _landmarks(self) -> list[str]:
        below, above = self.single_option_below, self.minimum_variance_above
        first = {
            0.0: "Several options share the best mean, so no risk aversion is low enough for one to hold everything.",
            np.inf: "One option has the best mean and the least risk: it holds everything at any risk aversion.",
        }.get(below, f"Up to {_compact(below)}, one option holds everything.")
        second = {
            0.0: f"The sd is within {WITHIN:.0%} of its minimum at any risk aversion.",
            np.inf: "The least sd is zero, which no finite risk aversion reaches.",
        }.get(above, f"From {_compact(above)} on, the sd is within {WITHIN:.0%} of its minimum.")
        return [first, second]

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
        for i, name in enumerate(_names(self.options, self.weights.shape[1])):
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
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        ax.plot(self.sd, self.mean, color="black", linewidth=1.2)
        marked = self._apart()
        ax.plot(self.sd[marked], self.mean[marked], "o", color="black", markerfacecolor="white", markersize=5)
        for k in marked:
            ax.annotate(
                _compact(self.risk_aversion[k]),
                (float(self.sd[k]), float(self.mean[k])),
                xytext=(6, -4),
                textcoords="offset points",
                va="top",
                fontsize="small",
            )
        ax.margins(0.12, 0.1)  # room for the labels at the ends
        ax.set_xlabel("sd of reward")
        ax.set_ylabel("mean reward")
        ax.set_title("Optimal weights, marked by risk aversion ρ", fontsize="medium")
        return ax

    def _apart(self, share: float = 0.12) -> list[int]:
        """Return points of the curve far enough from each other for labels not to overlap, the ends included."""
        x = (self.sd - self.sd[0]) / (float(np.ptp(self.sd)) or 1.0)
        y = (self.mean - self.mean[0]) / (float(np.ptp(self.mean)) or 1.0)
        end = x.size - 1
        # The largest ρ at which nothing has moved yet says more than the first of the grid.
        chosen = [int(np.flatnonzero(np.hypot(x, y) <= _ROUNDING)[-1])]
        for k in range(chosen[0] + 1, end):
            if min(np.hypot(x[k] - x[j], y[k] - y[j]) for j in (chosen[-1], end)) >= share:
                chosen.append(k)
        return chosen if chosen[-1] == end else [*chosen, end]


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
          0.00226  14.17  9.372  1.000      0      0      0      0
          0.00986  14.00  8.124  0.861      0      0  0.139      0
            0.043  13.57  6.647  0.630      0  0.031  0.339      0
            0.187  12.57  5.469  0.605      0  0.251  0.144      0
            0.818  10.55  5.062  0.344  0.192  0.325  0.105  0.033
             3.57   9.24  4.963  0.167  0.311  0.354  0.095  0.073
    <BLANKLINE>
    Up to 0.00678, one option holds everything.
    From 1.19 on, the sd is within 1% of its minimum.
    """
    moments = _moments(returns)
    points = validation.as_count(points, "points", 2)
    ends = _Ends.of(moments)
    settled = ends.settled(moments)
    low, high = _grid_range(moments, ends, settled)
    grid = np.geomspace(low, high, points)
    weights = np.empty((points, moments.mean.size))
    start = np.zeros(moments.mean.size)
    for k, rho in enumerate(grid):
        start = weights[k] = solve(moments.mean, moments.covariance, float(rho), None, start).weights
    sds = np.array([_sd(moments, w) for w in weights])
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


def choose_risk_aversion(
    returns: ArrayLike | Problem | pd.DataFrame | None,
    volatility: float | None = None,
    current_weights: ArrayLike | Mapping[str, float] | None = None,
    tradeoff: tuple[float, float, float] | None = None,
) -> float:
    r"""Return the risk aversion ρ that fits a target volatility, the weights held today, or a stated trade-off.

    Exactly one of the three must be given.

    Parameters
    ----------
    returns : array, n × d, DataFrame, Problem or None
        See `risk_path`. May be None with `tradeoff`, which needs no data.
    volatility : float, optional
        The sd the optimal weights should have, in units of reward per period. Where several ρ lead to it, the largest.
    current_weights : array of d floats or mapping from option names, optional
        Weights that you consider right. The answer is the ρ ≥ 0 that they imply: optimal weights satisfy
        :math:`θ_i - 2ρ(Σw)_i = μ` for every option held, and ρ and μ fit this best by least squares, each option
        counting by its weight. If the weights are optimal for some ρ > 0, that ρ is recovered exactly. Options that a
        mapping does not name have weight zero.
    tradeoff : (m, a, b), optional
        "I would give up m of mean to cut the sd from a to b": ρ = m / (a² − b²).

    Returns
    -------
    float
        ρ.

    Raises
    ------
    InvalidInput
        If the volatility is not attainable (the message names the range), or if the weights say nothing about ρ, as a
        single option does.

    Notes
    -----
    ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward). Means and sds must be in the unit
    in which rewards will be told: with percent instead of fractions, the same preference is a ρ 100 times smaller.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.etf()  # annual returns in percent
    >>> rho = cb.choose_risk_aversion(p, volatility=6.0)
    >>> round(rho, 4)
    0.0636
    >>> w = cb.maximize_utility(p.mean, p.covariance, rho).weights
    >>> round(float(w @ p.covariance @ w) ** 0.5, 6)
    6.0
    >>> round(cb.choose_risk_aversion(p, current_weights={"SPY": 0.6, "TLT": 0.3, "VNQ": 0.1}), 4)
    0.7041

    One point of mean for a cut of the sd from 15 to 10, in percent and in fractions:

    >>> cb.choose_risk_aversion(None, tradeoff=(1.0, 15.0, 10.0))
    0.008
    >>> round(cb.choose_risk_aversion(None, tradeoff=(0.01, 0.15, 0.10)), 6)
    0.8
    """
    ways = {"volatility": volatility, "current_weights": current_weights, "tradeoff": tradeoff}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise InvalidInput(f"give exactly one of {', '.join(ways)}; got {' and '.join(given) or 'none'}")
    if tradeoff is not None:
        return _from_tradeoff(tradeoff)
    if returns is None:
        raise InvalidInput(f"{given[0]} needs returns, got None; only tradeoff does without")
    moments = _moments(returns)
    if volatility is not None:
        return _from_volatility(moments, volatility)
    return _from_weights(moments, cast("ArrayLike | Mapping[str, float]", current_weights))


# The three ways to ρ -------------------------------------------------------------------------------------------------


def _from_tradeoff(tradeoff: tuple[float, float, float]) -> float:
    try:
        given_up, before, after = tradeoff
    except (TypeError, ValueError):
        raise InvalidInput(
            f"tradeoff must be (mean given up, sd before, sd after), three numbers, got {tradeoff!r}"
        ) from None
    m = validation.as_float(given_up, "tradeoff: mean given up")
    a = validation.as_float(before, "tradeoff: sd before")
    b = validation.as_float(after, "tradeoff: sd after")
    if m < 0:
        raise InvalidInput(f"tradeoff: the mean given up must not be negative, got {m}")
    if b < 0:
        raise InvalidInput(f"tradeoff: the sd after must not be negative, got {b}")
    if a <= b:
        raise InvalidInput(f"tradeoff: the sd must fall, but it goes from {a} to {b}; the order is (mean, from, to)")
    return m / ((a - b) * (a + b))


def _from_volatility(moments: _Moments, volatility: float) -> float:
    target = validation.as_float(volatility, "volatility")
    if target <= 0:
        raise InvalidInput(f"volatility is a standard deviation and must be positive, got {target}")
    ends = _Ends.of(moments)
    least, most = ends.least_sd, ends.most_sd
    if target < least * (1 - _AT_THE_EDGE) or target > most * (1 + _AT_THE_EDGE):
        end = "the minimum sd" if target < least else "the sd at the best mean"
        side = "below" if target < least else "above"
        raise InvalidInput(
            f"volatility {target:.6g} is {side} {end}: attainable is {least:.6g} to {most:.6g}, in the returns' units"
        )
    aim = max(min(target, most) * (1 - _ROUNDING), least * (1 + _AT_THE_EDGE))
    if aim >= most:
        raise InvalidInput(
            f"every risk aversion gives the volatility {most:.6g}: the options of the best mean also have the least "
            "risk, so volatility cannot tell risk aversions apart"
        )
    return _crossing(moments, ends.onset, aim)


def _from_weights(moments: _Moments, current: ArrayLike | Mapping[str, float]) -> float:
    theta, sigma, options = moments
    w = validation.as_weights(
        in_option_order(current, options, "current weight", default=0.0), theta.size, options, "current weight"
    )
    largest = int(np.argmax(w))
    if w[largest] >= 1 - validation.SUM_TOLERANCE:
        raise InvalidInput(_single_option_message(moments, largest))
    # Option i counts by w_i: weights that another optimiser left at 1e-12 instead of 0 then do no harm.
    risk = 2 * (sigma @ w)
    tilt = theta - w @ theta
    slope = risk - w @ risk
    spread = float(w @ slope**2)
    if spread <= (_ROUNDING * float(np.abs(risk).max())) ** 2:
        raise InvalidInput(
            "current_weights have the least variance of all mixtures of the options they hold, so they imply no finite "
            "risk aversion: any large one fits, see risk_path(returns).minimum_variance_above"
        )
    return max(float(w @ (tilt * slope)) / spread, 0.0)


def _single_option_message(moments: _Moments, k: int) -> str:
    held = np.zeros(moments.mean.size)
    held[k] = 1.0
    low, high = _optimal_range(moments, held, held == 0)
    start = (
        f"current_weights hold only {validation.label(k, moments.options)}, which does not determine risk aversion: "
    )
    if low > high:
        return start + "there is none for which that is optimal"
    if low > 0:
        return start + f"any from {low:.6g} to {high:.6g} would do"
    if np.isinf(high):
        return start + "it has the best mean and the least risk, so any would do"
    return start + f"any up to {high:.6g} (single_option_below) would do"


# Moments -------------------------------------------------------------------------------------------------------------


class _Moments(NamedTuple):
    mean: F64
    covariance: F64
    options: tuple[str, ...] | None


def _moments(returns: object) -> _Moments:
    if isinstance(returns, Problem):
        if returns.max_weight is not None:
            raise Unsupported(
                "a Problem with max_weight is not supported here in this version; build it without max_weight"
            )
        return _Moments(returns.mean.copy(), returns.covariance.copy(), returns.options)  # kernels need writable arrays
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
    # Seen from the first row, so that an option that never changes has no variance at all instead of rounding.
    first = array[0].copy()
    array -= first
    shift = array.mean(axis=0)
    array -= shift
    covariance = array.T @ array / periods
    return _Moments(first + shift, np.ascontiguousarray((covariance + covariance.T) / 2), options)


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


def in_option_order(value: Any, options: Sequence[str] | None, what: str, default: float | None = None) -> Any:
    """Return the values of a mapping by option name (or a pandas Series) in option order, and anything else as it is.

    Parameters
    ----------
    value
        What a user handed in.
    options : sequence of str or None
        The known names.
    what : str
        What each value is, for messages.
    default : float or None
        The value of options not named; None refuses them.
    """
    if not hasattr(value, "items"):
        return value
    if options is None:
        raise InvalidInput(
            f"{what}s are given by option name, but the options have no names here; give a list in option order"
        )
    pairs = list(value.items())
    named = dict(pairs)
    known = set(options)
    unknown = [name for name in named if name not in known]
    if unknown:
        raise InvalidInput(f"{what}: unknown option {_listed(unknown)}; known are {_listed(options)}")
    if len(named) < len(pairs):
        raise InvalidInput(f"{what}: an option is named twice in {_listed(name for name, _ in pairs)}")
    missing = [name for name in options if name not in named]
    if missing and default is None:
        raise InvalidInput(f"{what} is missing for option {_listed(missing)}; every option needs one")
    return [
        validation.as_float(named[name], f"{what} of option {name!r}") if name in named else default for name in options
    ]


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


# The path and its ends -----------------------------------------------------------------------------------------------


class _Ends(NamedTuple):
    """Where the path begins and where it leads."""

    first: F64  # the optimal weights as ρ falls to zero: the least variance among options of the best mean
    onset: float  # they stay optimal up to this ρ
    most_sd: float
    least_sd: float

    @staticmethod
    def of(moments: _Moments) -> _Ends:
        theta, sigma, _ = moments
        best = theta >= theta.max() - _TIE * float(np.abs(theta).max())
        first = _least_variance_among(sigma, best)
        _, onset = _optimal_range(moments, first, ~best)
        least = _sd(moments, _least_variance_among(sigma, np.ones(theta.size, dtype=bool)))
        return _Ends(first, onset, _sd(moments, first), least)

    @property
    def single_option_below(self) -> float:
        return self.onset if np.count_nonzero(self.first) == 1 else 0.0

    def settled(self, moments: _Moments) -> float:
        """Return the ρ from which on the sd is practically minimal."""
        aim = (1 + WITHIN) * self.least_sd
        if np.isinf(self.onset) or self.most_sd <= aim:
            return 0.0
        return _crossing(moments, self.onset, aim) if aim > 0 else np.inf


def _least_variance_among(sigma: F64, candidates: Mask) -> F64:
    """Return the weights of least variance that use only the candidates; a single option wherever one suffices."""
    chosen = np.flatnonzero(candidates)
    block = np.ascontiguousarray(sigma[np.ix_(chosen, chosen)])
    weights = np.zeros(sigma.shape[0])
    k = int(np.argmin(block.diagonal()))
    # A copy of option k must not count as diversification because of rounding.
    if (block[k] >= block[k, k] * (1 - _ROUNDING)).all():
        weights[chosen[k]] = 1.0
    else:
        weights[chosen] = solve(np.zeros(chosen.size), block, 1.0, None, np.zeros(chosen.size)).weights
    return weights


def _optimal_range(moments: _Moments, weights: F64, others: Mask) -> tuple[float, float]:
    """Return the ρ between which no other option is worth adding to weights whose options are all equally good.

    Empty (low > high) if there is none. Shifting weight from a held option i to option j gains
    ``(θ_j - θ_i) - 2ρ ((Σw)_j - (Σw)_i)`` per unit.
    """
    theta, sigma, _ = moments
    i = int(np.argmax(weights))
    risk = sigma @ weights
    mean_lost = theta[i] - theta[others]
    risk_saved = 2 * (risk[i] - risk[others])
    if (mean_lost[risk_saved == 0] < 0).any():
        return np.inf, 0.0
    with np.errstate(over="ignore"):
        high = (mean_lost[risk_saved > 0] / risk_saved[risk_saved > 0]).min(initial=np.inf)
        low = (mean_lost[risk_saved < 0] / risk_saved[risk_saved < 0]).max(initial=0.0)
    return float(low), float(high)


def _sd(moments: _Moments, weights: F64) -> float:
    variance = float(weights @ moments.covariance @ weights)
    uncancelled = float(weights @ np.abs(moments.covariance) @ weights)
    return float(np.sqrt(variance)) if variance > _RISKLESS * uncancelled else 0.0


def _crossing(moments: _Moments, low: float, aim: float) -> float:
    """Return the largest ρ whose optimal weights have an sd of at least `aim`, given that those of `low` have.

    The sd of the optimal weights is continuous and never rises with ρ.
    """
    theta, sigma, _ = moments
    start = np.zeros(theta.size)

    def sd(rho: float) -> float:
        nonlocal start
        start = solve(theta, sigma, rho, None, start).weights
        return _sd(moments, start)

    high = 4 * low
    while np.isfinite(high) and sd(high) >= aim:
        low, high = high, 4 * high
    while np.isfinite(high):
        middle = low * float(np.sqrt(high / low))
        if not low < middle < high:
            break
        low, high = (middle, high) if sd(middle) >= aim else (low, middle)
    if not np.isfinite(high) or abs(sd(low) - aim) > 1e-6 * aim:
        raise NumericalFailure(
            f"no risk aversion reaches the sd {aim:.6g}: it is too small beside those of the options to be resolved"
        )
    return low


def _grid_range(moments: _Moments, ends: _Ends, settled: float) -> tuple[float, float]:
    """Return a range of ρ in which everything happens, at least three decades wide."""
    if np.isinf(settled):  # a riskless mixture is only approached: go until 1 % of the risk is left
        settled = _crossing(moments, ends.onset, WITHIN * ends.most_sd)
    marks = [rho for rho in (ends.onset, settled) if 0 < rho < np.inf]
    if not marks:  # nothing ever changes, so any range of a sensible scale will do
        scale = float(np.ptp(moments.mean)) or float(np.abs(moments.mean).max()) or 1.0
        marks = [scale / (float(moments.covariance.diagonal().max()) or 1.0)]
    low = min(marks) / 3
    return low, max(3 * max(marks), 1000 * low)


# Tables --------------------------------------------------------------------------------------------------------------


def _names(options: Sequence[str] | None, d: int) -> tuple[str, ...]:
    return tuple(options) if options is not None else tuple(str(i) for i in range(d))


def _spread_out(n: int, rows: int) -> list[int]:
    """Return about `rows` of n indices, equally far apart, and the last one."""
    stride = max(-(-(n - 1) // rows), 1)
    return sorted({*range(0, n, stride), n - 1})


def _aligned(values: F64) -> list[str]:
    """Write a column with as many decimals as give its largest entry four digits and its smallest two."""
    sizes = np.abs(values[values != 0])
    if sizes.size == 0:
        return ["0"] * values.size
    digits = np.floor(np.log10(sizes))
    decimals = int(max(3 - digits.max(), 1 - digits.min()))
    if digits.max() > 6 or decimals > 9:
        return [f"{value:.3e}" for value in values]
    return [f"{value:.{max(decimals, 0)}f}" for value in values]


def _compact(rho: float) -> str:
    """Write three digits, without an exponent as long as that is readable."""
    return f"{rho:,.0f}" if 999.5 <= rho < 1e6 else f"{rho:.3g}"


def _share(weight: float) -> str:
    return "0" if weight == 0 else f"{weight:.3f}"


def _largest(weights: F64, names: Sequence[str], count: int = 3) -> str:
    order = np.argsort(-weights, kind="stable")[:count]
    text = ", ".join(f"{names[i]} {weights[i]:.3f}" for i in order if weights[i] > 0)
    more = int(np.count_nonzero(weights)) - count
    return f"{text}, {more} more" if more > 0 else text


def _table(columns: Sequence[tuple[str, list[str]]]) -> list[str]:
    widths = [max(len(head), *(len(cell) for cell in cells)) for head, cells in columns]
    rows = [[head for head, _ in columns], *zip(*(cells for _, cells in columns), strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
