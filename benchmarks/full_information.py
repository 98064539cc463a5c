"""How fast full-information learning is: against its floor, against public solvers, and as the problem grows.

    python benchmarks/full_information.py [--quick] [--out FILE.json]

One run measures everything, in one process and on one thread, contestants in turns. Peers that are not installed are
listed and left out; ``pip install 'covbandit[bench]'`` installs them all. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(
    OPENBLAS_NUM_THREADS="1",
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    VECLIB_MAXIMUM_THREADS="1",
    NUMBA_NUM_THREADS="1",
    RAYON_NUM_THREADS="1",
)

import solves
import steps
from peers import missing_peers
from processes import measure_cold_start, measure_memory
from timing import Check, Section, machine, say, show, versions

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

    here, missing = machine(), missing_peers()
    print(f"{here['processor']}, {here['cores']} cores, one thread used; load before: {here['load_before']}")
    for requirement in dict.fromkeys(missing.values()):
        names = ", ".join(name for name, needed in missing.items() if needed == requirement)
        print(f"left out: {names}; pip install '{requirement}'")
    sections = []
    for section in measure(arguments.quick):
        show(section)
        sections.append(section)
    checks = [check for section in sections for check in section.checks]
    print()
    print(verdicts(checks))
    if arguments.quick:
        print("Checks at d = 500 need a run without --quick.")
    if arguments.out is not None:
        report = {
            "benchmark": "full information",
            "quick": arguments.quick,
            "threads": 1,
            "machine": here,
            "versions": versions(PACKAGES),
            "missing_peers": missing,
            "unit": "seconds",
            "sections": {section.name: {"notes": section.notes, "rows": section.data} for section in sections},
            "checks": [check.to_dict() for check in checks],
        }
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")
        say(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
