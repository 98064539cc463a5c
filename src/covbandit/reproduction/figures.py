"""The figures of a reproduction: the paper's own layout, one figure per panel, and the sweeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covbandit.core.processes import out_of_reach_of_ctrl_c, pool_of
from covbandit.core.typing import F64
from covbandit.reproduction.claims.remarks import bound_at_correlations
from covbandit.reproduction.claims.theorems import bound_of
from covbandit.reproduction.experiments import (
    CORRELATIONS,
    DIMENSION_SETTINGS,
    DIMENSIONS,
    SWEPT,
    CorrelationSweep,
    Dimensions,
)
from covbandit.reproduction.panels import Panel, role
from covbandit.simulation import SimulationResult
from covbandit.simulation.plotting import COLOURS, GRID, MARKERS, MUTED, Style, plot_regret, save_figure
from covbandit.simulation.statistics import half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#1f2328"
_OURS = "#882255"
_FORMATS = (".png", ".svg", ".pdf")
_TWO_POWERS = 100  # a log axis over less may contain a single power of ten
_SETTINGS = {
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlesize": "medium",
    "font.size": 10,
    "legend.labelcolor": _INK,
    "svg.hashsalt": "covbandit",  # the same figure gives the same file
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


Drawing = tuple[Callable[..., str], tuple[object, ...]]
"""A function of this module, with its arguments, that writes a figure and returns it for a page."""


def draw_all(drawings: Sequence[Drawing], processes: int = 1) -> list[str]:
    """Make drawings, in several processes if wished; return them for a page, in order."""
    if processes > 1 and len(drawings) > 1:
        with suppress(BrokenProcessPool):  # without them it takes longer, no more
            return _draw_together(drawings, min(processes, len(drawings)))
    return [draw(*given) for draw, given in drawings]


def _draw_together(drawings: Sequence[Drawing], processes: int) -> list[str]:
    pool = pool_of(processes)
    try:
        with out_of_reach_of_ctrl_c():
            futures = [pool.submit(draw, *given) for draw, given in drawings]
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def styles_of(result: SimulationResult) -> dict[str, Style]:
    """Return solid lines for the paper's learners, dashed ones for ours, grey for who knows Σ* and for the baseline."""
    styles = {}
    for k, name in enumerate(result.learners):
        styles[name] = {
            "paper": Style(COLOURS[k % len(COLOURS)], "-", MARKERS[k % len(MARKERS)]),
            "ours": Style(_OURS, (0, (4, 1.5)), "*"),
            "known": Style(_INK, (0, (6, 1.5, 1, 1.5)), ""),
            "baseline": Style(MUTED, (0, (1, 1.5)), ""),
        }[role(name)]
    return styles


