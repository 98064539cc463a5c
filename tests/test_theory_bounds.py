"""The paper's upper bounds as functions of an instance."""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit import theory
from covbandit.errors import InvalidInput, Unsupported
from covbandit.problems.designs import default_design, products

BOUNDS = (theory.full_information_bound, theory.semi_bandit_bound, theory.full_bandit_bound)

RISKY = cb.problems.random(4, "factor", seed=3, risk_aversion=0.7)


def scaled(problem: cb.Problem, s: float) -> cb.Problem:
    return cb.Problem(
        mean=problem.mean * s, covariance=problem.covariance * s**2, risk_aversion=problem.risk_aversion / s
    )


@pytest.mark.parametrize(
    ("rho", "variance", "factor", "estimation", "gap", "exploration"),
    [(0.1, 0.350476, 1.1, 0.93057, 0.123048, 1.02071), (10, 0.160019, 10.500, 30.63057, 8.420190, 73.50286)],
)
def test_reference_values(
    rho: float, variance: float, factor: float, estimation: float, gap: float, exploration: float
) -> None:
    problem = cb.problems.synthetic(rho)
    first, third, fifth = (bound(problem) for bound in BOUNDS)
    assert first.optimal_variance == pytest.approx(variance, abs=5e-7)
    assert first.factor == pytest.approx(factor, abs=5e-4)
    assert fifth.estimation_factor == pytest.approx(estimation, abs=5e-6)
    assert fifth.largest_gap == third.largest_gap == pytest.approx(gap, abs=5e-7)
    assert fifth.exploration_regret == pytest.approx(exploration, abs=5e-6)
    assert third.positive_covariance == 5
    assert fifth.inverse_norm == 3


def test_the_formulas_of_the_paper_where_no_variance_exceeds_one() -> None:
    """Written out once more, from the theorems, with b = 1."""
    problem = cb.problems.synthetic(10)
    w, covariance, horizon, d = problem.optimum().weights, problem.covariance, 5000.0, 5
    first = min(sqrt(w @ covariance @ w) + 10**-0.5 * sqrt(0.1), 1) + 10
    assert theory.full_information_bound(problem).at(horizon) == pytest.approx(first * log(horizon) * sqrt(d * horizon))
    level = 1.25 * (log(1 + 4.0) + 1)
    third = sqrt(level * (5 + d**2) * d * log(horizon) ** 2 * horizon) + 10 * d * log(horizon) * sqrt(horizon)
    assert theory.semi_bandit_bound(problem, regularization=0.25).at(horizon) == pytest.approx(third)
    design = default_design(d)
    inverse, norm = np.linalg.pinv(design), np.abs(np.linalg.pinv(products(design))).sum(axis=1).max()
    totals = np.diag([v @ covariance @ v for v in design])
    z = max(sqrt(e @ inverse @ totals @ inverse.T @ e) for e in np.eye(d)) + 10 * norm
    fifth = (z * sqrt(d * (log(horizon) + d**2)) + d * 8.420190476190477) * horizon ** (2 / 3)
    assert theory.full_bandit_bound(problem).at(horizon) == pytest.approx(fifth)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("s", [0.01, 3.0])
def test_bounds_scale_with_the_unit_of_rewards(bound: Any, s: float) -> None:
    for b in (None, 20.0):
        value = bound(RISKY, variance_bound=b).at(1000)
        other = bound(scaled(RISKY, s), variance_bound=None if b is None else b * s**2).at(1000)
        assert other == pytest.approx(s * value, rel=1e-9)


@pytest.mark.parametrize("bound", BOUNDS)
def test_b_is_the_rescaling_to_unit_variances(bound: Any) -> None:
    """With rewards divided by √b the paper's own formula, b = 1, times √b, gives the same."""
    b = 1.7 * RISKY.covariance.diagonal().max()
    paper = bound(scaled(RISKY, 1 / sqrt(b)), variance_bound=1.0)
    assert bound(RISKY, variance_bound=b).at(777) == pytest.approx(sqrt(b) * paper.at(777), rel=1e-9)


@pytest.mark.parametrize("bound", BOUNDS)
def test_values_grow_with_the_horizon_and_with_b_and_are_vectorised(bound: Any) -> None:
    horizons = np.geomspace(1, 1e8, 60)
    values = bound(RISKY).at(horizons)
    assert (np.diff(values) > 0).all()
    assert values.tolist() == pytest.approx([bound(RISKY).at(float(T)) for T in horizons])
    assert (bound(RISKY, variance_bound=100).at(horizons[1:]) > values[1:]).all()
    for wrong in (0, -3, float("nan"), [10, 0.5]):
        with pytest.raises(InvalidInput, match="horizon"):
            bound(RISKY).at(wrong)


