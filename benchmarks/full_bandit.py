"""Learning from totals: steps per second, the update of many options, and what GradientTS saves against MC-ETE.

    python benchmarks/full_bandit.py [--quick] [--out FILE.json]

Speed is measured first, in one process and on one thread, in CPU time; run it on a machine that does nothing else.
Regret then uses all cores; it takes about ten minutes on two. A part that fails is told, and the program ends with
status 1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from one_thread import ONE_THREAD

# Before NumPy is imported, or its BLAS has already made its threads.
os.environ.update(ONE_THREAD)

import numpy as np
from full_bandit_instances import COMPARED, HIGH
from full_bandit_regret import measure_long_run, measure_regret
from learner_steps import Contest, measure_contest
from report import Part, Report
from timing import Check, Section, machine, say, versions

import covbandit as cb
from covbandit.core.tables import Table

PACKAGES = ("numpy", "scipy", "numba")


def problem_of(d: int) -> cb.Problem:
    """Return the paper's instance for d = 5, else a random one with three factors."""
    if d == 5:
        return cb.problems.synthetic(10.0)
    return cb.problems.random(d, "factor", seed=1, risk_aversion=1.0)


def learners_of(problem: cb.Problem) -> dict[str, cb.Learner]:
    """Return all learners from totals."""
    d, rho = problem.n_options, problem.risk_aversion
    return {
        "MCETE": cb.MCETE(n_options=d, risk_aversion=rho),
        "OGDETE": cb.OGDETE(n_options=d, risk_aversion=rho),
        "LinearFB": cb.LinearFB(n_options=d),
        "GradientTS": cb.GradientTS(n_options=d, risk_aversion=rho),
    }


CONTEST = Contest(
    problem_of=problem_of,
    learners_of=learners_of,
    base="MCETE",
    start_up=lambda d: 20_000,
    notes=["20,000 rounds are played before time is taken: later, estimates are made anew less often."],
    targets={(5, "MCETE"): 2e6, (5, "GradientTS"): 3e5, (10, "GradientTS"): 8e4},
)


def measure_round(d: int, rounds: int) -> Section:
    """Measure the update that completes a round of MC-ETE with many options."""
    say(f"MC-ETE with {d} options: plays {rounds} rounds")
    learner = cb.MCETE(n_options=d, risk_aversion=1.0)
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((d, 10)) / 4
    actions = d * (d + 1) // 2
    seconds = []
    for _ in range(rounds):
        for k in range(actions):
            weights = learner.ask()
            reward = 0.2 + loadings @ rng.standard_normal(10) + rng.standard_normal(d)
            begun = time.process_time()
            learner.tell(weights, float(weights @ reward))
            if k == actions - 1:
                seconds.append(time.process_time() - begun)
    median = 1e3 * statistics.median(seconds[1:])
    section = Section("round")
    section.data.append({"d": d, "cpu_seconds": seconds})
    section.tables.append(Table(["d", "completing a round, ms"], [[d, median]], "MC-ETE with many options"))
    section.checks.append(Check(f"d = {d}: ms to complete a round of MC-ETE", median, "<=", 50.0, "indicative"))
    return section


def parts(quick: bool) -> list[Part]:
    """Return what is measured, one after the other."""
    horizon, replications, long = (10_000, 10, 10_000) if quick else (1_000_000, 50, 10_000_000)
    return [
        ("steps", lambda: measure_contest(CONTEST, [2, 5, 10, 20], passes=3, budget=0.1 if quick else 0.7)),
        ("round", lambda: measure_round(100 if quick else 300, rounds=3)),
        ("regret", lambda: measure_regret(COMPARED, horizon=horizon, replications=replications)),
        ("long run", lambda: measure_long_run(HIGH, horizon=long, replications=10)),
    ]


def main() -> int:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="short runs, to see that it works: about a minute")
    parser.add_argument("--limit", type=float, default=3_600.0, help="seconds after which a part has failed")
    parser.add_argument("--out", "--json", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args()

    begun = time.monotonic()
    report = Report("full-bandit", "CPU seconds", arguments.quick, machine(), {}, versions(PACKAGES))
    report.run(parts(arguments.quick), arguments.limit)
    remark = "Quick: at T = 10,000 the targets, which are for T = 1,000,000, say little." if arguments.quick else ""
    status = report.close(arguments.out, remark)
    say(f"done in {time.monotonic() - begun:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
