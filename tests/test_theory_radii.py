"""The lemmas' radii, and how often and by how much they cover."""

from __future__ import annotations

from math import e, log, sqrt
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit import theory
from covbandit.errors import InvalidInput
from covbandit.kernels.random.sampling import covariance_factor
from covbandit.problems.designs import default_design
from semi_bandit_play import seen
from semi_bandit_reference import confidence_round, start_up_weights


def test_each_setting_has_its_own_confidence_term() -> None:
    t, d, ridge = 500, 4, log(1 + e / 0.5)
    common = log(t * log(t) ** 2)
    assert theory.confidence_term(t, d, "all") == pytest.approx(common + log(log(t)) + d / 2 * ridge)
    assert theory.confidence_term(t, d, "chosen") == pytest.approx(common + d * log(log(t)) + d / 2 * ridge)
    assert theory.confidence_term(t, d, "total") == pytest.approx(common + log(log(t)) + 10 / 2 * ridge)


@pytest.mark.parametrize("bound", [1.0, 9.0])
def test_semi_bandit_radii_are_those_of_mc_ucb(bound: float) -> None:
    """Algorithm 2's own radii: those recomputed from its history, and those with which the learner decides."""

    problem = cb.problems.random(3, "factor", 5, risk_aversion=0.5, min_weight=0.2)
    learner = cb.MCUCB(n_options=3, risk_aversion=0.5, min_weight=0.2, variance_bound=bound, regularization=0.3)
    history = []
    for reward in cb.environments.Gaussian().sampler(problem, 1, 0).draw(40):
        w = learner.ask()
        history.append((w, seen(w, reward)))
        learner.tell(*history[-1])
    learner.ask()
    reference = confidence_round(history, min_weight=0.2, regularization=0.3, variance_bound=bound)
    total = sum(
        np.outer(w > 0, w > 0) * confidence_round(history[: max(s, 9)], variance_bound=bound).upper
        for s, (w, _) in enumerate(history)
    )
    radii = theory.semi_bandit_radii(problem, reference.counts, 41, 0.3, bound, upper=reference.upper, upper_sum=total)
    np.testing.assert_allclose(radii.covariance, reference.radius, rtol=1e-12)
    np.testing.assert_allclose(radii.mean_form, reference.bonus, rtol=1e-9)
    np.testing.assert_allclose(radii.mean_form, learner._view.bonus, rtol=1e-9)
    lower = learner._view.penalty / 0.5
    np.testing.assert_allclose(radii.covariance, reference.covariance - lower, rtol=1e-9)


def test_full_information_radii_written_out() -> None:
    problem, t = cb.problems.synthetic(), 400
    radii = theory.full_information_radii(problem, t, regularization=0.2, variance_bound=4.0)
    g = 16 * max(3 * log(t) / (t - 1), sqrt(3 * log(t) / (t - 1))) + (6 + 4 * sqrt(3)) * log(t) / (t - 1)
    np.testing.assert_allclose(radii.covariance, 4 * g)
    w = problem.optimum().weights
    beta = theory.confidence_term(t, 5, "all", 0.2)
    inner = 0.2 * np.diag(problem.covariance.diagonal()) + problem.covariance
    assert radii.mean(w).item() == pytest.approx(sqrt(2 * beta * (w @ inner @ w) / (t - 1)))
    assert radii.mean([w, w]).shape == (2,)
    assert (radii.covariance_risk, radii.mean_risk) == (10 * 25 / t**2, 1 / (t * log(t) ** 2))


def test_full_bandit_radii_written_out() -> None:
    problem = cb.problems.synthetic()
    radii = theory.full_bandit_radii(problem, rounds=30, regularization=0.2, variance_bound=4.0)
    assert radii.t == 30 * 15 + 1
    np.testing.assert_allclose(radii.covariance, 4 * 5 * 3 * sqrt(3 * log(451) / 60))
    beta = theory.confidence_term(451, 5, "total", 0.2)
    error = theory.full_bandit_bound(problem).mean_error  # at a single option, the same for all of them
    assert radii.mean(np.eye(5)[0]).item() == pytest.approx(sqrt(2 * beta * 1.2 / 30) * error)
    later = theory.full_bandit_radii(problem, rounds=30, t=5000)
    assert (later.covariance > theory.full_bandit_radii(problem, rounds=30).covariance).all()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("t", [100, 3000])
