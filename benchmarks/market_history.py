"""What the learners earn on market histories: the prices that lie inside skfolio (extra market).

    python benchmarks/market_history.py [--out FILE.json]

*Told first*: monthly returns of twenty stocks, 1990 to 2022, and of five factor ETFs, 2014 to 2022. The first ten years
(for the ETFs two) are told but not judged; from then on each contestant decides before every month, from the past
alone. Weights drift with prices within a month, and moving back to the target costs 10 basis points of what is traded.
*From nothing*: the same stocks in four groups of five that are drawn once; learners start afresh in every window of 52
weeks or 1,000 days, no costs. Learners for chosen options and for totals see no more than their feedback allows.

Judged is what was realised, mean - ρ·variance a year, in percent, as a difference to equal weights. For histories told
first its 95 % interval comes from a paired circular bootstrap of blocks of twelve months; for windows it is Student's,
over windows, whose groups are averaged first. Returns are fractions, and so is the unit of ρ. A minute or two.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.simulation.statistics import Interval, half_width

Decider = Callable[[F64], F64]
"""Weights for the next period, from the returns so far."""

SEED = 20_270_118  # of the groups, of GradientTS and of the bootstrap
RISK_AVERSIONS = (1.0, 3.0, 10.0)
COST = 0.001
BLOCK, DRAWS = 12, 2_000
EQUAL, HINDSIGHT = "equal weights", "best constant weights, in hindsight"
_NEARLY_ONLY_RISK = 1e9  # with so large a ρ a plug-in learner minimises the variance alone


@dataclass(frozen=True)
class History:
    """A history in periods, of which the first are told and not judged."""

    name: str
    returns: F64
    told_first: int


def compounded(daily: F64, groups: list[Any]) -> F64:
    """Return the returns of whole groups of days, one label per day; the first and the last, if cut, included."""
    starts = [k for k in range(len(groups)) if k == 0 or groups[k] != groups[k - 1]]
    return np.asarray(np.multiply.reduceat(1 + daily, starts, axis=0) - 1)


def histories() -> list[History]:
    """Return the monthly histories."""
    made = []
    for name, years in (("skfolio/sp500", 10), ("skfolio/factors", 2)):
        history = cb.data.read_packaged(name)
        assert history.index is not None
        months = compounded(history.values, [str(day)[:7] for day in history.index])
        made.append(History(f"{name}, {history.n_options} options, monthly", months, 12 * years))
    return made


class Played:
    """A learner that decides on a growing history: it is told what is new, once."""

    def __init__(self, learner: cb.Learner) -> None:
        self.learner = learner

    def __call__(self, past: F64) -> F64:
        """Return the weights for the next period."""
        d = past.shape[1]
        for row in past[self.learner.rounds_told :]:
            self.learner.tell(np.full(d, 1 / d), row)
        return self.learner.ask()


def inverse_volatility(past: F64) -> F64:
    """Return weights in inverse proportion to standard deviations."""
    inverse = 1 / past.std(axis=0)
    return np.asarray(inverse / inverse.sum())


def risk_parity(past: F64) -> F64:
    """Return the weights at which every option contributes the same to the variance (cyclic coordinates)."""
    covariance = np.cov(past.T)
    d = len(covariance)
    x = 1 / np.sqrt(covariance.diagonal())
    for _ in range(200):
        for i in range(d):
            other = covariance[i] @ x - covariance[i, i] * x[i]
            x[i] = (-other + np.sqrt(other**2 + 4 * covariance[i, i] / d)) / (2 * covariance[i, i])
    return np.asarray(x / x.sum())


def contestants(d: int, rho: float, variance: float) -> dict[str, Decider]:
    """Return who decides on a history that was told first."""
    return {
        EQUAL: lambda past: np.full(d, 1 / d),
        "ShrunkEmpirical": Played(cb.ShrunkEmpirical(n_options=d, risk_aversion=rho)),
        "MC-Empirical": Played(cb.MCEmpirical(n_options=d, risk_aversion=rho)),
        "MC-Empirical, half-life 60 months": Played(cb.MCEmpirical(n_options=d, risk_aversion=rho, half_life=60)),
        "OGD": Played(cb.OGD(n_options=d, risk_aversion=rho, variance_bound=variance)),
        "minimum variance": Played(cb.MCEmpirical(n_options=d, risk_aversion=_NEARLY_ONLY_RISK)),
        "minimum variance, ShrunkEmpirical's covariance": Played(
            cb.ShrunkEmpirical(n_options=d, risk_aversion=_NEARLY_ONLY_RISK)
        ),
        "inverse volatility": inverse_volatility,
        "risk parity": risk_parity,
    }


def walk(history: History, decide: Decider) -> tuple[F64, float]:
    """Return what was realised in each judged period after costs, and how often the weight was turned over."""
    held: F64 | None = None
    realised, traded = [], 0.0
    for t in range(history.told_first, len(history.returns)):
        target = decide(history.returns[:t])
        moved = 0.0 if held is None else float(np.abs(target - held).sum())
        gain = float(target @ history.returns[t])
        realised.append((1 - COST * moved) * (1 + gain) - 1)
        held = target * (1 + history.returns[t]) / (1 + gain)
        traded += moved / 2
    return np.array(realised), traded / len(realised)


def utility(realised: F64, rho: float, a_year: float) -> float:
    """Return mean - ρ·variance, a year and in percent."""
    return float(100 * a_year * (realised.mean() - rho * realised.var()))


def bootstrapped_difference(one: F64, other: F64, rho: float, a_year: float) -> Interval:
    """Return the difference of two utilities on one history, with its 95 % block-bootstrap interval."""
    n = len(one)
    rng = np.random.default_rng(SEED)
    starts = rng.integers(n, size=(DRAWS, -(-n // BLOCK)))
    rows = ((starts[:, :, None] + np.arange(BLOCK)) % n).reshape(DRAWS, -1)[:, :n]
    drawn = [100 * a_year * (values[rows].mean(axis=1) - rho * values[rows].var(axis=1)) for values in (one, other)]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    return Interval(utility(one, rho, a_year) - utility(other, rho, a_year), float(low), float(high))


def judge_told_first(history: History, rho: float) -> list[dict[str, Any]]:
    """Return one record per contestant, the best first."""
    judged = history.returns[history.told_first :]
    d = judged.shape[1]
    variance = float(history.returns[: history.told_first].var(axis=0).max())
    best = cb.maximize_utility(judged.mean(axis=0), np.cov(judged.T, bias=True), rho).weights
    deciders = {**contestants(d, rho, variance), HINDSIGHT: lambda past: best}
    paths = {name: walk(history, decide) for name, decide in deciders.items()}
    records = [
        {
            "contestant": name,
            "utility": utility(realised, rho, 12),
            "difference": bootstrapped_difference(realised, paths[EQUAL][0], rho, 12)._asdict(),
            "mean": float(1200 * realised.mean()),
            "sd": float(100 * np.sqrt(12) * realised.std()),
            "turnover": 12 * turnover,
        }
        for name, (realised, turnover) in paths.items()
    ]
    return sorted(records, key=lambda record: -float(record["utility"]))


def from_nothing(d: int, rho: float) -> dict[str, cb.Learner]:
    """Return learners for every feedback, which start without any knowledge."""
    return {
        "ShrunkEmpirical": cb.ShrunkEmpirical(n_options=d, risk_aversion=rho),
        "MC-Empirical": cb.MCEmpirical(n_options=d, risk_aversion=rho),
        "PairUCB, c = .1": cb.PairUCB(n_options=d, risk_aversion=rho, min_weight=0.1),
        "GradientTS": cb.GradientTS(n_options=d, risk_aversion=rho, seed=SEED),
        "MC-ETE": cb.MCETE(n_options=d, risk_aversion=rho),
    }


def played_from_nothing(learner: cb.Learner, returns: F64) -> F64:
    """Return what a learner realised, round by round."""
    realised = []
    for row in returns:
        weights = learner.ask()
        realised.append(float(weights @ row))
        if learner.feedback == "total":
            learner.tell(weights, realised[-1])
        else:
            learner.tell(weights, row if learner.feedback == "all" else np.where(weights > 0, row, np.nan))
    return np.array(realised)


def judge_from_nothing(returns: F64, length: int, a_year: float, rho: float) -> dict[str, Interval]:
    """Return each learner's difference to equal weights, on average over windows."""
    groups = np.random.default_rng(SEED).permutation(returns.shape[1]).reshape(-1, 5)
    differences: dict[str, list[float]] = {}
    for begin in range(0, len(returns) - length + 1, length):
        window: dict[str, list[float]] = {}
        for group in groups:
            seen = returns[begin : begin + length, group]
            equal = utility(seen.mean(axis=1), rho, a_year)
            for name, learner in from_nothing(len(group), rho).items():
                window.setdefault(name, []).append(utility(played_from_nothing(learner, seen), rho, a_year) - equal)
        for name, values in window.items():
            differences.setdefault(name, []).append(float(np.mean(values)))
    answer = {}
    for name, values in differences.items():
        middle, width = float(np.mean(values)), float(half_width(np.array(values)))
        answer[name] = Interval(middle, middle - width, middle + width)
    return answer


