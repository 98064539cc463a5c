"""How good and how fast semi-bandit decisions are: the optimistic maximiser against SCIP, thresholds, steps per second.

    python benchmarks/semi_bandit.py [--quick] [--out FILE.json]

One run measures everything, in one process and on one thread, both sides of each ratio in turns and in CPU time. Peers
that are not installed are listed and left out; ``pip install 'covbandit[bench]'`` installs them all. A part that fails
is told, and the program ends with status 1. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

import optimistic
from learner_steps import measure_contest
from peers.scip import ScipPeer
from peers.semicontinuous import SkfolioThresholdPeer
from report import Part, Report
from semi_bandit_steps import CONTEST
from thresholds import measure_thresholds
from timing import machine, say, versions

PACKAGES = ("numpy", "scipy", "numba", "pyscipopt", "cvxpy", "cvxpy-base", "skfolio")


def parts(quick: bool) -> list[Part]:
    """Return what is measured, one after the other."""
    last, moments = (2_800, 2) if quick else (5_000, 4)
    rhos = (1.0,) if quick else (0.1, 1.0, 10.0)
    budget = 0.1 if quick else 0.7
    return [
        ("maximizer", lambda: optimistic.measure_maximizer(optimistic.QUICK_CASES if quick else optimistic.CASES)),
        ("many options", lambda: optimistic.measure_many_options(50, last=last, moments=moments, ascents=200)),
        ("thresholds", lambda: measure_thresholds([5, 10, 20], rhos, limit=2.0 if quick else 10.0)),
        ("steps", lambda: measure_contest(CONTEST, [5, 10, 20, 50], passes=3, budget=budget)),
    ]


def missing_peers() -> dict[str, str]:
    """Return what to pass to ``pip install``, by name of the peer that is absent or too old."""
    missing: dict[str, str] = {}
    for peer, requirement in ((ScipPeer, "pyscipopt>=6.0"), (SkfolioThresholdPeer, "covbandit[bench]")):
        try:
            peer(2, 0.1)
        except ImportError:
            missing[peer.name] = requirement
    return missing


def main() -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer instances, SCIP stopped early: about 90 seconds")
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds after which a part has failed")
    parser.add_argument("--out", "--json", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args()

    begun = time.monotonic()
    report = Report("semi-bandit", "CPU seconds", arguments.quick, machine(), missing_peers(), versions(PACKAGES))
    report.run(parts(arguments.quick), arguments.limit)
    remarks = ["Ratios to SCIP were not measured."] if ScipPeer.name in report.missing_peers else []
    if arguments.quick:
        remarks.append("Quick: few instances, so shares are coarse; SCIP is stopped early: its times are lower bounds.")
    status = report.close(arguments.out, "\n".join(remarks))
    say(f"done in {time.monotonic() - begun:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
