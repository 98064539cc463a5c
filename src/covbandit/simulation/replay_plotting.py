"""Figures of replays: what was earned so far, on plain axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covbandit.simulation.plotting import GRID, default_styles, legend_label, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covbandit.simulation.replay_result import ReplayResult

_DENSE = 500  # rounds above which lines are drawn thinner


def plot_rewards(result: ReplayResult, ax: Axes | None = None) -> Axes:
    """Draw the sum of rewards of each learner, the mean over seeds, and of the best constant weights in hindsight."""
    from covbandit.simulation.period_axis import label_rounds  # here, since it imports Matplotlib

    ax = new_axes() if ax is None else ax
    rounds = result.checkpoints
    every = max(1, len(rounds) // 12)
    for k, (name, line) in enumerate(default_styles(result).items()):
        earned = result.rewards[k].mean(axis=0).cumsum()
        style = line.keywords | ({"linewidth": 1.0} if len(rounds) > _DENSE else {})
        ax.plot(rounds, earned, **style, markevery=(k * every // 6, every), label=legend_label(name))
    best = (result.returns.values[: len(rounds)] @ result.best_constant.weights).cumsum()
    ax.plot(rounds, best, color="0.6", linewidth=1.0, label="best constant weights, in hindsight", zorder=1)
    ax.axhline(0.0, color="0.7", linewidth=0.6, zorder=1)
    label_rounds(ax, result.returns.index[: len(rounds)])
    ax.margins(x=0.02)
    ax.set_ylabel(f"sum of realised rewards ({result.returns.unit})")
    ax.grid(True, which="major", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize="small")
    return ax