def signed(interval: Interval) -> str:
    """Return a difference with its interval, signs shown."""
    return f"{interval.estimate:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"


def told_first_table(name: str, rho: float, periods: int, records: list[dict[str, Any]]) -> Table:
    """Return one history at one ρ for reading."""
    ranked = [record["contestant"] for record in records if record["contestant"] != HINDSIGHT]
    return Table(
        ["place", "contestant", "utility", "less equal weights' [95 %]", "mean", "sd", "turnover"],
        [
            [
                ranked.index(record["contestant"]) + 1 if record["contestant"] in ranked else None,
                record["contestant"],
                f"{record['utility']:.1f}",
                signed(Interval(**record["difference"])),
                f"{record['mean']:.1f}",
                f"{record['sd']:.1f}",
                f"{record['turnover']:.2f}",
            ]
            for record in records
        ],
        f"{name}; {periods} months judged; ρ = {rho:g}; percent a year",
    )


def main() -> None:
    """Read the command line, measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="also write every number to this JSON file")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"benchmark": "market history", "seed": SEED, "version": cb.__version__}
    report["told_first"], report["from_nothing"] = [], []
    for history in histories():
        for rho in RISK_AVERSIONS:
            records = judge_told_first(history, rho)
            print(told_first_table(history.name, rho, len(history.returns) - history.told_first, records), end="\n\n")
            report["told_first"].append({"history": history.name, "risk_aversion": rho, "records": records})
    daily = cb.data.read_packaged("skfolio/sp500").values
    weekly = compounded(daily, [day // 5 for day in range(len(daily))])
    for name, returns, length, a_year in (("52 weeks", weekly, 52, 52.0), ("1,000 days", daily, 1_000, 252.0)):
        judged = {rho: judge_from_nothing(returns, length, a_year, rho) for rho in RISK_AVERSIONS}
        rows = [
            [learner, *(signed(judged[rho][learner]) for rho in RISK_AVERSIONS)]
            for learner in judged[RISK_AVERSIONS[0]]
        ]
        heads = ["from nothing, less equal weights", *(f"ρ = {rho:g}" for rho in RISK_AVERSIONS)]
        windows = len(returns) // length
        print(
            Table(heads, rows, f"{name}, {windows} windows of four groups of five stocks; percent a year"), end="\n\n"
        )
        for rho in RISK_AVERSIONS:
            values = {learner: interval._asdict() for learner, interval in judged[rho].items()}
            report["from_nothing"].append({"window": name, "risk_aversion": rho, "differences": values})
        print(f"{name}: done", file=sys.stderr)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