def test_theorem_1_takes_the_smaller_of_two() -> None:
    small, large = (theory.full_information_bound(cb.problems.synthetic(rho)) for rho in (0.1, 10.0))
    assert small.of_the_optimum > 1
    assert small.factor == pytest.approx(1 + 0.1)
    assert large.of_the_optimum < 1
    assert large.factor == pytest.approx(large.of_the_optimum + 10)


def test_without_risk_aversion_the_bounds_are_those_of_the_linear_case() -> None:
    problem = cb.problems.synthetic(0.0)
    first = theory.full_information_bound(problem)
    assert first.of_the_optimum == inf
    assert first.at(100) == pytest.approx(log(100) * sqrt(500))
    assert theory.full_bandit_bound(problem).estimation_factor == pytest.approx(0.6305704)
    assert theory.full_bandit_bound(problem).largest_gap == pytest.approx(0.1)
    third = theory.semi_bandit_bound(problem)
    assert third.at(100) == pytest.approx(sqrt(third.regularization_factor * 30 * 5 * 100) * log(100))


def test_the_worst_weights_and_the_largest_error_are_not_exceeded() -> None:
    rng = np.random.default_rng(1)
    bound = theory.full_bandit_bound(RISKY)
    design = default_design(4)
    inverse = np.linalg.pinv(design)
    error = inverse @ np.diag([v @ RISKY.covariance @ v for v in design]) @ inverse.T
    weights = np.vstack([np.eye(4), rng.dirichlet(np.full(4, 0.3), 500)])
    assert max(RISKY.gap(w) for w in weights) == pytest.approx(bound.largest_gap)
    assert max(sqrt(w @ error @ w) for w in weights) == pytest.approx(bound.mean_error)
    restricted = cb.Problem(**(RISKY.to_dict() | {"min_weight": 0.3}))
    from_restricted = theory.semi_bandit_bound(restricted).largest_gap
    assert from_restricted == pytest.approx(max(restricted.gap(e) for e in np.eye(4)))
    assert from_restricted <= bound.largest_gap


def test_conditions_are_checked_and_reported() -> None:
    problem = cb.problems.synthetic(min_weight=0.6)
    assert [c.holds for c in theory.full_information_bound(problem).conditions()] == [True]
    assert [c.holds for c in theory.full_information_bound(cb.problems.synthetic()).conditions(3)] == [True, False]
    assert [c.holds for c in theory.full_information_bound(cb.problems.synthetic()).conditions(4)] == [True, True]
    assert [c.holds for c in theory.semi_bandit_bound(problem, regularization=2).conditions()] == [True, False, False]
    assert [c.holds for c in theory.semi_bandit_bound(cb.problems.synthetic(min_weight=0.5)).conditions()] == [True] * 3
    for bound in BOUNDS:
        assert not bound(cb.problems.synthetic(), variance_bound=0.5).conditions()[0].holds


def test_an_optimum_without_risk_has_no_horizon_for_theorem_1() -> None:
    problem = cb.Problem(mean=[0.1, 0.1], covariance=[[1, -1], [-1, 1]], risk_aversion=1)
    bound = theory.full_information_bound(problem)
    assert bound.optimal_variance == 0
    assert bound.least_horizon == inf
    assert not bound.conditions(1e9)[1].holds
    assert "inf" in str(bound.table(1000))


def test_constant_rewards_and_a_single_option() -> None:
    nothing = cb.Problem(mean=[0.1, 0.3], covariance=np.zeros((2, 2)), risk_aversion=1)
    assert theory.full_information_bound(nothing).at(100) == 0
    assert theory.full_bandit_bound(nothing).at(8) == pytest.approx(2 * 0.2 * 4)
    alone = cb.Problem(mean=[0.1], covariance=[[2.0]], risk_aversion=1)
    assert theory.full_bandit_bound(alone).inverse_norm == 1
    assert theory.full_bandit_bound(alone).largest_gap == 0


@pytest.mark.parametrize("rho", [0.1, 10.0])
def test_correlation_over_its_whole_range(rho: float) -> None:
    """Remarks 1, 3 and 5: from negative to positive correlation no bound falls; the ends are singular."""
    grid = np.append(np.linspace(-0.25, 0.95, 25), 1.0)
    for feedback in ("all", "chosen", "total"):
        values = [theory.upper_bounds(cb.problems.synthetic(rho, off_diagonal=x))[feedback] for x in grid]
        at = np.array([bound.at(10_000) for bound in values])
        assert np.isfinite(at).all()
        if feedback != "total":  # Δmax, in Theorem 5, grows as risk can be diversified away
            assert (np.diff(at) >= -1e-9 * at[:-1]).all()
        else:
            assert (np.diff([bound.estimation_factor for bound in values]) > 0).all()  # type: ignore[attr-defined]