def test_the_shares_of_misses_that_the_lemmas_allow(d: int, t: int) -> None:
    """Lemmas 1 and 3 say 10 d²/t² for covariances, Lemma 5 says 6 d²/t²; the means' is 1/(t ln² t) everywhere."""
    problem = cb.problems.random(d, "zero", 1)
    full = theory.full_information_radii(problem, t)
    semi = theory.semi_bandit_radii(problem, np.full((d, d), 20.0), t)
    bandit = theory.full_bandit_radii(problem, rounds=5, t=t)
    assert full.covariance_risk == semi.covariance_risk == pytest.approx(10 * d**2 / t**2)
    assert bandit.covariance_risk == pytest.approx(6 * d**2 / t**2)
    assert full.mean_risk == semi.mean_risk == bandit.mean_risk == pytest.approx(1 / (t * log(t) ** 2))
    assert theory.full_bandit_radii(cb.problems.random(2), rounds=1).covariance_risk == 1.0  # no share is larger


def test_radii_scale_with_the_unit_of_rewards() -> None:
    problem = cb.problems.random(4, "factor", 2)
    other = cb.Problem(mean=3 * problem.mean, covariance=9 * problem.covariance, risk_aversion=1 / 3)
    for make in (
        lambda p: theory.full_information_radii(p, 50),
        lambda p: theory.semi_bandit_radii(p, np.full((4, 4), 7.0) + np.eye(4), 60),
        lambda p: theory.full_bandit_radii(p, 20),
    ):
        mine, others = make(problem), make(other)
        np.testing.assert_allclose(others.covariance, 9 * mine.covariance)
        np.testing.assert_allclose(others.mean(np.eye(4)), 3 * mine.mean(np.eye(4)))


def test_refusals() -> None:
    problem = cb.problems.synthetic()
    for wrong in (0, 1, 2.5):
        with pytest.raises(InvalidInput, match="between 0 and 1, where the lemmas hold"):
            theory.full_information_radii(problem, 10, regularization=wrong)
    with pytest.raises(InvalidInput, match="t must be at least 2, got 1"):
        theory.full_information_radii(problem, 1)
    with pytest.raises(InvalidInput, match="t must be above 450"):
        theory.full_bandit_radii(problem, 30, t=450)
    with pytest.raises(InvalidInput, match="every option must have been seen"):
        theory.semi_bandit_radii(problem, np.zeros((5, 5)), 10)
    with pytest.raises(InvalidInput, match="upper and upper_sum together"):
        theory.semi_bandit_radii(problem, np.ones((5, 5)), 10, upper=np.eye(5))
    for call in (theory.coverage, lambda p, kind: theory.confidence_term(5, 5, kind)):
        with pytest.raises(InvalidInput, match='"all", "chosen" or "total"'):
            call(problem, "some")
    with pytest.raises(InvalidInput, match="rounds must be at least 25, got 24"):
        theory.coverage(problem, "chosen", rounds=[24])
    with pytest.raises(InvalidInput, match="rounds is empty"):
        theory.coverage(problem, "all", rounds=[])


@pytest.mark.parametrize("feedback", ["all", "chosen", "total"])
def test_the_radii_cover_gaussian_rewards_and_are_very_wide(feedback: Any) -> None:
    problem = cb.problems.synthetic(min_weight=0.1 if feedback == "chosen" else None)
    found = theory.coverage(problem, feedback, rounds=[30, 120], replications=1000, seed=4)
    assert len(found.radii) == (6 if feedback == "chosen" else 4)
    for radius in found.radii:
        assert radius.misses == 0
        assert radius.at_most == pytest.approx(1 - 0.05 ** (1 / 1000))
        low, high = (11, 75) if radius.radius == "g" else (2.5, 30)
        assert low < radius.narrowest <= radius.widest < high
    assert len(found.table().rows) == len(found.radii)
    assert "0.002991" in str(found)


