"""``covbandit reproduce``."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from covbandit.cli.crew import crew
from covbandit.cli.printing import print_table
from covbandit.cli.progress import TerminalWatcher, as_duration
from covbandit.cli.warmup import compile_kernels
from covbandit.core.tables import Table
from covbandit.core.validation import as_count
from covbandit.data import Returns, read_etf_file
from covbandit.errors import InvalidInput
from covbandit.reproduction import FULL, NORMAL, QUICK, Reproduction, Scale, experiments_named
from covbandit.reproduction.claims import ELSEWHERE, IN_THE_FIGURE, Claim
from covbandit.reproduction.report import Report
from covbandit.simulation.locking import holding

_STYLES = {"holds": "green", "consistent with it": "green", "does not hold": "red", "undecided": "dim"}


@dataclass(frozen=True)
class Options:
    """What stood on the command line."""

    names: list[str]
    quick: bool
    full: bool
    horizon: int | None
    replications: int | None
    seed: int
    workers: int | None
    dask: str | None
    out: Path
    etf_file: Path | None
    funds: str | None


def run(options: Options) -> None:
    """Run what was asked for and print the verdicts."""
    reproduction = Reproduction(
        experiments_named(options.names, _returns(options)),
        _scale(options),
        as_count(options.seed, "seed"),
        options.out,
        _command(options),
    )
    who = crew(options.workers, options.dask)
    console, notes = Console(), Console(stderr=True)
    begun = time.monotonic()
    with who as workers, holding(reproduction.results_folder):
        if options.dask is None:
            compiled = compile_kernels(notes, most_processes=options.workers)
            if compiled > 2:
                notes.print(f"kernels compiled in {compiled:.1f} s; later runs find them in the cache")
        with TerminalWatcher(reproduction.tasks(), notes) as watcher:
            results = reproduction.simulate(workers, watcher)
        replaced = reproduction.replaces()
        if replaced:
            notes.print(
                f"note: the report of `{replaced}` is replaced; its results are kept", soft_wrap=True, highlight=False
            )
        with notes.status("drawing figures and writing the report"):
            report = reproduction.write(results, processes=min(options.workers or os.cpu_count() or 1, 8))
    _print(console, report)
    console.print(f"{options.out / 'report.html'}", soft_wrap=True, highlight=False)
    notes.print(f"done in {as_duration(time.monotonic() - begun)}")


def _scale(options: Options) -> Scale:
    if options.quick and options.full:
        raise InvalidInput("--quick and --full contradict each other: give one of them")
    scale = QUICK if options.quick else FULL if options.full else NORMAL
    if options.horizon is not None:
        scale = replace(scale, horizons=dict.fromkeys(scale.horizons, options.horizon), other_share=1.0)
    if options.replications is not None:
        scale = replace(scale, replications=options.replications)
    return scale


def _returns(options: Options) -> Returns | None:
    if options.etf_file is None:
        if options.funds is not None:
            raise InvalidInput("--funds names funds of an --etf-file: give that as well")
        return None
    if options.funds is None:
        raise InvalidInput("--etf-file needs --funds, the symbols to take from it, such as --funds SPY,EFA,TLT,VNQ,XLE")
    return read_etf_file(options.etf_file, [fund.strip() for fund in options.funds.split(",") if fund.strip()])


def _command(options: Options) -> str:
    """Return the command that repeats the run; how it was spread over workers does not matter."""
    words = ["covbandit", "reproduce", *options.names]
    words += [f"--{name}" for name in ("quick", "full") if getattr(options, name)]
    for name in ("horizon", "replications", "etf_file", "funds"):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    if options.seed:
        words += ["--seed", str(options.seed)]
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
    places = [place for place in (IN_THE_FIGURE, ELSEWHERE) if any(place in claim.parts for claim in claims)]
    rows = []
    styles = {"-": "dim"}
    for claim in claims:
        verdicts = [claim.parts[place].short_verdict if place in claim.parts else "-" for place in places]
        rows.append([claim.source, claim.statement, *verdicts])
        styles |= {verdict: _STYLES.get(verdict, "yellow") for verdict in verdicts if verdict != "-"}
    print_table(console, Table(["where", heading, *places], rows), styles)
