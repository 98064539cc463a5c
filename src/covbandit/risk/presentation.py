"""A risk path as a table, in words, and as a figure of mean against sd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from covbandit.core.tables import Table, as_number
from covbandit.core.typing import F64
from covbandit.risk.landmarks import ROUNDING, WITHIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covbandit.risk.path import RiskPath

_TABLE_ROWS = 12
_TABLE_OPTIONS = 8  # with more, a table lists only the largest weights of each row
_LISTED = 3  # that many
_APART = 0.12  # labels nearer to each other than this share of the figure overlap


def option_names(path: RiskPath) -> tuple[str, ...]:
    """Return the options' names, or their indices as text if they have none."""
    return path.options or tuple(str(i) for i in range(path.weights.shape[1]))


def tabulate(path: RiskPath) -> Table:
    """Return a table of every few rows."""
    shown = _spread_out(path.risk_aversion.size, _TABLE_ROWS)
    heads = option_names(path)
    if len(heads) <= _TABLE_OPTIONS:
        weights = [[_share(weight) for weight in row] for row in path.weights[shown]]
    else:
        weights = [[_largest(row, heads)] for row in path.weights[shown]]
        heads = ("largest weights",)
    rhos = [three_digits(rho) for rho in path.risk_aversion[shown]]
    means, sds = _same_decimals(path.mean[shown]), _same_decimals(path.sd[shown])
    rows = [[rho, mean, sd, *more] for rho, mean, sd, more in zip(rhos, means, sds, weights, strict=True)]
    return Table(["risk_aversion", "mean", "sd", *heads], rows, align_right=True)


def describe_landmarks(path: RiskPath) -> str:
    """Say up to which ρ one option holds everything, and from which on the sd is practically minimal."""
    below, above = path.single_option_below, path.minimum_variance_above
    first = {
        0.0: "Several options share the best mean, so no risk aversion is low enough for one to hold everything.",
        np.inf: "One option has the best mean and the least risk: it holds everything at any risk aversion.",
    }.get(below, f"Up to {three_digits(below)}, one option holds everything.")
    second = {
        0.0: f"The sd is within {WITHIN:.0%} of its minimum at any risk aversion.",
        np.inf: "The least sd is zero, which no finite risk aversion reaches.",
    }.get(above, f"From {three_digits(above)} on, the sd is within {WITHIN:.0%} of its minimum.")
    return f"{first}\n{second}"


def three_digits(rho: float) -> str:
    """Write three digits, or all before the point."""
    return as_number(float(rho), 3)


def _spread_out(n: int, rows: int) -> list[int]:
    """Return about `rows` of n indices, equally far apart, and the last one."""
    stride = max(-(-(n - 1) // rows), 1)
    return sorted({*range(0, n, stride), n - 1})


def _same_decimals(values: F64) -> list[str]:
    """Write a column with as many decimals as give its largest entry four digits and its smallest two."""
    sizes = np.abs(values[values != 0])
    if sizes.size == 0:
        return ["0"] * values.size
    digits = np.floor(np.log10(sizes))
    decimals = int(max(3 - digits.max(), 1 - digits.min()))
    if digits.max() > 14 or decimals > 9:
        return [f"{value:.3e}" for value in values]
    return [f"{value:,.{max(decimals, 0)}f}" for value in values]


def _share(weight: float) -> str:
    return "0" if weight == 0 else f"{weight:.3f}"


def _largest(weights: F64, names: Sequence[str]) -> str:
    order = np.argsort(-weights, kind="stable")[:_LISTED]
    text = ", ".join(f"{names[i]} {weights[i]:.3f}" for i in order if weights[i] > 0)
    more = int(np.count_nonzero(weights)) - _LISTED
    return f"{text}, {more} more" if more > 0 else text


def plot_path(path: RiskPath, ax: Axes | None = None) -> Axes:
    """Draw the curve and its labels; see `RiskPath.plot`."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    ax.plot(path.sd, path.mean, color="black", linewidth=1.2)
    marked = _apart(path)
    ax.plot(path.sd[marked], path.mean[marked], "o", color="black", markerfacecolor="white", markersize=5)
    for k in marked:
        ax.annotate(
            three_digits(path.risk_aversion[k]),
            (float(path.sd[k]), float(path.mean[k])),
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


def _apart(path: RiskPath) -> list[int]:
    """Return points of the curve far enough from each other for labels not to overlap, the ends included."""
    x = (path.sd - path.sd[0]) / (float(np.ptp(path.sd)) or 1.0)
    y = (path.mean - path.mean[0]) / (float(np.ptp(path.mean)) or 1.0)
    end = x.size - 1
    # The largest ρ at which nothing has moved yet says more than the first of the grid.
    chosen = [int(np.flatnonzero(np.hypot(x, y) <= ROUNDING)[-1])]
    for k in range(chosen[0] + 1, end):
        if min(np.hypot(x[k] - x[j], y[k] - y[j]) for j in (chosen[-1], end)) >= _APART:
            chosen.append(k)
    return chosen if chosen[-1] == end else [*chosen, end]