@pytest.mark.parametrize("feedback", ["all", "chosen", "total"])
def test_coverage_can_fail(feedback: Any) -> None:
    """With a bound on the variances that is far too small, g misses in nearly all samples; E needs no such bound."""
    problem = cb.problems.synthetic(min_weight=0.1 if feedback == "chosen" else None)
    found = theory.coverage(problem, feedback, rounds=[100], replications=200, variance_bound=0.01)
    by_name = {radius.radius: radius for radius in found.radii}
    assert by_name["g"].misses > 190
    assert by_name["E"].misses == 0
    assert by_name["g"].at_most > 0.95


def test_coverage_measures_the_errors_it_should() -> None:
    """Widths are the radius over 1.96 standard errors, where errors are nearly Gaussian."""
    n, problem = 2000, cb.problems.synthetic()
    found = {r.radius: r for r in theory.coverage(problem, "all", rounds=[n], replications=4000, seed=2).radii}
    radii = theory.full_information_radii(problem, n + 1)
    of_variance, of_covariance = 1.96 * sqrt(2 / n), 1.96 * sqrt((1 + 0.05**2) / n)
    g = radii.covariance[0, 0]
    assert found["g"].narrowest == pytest.approx(g / of_variance, rel=0.05)
    assert found["g"].widest == pytest.approx(g / of_covariance, rel=0.05)
    assert found["E"].widest == pytest.approx(radii.mean(np.eye(5)[0]).item() / (1.96 / sqrt(n)), rel=0.1)


def test_coverage_from_chosen_options_centres_as_algorithm_2_does() -> None:
    """With a single option per round, which c > 1/2 means, variances are those of each option's own rounds."""
    problem = cb.problems.synthetic(min_weight=0.6)
    found = theory.coverage(problem, "chosen", rounds=[5, 50], replications=300)
    assert [r.rounds for r in found.radii] == [5, 5, 5, 50, 50, 50]
    assert all(r.misses == 0 for r in found.radii)
    # A variance from one observation is 0, so its error does not vary: it is the variance.
    first = theory.semi_bandit_radii(problem, np.eye(5), 6).covariance
    assert np.isnan(first[0, 1])
    assert found.radii[0].narrowest == found.radii[0].widest == pytest.approx(first[0, 0])


def test_coverage_from_chosen_options_recomputed_from_the_raw_history() -> None:
    """The same draws, told one by one to the slow recomputation of Algorithm 2."""
    problem = cb.problems.random(3, "factor", 5, min_weight=0.5)
    bound = float(problem.covariance.diagonal().max())
    found = theory.coverage(problem, "chosen", rounds=[20], replications=3, seed=8)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(8)))
    factor = covariance_factor(problem.covariance)
    histories: list[list[Any]] = [[], [], []]
    for n in range(20):
        pull = start_up_weights(3, 0.5)[n] if n < 9 else rng.permutation(3) < rng.integers(1, 2, endpoint=True)
        for history, noise in zip(histories, rng.standard_normal((3, len(factor))) @ factor, strict=True):
            history.append((pull, np.where(pull > 0, noise, np.nan)))
    rounds = [confidence_round(history, min_weight=0.5, variance_bound=bound) for history in histories]
    weights = np.vstack([default_design(3), problem.optimum().weights])
    errors = {"g": [], "E": [], "E of MC-UCB": []}
    widths = {"g": [], "E": [], "E of MC-UCB": []}
    for now in rounds:
        radii = theory.semi_bandit_radii(problem, now.counts, 21)
        errors["g"].append(np.abs(now.covariance - problem.covariance).ravel())
        widths["g"].append(now.radius.ravel())
        errors["E"].append(np.abs(weights @ now.mean))
        widths["E"].append(radii.mean(weights))
        errors["E of MC-UCB"].append(np.abs(weights @ now.mean))
        widths["E of MC-UCB"].append(np.sqrt([w @ now.bonus @ w for w in weights]))
    for radius in found.radii:
        times = np.median(widths[radius.radius], axis=0) / np.quantile(errors[radius.radius], 0.95, axis=0)
        assert (radius.narrowest, radius.widest) == pytest.approx((times.min(), times.max()))


