"""Weights that are zero or at least c on a known covariance: the utility maximised by us, by skfolio and by SCIP."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from cpu_time import cpu_seconds, no_collection, repeated, silenced
from harvest import problems_of
from peers import PeerError
from peers.scip import ScipPeer
from peers.semicontinuous import SkfolioThresholdPeer
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64

SAME = 1e-6  # relative to the largest term


def _peers(d: int, c: float, limit: float) -> dict[str, Callable[[cb.Problem], F64]]:
    """Return those that are installed."""
    peers: dict[str, Callable[[cb.Problem], F64]] = {}
    try:
        skfolio = SkfolioThresholdPeer(d, c)
        peers["skfolio threshold_long"] = lambda p: skfolio.solve(p.mean, p.covariance, p.risk_aversion)
    except ImportError:
        pass
    try:
        scip = ScipPeer(d, c, limit=limit)
        none = np.zeros((d, d))
        peers["SCIP"] = lambda p: scip.solve(p.mean, none, p.covariance, p.risk_aversion).weights
    except ImportError:
        pass
    return peers


def _utility(problem: cb.Problem, weights: F64) -> float:
    """Return the utility less the first mean."""
    risk = weights @ problem.covariance @ weights
    return float(weights @ (problem.mean - problem.mean[0]) - problem.risk_aversion * risk)


def _tidy(weights: F64, c: float) -> F64:
    """Return a solver's weights with those below c/2 set to zero and the sum set to one, as a user would do."""
    w = np.where(weights < 0.5 * c, 0.0, weights)
    return np.asarray(w / w.sum())


def measure_thresholds(dimensions: Sequence[int], risk_aversions: Sequence[float], limit: float) -> Section:
    """Measure the exact maximiser with `min_weight` against solvers with binaries.

    Parameters
    ----------
    dimensions : sequence of int
        Numbers of options.
    risk_aversions : sequence of float
        Each is combined with every kind of correlation.
    limit : float
        Seconds after which SCIP is stopped (skfolio's is not).
    """
    section = Section("thresholds")
    section.notes = [
        "maximize_utility(min_weight=c) with its checks and its certificate, on the true moments of random problems.",
        "skfolio writes its model anew at each fit, through CVXPY, and solves it by SCIP: that is how it is used.",
        "Loss: what a solver's weights lose against ours, relative to the largest term, once weights below c/2 are",
        "zero and the sum is one; violation: of a bound or of the sum, before. Unfinished solves count with the time",
        "spent.",
    ]
    rows: list[list[object]] = []
    for d in dimensions:
        problems = [p for p in problems_of(d, risk_aversions, (0.1, 0.2), 1) if p.name != "synthetic"]
        found: dict[str, list[tuple[float, float, float, bool]]] = {}
        ours: list[float] = []
        certified = 0
        nodes: list[int] = []
        for k, problem in enumerate(problems):
            if k % 4 == 0:
                say(f"thresholds, d = {d}: problem {k + 1} of {len(problems)}")
            c = problem.min_weight
            assert c is not None
            arguments = problem.mean, problem.covariance, problem.risk_aversion, c
            optimum = cb.maximize_utility(*arguments)
            certified += optimum.certified
            nodes.append(optimum.nodes)
            ours.append(cpu_seconds(repeated(partial(cb.maximize_utility, *arguments))))
            unit = max(float(np.ptp(problem.mean)), problem.risk_aversion * float(problem.covariance.diagonal().max()))
            for name, solve in _peers(d, c, limit).items():
                if not found.get(name):
                    with silenced():
                        _try(solve, problem)  # imports, and what else is done once
                with silenced(), no_collection():
                    begun = time.process_time()
                    weights = _try(solve, problem)
                    seconds = time.process_time() - begun
                loss = violation = np.nan
                if weights is not None:
                    tidy = _tidy(weights, c)
                    loss = (_utility(problem, optimum.weights) - _utility(problem, tidy)) / unit
                    low = np.where(tidy > 0, c - weights, np.abs(weights))
                    violation = max(float(low.max()), abs(float(weights.sum()) - 1), 0.0)
                found.setdefault(name, []).append((seconds / ours[-1], loss, violation, weights is None))
                section.data.append(
                    {
                        "problem": problem.name,
                        "d": d,
                        "min_weight": c,
                        "risk_aversion": problem.risk_aversion,
                        "contestant": name,
                        "cpu_seconds": seconds,
                        "ours": ours[-1],
                        "loss": None if weights is None else loss,
                        "violation": None if weights is None else violation,
                    }
                )
        for name, results in found.items():
            ratios, losses, violations, failed = (list(column) for column in zip(*results, strict=True))
            finished = [abs(loss) for loss, bad in zip(losses, failed, strict=True) if not bad]
            rows.append(
                [
                    d,
                    name,
                    len(results),
                    sum(failed),
                    statistics.median(ratios),
                    min(ratios),
                    f"{np.nanmin(losses):.0e}" if finished else None,
                    f"{np.nanmax(losses):.0e}" if finished else None,
                    f"{np.nanmax(violations):.0e}" if finished else None,
                ]
            )
            if finished:
                section.checks.append(Check(f"d = {d}: |utility less {name}'s|, largest", max(finished), "<=", SAME))
        section.notes.append(
            f"d = {d}: ours took {1e6 * statistics.median(ours):.3g} µs (median) and {max(nodes):,} nodes at most; "
            f"certified {certified} of {len(problems)}."
        )
    heads = ["d", "solver", "problems", "unfinished", "time / ours, median", "least"]
    heads += ["least loss", "largest loss", "violation"]
    section.tables.append(Table(heads, rows, "Zero or at least c, covariance known: CPU time over ours"))
    return section


def _try(solve: Callable[[cb.Problem], F64], problem: cb.Problem) -> F64 | None:
    try:
        return solve(problem)
    except PeerError:
        return None
