"""Small multiples: one picture per simulation, the same learners in the same colours, on the same axes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from covbandit.specifications.sweep import Sweep

_WIDTH, _HEIGHT = 3.4, 2.6  # inches, of one picture
_MOST_COLUMNS = 4
_LEGEND_LINE = 0.26  # inches


def small_multiples(sweep: Sweep) -> Figure:
    """Draw the results of a sweep."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from covbandit.simulation.plotting import literal

    rows, columns = _layout(sweep)
    single = rows * columns == 1
    width, height = (6.4, 4.4) if single else (_WIDTH * columns, _HEIGHT * rows)
    across = max(1, int(width / 2.6))  # entries of the legend side by side
    legend = _LEGEND_LINE * ceil(len(sweep.learners) / across)
    figure = Figure(figsize=(width, height + legend), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax, result, label in zip(grid.flat, sweep.results, sweep.labels, strict=False):
        result.plot(ax)
        ax.xaxis.set_minor_formatter(NullFormatter())  # in less than a decade labels would run into each other
        shown = ax.get_legend()
        if shown is not None:
            shown.remove()
        ax.set_title(literal(label), fontsize="small")
    for position, ax in enumerate(grid.flat):
        if position >= len(sweep.results):
            ax.remove()
            continue
        below = position + columns < len(sweep.results)
        if below:
            ax.set_xlabel("")
        else:
            ax.tick_params(labelbottom=True)
        if position % columns:
            ax.set_ylabel("")
    names = {ax.get_ylabel() for ax in figure.axes} - {""}
    if not single and len(names) == 1:  # once for all: beside small pictures long ones would run into other labels
        figure.supylabel(names.pop(), fontsize="medium")
        for ax in figure.axes:
            ax.set_ylabel("")
    entries: dict[str, Artist] = {}
    for ax in figure.axes:
        entries |= {label: line for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=across, frameon=False, fontsize="small"
    )
    figure.suptitle(literal(sweep.title))
    return figure


def _layout(sweep: Sweep) -> tuple[int, int]:
    """Return rows and columns: with two lists, one down and one across; else in reading order."""
    count = len(sweep.results)
    keys = {key for swept in sweep.swept for key in swept}
    if len(keys) == 2 and all(len(swept) == 2 for swept in sweep.swept):
        last = list(sweep.swept[0])[-1]
        across = len({str(swept[last]) for swept in sweep.swept})
        if across <= 2 * _MOST_COLUMNS and count % across == 0:
            return count // across, across
    columns = min(count, _MOST_COLUMNS if count > _MOST_COLUMNS or count == 4 else count)
    return ceil(count / columns), columns
