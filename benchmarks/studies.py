"""How fast studies are: as they grow, against Optuna, and as a service; on SQLite and on PostgreSQL.

    python benchmarks/studies.py [--quick] [--store sqlite|postgresql|both] [--out FILE] [growth] [optuna] [service]

Everything that is compared runs in the same run and in turns, and is compared in CPU time (user and system, with that
of PostgreSQL's processes for the connections). PostgreSQL is started for the run on the loopback, with ``fsync`` and
``synchronous_commit`` on, unless ``COVBANDIT_TEST_POSTGRES`` names a server. Optuna and psycopg come with
``pip install 'covbandit[bench]'``. A part that fails is told, and the program ends with status 1.
``PYTHONPATH=OTHER/src python benchmarks/studies.py`` measures another copy of the package.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

from report import Part, Report
from study_growth import measure_growth
from study_optuna import measure_optuna
from study_places import Kind, Place, places
from study_service import measure_service
from timing import Section, machine, versions

PARTS = ("growth", "optuna", "service")
PACKAGES = (
    "numpy",
    "numba",
    "sqlalchemy",
    "psycopg",
    "optuna",
    "fastapi",
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
)


def parts_of(names: Sequence[str], found: Sequence[Place], quick: bool) -> list[Part]:
    """Return what is measured, one after the other."""
    parts: dict[str, Callable[[], Section]] = {
        "service": lambda: measure_service(found, *((0.5, 2) if quick else (4.0, 5))),
        "optuna": lambda: measure_optuna(found, *((100, 15) if quick else (10_000, 200))),
        "growth": lambda: measure_growth(found, *((500, 25) if quick else (100_000, 400))),
    }
    return [(name, measure) for name, measure in parts.items() if name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few rounds and turns: two minutes, and coarse")
    parser.add_argument("--store", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--limit", type=float, default=7_200.0, help="seconds after which a part has failed")
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    kinds: tuple[Kind, ...] = ("sqlite", "postgresql") if options.store == "both" else (options.store,)

    report = Report("studies", "CPU seconds", options.quick, machine(), {}, versions(PACKAGES))
    with places(kinds) as found:
        report.run(parts_of(options.parts or PARTS, found, options.quick), options.limit)
    remark = "A quick run shows that everything works; what is reached needs a run without --quick."
    return report.close(options.out, remark if options.quick else "")


if __name__ == "__main__":
    sys.exit(main())
