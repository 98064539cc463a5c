"""Regret of GradientTS beside MC-ETE and equal weights, worst replications included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from full_bandit_instances import HIGH, Instance
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.environments import Environment, Gaussian, StudentT

SEED = 20_261_217  # had no part in any choice
GRADIENT, ETE, EQUAL = "GradientTS", "MC-ETE", "equal weights"
_STUDENT = "Student-t 5"


def _simulate(instance: Instance, horizon: int, replications: int, position: int) -> cb.SimulationResult:
    d, rho = instance.problem.n_options, instance.problem.risk_aversion
    learners = {
        GRADIENT: cb.GradientTS(n_options=d, risk_aversion=rho),
        ETE: cb.MCETE(n_options=d, risk_aversion=rho),
        EQUAL: cb.FixedWeights(n_options=d),
    }
    return cb.simulate(
        instance.problem,
        learners,
        horizon,
        replications,
        SEED + position,
        environment=instance.environment,
        checkpoints=[10**k for k in range(2, 8) if 10**k < horizon],
        progress=False,
    )


def kurtosis(environment: Environment) -> float:
    """Return the kurtosis of every total: 3 for Gaussian noise, more where squares vary more.

    Of multivariate Student-t rewards every mix is Student-t itself. Of other noise the kurtosis of a total depends on
    the mix.
    """
    if isinstance(environment, Gaussian):
        return 3.0
    if isinstance(environment, StudentT):
        return 3 * (environment.df - 2) / (environment.df - 4) if environment.df > 4 else float("inf")
    raise ValueError(f"the kurtosis of totals is not known for {type(environment).__name__}")


def noise_of_utility(instance: Instance, weights: F64) -> float:
    """Return κ: the variance of ε - ρε², ε being the noise of one total of these weights.

    It is what one total tells about their utility: s² + ρ²(kurtosis - 1)s⁴ for symmetric noise of variance s².
    """
    problem = instance.problem
    square = float(weights @ problem.covariance @ weights)
    return square + problem.risk_aversion**2 * (kurtosis(instance.environment) - 1) * square**2


def directions(instance: Instance) -> int:
    """Return along how many directions the best weights can be varied: d - 1 for an interior optimum.

    The argument of docs/full-bandit-rate.md is for these. On a face of the simplex it is applied to the face, as if the
    options outside were known to be out.
    """
    return int((instance.problem.optimum().weights > 1e-9).sum()) - 1


def predicted(instance: Instance, horizon: int) -> float:
    """Return (d - 1)√(2κT) of docs/full-bandit-rate.md."""
    kappa = noise_of_utility(instance, instance.problem.optimum().weights)
    return float(directions(instance) * np.sqrt(2 * kappa * horizon))


def break_even(instance: Instance) -> float:
    """Return the T at which (d - 1)√(2κT) is what equal weights lose, G each round: T = 2(d - 1)²κ/G²."""
    problem = instance.problem
    kappa = noise_of_utility(instance, problem.optimum().weights)
    lost = problem.gap(np.full(problem.n_options, 1 / problem.n_options))
    return float(2 * directions(instance) ** 2 * kappa / lost**2)


def _checks(instance: Instance, result: cb.SimulationResult) -> list[Check]:
    """Return what is asked of GradientTS on this instance."""
    name, rho = str(instance), instance.problem.risk_aversion
    ratio = result.ratio(ETE, GRADIENT)
    ours, ete = result.at(GRADIENT), result.at(ETE)
    worst = float(ours.max())
    if instance.name == _STUDENT:
        early = min(result.horizon, 100_000)
        ours, ete = result.at(GRADIENT, early), result.at(ETE, early)
        return [
            Check(f"{name}: mean over MC-ETE's mean, T = {early:,}", float(ours.mean() / ete.mean()), "<=", 1.0),
            Check(f"{name}: worst over MC-ETE's worst, T = {early:,}", float(ours.max() / ete.max()), "<=", 1.0),
        ]
    if instance.name == "synthetic" and rho == 10:
        checks = [Check(f"{name}: times less regret than MC-ETE", ratio.estimate, ">=", 8.0)]
    elif instance.name == "synthetic":
        checks = [Check(f"{name}: times less regret than MC-ETE, lower end", ratio.low, ">=", 1.5)]
    else:
        checks = [Check(f"{name}: times less regret than MC-ETE", ratio.estimate, ">=", 2.5)]
    if instance.name == HIGH.name:
        checks.append(Check(f"{name}: worst over MC-ETE's worst", worst / float(ete.max()), "<=", 1.0))
    else:
        checks.append(Check(f"{name}: worst over MC-ETE's mean", worst / float(ete.mean()), "<=", 1.0))
    if instance.interior and rho >= 1:
        slope = result.slope(GRADIENT, result.horizon // 10, result.horizon)
        checks.append(Check(f"{name}: slope in the last decade", slope.estimate, "<=", 0.55))
    return checks


def _record(instance: Instance, result: cb.SimulationResult) -> dict[str, object]:
    """Return every number, for the JSON file."""
    return {
        "instance": str(instance),
        "checkpoints": result.checkpoints.tolist(),
        "regret": {name: result.regret[k].tolist() for k, name in enumerate(result.learners)},
    }


def measure_regret(instances: Sequence[Instance], horizon: int, replications: int) -> Section:
    """Play all instances."""
    section = Section("regret")
    section.notes = [
        f"{replications} replications of {horizon:,} rounds, seeds from {SEED} on, which had no part in any choice.",
        "Predicted is (d - 1)√(2κT) of docs/full-bandit-rate.md, without shrinkage. It is argued for interior optima;",
        "(face): with the number of options in the optimum in place of d. Equal weights are cheaper until break-even.",
    ]
    rows: list[list[object]] = []
    for position, instance in enumerate(instances):
        result = _simulate(instance, horizon, replications, position)
        ours, ete, equal = (result.at(name) for name in (GRADIENT, ETE, EQUAL))
        ratio = result.ratio(ETE, GRADIENT)
        slope = result.slope(GRADIENT, horizon // 10, horizon)
        rows.append(
            [
                str(instance),
                float(ours.mean()),
                float(ours.max()),
                float(ete.mean()),
                float(ete.max()),
                str(ratio),
                str(slope),
                f"{predicted(instance, horizon):,.0f}{'' if instance.interior else ' (face)'}",
                float(equal.mean()),
                f"{break_even(instance):,.0f}",
            ]
        )
        section.checks += _checks(instance, result)
        section.data.append(_record(instance, result))
        say(f"regret: {instance}: {ratio.estimate:.2f} times less than MC-ETE")
    heads = ["instance", "GradientTS", "worst", "MC-ETE", "worst", "MC-ETE / GradientTS", "slope", "predicted", "equal"]
    heads.append("break-even")
    section.tables.append(Table(heads, rows, f"Regret at T = {horizon:,}: means, and worst replications"))
    return section


def measure_long_run(instance: Instance, horizon: int, replications: int) -> Section:
    """Play an instance for long, to see the slope of every decade."""
    section = Section("long run")
    result = _simulate(instance, horizon, replications, 1_000)
    rows: list[list[object]] = []
    for k, t in enumerate(result.checkpoints.tolist()):
        slope = str(result.slope(GRADIENT, int(result.checkpoints[k - 1]), t)) if k else ""
        means = [float(result.at(name, t).mean()) for name in (GRADIENT, ETE, EQUAL)]
        rows.append([t, *means, predicted(instance, t), slope])
    heads = ["T", GRADIENT, ETE, EQUAL, "predicted", "slope of the decade"]
    section.tables.append(Table(heads, rows, f"{instance}, {replications} replications"))
    section.data.append(_record(instance, result))
    say(f"long run: {instance}: done")
    return section
