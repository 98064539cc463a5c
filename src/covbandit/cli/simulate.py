"""``covbandit simulate``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from covbandit.cli.errors import explaining_interruption
from covbandit.errors import InvalidInput, SetupWarning


def simulate(
    specification: Annotated[
        Path | None, typer.Argument(metavar="SPEC.toml", help="What to simulate.", show_default=False)
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a commented specification that runs as it is, and stop.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the specification and say what would run, and stop.")
    ] = False,
    horizon: Annotated[int | None, typer.Option(help="Rounds, instead of those in the file.")] = None,
    replications: Annotated[int | None, typer.Option(help="Replications, instead of those in the file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed, instead of the one in the file.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core by default.")] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Scheduler of a running Dask cluster to use instead: tcp://127.0.0.1:8786."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results; by default named after the file.", show_default=False)
    ] = None,
) -> None:
    """Simulate what a TOML file describes: problem, learners, rewards, rounds; lists become sweeps.

    **Start here**

    `covbandit simulate --example > my.toml`  a commented file to edit

    `covbandit simulate my.toml --check`  what it would run; all mistakes at once, each with its line and the way out

    `covbandit simulate my.toml`  run it

    A list where one value is expected (`risk_aversion = [0.1, 1.0]`) is a sweep: of simulations if it stands under
    `[problem]` or `[environment]`, of learners under `[[learners]]`. The folder then holds one table of everything
    (`table.csv`, `.tex`, `.parquet`), one figure with a picture per simulation (`figure.png`, `.svg`, `.pdf`), and the
    results (`.npz`, load with `cb.SimulationResult.load`).

    Same file, same numbers: on any number of threads, and on a Dask cluster. Ctrl-C keeps finished replications, and
    so does a crash; the same command continues. More replications, or more values in a list, compute only what is new.
    """
    from covbandit import specifications

    if example:
        typer.echo(specifications.example(), nl=False)
        return
    if specification is None:
        raise InvalidInput("no specification: name a TOML file, or print one to start from with --example")

    from rich.console import Console

    from covbandit.cli.console import print_table, wrapped
    from covbandit.cli.progress import TerminalWatcher
    from covbandit.cli.workers import chosen_workers, compile_kernels
    from covbandit.simulation.locking import holding

    with explaining_interruption():
        console, notes = Console(), Console(stderr=True)
        computing = chosen_workers(workers, dask)
        with warnings.catch_warnings(record=True) as remarked:  # a learner is made for every problem: each remark once
            warnings.simplefilter("always", SetupWarning)
            loaded = specifications.load(specification, horizon=horizon, replications=replications, seed=seed)
        for note in dict.fromkeys([*loaded.notes, *(str(each.message) for each in remarked)]):
            notes.print(f"note: {note}", soft_wrap=True, highlight=False, markup=False)
        if check:
            print_table(console, loaded.overview())
            for line in wrapped(f"learners: {'; '.join(loaded.learners)}", console.width):
                console.print(line, soft_wrap=True, highlight=False, markup=False)
            return
        folder = out if out is not None else Path(f"{loaded.name}-results")
        with computing as executor, holding(folder):
            if dask is None:
                compile_kernels(notes, most_processes=workers)
            with TerminalWatcher(loaded.tasks(), notes) as watcher:
                sweep = loaded.run(folder, executor, watcher)
            files, remarks = sweep.write(folder)
        print_table(console, sweep.summary())
        for file in files:
            console.print(str(file), soft_wrap=True, highlight=False, markup=False)
        for remark in remarks:
            notes.print(remark, soft_wrap=True, highlight=False, markup=False)
