"""What the simulations of a specification gave: one table, small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covbandit.core.files import replacing
from covbandit.core.tables import Table, data_frame
from covbandit.errors import MissingExtra
from covbandit.simulation.result import SimulationResult
from covbandit.specifications.sweep_tables import label_of, value_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FIGURES = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Sweep:
    """The results of several simulations of the same learners.

    Attributes
    ----------
    title : str
        For figures.
    swept : tuple of dict
        What tells each simulation apart.
    results : tuple of SimulationResult
        One per simulation.
    learners : dict
        The learners' names, each with the values that tell it apart from others of its kind.
    rounds : tuple of int
        Those that `table` reports besides the last of each simulation.
    """

    title: str
    swept: tuple[dict[str, Any], ...]
    results: tuple[SimulationResult, ...]
    learners: dict[str, dict[str, Any]]
    rounds: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Sweep({self.title!r}: {len(self.results)} simulation(s) of {', '.join(self.learners)})"

    @property
    def labels(self) -> list[str]:
        """What tells each simulation apart, in words."""
        return [label_of(swept) for swept in self.swept]

    def summary(self, checkpoint: int | None = None) -> Table:
        """Return a row per simulation and learner, after some round (by default the last)."""
        tables = [result.summary(checkpoint) for result in self.results]
        points = _columns(self.swept)
        rows = [
            [*(cells[k] for cells in points.values()), *row] for k, table in enumerate(tables) for row in table.rows
        ]
        return Table([*points, *tables[0].columns], rows, self._headline([table.title for table in tables]))

    def _headline(self, titles: list[str]) -> str:
        """Return the title that all simulations have, or else a line for each: they may differ in their rounds."""
        if len(set(titles)) == 1:
            return titles[0]
        return "\n".join(f"{label}: {title}" for label, title in zip(self.labels, titles, strict=True))

    def table(self) -> Table:
        """Return a row per simulation, learner and reported round, with what was swept in columns of its own."""
        points = _columns(self.swept)
        own = _columns(list(self.learners.values()))
        place = {name: k for k, name in enumerate(self.learners)}
        rows: list[list[object]] = []
        measures: list[str] = []
        for k, result in enumerate(self.results):
            for here in sorted({*self.rounds, result.horizon}):
                table = result.summary(here)
                measures = table.columns[1:]
                for name, *values in table.rows:
                    at = place.get(str(name))  # the best constant weights of a replay are no learner of ours
                    settings = [None if at is None else cells[at] for cells in own.values()]
                    rows.append([*(cells[k] for cells in points.values()), name, *settings, here, *values])
        apart = [f"learner.{key}" if key in points else key for key in own]
        return Table([*points, "learner", *apart, "round", *measures], rows, self.title)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per simulation, learner, replication and checkpoint, as a pandas DataFrame."""
        columns: dict[str, list[Any]] = {}
        points = _columns(self.swept)
        for k, result in enumerate(self.results):
            frame = result.to_frame()
            for key, cells in points.items():
                columns.setdefault(key, []).extend([cells[k]] * len(frame))
            for name in frame.columns:
                columns.setdefault(str(name), []).extend(frame[name].tolist())
        return data_frame(columns)

    def plot(self) -> Figure:
        """Draw one picture per simulation, with the same learners in the same colours on the same axes."""
        from covbandit.specifications.figure import small_multiples

        return small_multiples(self)

    def write(self, folder: str | Path) -> tuple[list[Path], list[str]]:
        """Write the table (CSV, LaTeX and, with pyarrow, Parquet) and the figure (PNG, SVG, PDF).

        Returns
        -------
        files : list of Path
            What was written.
        notes : list of str
            What was not, and why.
        """
        from covbandit.simulation.plotting import save_figure

        folder = Path(folder)
        table, notes = self.table(), []
        files = [folder / "table.csv", folder / "table.tex"]
        for file, text in zip(files, (table.to_csv(), table.to_latex() + "\n"), strict=True):
            with replacing(file) as target:
                target.write(text.encode())
        try:
            table.to_parquet(folder / "table.parquet")
            files.append(folder / "table.parquet")
        except MissingExtra as error:
            notes.append(f"table.parquet was not written: {error}")
        pictures = [folder / f"figure.{suffix}" for suffix in _FIGURES]
        save_figure(self.plot(), pictures)
        return [*files, *pictures], notes


def _columns(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what was swept as columns, None where it was not; numbers become text if lists or text are among them."""
    columns = {}
    for key in dict.fromkeys(key for values in settings for key in values):
        cells = [values.get(key) for values in settings]
        numbers = all(isinstance(cell, int | float | None) for cell in cells)
        columns[key] = cells if numbers else [None if cell is None else value_label(cell) for cell in cells]
    return columns
