"""How fast full-information learning is: against its floor, against public solvers, and as the problem grows.

    python benchmarks/full_information.py [--quick] [--out FILE.json]

One run measures everything, in one process and on one thread, contestants in turns. Peers that are not installed are
listed and left out; ``pip install 'covbandit[bench]'`` installs them all. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

import solves
import steps
from peers import missing_peers
from processes import measure_cold_start, measure_memory
from report import Report
from timing import Check, Section, machine, versions

from covbandit.tables import Table

PACKAGES = ("numpy", "scipy", "numba", "quadprog", "daqp", "piqp", "clarabel", "cvxpy", "skfolio")


def measure(quick: bool) -> Iterator[Section]:
    """Run the sections one after the other."""
    passes = 3 if quick else 7
    budget = 0.1 if quick else 0.3  # seconds per pass and contestant, unless one unit of work takes longer
    horizons = [10**k for k in range(4, 7 if quick else 8)]
    dimensions = [5, 10, 20, 50, 100] if quick else [5, 10, 20, 50, 100, 200, 500]
    yield steps.measure_steps(steps.QUICK_ROUNDS if quick else steps.ROUNDS, passes, budget)
    yield solves.measure_solves(solves.QUICK_ROUNDS if quick else solves.ROUNDS, passes, budget)
    yield solves.measure_cold(100 if quick else 500, 6, passes, budget)
    yield steps.measure_growth(horizons, dimensions, 5_000, passes, budget)
    yield measure_memory(horizons)
    yield measure_cold_start(1 if quick else 3)


def verdicts(checks: list[Check]) -> Table:
    """Return the table of what was to be reached."""
    rows = [[check.what, check.measured, f"{check.relation} {check.target:,g}", check.verdict] for check in checks]
    return Table(["check", "measured", "target", "verdict"], rows, "To be reached (met, missed: indicative targets)")


def main() -> None:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer passes, T up to 1e6, d up to 100: about a minute")
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args()

    report = Report("full information", "seconds", arguments.quick, machine(), missing_peers(), versions(PACKAGES))
    report.run(measure(arguments.quick))
    print()
    print(verdicts(report.checks))
    if arguments.quick:
        print("Checks at d = 500 need a run without --quick.")
    if arguments.out is not None:
        report.write(arguments.out)


if __name__ == "__main__":
    main()
