"""GradientTS: what it promises beyond the conformance suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.environments import Gaussian
from covbandit.kernels.jit.compilation import compiled
from covbandit.kernels.random.counter_random import draw


def play(learner: cb.Learner, rewards: np.ndarray) -> np.ndarray:
    asked = []
    for reward in rewards:
        weights = learner.ask()
        learner.tell(weights, float(weights @ reward))
        asked.append(weights)
    return np.array(asked)


def rewards_of(problem: cb.Problem, n: int, seed: int = 1) -> np.ndarray:
    return Gaussian().sampler(problem, seed, 0).draw(n)


def make(d: int = 4, rho: float = 1.0, **arguments: Any) -> cb.GradientTS:
    return cb.GradientTS(n_options=d, risk_aversion=rho, **{"seed": 3, **arguments})


# Start-up -------------------------------------------------------------------------------------------------------------


def test_start_up_tours_the_surroundings_of_equal_weights() -> None:
    learner = make(3)
    asked = play(learner, rewards_of(cb.problems.random(3, seed=1), 24)).reshape(4, 6, 3)
    equal = np.full(3, 1 / 3)
    actions = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    for tour, radius in enumerate((0.125, 0.25, 0.375, 0.5)):
        assert np.allclose(asked[tour], (1 - radius) * equal + radius * actions, atol=1e-15)


def test_start_up_stays_near_the_weights_to_hold() -> None:
    hold = np.array([0.7, 0.1, 0.1, 0.1])
    learner = make(4, hold=(hold, 5))
    asked = play(learner, rewards_of(cb.problems.random(4, seed=1), 45))
    assert np.allclose(asked[:5], hold)
    away = np.abs(asked - hold).sum(axis=1)
    assert (away[5:15] <= 0.25 + 1e-12).all()  # an eighth of the way
    assert (away[15:45] <= 1.0 + 1e-12).all()  # at last half of it
    assert np.ptp(asked[5:45], axis=0).min() > 0.1


def test_asking_ahead_advances_the_tour_and_the_draws() -> None:
    learner, told = make(3), make(3)
    rewards = rewards_of(cb.problems.random(3, seed=1), 30)
    ahead = [learner.ask(outstanding=k) for k in range(24)]
    assert np.array_equal(ahead, play(told, rewards[:24]))
    play(learner, rewards)
    assert not np.array_equal(learner.ask(), learner.ask(outstanding=1))


def test_delayed_and_reordered_totals_are_fine() -> None:
    """Ten asked at a time, told backwards: all are learned from, and the optimum is found."""
    problem = cb.problems.random(3, "positive", seed=4, risk_aversion=2.0)
    learner = make(3, rho=2.0)
    rewards = rewards_of(problem, 4_000)
    for first in range(0, 4_000, 10):
        asked = [learner.ask(outstanding=k) for k in range(10)]
        for k in reversed(range(10)):
            learner.tell(asked[k], float(asked[k] @ rewards[first + k]))
    late = [learner.ask(outstanding=k) for k in range(50)]
    assert np.mean([problem.gap(w) for w in late]) < 0.1 * problem.gap(np.full(3, 1 / 3)) + 0.02


# Forced pulls ---------------------------------------------------------------------------------------------------------


def ask_ahead(learner: cb.GradientTS, rounds: int) -> np.ndarray:
    return np.array([learner.ask(outstanding=k) for k in range(rounds)])


def pulls(asked: np.ndarray) -> np.ndarray:
    """Which weights are an option alone or two half and half."""
    most, second = np.sort(asked, axis=1)[:, :-3:-1].T
    return np.asarray((most == 1.0) | ((most == 0.5) & (second == 0.5)))


def losses(learner: cb.GradientTS, actions: np.ndarray) -> np.ndarray:
    """What actions lose against the best weights, by what is believed: in the units of the learner."""
    s = learner._view
    rho = learner.risk_aversion * s.unit

    def utility(w: np.ndarray) -> float:
        return float(w @ s.mean - rho * w @ s.variance_model @ w)

    return np.array([max(0.0, utility(s.centre) - utility(w)) for w in actions])


def test_forced_pulls_cost_a_share_of_what_sampling_costs() -> None:
    d, forced, count = 4, 0.8, 20_000
    learner = make(d, 3.0, forced=forced)
    play(learner, rewards_of(cb.problems.random(d, "positive", seed=6, risk_aversion=3.0), 3_000))
    actions = np.array([(np.eye(d)[i] + np.eye(d)[j]) / 2 for i in range(d) for j in range(i, d)])
    price = losses(learner, actions).mean()
    assert learner._view.pull_loss == pytest.approx(price, rel=1e-12)
    asked = ask_ahead(learner, count)
    forced_now = pulls(asked)
    sampled = losses(learner, asked[~forced_now]).mean()
    assert learner._view.loss == pytest.approx(sampled, rel=0.5)  # by eight draws
    half = 130 * len(actions)
    phase = 1 - half * np.log((3_000 + count + half) / (3_000 + half)) / count  # the mean of t/(t + half)
    share = forced * phase * learner._view.loss / price
    assert 0.005 < share < 0.1
    assert forced_now.mean() == pytest.approx(share, abs=4 * np.sqrt(share / count))


def first_uniform(seed: int, t: int) -> float:
    """Return the number that decides on a forced pull in round t."""
    one, unused = np.empty(1), np.empty(1)
    compiled(draw)(seed, t, one, unused)
    return float(one[0])


@pytest.mark.parametrize(
    ("loss", "pull_loss"),
    [
        (0.0, 1.0),  # sampling costs nothing: as few pulls as there ever are
        (0.04, 1.0),  # a share that is affordable
        (50.0, 1.0),  # pulls are cheap: as many as there ever are
        (0.04, 0.0),  # pulls cost nothing, by the estimates: their price is not believed
    ],
)
def test_how_often_pulls_are_forced(loss: float, pull_loss: float) -> None:
    """The share is max(f/5√t, min(f t/(t + 65d(d+1)) · loss/price, 1/10)), in every round."""
    d, forced, told, count = 4, 0.8, 400, 3_000
    learner = make(d, 3.0, forced=forced)
    play(learner, rewards_of(cb.problems.random(d, "positive", seed=6, risk_aversion=3.0), told))
    learner._view.loss, learner._view.pull_loss = loss, pull_loss
    t = np.arange(told + 1, told + count + 1)
    share = 0.2 * forced / np.sqrt(t)
    if pull_loss > 0:
        affordable = forced * t / (t + 65 * d * (d + 1)) * loss / pull_loss
        share = np.maximum(share, np.minimum(affordable, 0.1))
    expected = np.array([first_uniform(3, int(round_number)) for round_number in t]) < share
    assert np.array_equal(pulls(ask_ahead(learner, count)), expected)
    assert expected.sum() >= 5


def test_the_centre_is_found_in_three_steps() -> None:
    """Each maximises with the gradient at the last centre and a curvature with its small eigenvalues lifted."""
    rho, best = 2.0, np.array([0.3, 0.4, 0.3])
    covariance = 0.2 * np.array([[1.0, 0.97, 0.9], [0.97, 1.0, 0.93], [0.9, 0.93, 1.0]])
    problem = cb.Problem(mean=2 * rho * covariance @ best, covariance=covariance, risk_aversion=rho)
    # Of three options nothing is shrunk, without sampling the curvature is the lifted estimate, and a weak prior lets
    # the estimate come near to singular.
    learner = make(3, rho, curvature_sampling=0.0, prior=0.1)
    rng = np.random.default_rng(1)
    compared, moved, least = 0, 0.0, 1.0
    for reward in rewards_of(problem, 4_000):
        s = learner._view
        before, due = s.centre.copy(), s.unit > 0 and learner.rounds_told + 2 >= s.next_refresh
        weights = rng.dirichlet(np.full(3, 0.3))  # far apart: so the correlations are known
        learner.tell(weights, float(weights @ reward))
        if not due:
            continue
        scaled = rho * s.unit
        estimate = s.covariance
        deviation = np.sqrt(estimate.diagonal())
        values, vectors = np.linalg.eigh(estimate / np.outer(deviation, deviation))
        modelled, lifted = (
            (vectors * np.maximum(values, floor)) @ vectors.T * np.outer(deviation, deviation) for floor in (0.05, 0.1)
        )
        assert np.allclose(lifted, s.curvature, rtol=1e-9, atol=1e-12)
        assert np.allclose(modelled, s.variance_model, rtol=1e-9, atol=1e-12)  # by which variances are predicted
        centre = before
        for _ in range(3):
            tilt = s.mean - 2 * scaled * (estimate - lifted) @ centre
            last, centre = centre, cb.maximize_utility(tilt, (lifted + lifted.T) / 2, scaled).weights
        assert np.abs(s.centre - centre).max() < 1e-7
        compared += 1
        moved, least = max(moved, np.abs(centre - last).max()), min(least, values.min())
    assert compared > 100
    assert moved > 1e-3  # in the third step too
    assert least < 0.04  # so that both were lifted


def test_forced_pulls_may_be_left_out() -> None:
    learner = make(4, 3.0, forced=0.0)
    play(learner, rewards_of(cb.problems.random(4, "positive", seed=6, risk_aversion=3.0), 500))
    assert not pulls(ask_ahead(learner, 2_000)).any()


# Numbers of any size --------------------------------------------------------------------------------------------------


def test_shifted_rewards_give_the_same_weights() -> None:
    rewards = rewards_of(cb.problems.random(4, seed=2), 300)
    one, other = play(make(), rewards), play(make(), rewards + 1e6)
    assert np.abs(one - other).max() < 1e-4


@pytest.mark.parametrize("scale", [1e-90, 1e-6, 1e9, 1e90])
def test_units_do_not_matter(scale: float) -> None:
    rewards = rewards_of(cb.problems.random(4, seed=2), 300)
    one, other = play(make(), rewards), play(make(rho=1.0 / scale), scale * rewards)
    assert np.abs(one - other).max() < 1e-6


@pytest.mark.parametrize("mean", [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
def test_rewards_without_noise(mean: list[float]) -> None:
    learner = make(3, rho=0.5)
    asked = play(learner, np.tile(mean, (3_000, 1)))
    assert np.isfinite(asked).all()
    if max(mean) > 0:
        assert asked[-500:, 2].mean() > 0.9


def test_without_risk_aversion_the_best_mean_wins() -> None:
    problem = cb.Problem(mean=[0.1, 0.8, 0.3], covariance=0.25 * np.eye(3), risk_aversion=0.0)
    asked = play(make(3, rho=0.0), rewards_of(problem, 4_000))
    assert asked[-1_000:, 1].mean() > 0.95


@pytest.mark.parametrize("outlier", [1e3, -1e12])
def test_one_wild_total_does_not_freeze_it(outlier: float) -> None:
    problem = cb.problems.random(3, "zero", seed=5, risk_aversion=1.0)
    learner = make(3)
    rewards = rewards_of(problem, 6_000)
    play(learner, rewards[:100])
    learner.tell(learner.ask(), outlier)
    asked = play(learner, rewards[100:])
    late = np.mean([problem.gap(w) for w in asked[-500:]])
    assert late < 0.2 * problem.gap(np.full(3, 1 / 3)) + 0.02


def test_one_option() -> None:
    learner = cb.GradientTS(n_options=1, risk_aversion=1.0)
    for y in range(10):
        assert learner.ask().tolist() == [1.0]
        learner.tell([1.0], float(y))


# What it is told ------------------------------------------------------------------------------------------------------


def test_history_is_learned_from() -> None:
    """Told 30,000 rounds of someone else's random mixes, it starts near the optimum."""
    problem = cb.problems.random(4, "positive", seed=6, risk_aversion=3.0)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), size=30_000)
    totals = np.einsum("ti,ti->t", weights, rewards_of(problem, 30_000))
    learner = make(4, rho=3.0)
    learner.tell_many(weights, totals)
    asked = [learner.ask(outstanding=k) for k in range(100)]
    assert np.mean([problem.gap(w) for w in asked]) < 0.15 * problem.gap(np.full(4, 0.25))


