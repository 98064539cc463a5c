"""``covbandit reproduce``."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covbandit.cli.errors import explaining_interruption
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from covbandit.data import Returns
    from covbandit.reproduction import Scale
    from covbandit.reproduction.claims import Claim
    from covbandit.reproduction.report import Report

_STYLES = {"holds": "green", "consistent with it": "green", "does not hold": "red", "undecided": "dim"}


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PANEL",
            help="Which; all by default. Panels are fi, sb, fb (full information, semi-bandit, full bandit), then "
            "-synthetic or -etf, at the ρ of the paper's figure; -rho10 or -rho0.1 after that is the other ρ. "
            "fi-correlation … are sweeps over the correlation, fi-lower-bound … hard instances. fi alone is all that "
            "begins with fi.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in half a minute: 20 replications of 10,000 rounds, for sb 500.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="1,000,000 rounds, for sb 100,000: about forty minutes on two cores.")
    ] = False,
    horizon: Annotated[
        int | None, typer.Option(help="Rounds per replication; by default 100,000, for sb 3,000.")
    ] = None,
    replications: Annotated[int | None, typer.Option(help="Independent replications; 50 by default.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers, on any number of workers.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; one per core by default.")] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster whose scheduler is there.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report, figures and results.")] = Path("covbandit-results"),
    etf_file: Annotated[
        Path | None, typer.Option(help="Your copy of the Kaggle file of US funds, in place of our five funds.")
    ] = None,
    funds: Annotated[str | None, typer.Option(help="Which funds of that file: SPY,EFA,TLT,VNQ,XLE.")] = None,
) -> None:
    """Repeat the paper's experiments and judge its statements.

    Writes `report.html` (open it in a browser), `report.md`, `claims.json`, figures and results (load them with
    `cb.SimulationResult.load`). Ctrl-C keeps finished replications; the same command continues. Other settings start a
    new run, and what was computed before is kept.
    """
    from rich.console import Console

    from covbandit.cli.progress import TerminalWatcher, as_duration
    from covbandit.cli.workers import chosen_workers, compile_kernels
    from covbandit.core.validation import as_count
    from covbandit.reproduction import Reproduction, experiments_named
    from covbandit.simulation.locking import holding

    with explaining_interruption():
        again = _command(
            panels or [],
            quick=quick,
            full=full,
            horizon=horizon,
            replications=replications,
            etf_file=etf_file,
            funds=funds,
            seed=seed or None,
        )
        reproduction = Reproduction(
            experiments_named(panels or [], _returns(etf_file, funds)),
            _scale(quick, full, horizon, replications),
            as_count(seed, "seed"),
            out,
            again,
        )
        computing = chosen_workers(workers, dask)
        console, notes = Console(), Console(stderr=True)
        begun = time.monotonic()
        with computing as executor, holding(reproduction.results_folder):
            if dask is None:
                compiled = compile_kernels(notes, most_processes=workers)
                if compiled > 2:
                    notes.print(f"kernels compiled in {compiled:.1f} s; later runs find them in the cache")
            with TerminalWatcher(reproduction.tasks(), notes) as watcher:
                results = reproduction.simulate(executor, watcher)
            replaced = reproduction.replaces()
            if replaced:
                notes.print(
                    f"note: the report of `{replaced}` is replaced; its results are kept",
                    soft_wrap=True,
                    highlight=False,
                )
            with notes.status("drawing figures and writing the report"):
                report = reproduction.write(results, processes=min(workers or os.cpu_count() or 1, 8))
        _print(console, report)
        console.print(f"{out / 'report.html'}", soft_wrap=True, highlight=False)
        notes.print(f"done in {as_duration(time.monotonic() - begun)}")


def _scale(quick: bool, full: bool, horizon: int | None, replications: int | None) -> Scale:
    """Return how many rounds and replications to run."""
    from covbandit.reproduction import FULL, NORMAL, QUICK

    if quick and full:
        raise InvalidInput("--quick and --full contradict each other: give one of them")
    scale = QUICK if quick else FULL if full else NORMAL
    if horizon is not None:
        scale = replace(scale, horizons=dict.fromkeys(scale.horizons, horizon), other_share=1.0)
    if replications is not None:
        scale = replace(scale, replications=replications)
    return scale


def _returns(etf_file: Path | None, funds: str | None) -> Returns | None:
    """Return the user's own fund returns, None if there are none."""
    from covbandit.data import read_etf_file

    if etf_file is None:
        if funds is not None:
            raise InvalidInput("--funds names funds of an --etf-file: give that as well")
        return None
    if funds is None:
        raise InvalidInput("--etf-file needs --funds, the symbols to take from it, such as --funds SPY,EFA,TLT,VNQ,XLE")
    return read_etf_file(etf_file, [fund.strip() for fund in funds.split(",") if fund.strip()])


def _command(names: list[str], **options: object) -> str:
    """Return the command that repeats the run; how it was spread over workers does not matter."""
    import shlex

    words = ["covbandit", "reproduce", *names]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _print(console: Console, report: Report) -> None:
    _print_claims(console, "statement of the paper", report.papers_claims)
    _print_claims(console, "statement of ours, not the paper's", report.our_claims)
    if report.papers_claims:
        console.print(report.in_short, highlight=False)
        console.print(str(report.multiplicity), highlight=False)


def _print_claims(console: Console, heading: str, claims: list[Claim]) -> None:
    if not claims:
        return

    from covbandit.cli.console import print_table
    from covbandit.core.tables import Table
    from covbandit.reproduction.claims import ELSEWHERE, IN_THE_FIGURE

    places = [place for place in (IN_THE_FIGURE, ELSEWHERE) if any(place in claim.parts for claim in claims)]
    rows = []
    styles = {"-": "dim"}
    for claim in claims:
        verdicts = [claim.parts[place].short_verdict if place in claim.parts else "-" for place in places]
        rows.append([claim.source, claim.statement, *verdicts])
        styles |= {verdict: _STYLES.get(verdict, "yellow") for verdict in verdicts if verdict != "-"}
    print_table(console, Table(["where", heading, *places], rows), styles)
