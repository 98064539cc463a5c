"""Figures of regret and of realised rewards, readable in black and white."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covbandit.core.files import replacing
from covbandit.errors import Unsupported
from covbandit.learners.protocol.serialization import known_classes
from covbandit.problems.problem import Problem
from covbandit.simulation.statistics import half_width
from covbandit.theory import upper_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from covbandit.simulation.replay_result import ReplayResult
    from covbandit.simulation.result import SimulationResult

# Okabe and Ito's colours, told apart by colour-blind readers; dashes and markers tell them apart without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255")
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (2, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MUTED = "#737373"
GRID = "#d9d9d9"

_DENSE = 500  # rounds of a replay above which lines are drawn thinner
_HIGHEST_BOUND = 1000.0  # times the largest regret: a bound beyond it leaves the frame, or regret would be a flat line

SAVE_SETTINGS = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path"}
"""TrueType fonts in PDF, as publishers demand; outlines in SVG, which then looks the same everywhere."""


class Style(NamedTuple):
    """How a learner is drawn."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str

    @property
    def keywords(self) -> dict[str, Any]:
        """What Matplotlib calls it."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markersize": 4,
            "linewidth": 1.6,
        }


def default_styles(result: SimulationResult) -> dict[str, Style]:
    """Return a style for each learner; the baseline that never learns stays in the background."""
    styles = {}
    for k, (name, learner) in enumerate(result.specification["learners"].items()):
        again = k // len(COLOURS)  # when colours come again, dashes and markers are others
        styles[name] = Style(
            MUTED if learner["class"] == "FixedWeights" else COLOURS[k % len(COLOURS)],
            DASHES[(k + again) % len(DASHES)],
            MARKERS[(k + 2 * again) % len(MARKERS)],
        )
    return styles


def literal(text: str) -> str:
    """Return a user's text so that Matplotlib shows it letter by letter: it takes $...$ for mathematics."""
    return text.replace("$", r"\$")


def legend_label(name: str) -> str:
    """Return a user's name for a legend, which leaves out what begins with an underscore: hence a blank before it."""
    return literal(f" {name}" if name.startswith("_") else name)


def new_axes() -> Axes:
    """Return the axes of a new figure."""
    from matplotlib import pyplot

    _, ax = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    return ax


def plot_regret(result: SimulationResult, ax: Axes | None = None, styles: Mapping[str, Style] | None = None) -> Axes:
    """Draw mean regret and its 95 % band for each learner, on log-log axes."""
    ax = new_axes() if ax is None else ax
    rounds = result.checkpoints
    styles = default_styles(result) if styles is None else styles
    for k, name in enumerate(result.learners):
        values = result.regret[k]
        mean = values.mean(axis=0)
        width = np.nan_to_num(half_width(values))
        shown = mean > 0
        if not shown.any():
            continue
        style = styles[name]
        ax.plot(rounds[shown], mean[shown], **style.keywords, markevery=(k % 6, 6), label=legend_label(name))
        low = np.maximum(mean - width, 0.05 * mean)
        ax.fill_between(rounds[shown], low[shown], (mean + width)[shown], color=style.colour, alpha=0.18, linewidth=0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(rounds[0], rounds[-1])
    ax.set_xlabel("round $t$")
    ax.set_ylabel("cumulative regret")
    ax.grid(True, which="major", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_bounds(result: SimulationResult, ax: Axes) -> None:
    """Add the upper bounds, with constant 1, that belong to the kinds of feedback present.

    Learners that never learn have no bound, nor have those whose class is not imported here.
    """
    described = result.specification["problem"]
    if "distribution" in described:
        raise Unsupported(
            f"bounds belong to one problem, and here each replication drew its own ({described['distribution']}); "
            "plot without bounds"
        )
    problem, known = Problem.from_dict(described), known_classes()
    learners = [entry for entry in result.specification["learners"].values() if entry["class"] != "FixedWeights"]
    present = {known[entry["class"]].feedback for entry in learners if entry["class"] in known}
    # The first learner that has them says with which λ and b: those of its own radii. But theorems need a true b.
    chosen: dict[str, Any] = next((entry["config"] for entry in learners if "regularization" in entry["config"]), {})
    own = {key: chosen[key] for key in ("regularization", "variance_bound") if chosen.get(key) is not None}
    own["variance_bound"] = max(own.get("variance_bound", 0.0), problem.variance_bound)
    low, high = ax.get_ylim()
    rounds = result.checkpoints[result.checkpoints > 1]  # ln 1 = 0
    for feedback, bound in upper_bounds(problem, **own).items():
        if feedback in present and len(rounds):
            values = bound.at(rounds)
            dots = (0, (1.0, bound.theorem + 0.5))  # sparser for later theorems, to tell them apart
            ax.plot(rounds, values, color="0.2", linestyle=dots, linewidth=1.4, label=bound.label)
            high = max(high, min(1.5 * float(values[-1]), _HIGHEST_BOUND * float(result.regret.max())))
    ax.set_ylim(low, high)
    ax.legend(frameon=False, fontsize="small")


def plot_rewards(result: ReplayResult, ax: Axes | None = None) -> Axes:
    """Draw the sum of rewards of each learner, the mean over seeds, and of the best constant weights in hindsight.

    Both axes are linear: a sum of rewards may be negative.
    """
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


def save_figure(figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure to files, by their suffixes, with fonts that can be embedded."""
    import matplotlib

    with matplotlib.rc_context(SAVE_SETTINGS):  # type: ignore[arg-type]
        for path in paths:
            kind = path.suffix.removeprefix(".")
            with replacing(path) as file:
                figure.savefig(file, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
