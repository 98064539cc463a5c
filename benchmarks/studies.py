"""How fast studies are: as they grow, against Optuna, and as a service; on SQLite and on PostgreSQL.

    python benchmarks/studies.py [--quick] [--store sqlite|postgresql|both] [--out FILE] [growth] [optuna] [service]

Everything that is compared runs in the same run and in turns. PostgreSQL is started for the run on the loopback, with
``fsync`` and ``synchronous_commit`` on, unless ``COVBANDIT_TEST_POSTGRES`` names a server. Optuna and psycopg come with
``pip install 'covbandit[bench]'``. Run it on a machine, and a disk, that do nothing else.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

from report import Report
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


def measure(parts: Sequence[str], found: Sequence[Place], quick: bool) -> Iterator[Section]:
    """Run the parts one after the other."""
    if "service" in parts:
        yield measure_service(found, *((1.0, 3) if quick else (4.0, 5)))
    if "optuna" in parts:
        yield measure_optuna(found, *((200, 20) if quick else (10_000, 200)))
    if "growth" in parts:
        yield measure_growth(found, *((2_000, 50) if quick else (100_000, 400)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few rounds and turns: a few minutes, and no verdict")
    parser.add_argument("--store", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    kinds: tuple[Kind, ...] = ("sqlite", "postgresql") if options.store == "both" else (options.store,)

    report = Report("studies", "seconds", options.quick, machine(), {}, versions(PACKAGES))
    with places(kinds) as found:
        report.run(measure(options.parts or PARTS, found, options.quick))
    print()
    print(report.verdicts())
    if options.quick:
        print("A quick run shows that everything works; what is reached needs a run without --quick.")
    if options.out is not None:
        report.write(options.out)


if __name__ == "__main__":
    main()