def test_a_design_of_ones_own() -> None:
    problem = cb.problems.synthetic()
    paper = theory.full_bandit_bound(problem)
    same = theory.full_bandit_bound(problem, design=default_design(5)[::-1])
    assert same.inverse_norm == pytest.approx(3)
    assert same.at(1000) == pytest.approx(paper.at(1000))
    more = theory.full_bandit_bound(problem, design=np.vstack([default_design(5), np.full(5, 0.2)]))
    assert more.n_actions == 16
    assert [c.holds for c in more.conditions()] == [True, False]
    with pytest.raises(InvalidInput, match="15 variances and covariances"):
        theory.full_bandit_bound(problem, design=np.eye(5))


def test_what_does_not_apply_is_refused_and_left_out() -> None:
    capped = cb.Problem(mean=[0.1, 0.2], covariance=np.eye(2), risk_aversion=1, max_weight=0.7)
    with pytest.raises(Unsupported, match="Theorem 3 has no max_weight"):
        theory.semi_bandit_bound(capped)
    with pytest.raises(Unsupported, match="whole simplex"):
        theory.full_bandit_bound(capped)
    with pytest.raises(InvalidInput, match="variance_bound must not be negative, got -1"):
        theory.full_information_bound(capped, variance_bound=-1)
    assert list(theory.upper_bounds(capped)) == ["all"]
    assert list(theory.upper_bounds(cb.problems.synthetic(min_weight=0.1))) == ["all", "chosen"]
    assert list(theory.upper_bounds(cb.problems.synthetic())) == ["all", "chosen", "total"]


def test_the_table_names_every_quantity_and_the_constant() -> None:
    problem = cb.problems.synthetic(10)
    table = theory.bounds_table(problem, 100_000, variance_bound=2.0)
    assert "constant 1" in table.title
    assert {row[0] for row in table.rows} == {1, 3, 5}
    values = {(row[0], row[1]): row[3] for row in table.rows}
    for bound in theory.upper_bounds(problem, variance_bound=2.0).values():
        assert "constant 1" in bound.label
        assert values[bound.theorem, "bound"] == bound.at(100_000)
        assert values[bound.theorem, "b"] == 2
        for quantity in bound.quantities:
            assert values[bound.theorem, quantity.symbol] == quantity.value
    assert len(str(table).splitlines()) == len(table.rows) + 2


def test_horizons_are_numbers_of_rounds_everywhere() -> None:
    problem = cb.problems.synthetic()
    bound = theory.full_information_bound(problem)
    assert bound.at("10") == bound.at(10)  # type: ignore[call-overload]
    assert str(theory.bounds_table(problem, "100")) == str(theory.bounds_table(problem, 100))  # type: ignore[arg-type]
    assert str(bound.table("100")) == str(bound.table(100))  # type: ignore[arg-type]
    assert bound.at([[1, 2], [3, 4]]).shape == (2, 2)  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="horizon must be a number, got None"):
        theory.bounds_table(problem, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="horizon must be a number, got 'long'"):
        bound.table("long")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^horizon must be a number, got \[1\]"):
        bound.at([[1], [2, 3]])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=r"^horizon must be finite, got nan"):
        bound.at([1, float("nan")])
    with pytest.raises(InvalidInput, match=r"^horizon is empty"):
        bound.at([])
    with pytest.raises(InvalidInput, match=r"^horizon is too large"):
        bound.at([10, 10**400])


@pytest.mark.parametrize(
    "wrong", [None, cb.data.etf_returns(), cb.problems.full_information_lower_bound(3, 100)], ids=lambda it: type(it)
)
def test_what_is_no_problem_is_refused_with_the_way_to_one(wrong: Any) -> None:
    for ask in (
        *BOUNDS,
        theory.upper_bounds,
        lambda it: theory.bounds_table(it, 100),
        lambda it: theory.full_information_radii(it, 10),
        lambda it: theory.semi_bandit_radii(it, np.ones((3, 3)), 10),
        lambda it: theory.full_bandit_radii(it, 10),
        theory.coverage,
    ):
        with pytest.raises(InvalidInput, match=rf"problem must be a Problem, got {type(wrong).__name__}; .*draw\("):
            ask(wrong)