def test_coverage_does_the_same_again() -> None:
    problem = cb.problems.synthetic(min_weight=0.3)
    one, two, three = (theory.coverage(problem, "chosen", np.array([40]), 50, seed) for seed in (1, 1, 2))
    assert one == two
    assert one.radii != three.radii


def test_singular_covariances_and_options_without_risk() -> None:
    for covariance in (np.ones((3, 3)), np.diag([1.0, 0.0, 0.0]), np.zeros((3, 3))):
        problem = cb.Problem(mean=[0.1, 0.2, 0.3], covariance=covariance, risk_aversion=1)
        for feedback in ("all", "chosen", "total"):
            found = theory.coverage(problem, feedback, [20], 50)  # type: ignore[arg-type]
            assert sum(radius.misses for radius in found.radii) == 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0], "weight must have 5 entries"),
        ([[1, 0], [0, 1]], "weight must have 5 entries"),
        ([[1], [0, 1]], "weights must be numeric"),
        ("a", "weight must be numeric"),
        (1.0, r"weight must have 1 dimension\(s\)"),
        (np.full((1, 1, 5), 0.2), r"weight must have 1 dimension\(s\)"),
        ([float("nan"), 1, 0, 0, 0], "option 0: weight is nan"),
        ([1, 1, 0, 0, 0], "weights sum to 2.0, not to one"),
        ([[1, 0, 0, 0, 0], [2, -1, 0, 0, 0]], "option 1: weight -1.0 is negative"),
    ],
)
def test_only_weights_have_a_mean_radius(weights: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        theory.full_information_radii(cb.problems.synthetic(), 10).mean(weights)


def test_rounds_to_look_at_are_a_list() -> None:
    with pytest.raises(InvalidInput, match="rounds must be a list of whole numbers, got 5"):
        theory.coverage(cb.problems.synthetic(), "all", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "got"),
    [
        (np.eye(5) - 2 * np.eye(5), "-1 to 0, and -1 of an option"),
        (5 * np.eye(5) - 1, "-1 to 4, and 4 of an option"),
        (10 * np.eye(5), "0 to 10, and 10 of an option"),
        (np.ones((5, 5)) - np.eye(5), "0 to 1, and 0 of an option"),
    ],
)
def test_counts_are_of_the_rounds_before(counts: Any, got: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^counts must lie between 0 and t - 1 = 9, .* got {got}$"):
        theory.semi_bandit_radii(cb.problems.synthetic(), counts, 10)
    theory.semi_bandit_radii(cb.problems.synthetic(), 9 * np.eye(5), 10)


def test_no_risk_is_above_one() -> None:
    problem = cb.problems.synthetic()
    assert theory.full_information_radii(problem, 2).mean_risk == 1
    assert all(radius.allowed <= 1 for radius in theory.coverage(problem, "all", [1], 20).radii)
    assert theory.confidence_term(2, 1, "all") < log(log(2)) + log(1 + e / 0.5) / 2  # β has the formula as it is


@pytest.mark.parametrize(
    ("misses", "allowed", "outcome"),
    [
        (0, 0.01, "holds"),  # 500 samples without a miss bound the share by .006
        (0, 0.001, "not refuted"),
        (1, 0.001, "not refuted"),
        (5, 0.001, "refuted"),
        (499, 1.0, "says nothing"),
    ],
)
def test_samples_that_cannot_resolve_the_allowed_share_refute_nothing(
    misses: int, allowed: float, outcome: str
) -> None:
    found = theory.RadiusCoverage("g", 10, 11, 500, misses, allowed, 1.0, 2.0)
    assert found.outcome == outcome
    assert found.at_least <= misses / 500 <= found.at_most
    assert theory.Coverage("all", 500, 0, (found,)).table().to_dict()["lemma"] == [outcome]
