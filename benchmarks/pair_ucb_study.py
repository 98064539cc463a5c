"""PairUCB's default bonus: the comparison that chose it, and its confirmation on seeds that had no part in it.

    python benchmarks/pair_ucb_study.py choose  [--quick] [--horizon T] [--out FILE.json]
    python benchmarks/pair_ucb_study.py confirm [--quick] [--horizon T] [--out FILE.json]

*choose* plays several values of `bonus`, from T = 50 to 100,000, on 36 random instances of different d, c, ρ, spread of
the means and correlation, beside MC-Empirical, which sees everything (the natural reference level), and equal weights;
and, always to T = 100,000, on the paper's synthetic instance, beside MC-UCB-Γ.
*confirm* plays the default on 36 other instances and on the paper's synthetic one, beside MC-UCB and MC-UCB-Γ as well,
and judges what is asked of it: at least 4 times less regret than MC-UCB on average at T = 10,000 and 100,000; no
replication whose regret grows with a log-log slope above .9 from T = 10,000 to 100,000; no more regret than MC-UCB-Γ on
the synthetic instance, within the 95 % interval.

Averages over instances are geometric means of ratios of mean regrets. Both print a line per instance as they go.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harvest import learners_of
from instances import RandomInstance

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.problems import Correlation

CHOOSE_SEED, CONFIRM_SEED = 11, 20_261_118
CHECKPOINTS = (50, 200, 1_000, 10_000, 100_000)
BONUSES = (0.25, 0.35, 0.5, 0.7, 1.0)
FULL, EQUAL, UCB, GAMMA, PAIR = "MC-Empirical", "equal weights", "MC-UCB", "MC-UCB-Γ", "PairUCB"
LEAST_GAIN = 4.0
STEEPEST = 0.9


@dataclass(frozen=True)
class Instance(RandomInstance):
    """An instance, with what this study varies besides."""

    min_weight: float
    mean_spread: float = 0.2

    def __str__(self) -> str:
        kind = self.correlation or "synthetic"
        return f"d = {self.n_options}, c = {self.min_weight:g}, ρ = {self.risk_aversion:g}, {kind}"


SYNTHETIC = Instance(5, None, 0, 0.1, 0.1)


def draw(seed: int, count: int) -> list[Instance]:
    """Return random instances."""
    rng = np.random.default_rng(seed)
    kinds: tuple[Correlation, ...] = ("negative", "zero", "positive", "factor")
    return [
        Instance(
            n_options=int(rng.choice([2, 3, 4, 5, 6, 8, 10])),
            correlation=kinds[k % 4],
            seed=int(rng.integers(1_000_000)),
            risk_aversion=float(rng.choice([0.1, 0.3, 1.0, 3.0, 10.0])),
            min_weight=float(rng.choice([0.05, 0.1, 0.2, 0.3, 0.5])),
            mean_spread=float(rng.choice([0.05, 0.2, 0.5])),
        )
        for k in range(count)
    ]


def baselines(problem: cb.Problem) -> dict[str, cb.Learner]:
    """Return the learner that sees everything, and equal weights on as many options as fit."""
    d, c = problem.n_options, problem.min_weight
    assert c is not None
    fit = min(d, int((1 + 1e-12) / c))
    return {
        FULL: cb.MCEmpirical(n_options=d, risk_aversion=problem.risk_aversion, min_weight=c),
        EQUAL: cb.FixedWeights(weights=np.where(np.arange(d) < fit, 1 / fit, 0.0)),
    }


def pair_ucb(problem: cb.Problem, **arguments: Any) -> cb.Learner:
    """Return PairUCB for a problem."""
    shared = {"risk_aversion": problem.risk_aversion, "min_weight": problem.min_weight}
    return cb.PairUCB(n_options=problem.n_options, **shared, **arguments)


def optimists(problem: cb.Problem) -> dict[str, cb.Learner]:
    """Return the paper's learners, told the truth about the largest variance."""
    return dict(zip((UCB, GAMMA), learners_of(problem), strict=True))


def play(
    instance: Instance, learners: dict[str, cb.Learner], horizon: int, replications: int, seed: int
) -> dict[str, F64]:
    """Return the regret [replication, checkpoint] of each learner."""
    checkpoints = [t for t in CHECKPOINTS if t < horizon]
    result = cb.simulate(
        instance.problem(), learners, horizon, replications, seed, checkpoints=checkpoints, progress=False
    )
    return {name: result.regret[k] for k, name in enumerate(result.learners)}


def slopes(regret: F64) -> F64:
    """Return each replication's log-log slope between the last two checkpoints, a decade apart."""
    floor = 1e-9  # some replications of easy instances pay nothing
    return np.asarray(np.log10(np.maximum(regret[:, -1], floor) / np.maximum(regret[:, -2], floor)))


def gain(runs: list[dict[str, F64]], learner: str, against: str) -> list[float]:
    """Return how many times more one learner pays than another, at each checkpoint, on average over the instances."""
    logs = [np.log((run[learner].mean(axis=0) + 1e-6) / (run[against].mean(axis=0) + 1e-6)) for run in runs]
    return np.exp(np.mean(logs, axis=0)).tolist()


