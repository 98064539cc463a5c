"""``covbandit simulate``."""

from __future__ import annotations

import warnings
from pathlib import Path

from rich.console import Console

from covbandit.cli.crew import crew
from covbandit.cli.printing import print_table, wrapped
from covbandit.cli.progress import TerminalWatcher
from covbandit.cli.warmup import compile_kernels
from covbandit.errors import SetupWarning
from covbandit.simulation.locking import holding
from covbandit.specifications import load


def run(
    path: Path,
    out: Path | None,
    check: bool,
    horizon: int | None,
    replications: int | None,
    seed: int | None,
    workers: int | None,
    dask: str | None,
) -> None:
    """Run a specification; print its table and where everything is."""
    console, notes = Console(), Console(stderr=True)
    who = crew(workers, dask)
    with warnings.catch_warnings(record=True) as remarked:  # a learner is made for every problem: each remark once
        warnings.simplefilter("always", SetupWarning)
        specification = load(path, horizon=horizon, replications=replications, seed=seed)
    for note in dict.fromkeys([*specification.notes, *(str(each.message) for each in remarked)]):
        notes.print(f"note: {note}", soft_wrap=True, highlight=False, markup=False)
    if check:
        print_table(console, specification.overview())
        for line in wrapped(f"learners: {'; '.join(specification.learners)}", console.width):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        return
    folder = out if out is not None else Path(f"{specification.name}-results")
    with who as executor, holding(folder):
        if dask is None:
            compile_kernels(notes, most_processes=workers)
        with TerminalWatcher(specification.tasks(), notes) as watcher:
            sweep = specification.run(folder, executor, watcher)
        files, remarks = sweep.write(folder)
    print_table(console, sweep.summary())
    for file in files:
        console.print(str(file), soft_wrap=True, highlight=False, markup=False)
    for remark in remarks:
        notes.print(remark, soft_wrap=True, highlight=False, markup=False)
