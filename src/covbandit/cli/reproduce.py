"""``covbandit reproduce``."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from covbandit.cli.warmup import compile_kernels
from covbandit.reproduction import panels_named, reproduce
from covbandit.tables import Table

_QUICK_HORIZON = 10_000
_QUICK_REPLICATIONS = 20


def run(
    names: list[str],
    quick: bool,
    horizon: int | None,
    replications: int | None,
    seed: int,
    workers: int | None,
    out: Path,
) -> None:
    """Run the panels named, or all, and print what came out."""
    panels = panels_named(names)
    if quick:
        horizon = _QUICK_HORIZON if horizon is None else horizon
        replications = _QUICK_REPLICATIONS if replications is None else replications
    console, notes = Console(), Console(stderr=True)
    compiled = compile_kernels(notes)
    if compiled > 2:
        notes.print(f"kernels compiled in {compiled:.1f} s; later runs find them in the cache")
    for panel in panels:
        begun = time.monotonic()
        report = reproduce(panel, out, horizon, replications, seed, workers)
        seconds = time.monotonic() - begun
        console.rule(f"{panel.name} ({seconds:.1f} s)")
        _print(console, report.result.summary())
        _print(console, report.verdict_table())
        if report.our_verdicts:
            _print(console, report.our_verdict_table())
        for path in report.files:
            console.print(str(path), soft_wrap=True, highlight=False)


def _print(console: Console, table: Table) -> None:
    shown = RichTable(title=table.title or None, title_justify="left", title_style="", header_style="bold", box=None)
    for name, right in zip(table.columns, table.right_aligned(), strict=True):
        shown.add_column(name, justify="right" if right else "left")
    for row in table.cells():
        shown.add_row(*row)
    console.print(shown)
    console.print()
