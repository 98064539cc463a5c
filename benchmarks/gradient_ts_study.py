"""GradientTS's defaults: the comparisons that chose them, and their confirmation on seeds that had no part in it.

    python benchmarks/gradient_ts_study.py choose  [--quick] [--horizon T] [--only NAME ...] [--out FILE.json]
    python benchmarks/gradient_ts_study.py confirm [--quick] [--horizon T] [--out FILE.json]

*choose* changes one argument at a time and reports regret as a multiple of the default's, averaged (geometrically) over
the instances of `full_bandit_instances.py` and 12 random ones, with the worst instance, and the worst replication as a
multiple of the default's worst.
*confirm* plays the default on 24 other random instances beside MC-ETE and equal weights, and on twenty options, on
fresh seeds; it asks for less regret than MC-ETE's on average from T = 1,000 on and for no replication that is stuck:
one that grows with a log-log slope above .9 in the last decade and has paid more than MC-ETE on average. The slope
alone says little where next to nothing was paid before; how many have it is printed.

Both print a line per instance as they go.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from full_bandit_instances import COMPARED, HARD, Instance, random_instances
from numpy.typing import NDArray

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64

CHOOSE_SEED, CONFIRM_SEED = 7, 20_261_222
CHECKPOINTS = (50, 200, 1_000, 10_000, 100_000)
STEEPEST = 0.9
DEFAULT, ETE, EQUAL = "GradientTS", "MC-ETE", "equal weights"


def rounds_of_design(count: float) -> Any:
    """Return a start-up of so many times the number of design actions."""
    return lambda d: {"start_up": max(2, round(count * d * (d + 1) / 2))}


def fixed(**arguments: Any) -> Any:
    """Return the same arguments for every d."""
    return lambda d: arguments


VARIANTS = {
    "start-up: 1 round": rounds_of_design(1),
    "start-up: 2 rounds": rounds_of_design(2),
    "start-up: 6 rounds": rounds_of_design(6),
    "start radius .25": fixed(start_radius=0.25),
    "start radius 1": fixed(start_radius=1.0),
    "forced 0": fixed(forced=0.0),
    "forced .1": fixed(forced=0.1),
    "forced .5": fixed(forced=0.5),
    "refresh .001": fixed(refresh=0.001),
    "refresh .02": fixed(refresh=0.02),
    "refresh .05": fixed(refresh=0.05),
    "sampling .5": fixed(sampling=0.5),
    "sampling .7": fixed(sampling=0.7),
    "sampling 1.4": fixed(sampling=1.4),
    "least sampling .2": fixed(least_sampling=0.2),
    "least sampling .5": fixed(least_sampling=0.5),
    "no shrinkage": fixed(least_sampling=1.0),
    "curvature sampling 0": fixed(curvature_sampling=0.0),
    "curvature sampling .25": fixed(curvature_sampling=0.25),
    "curvature sampling 1": fixed(curvature_sampling=1.0),
    "prior 1": fixed(prior=1.0),
    "prior 2": fixed(prior=2.0),
    "prior 8": fixed(prior=8.0),
    "clip 1.5": fixed(clip=1.5),
    "clip 6": fixed(clip=6.0),
    "clip none": fixed(clip=1e9),
}


def gradient_ts(problem: cb.Problem, **arguments: Any) -> cb.Learner:
    """Return GradientTS for a problem."""
    return cb.GradientTS(n_options=problem.n_options, risk_aversion=problem.risk_aversion, **arguments)


def play(
    instance: Instance, learners: dict[str, cb.Learner], horizon: int, replications: int, seed: int
) -> dict[str, F64]:
    """Return the regret [replication, checkpoint] of each learner."""
    result = cb.simulate(
        instance.problem,
        learners,
        horizon,
        replications,
        seed,
        environment=instance.environment,
        checkpoints=[t for t in CHECKPOINTS if t < horizon],
        progress=False,
    )
    return {name: result.regret[k] for k, name in enumerate(result.learners)}


def progress(k: int, count: int, instance: Instance, begun: float) -> None:
    """Say how far it is."""
    print(f"{k + 1} of {count}: {instance} ({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True)


def choose(quick: bool, horizon: int, only: list[str]) -> dict[str, Any]:
    """Compare values of every argument."""
    replications = 4 if quick else 16
    instances = [*COMPARED, *HARD, *random_instances(CHOOSE_SEED, 4 if quick else 12)]
    variants = {name: make for name, make in VARIANTS.items() if not only or any(part in name for part in only)}
    begun = time.monotonic()
    ratios: dict[str, list[F64]] = {name: [] for name in variants}
    worst: dict[str, list[float]] = {name: [] for name in variants}
    for k, instance in enumerate(instances):
        d = instance.problem.n_options
        learners = {DEFAULT: gradient_ts(instance.problem)}
        learners |= {name: gradient_ts(instance.problem, **make(d)) for name, make in variants.items()}
        regret = play(instance, learners, horizon, replications, 1_000 + k)
        for name in variants:
            ratios[name].append(regret[name].mean(axis=0) / regret[DEFAULT].mean(axis=0))
            worst[name].append(float(regret[name][:, -1].max() / regret[DEFAULT][:, -1].max()))
        progress(k, len(instances), instance, begun)
    checkpoints = [t for t in CHECKPOINTS if t <= horizon]
    columns = ["changed", *(f"T = {t:,}" for t in checkpoints), "worst instance", "worst replications"]
    rows: list[list[object]] = []
    for name in variants:
        logs = np.log(np.array(ratios[name]))
        at = int(np.argmax(logs[:, -1]))
        rows.append(
            [
                name,
                *np.exp(logs.mean(axis=0)).tolist(),
                f"{np.exp(logs[at, -1]):.2f} ({instances[at].name})",
                float(np.exp(np.mean(np.log(worst[name])))),
            ]
        )
    print(Table(columns, rows, f"Regret as a multiple of the default's; {len(instances)} instances"))
    return {"table": [dict(zip(columns, row, strict=True)) for row in rows]}


def steep(regret: F64) -> NDArray[np.bool_]:
    """Return which replications still grow nearly linearly in the last decade."""
    slope = np.log10(np.maximum(regret[:, -1], 1e-9) / np.maximum(regret[:, -2], 1e-9))
    return np.asarray(slope > STEEPEST)


def confirm(quick: bool, horizon: int) -> dict[str, Any]:
    """Judge the defaults."""
    replications = 3 if quick else 10
    instances = random_instances(CONFIRM_SEED, 4 if quick else 24)
    twenty = cb.problems.random(20, "factor", seed=CONFIRM_SEED, risk_aversion=1.0)
    begun = time.monotonic()
    runs = []
    for k, instance in enumerate([*instances, Instance("twenty options", twenty)]):
        d, rho = instance.problem.n_options, instance.problem.risk_aversion
        learners = {
            DEFAULT: gradient_ts(instance.problem),
            ETE: cb.MCETE(n_options=d, risk_aversion=rho),
            EQUAL: cb.FixedWeights(n_options=d),
        }
        runs.append(play(instance, learners, horizon, replications, CONFIRM_SEED + k))
        progress(k, len(instances) + 1, instance, begun)
    checkpoints = [t for t in CHECKPOINTS if t <= horizon]
    columns = ["regret of GradientTS, as a multiple of", *(f"T = {t:,}" for t in checkpoints)]
    rows: list[list[object]] = []
    for other in (ETE, EQUAL):
        logs = [np.log(run[DEFAULT].mean(axis=0) / run[other].mean(axis=0)) for run in runs]
        rows.append([other, *np.exp(np.mean(logs, axis=0)).tolist()])
    rows.append([f"{ETE}, twenty options", *(runs[-1][DEFAULT].mean(axis=0) / runs[-1][ETE].mean(axis=0)).tolist()])
    print(Table(columns, rows, f"On average over {len(runs)} instances, {replications} replications each"))
    count = sum(int(steep(run[DEFAULT]).sum()) for run in runs)
    stuck = sum(int((steep(run[DEFAULT]) & (run[DEFAULT][:, -1] > run[ETE][:, -1].mean())).sum()) for run in runs)
    print(f"replications with a slope above {STEEPEST:g} in the last decade: {count} of {len(runs) * replications}")
    against = [float((run[DEFAULT].max(axis=0) / run[ETE].max(axis=0))[-1]) for run in runs]
    print(f"worst replication over MC-ETE's worst at T = {horizon:,}: {max(against):.2f} at most, over the instances")
    late = [rows[0][1 + checkpoints.index(t)] for t in checkpoints if t >= 1_000]
    verdicts = {
        "less regret than MC-ETE on average from T = 1,000 on": all(float(str(ratio)) < 1 for ratio in late),
        "none of these has paid more than MC-ETE does on average": stuck == 0,
    }
    for requirement, met in verdicts.items():
        print(f"{'met' if met else 'MISSED'}: {requirement}")
    return {
        "ratios": [dict(zip(columns, row, strict=True)) for row in rows],
        "steep": count,
        "stuck": stuck,
        "worst": against,
        "verdicts": verdicts,
    }


def main() -> None:
    """Run one part of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["choose", "confirm"])
    parser.add_argument("--quick", action="store_true", help="few instances, short: to see that it works")
    parser.add_argument("--horizon", type=int, choices=CHECKPOINTS[2:], help="10,000 to choose, 100,000 to confirm")
    parser.add_argument("--only", nargs="*", default=[], help="choose: only variants with these words in their names")
    parser.add_argument("--out", type=Path, help="write what was measured as JSON")
    arguments = parser.parse_args()
    if arguments.part == "choose":
        measured = choose(arguments.quick, arguments.horizon or 10_000, arguments.only)
    else:
        measured = confirm(arguments.quick, arguments.horizon or (10_000 if arguments.quick else 100_000))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
