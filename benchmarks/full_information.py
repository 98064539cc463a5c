"""How fast full-information learning is: against its floor, against public solvers, and as the problem grows.

    python benchmarks/full_information.py [--quick] [--out FILE.json]

One run measures everything in CPU time (user and system), on one thread, contestants in turns. Peers that are not
installed are listed and left out; ``pip install 'covbandit[bench]'`` installs them all. A part that fails is told, and
the program ends with status 1. ``PYTHONPATH=OTHER/src python benchmarks/full_information.py`` measures another copy.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

import solves
import steps
from peers import missing_peers
from processes import measure_cold_start, measure_memory
from report import Part, Report
from timing import machine, versions

PACKAGES = ("numpy", "scipy", "numba", "quadprog", "daqp", "piqp", "clarabel", "cvxpy", "skfolio")


def parts(quick: bool) -> list[Part]:
    """Return what is measured, one after the other."""
    passes = 3 if quick else 7
    budget = 0.05 if quick else 0.3  # CPU seconds per pass and contestant, unless one unit of work takes longer
    horizons = [10**k for k in range(4, 7 if quick else 8)]
    dimensions = [5, 10, 20, 50, 100] if quick else [5, 10, 20, 50, 100, 200, 500]
    played, solved = (steps.QUICK_ROUNDS, solves.QUICK_ROUNDS) if quick else (steps.ROUNDS, solves.ROUNDS)
    return [
        ("step", lambda: steps.measure_steps(played, passes, budget)),
        ("solve", lambda: solves.measure_solves(solved, passes, budget)),
        ("cold", lambda: solves.measure_cold(100 if quick else 500, 6, passes, budget)),
        ("growth", lambda: steps.measure_growth(horizons, dimensions, 2_000 if quick else 5_000, passes, budget)),
        ("memory", lambda: measure_memory(horizons)),
        ("cold start", lambda: measure_cold_start(1 if quick else 3, everything=not quick)),
    ]


def main() -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer passes, T up to 1e6, d up to 100: two minutes")
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds after which a part has failed")
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args()

    report = Report("full information", "CPU seconds", arguments.quick, machine(), missing_peers(), versions(PACKAGES))
    report.run(parts(arguments.quick), arguments.limit)
    return report.close(
        arguments.out, "Checks at d = 500 and of compilation need a run without --quick." if arguments.quick else ""
    )


if __name__ == "__main__":
    sys.exit(main())