@contextmanager
def figure_of(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure in the report's style, and its axes row by row."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type]
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, list(np.atleast_1d(figure.subplots(rows, columns)).flat)


def draw_panel(panel: Panel, result: SimulationResult, ax: Axes) -> None:
    """Draw a panel."""
    plot_regret(result, ax, styles_of(result))
    ax.set_title(panel.title)
    _finish(ax)


def draw_sweep(sweep: CorrelationSweep, results: Mapping[str, SimulationResult], ax: Axes) -> None:
    """Draw regret at the horizon against the correlation, with the theorem's bound scaled to it."""
    points = [results[sweep.point(x)] for x in CORRELATIONS]
    styles = styles_of(points[0])
    for name in SWEPT[sweep.setting]:
        mean, width = _mean_regret(points, name)
        ax.errorbar(
            CORRELATIONS,
            mean,
            yerr=width,
            **(styles[name].keywords | {"marker": styles[name].marker or "o"}),
            capsize=2,
            label=name,
        )
    horizon = points[0].horizon
    bound = bound_at_correlations(sweep, horizon)
    first = points[CORRELATIONS.index(0.0)].at(SWEPT[sweep.setting][0]).mean()
    ax.plot(
        CORRELATIONS,
        bound * first / bound[CORRELATIONS.index(0.0)],
        color=_INK,
        linestyle=":",
        linewidth=1.2,
        label="the bound, scaled to meet at 0",
    )
    ax.set_xlabel("correlation of any two options")
    _finish_sweep(ax, horizon, sweep.title)


def draw_dimensions(dimensions: Dimensions, results: Mapping[str, SimulationResult], ax: Axes) -> None:
    """Draw regret at the horizon against the number of options in both settings, with the bounds scaled to them."""
    for k, setting in enumerate(DIMENSION_SETTINGS):
        name = dimensions.learner(setting)
        points = [results[dimensions.point(setting, d)] for d in DIMENSIONS]
        mean, width = _mean_regret(points, name)
        horizon = points[0].horizon
        bound = np.array([float(bound_of(setting, dimensions.problem(setting, d)).at(horizon)) for d in DIMENSIONS])
        style: dict[str, Any] = {"color": COLOURS[k], "linewidth": 1.6}
        ax.errorbar(DIMENSIONS, mean, width, marker=MARKERS[k], capsize=2, label=name, **style)
        label = f"bound of {name}, scaled to meet at {DIMENSIONS[0]}"
        ax.plot(DIMENSIONS, bound * mean[0] / bound[0], linestyle=":", label=label, **style)
    ax.set_xticks(DIMENSIONS)
    ax.set_xlabel("number of options d")
    _finish_sweep(ax, horizon, dimensions.title)


def _mean_regret(points: Sequence[SimulationResult], learner: str) -> tuple[F64, F64]:
    """Return a learner's mean regret at each point of a sweep, and half widths that a logarithmic axis can show."""
    values = np.array([result.at(learner) for result in points])
    mean = values.mean(axis=1)
    return mean, np.minimum(half_width(values, axis=1), 0.95 * mean)


def _finish_sweep(ax: Axes, horizon: int, title: str) -> None:
    ax.set_yscale("log")
    ax.set_ylabel(f"regret after {horizon:,} rounds")
    ax.set_title(title)
    ax.grid(True, which="major", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    _finish(ax)


def _finish(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    # Below the axes, where no curve can run through it.
    ax.legend(
        frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2, handlelength=2.6
    )
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        axis.set_minor_locator(NullLocator())  # between powers of ten they tell little and take long to draw
        if axis.get_scale() == "log" and high < _TWO_POWERS * low:  # but there may be one of those, or none
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))


def write_overview(panels: Sequence[Panel], results: Mapping[str, SimulationResult], folder: Path, name: str) -> str:
    """Write several panels as one figure, three in a row, like the paper's; return it as SVG for a page."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with figure_of(13 * columns / 3, 4.2 * rows, rows, columns) as (figure, axes):
        for panel, ax in zip(panels, axes, strict=False):
            draw_panel(panel, results[panel.name], ax)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        count = len(results[panels[0].name].replications)
        figure.suptitle(f"Cumulative regret, {count} replications, 95 % bands")
        return _save(figure, folder, name)


def write_panel(panel: Panel, result: SimulationResult, folder: Path) -> str:
    """Write a panel's figure to files; return it as SVG for a page."""
    with figure_of(4.3, 4.1) as (figure, (ax,)):
        draw_panel(panel, result, ax)
        return _save(figure, folder, panel.name)


def write_sweep(sweep: CorrelationSweep, results: Mapping[str, SimulationResult], folder: Path) -> str:
    """Write a sweep's figure to files; return it as SVG for a page."""
    with figure_of(4.3, 4.1) as (figure, (ax,)):
        draw_sweep(sweep, results, ax)
        return _save(figure, folder, sweep.name)


def write_dimensions(dimensions: Dimensions, results: Mapping[str, SimulationResult], folder: Path) -> str:
    """Write the figure of a sweep over the number of options to files; return it as SVG for a page."""
    with figure_of(4.3, 4.1) as (figure, (ax,)):
        draw_dimensions(dimensions, results, ax)
        return _save(figure, folder, dimensions.name)


def _save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure to files of all formats; return the SVG for a page."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not again for every format
    save_figure(figure, [folder / f"{name}{suffix}" for suffix in _FORMATS])
    return _for_a_page((folder / f"{name}.svg").read_text(encoding="utf-8"))


def _for_a_page(svg: str) -> str:
    """Return a figure that takes its width and its colours, light or dark, from the page around it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    opening, rest = svg.split(">", 1)
    svg = re.sub(r' (width|height)="[^"]*"', "", opening) + ' role="img">' + rest.replace("fill: #ffffff", "fill: none")
    variables = {_INK: "ink", MUTED: "muted", GRID: "grid", _OURS: "ours"}
    variables |= {colour: f"line-{k}" for k, colour in enumerate(COLOURS) if colour != _OURS}
    for colour, variable in variables.items():
        svg = re.sub(re.escape(colour), f"var(--{variable})", svg, flags=re.IGNORECASE)
    return svg
