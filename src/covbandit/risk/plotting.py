"""The figure of a risk path: mean against sd, with ρ along the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covbandit.risk.ends import ROUNDING
from covbandit.risk.printing import three_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covbandit.risk.path import RiskPath

_APART = 0.12  # labels nearer to each other than this share of the figure overlap


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