def test_explanation_shows_what_is_believed() -> None:
    problem = cb.problems.random(3, "positive", seed=4, risk_aversion=1.0)
    learner = make(3)
    assert learner.explain().mean is None
    play(learner, rewards_of(problem, 5_000))
    estimates = learner._estimates()
    off = (np.asarray(estimates.mean) - problem.mean) / np.asarray(estimates.width)
    assert np.abs(off).max() < 4
    assert np.linalg.eigvalsh(np.asarray(estimates.covariance))[0] >= -1e-12


def test_save_and_load_in_the_middle(tmp_path: Path) -> None:
    rewards = rewards_of(cb.problems.random(4, seed=2), 200)
    for n in (10, 40, 41, 150):  # within the tour, at its end, after it, between estimates
        learner = make()
        play(learner, rewards[:n])
        learner.save(tmp_path / "it.json")
        again = cb.load_learner(tmp_path / "it.json")
        assert np.array_equal(play(learner, rewards[n:]), play(again, rewards[n:]))


def test_seeds_matter() -> None:
    rewards = rewards_of(cb.problems.random(4, seed=2), 100)
    assert not np.array_equal(play(make(seed=1), rewards), play(make(seed=2), rewards))


# Refusals -------------------------------------------------------------------------------------------------------------


def test_too_many_options_are_refused() -> None:
    with pytest.raises(cb.errors.Unsupported, match=r"at most 64 options.*MCETE"):
        make(65)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start_up", 1),
        ("start_radius", 1.5),
        ("forced", -0.1),
        ("forced", 1.5),
        ("refresh", float("nan")),
        ("sampling", -1.0),
        ("least_sampling", 2.0),
        ("curvature_sampling", -1.0),
        ("prior", 0.0),
        ("clip", 0.0),
    ],
)
def test_bad_arguments_are_named(name: str, value: float) -> None:
    with pytest.raises(cb.errors.InvalidInput, match=name):
        make(3, **{name: value})