def run_all(instances: list[Instance], make: Any, horizon: int, replications: int, seed: int) -> list[dict[str, F64]]:
    """Play all instances, saying after each how far it is."""
    begun = time.monotonic()
    runs = []
    for k, instance in enumerate(instances):
        runs.append(play(instance, make(instance.problem()), horizon, replications, seed + k))
        print(
            f"{k + 1} of {len(instances)}: {instance} ({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True
        )
    return runs


def choose(quick: bool, horizon: int) -> dict[str, Any]:
    """Compare values of the bonus."""
    replications, count = (3, 12) if quick else (3, 36)
    names = {f"bonus {a:g}": a for a in BONUSES}

    def make(problem: cb.Problem) -> dict[str, cb.Learner]:
        return {**{name: pair_ucb(problem, bonus=a) for name, a in names.items()}, **baselines(problem)}

    instances = draw(CHOOSE_SEED, count)
    runs = run_all(instances, make, horizon, replications, 100)
    checkpoints = [t for t in CHECKPOINTS if t <= horizon]
    rows: list[list[object]] = []
    for name in [*names, EQUAL]:
        steep = sum(int((slopes(run[name]) > STEEPEST).sum()) for run in runs)
        rows.append([name, *gain(runs, name, FULL), f"{steep} of {count * replications}"])
    columns = ["learner", *(f"T = {t:,}" for t in checkpoints), f"slope > {STEEPEST:g}"]
    print(Table(columns, rows, "Regret, as a multiple of MC-Empirical's, which sees everything"))

    def make_synthetic(problem: cb.Problem) -> dict[str, cb.Learner]:
        return {**make(problem), GAMMA: optimists(problem)[GAMMA]}

    longest = CHECKPOINTS[-2 if quick else -1]
    synthetic = run_all([SYNTHETIC], make_synthetic, longest, 10 if quick else 50, 100 + count)[0]
    headings = ["learner", *(f"T = {t:,}" for t in CHECKPOINTS if t <= longest)]
    paid: list[list[object]] = [[name, *synthetic[name].mean(axis=0).tolist()] for name in [*names, GAMMA]]
    print(Table(headings, paid, "Regret on the synthetic instance"))
    return {
        "table": [dict(zip(columns, row, strict=True)) for row in rows],
        "synthetic": [dict(zip(headings, row, strict=True)) for row in paid],
    }


def confirm(quick: bool, horizon: int) -> dict[str, Any]:
    """Judge the default."""
    replications, count = (2, 8) if quick else (3, 36)

    def make(problem: cb.Problem) -> dict[str, cb.Learner]:
        return {PAIR: pair_ucb(problem), **optimists(problem), **baselines(problem)}

    instances = draw(CONFIRM_SEED, count)
    runs = run_all(instances, make, horizon, replications, CONFIRM_SEED)
    checkpoints = [t for t in CHECKPOINTS if t <= horizon]
    rows = [[f"{PAIR} / {other}", *gain(runs, PAIR, other)] for other in (UCB, GAMMA, FULL, EQUAL)]
    columns = ["regret, ratio", *(f"T = {t:,}" for t in checkpoints)]
    print(Table(columns, rows, f"On average over {count} instances, {replications} replications each"))
    steepest = [float(slopes(run[PAIR]).max()) for run in runs]
    worst = int(np.argmax(steepest))
    print(f"steepest replication: slope {steepest[worst]:.2f}, {instances[worst]}")
    synthetic = run_all([SYNTHETIC], make, horizon, 10 if quick else 50, CONFIRM_SEED + count)[0]
    difference = synthetic[PAIR][:, -1] - synthetic[GAMMA][:, -1]
    half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
    for name in (PAIR, GAMMA, UCB):
        print(f"synthetic, {name}: {', '.join(f'{x:.1f}' for x in synthetic[name].mean(axis=0))}")
    print(f"synthetic, {PAIR} less {GAMMA} at T = {horizon:,}: {difference.mean():.1f} ± {half:.1f}")
    verdicts = {
        f"{LEAST_GAIN:g} times less than {UCB}": all(ratio <= 1 / LEAST_GAIN for ratio in rows[0][4:]),
        f"no slope above {STEEPEST:g}": steepest[worst] <= STEEPEST,
        f"no worse than {GAMMA} on the synthetic instance": bool(difference.mean() - half <= 0),
    }
    for requirement, met in verdicts.items():
        print(f"{'met' if met else 'MISSED'}: {requirement}")
    return {
        "ratios": [dict(zip(columns, row, strict=True)) for row in rows],
        "instances": [
            {**asdict(instance), "regret": {name: regret.mean(axis=0).tolist() for name, regret in run.items()}}
            for instance, run in zip(instances, runs, strict=True)
        ],
        "steepest": steepest,
        "synthetic": {name: regret.mean(axis=0).tolist() for name, regret in synthetic.items()},
        "verdicts": verdicts,
    }


def main() -> None:
    """Run one part of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["choose", "confirm"])
    parser.add_argument("--quick", action="store_true", help="few instances, short: to see that it works")
    parser.add_argument("--horizon", type=int, choices=CHECKPOINTS[2:], help="100,000 by default, 10,000 if quick")
    parser.add_argument("--out", type=Path, help="write what was measured as JSON")
    arguments = parser.parse_args()
    horizon = arguments.horizon or (10_000 if arguments.quick else 100_000)
    measured = (choose if arguments.part == "choose" else confirm)(arguments.quick, horizon)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
