"""Problems drawn anew in every replication: Theorems 2 and 4, and one's own."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.processes import pool_of
from covbandit.errors import InvalidInput, Unsupported


class SomeMeans(cb.ProblemDistribution):
    def __init__(self, n_options: int = 3, risk_aversion: float = 0.5, strays: bool = False) -> None:
        self.n_options = n_options
        self.risk_aversion = risk_aversion
        self.strays = strays

    def draw(self, seed: int, index: int) -> cb.Problem:
        return cb.Problem(
            mean=self.generator(seed, index).normal(size=self.n_options),
            covariance=np.eye(self.n_options),
            risk_aversion=self.risk_aversion + (1.0 if self.strays and index == 2 else 0.0),
        )


def empirical(family: cb.ProblemDistribution) -> cb.MCEmpirical:
    return cb.MCEmpirical(n_options=family.n_options, risk_aversion=family.risk_aversion)


def test_every_replication_plays_its_own_problem() -> None:
    family = SomeMeans()
    result = cb.simulate(family, cb.FixedWeights(n_options=3), horizon=10, replications=3, seed=7)
    for r in range(3):
        pays = 10 * family.draw(7, r).gap(np.full(3, 1 / 3))
        assert result.regret[0, r, -1] == pytest.approx(pays)
    assert len(set(result.regret[0, :, -1])) == 3


def test_a_replication_is_the_simulation_of_its_problem() -> None:
    family = SomeMeans()
    drawn = cb.simulate(family, empirical(family), horizon=60, replications=3, seed=7)
    alone = cb.simulate(family.draw(7, 2), empirical(family), horizon=60, replications=3, seed=7)
    assert drawn.regret[0, 2].tolist() == alone.regret[0, 2].tolist()


@pytest.mark.usefixtures("shared_by_processes")
def test_any_workers_give_the_same_numbers_and_results_resume() -> None:
    family = cb.problems.full_information_lower_bound(3, horizon=200)
    one, two = (cb.simulate(family, empirical(family), 200, 6, 5, workers) for workers in (1, 2))
    assert (one.regret == two.regret).all()
    with pool_of(1) as pool:
        assert (cb.simulate(family, empirical(family), 200, 2, 5, pool).regret == one.regret[:, :2]).all()
    some = cb.simulate(family, empirical(family), 200, 2, 5)
    assert (cb.simulate(family, empirical(family), 200, 6, 5, resume=some).regret == one.regret).all()
    other = cb.problems.full_information_lower_bound(3, horizon=201)
    with pytest.raises(InvalidInput, match="another simulation: problem differs"):
        cb.simulate(other, cb.MCEmpirical(n_options=3, risk_aversion=other.risk_aversion), 200, 6, 5, resume=some)


def test_results_keep_the_distribution(tmp_path: Any) -> None:
    family = cb.problems.semi_bandit_lower_bound(4, horizon=50, min_weight=0.5)
    learner = cb.PairUCB(n_options=4, risk_aversion=family.risk_aversion, min_weight=0.5)
    result = cb.simulate(family, learner, 50, 2)
    result.save(tmp_path / "hard.npz")
    described = cb.SimulationResult.load(tmp_path / "hard.npz").specification["problem"]
    assert described["distribution"] == "SemiBanditLowerBound"
    assert described["min_weight"] == 0.5
    with pytest.raises(Unsupported, match="each replication drew its own"):
        result.plot(bounds=True)


def test_learners_and_draws_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"its risk_aversion is 0\.4"):
        cb.simulate(SomeMeans(), cb.MCEmpirical(n_options=3, risk_aversion=0.4), 10, 2)
    straying = SomeMeans(strays=True)
    with pytest.raises(InvalidInput, match=r"problem 2 drawn from SomeMeans has risk_aversion = 1\.5"):
        cb.simulate(straying, empirical(straying), 10, 3)

    class NoProblem(SomeMeans):
        def draw(self, seed: int, index: int) -> Any:
            return "easy"

    with pytest.raises(InvalidInput, match="draw of NoProblem gave a str"):
        cb.simulate(NoProblem(), empirical(NoProblem()), 10, 2)
    with pytest.raises(InvalidInput, match="must be a Problem or a ProblemDistribution, got dict"):
        cb.simulate({}, empirical(straying), 10, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("horizon", [400, 10_000])
def test_mc_empirical_pays_of_order_root_t_on_theorem_2(horizon: int) -> None:
    """.41 to .44 times √T at d = 5, at any T; the floor of the proof is far below."""
    family = cb.problems.full_information_lower_bound(5, horizon)
    paid = cb.simulate(family, empirical(family), horizon, replications=400, seed=1).at("MCEmpirical") / sqrt(horizon)
    width = 1.96 * paid.std(ddof=1) / sqrt(400)
    assert width < 0.012
    assert 0.41 - width < paid.mean() < 0.44 + width
    assert 0 < family.regret_floor < 1e-4 * sqrt(horizon)


def test_theorem_2_has_the_parameters_of_its_proof() -> None:
    family = cb.problems.full_information_lower_bound(5, horizon=100)
    assert family.risk_aversion == 0.1
    means = np.array([family.draw(0, r).mean for r in range(2000)])
    assert means.std() * sqrt(36 * 16 * 100) == pytest.approx(1, abs=0.03)
    # From scaled noise of one size, so an optimum inside the simplex.
    assert all((family.draw(0, r).optimum().weights > 0).all() for r in range(50))
    for outside in (1, 19):
        with pytest.raises(InvalidInput, match=f"n_options must be 2 to 18.*got {outside}"):
            cb.problems.full_information_lower_bound(outside, 100)


def test_theorem_4_has_the_parameters_of_its_proof() -> None:
    family = cb.problems.semi_bandit_lower_bound(10, horizon=1000, min_weight=0.3, constant=0.4)
    gap = 0.4 * sqrt(10 / (1000 * 3))
    assert family.gap == pytest.approx(gap)
    assert family.risk_aversion == pytest.approx(gap / (2 * 0.7))
    best = set()
    for r in range(200):
        problem = family.draw(3, r)
        assert np.sort(problem.mean).tolist() == [0.5] * 9 + [0.5 + family.gap]
        best.add(int(problem.mean.argmax()))
        # No weights are better than the better option alone; without it every round costs ε/2 at least.
        assert problem.gap(np.eye(10)[problem.mean.argmax()]) == pytest.approx(0, abs=1e-15)
    assert best == set(range(10))
    others = np.where(problem.mean < 0.5 + family.gap)[0]
    spread = np.zeros(10)
    spread[others[:3]] = 1 / 3
    assert problem.gap(spread) >= gap / 2
    # The default constant makes the proven floor largest.
    floors = [
        cb.problems.semi_bandit_lower_bound(10, 1000, 0.3, constant).regret_floor for constant in (None, 0.6, 0.8)
    ]
    assert floors[0] == max(floors) > 0
    assert cb.problems.semi_bandit_lower_bound(10, 1000, 0.3, constant=2.0).regret_floor == 0


def test_every_learner_pays_the_floor_of_theorem_4() -> None:
    family = cb.problems.semi_bandit_lower_bound(8, horizon=500, min_weight=0.25)
    learners = {
        "PairUCB": cb.PairUCB(n_options=8, risk_aversion=family.risk_aversion, min_weight=0.25),
        "one option": cb.FixedWeights(n_options=8, weights=np.eye(8)[0]),
    }
    result = cb.simulate(family, learners, 500, replications=30)
    for name in learners:
        assert result.at(name).mean() > family.regret_floor


def test_theorem_4_outside_its_range_is_refused() -> None:
    for d, c in ((10, 0.19), (10, 0.51), (3, 0.5)):
        with pytest.raises(InvalidInput, match=r"min_weight must be 2/d|n_options must be at least 4"):
            cb.problems.semi_bandit_lower_bound(d, 1000, c)
    with pytest.raises(InvalidInput, match="more than the 1/2 of Theorem 4"):
        cb.problems.semi_bandit_lower_bound(10, 1, 0.5)


def test_a_problem_comes_back_from_its_description() -> None:
    for problem in (cb.problems.etf(min_weight=0.2), cb.Problem(mean=[1], covariance=[[2]], risk_aversion=0)):
        assert cb.Problem.from_dict(problem.to_dict()).to_dict() == problem.to_dict()
    with pytest.raises(InvalidInput, match=r"\['size'\] are unknown, \['mean'\] are missing"):
        cb.Problem.from_dict({"covariance": [[1]], "risk_aversion": 1, "size": 3})


def test_seeds_indices_and_horizons_that_cannot_be_are_refused() -> None:
    family = cb.problems.full_information_lower_bound(3, 100)
    for seed, index, message in ((-1, 0, "seed must be at least 0, got -1"), (0, -1, "index must be at least 0, got")):
        with pytest.raises(InvalidInput, match=message):
            family.draw(seed, index)
    for horizon in (10**400, 10**5000, 10**15 + 1):
        for make in (
            lambda T: cb.problems.full_information_lower_bound(3, T),
            lambda T: cb.problems.semi_bandit_lower_bound(8, T, 0.25),
        ):
            with pytest.raises(InvalidInput, match="horizon must be at most 1,000,000,000,000,000, got "):
                make(horizon)
    with pytest.raises(InvalidInput, match="n_options must be at most 10,000, got 1,000,000,000,000"):
        cb.problems.semi_bandit_lower_bound(10**12, 1000, 0.25)


@pytest.mark.parametrize(("d", "horizon"), [(2, 100), (5, 2_500), (18, 10_000)])
def test_theorem_2_is_that_of_its_proof(d: int, horizon: int) -> None:
    """The instances and the floor, written out from the paper's appendix, its sum over rounds included."""
    family = cb.problems.full_information_lower_bound(d, horizon)
    omega = 36 * (d - 1) ** 2 * horizon
    assert family.risk_aversion == pytest.approx(horizon**-0.5)
    draws = np.array([family.draw(3, k).mean for k in range(4_000)])
    # d · 4,000 squares with mean 1/ω: their mean has the relative standard error √(2 / (4,000 d)).
    assert (draws**2).mean() * omega == pytest.approx(1, abs=4 * sqrt(2 / draws.size))
    assert family.draw(3, 0).mean * sqrt(omega) == pytest.approx(family.generator(3, 0).standard_normal(d), rel=1e-12)
    assert (family.draw(3, 0).covariance == np.eye(d)).all()
    # What the proof has before it sums: .01125 / (ρ (t + ω)) times two probabilities, from t = 2, as ln((T+ω)/(1+ω)).
    both = 0.997**d + 0.75 ** ((d + 1) // 2) - 1
    per_round = [0.01125 * both * 0.997**d * sqrt(horizon) / (t + omega) for t in range(2, horizon + 1)]
    assert family.regret_floor == pytest.approx(sum(per_round), rel=0.5 / horizon)


def test_floors_of_the_theorems_at_known_points() -> None:
    """Computed by hand: 7.8e-6 √T for Theorem 2 at d = 5; ε, ρ and the floor of Theorem 4."""
    assert cb.problems.full_information_lower_bound(5, 10_000).regret_floor / 100 == pytest.approx(7.8e-6, rel=5e-3)
    family = cb.problems.semi_bandit_lower_bound(8, 10_000, 0.25)
    assert (family.gap, family.risk_aversion) == pytest.approx((0.007071, 0.004714), rel=1e-4)
    assert family.regret_floor == pytest.approx(8.839, rel=1e-4)
