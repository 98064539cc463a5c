"""Weights that are zero or at least c: exact optima, problems and gaps, projections, and learners that play them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import covbandit as cb
from covbandit.errors import CovbanditError, InvalidInput
from covbandit.kernels.qp.projection import project_on_semicontinuous
from covbandit.maximization import maximize_utility
from covbandit.problems.problem import Problem
from decision_set import assert_on_the_set, largest_support
from quadratic_programs import COVARIANCES, MEANS, seeded_covariance

EPS = np.finfo(float).eps
LEAST = st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.51, 0.6, 1.0])


def supports(d, c):
    for k in range(1, d + 1):
        if k * c <= 1 + 1e-12:
            yield from itertools.combinations(range(d), k)


def utility(mean, covariance, rho, w):
    return float(w @ (mean - mean[0]) - rho * (w @ covariance @ w) + mean[0])


def best_on(support, mean, covariance, rho, c):
    """Return the best weights of at least c on exactly these options: w = c + (1 - kc) x with x on the simplex."""
    chosen = list(support)
    rest = max(1 - len(chosen) * c, 0.0)
    block = covariance[np.ix_(chosen, chosen)]
    centred = mean[chosen] - mean[0]
    x = maximize_utility(rest * (centred - 2 * rho * c * block.sum(axis=1)), rest**2 * block, rho).weights
    w = np.zeros(len(mean))
    w[chosen] = c + rest * x
    return w


def brute_force(mean, covariance, rho, c):
    """Return the largest utility over all supports."""
    return max(
        utility(mean, covariance, rho, best_on(support, mean, covariance, rho, c)) for support in supports(len(mean), c)
    )


def random_weights(rng, d, c):
    chosen = rng.permutation(d)[: rng.integers(1, largest_support(d, c) + 1)]
    w = np.zeros(d)
    w[chosen] = c + max(1 - len(chosen) * c, 0.0) * rng.dirichlet(np.full(len(chosen), rng.choice([0.2, 1.0, 5.0])))
    return w


# ----------------------------------------------------------------------------------------------------------------------
# The exact maximiser


@st.composite
def quadratic_programs(draw, most):
    d = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mean = MEANS[draw(st.sampled_from(sorted(MEANS)))](rng, d)
    covariance = seeded_covariance(rng, d, draw(st.sampled_from(COVARIANCES)))
    rho = draw(st.sampled_from([0.0, 0.01, 0.1, 1.0, 10.0, 1000.0]))
    return mean, covariance, rho, draw(LEAST)


def scale(mean, covariance, rho):
    return max(np.ptp(mean), rho * covariance.diagonal().max())


@settings(max_examples=50)
@given(quadratic_programs(6), st.integers(0, 2**32 - 1))
def test_no_support_is_better(program, seed):
    mean, covariance, rho, c = program
    optimum = maximize_utility(mean, covariance, rho, min_weight=c)
    w = optimum.weights
    best = brute_force(*program)
    # A common offset of the means is no excuse: what counts is how much they differ.
    slack = 1e-12 * scale(mean, covariance, rho) + 4 * EPS * np.abs(mean).max()
    assert_on_the_set(w, c)
    assert utility(mean, covariance, rho, w) == pytest.approx(best, abs=slack)
    assert optimum.utility == pytest.approx(best, abs=slack)
    assert optimum.upper_bound >= best - slack
    assert optimum.certified
    assert optimum.certificate >= 0
    assert optimum.method == "branch and bound"
    assert optimum.nodes >= 1
    start = random_weights(np.random.default_rng(seed), mean.size, c)
    warm = maximize_utility(mean, covariance, rho, min_weight=c, start=start / start.sum())
    assert utility(mean, covariance, rho, warm.weights) == pytest.approx(best, abs=slack)
    assert_on_the_set(warm.weights, c)
    assert warm.certified


def test_seven_options_by_brute_force():
    for seed, c in itertools.product(range(3), [0.12, 0.2, 0.3]):
        problem = cb.problems.random(7, "factor", seed, risk_aversion=2.0)
        optimum = maximize_utility(problem.mean, problem.covariance, 2.0, min_weight=c)
        assert optimum.utility == pytest.approx(brute_force(problem.mean, problem.covariance, 2.0, c), abs=1e-13)
        assert optimum.certified


def test_the_synthetic_instance_has_the_stated_optimum_and_six_optimal_supports():
    problem = cb.problems.synthetic(0.1, min_weight=0.2)
    optimum = problem.optimum()
    assert optimum.certified
    assert optimum.utility == pytest.approx(0.2188, abs=1e-12)
    values = {}
    for support in supports(5, 0.2):
        w = best_on(support, problem.mean, problem.covariance, 0.1, 0.2)
        values[support] = (problem.utility(w), problem.gap(w))
    assert max(f for f, _ in values.values()) == pytest.approx(0.2188, abs=1e-12)
    best = {support for support, (f, _) in values.items() if f > 0.2188 - 1e-9}
    assert best == {tuple(sorted((1, i, j))) for i, j in itertools.combinations((0, 2, 3, 4), 2)}
    for support, (f, gap) in values.items():
        assert gap == pytest.approx(0.2188 - f, abs=1e-15)
        assert gap >= -1e-15, support


def test_c_so_small_that_it_does_not_bind():
    for seed in range(10):
        problem = cb.problems.random(8, "factor", seed)
        free = problem.optimum()
        c = float(free.weights[free.weights > 0].min()) * 0.999
        optimum = maximize_utility(problem.mean, problem.covariance, 1.0, min_weight=c)
        assert_allclose(optimum.weights, free.weights, atol=1e-12)
        assert optimum.nodes == 1


@pytest.mark.parametrize("c", [0.5 + 1e-9, 0.6, 1.0])
def test_above_a_half_one_option_wins_the_first_of_several(c):
    mean, covariance = np.array([0.1, 0.5, 0.2, 0.5]), np.diag([0.0, 1.0, 0.1, 1.0])
    for rho, best in ((0.1, 1), (0.5, 2), (10.0, 0)):
        optimum = maximize_utility(mean, covariance, rho, min_weight=c)
        assert_array_equal(optimum.weights, np.eye(4)[best])
        assert optimum.certified


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("kind", ["zero", "ones", "identity"])
def test_ties(d, kind):
    covariance = {"zero": np.zeros((d, d)), "ones": np.ones((d, d)), "identity": np.eye(d)}[kind]
    for k in range(1, d + 1):
        optimum = maximize_utility(np.zeros(d), covariance, 1.0, min_weight=1 / k)
        best = {"zero": 0.0, "ones": -1.0, "identity": -1 / k}[kind]
        assert optimum.utility == pytest.approx(best, abs=1e-14)
        assert_on_the_set(optimum.weights, 1 / k)
        assert optimum.certified


def test_an_offset_of_the_means_costs_no_utility():
    # The offset must not loosen what branch and bound may forgo.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d, c = int(rng.integers(4, 9)), float(rng.choice([0.1, 0.3, 0.4]))
        mean = np.round(rng.standard_normal(d) * 2**10) / 2**26
        factor = rng.standard_normal((d + 2, d)) * 0.01
        covariance = factor.T @ factor / (d + 2)
        covariance = (covariance + covariance.T) / 2
        near = maximize_utility(mean, covariance, 0.5, min_weight=c)
        far = maximize_utility(mean + 1e8, covariance, 0.5, min_weight=c)
        loss = utility(mean, covariance, 0.5, near.weights) - utility(mean, covariance, 0.5, far.weights)
        assert abs(loss) <= 1e-12 * scale(mean, covariance, 0.5)
        assert far.certificate <= 1e-12 * scale(mean, covariance, 0.5)


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_units_do_not_matter(size):
    for seed in range(5):
        problem = cb.problems.random(6, "positive", seed)
        plain = maximize_utility(problem.mean, problem.covariance, 1.0, min_weight=0.22)
        scaled = maximize_utility(size * problem.mean, size**2 * problem.covariance, 1 / size, min_weight=0.22)
        assert_allclose(scaled.weights, plain.weights, atol=1e-9)
        assert scaled.utility == pytest.approx(size * plain.utility, rel=1e-12)
        assert scaled.certified


def test_indefinite_covariances_are_projected_first():
    matrix = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    values, vectors = np.linalg.eigh(matrix)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    optimum = maximize_utility([1, 2, 3], matrix, 1.0, min_weight=0.4, indefinite="project")
    assert optimum.indefinite == "projected"
    assert optimum.utility == pytest.approx(
        brute_force(np.array([1.0, 2, 3]), (nearest + nearest.T) / 2, 1.0, 0.4), abs=1e-12
    )


# ----------------------------------------------------------------------------------------------------------------------
# Problems


def test_the_optimum_of_a_problem_is_that_of_its_set():
    for seed, c in itertools.product(range(5), [0.1, 0.25, 0.5, 0.7]):
        problem = cb.problems.random(6, "negative", seed, min_weight=c)
        assert problem.min_weight == c
        optimum = problem.optimum()
        assert optimum.certified
        assert_on_the_set(optimum.weights, c)
        assert optimum.utility == pytest.approx(brute_force(problem.mean, problem.covariance, 1.0, c), abs=1e-13)
        assert problem.gap(optimum.weights) == 0
        with pytest.raises(ValueError, match="read-only"):
            optimum.weights[0] = 0.5


def exact_gap(problem, weights):
    """Return the difference of utilities of the floats as they are, without any rounding."""

    def f(w):
        x = [Fraction(v) for v in w.tolist()]
        rows = zip(x, problem.covariance.tolist(), strict=True)
        variance = sum(a * b * Fraction(s) for a, row in rows for b, s in zip(x, row, strict=True))
        linear = sum(a * Fraction(m) for a, m in zip(x, problem.mean.tolist(), strict=True))
        return linear - Fraction(problem.risk_aversion) * variance

    return float(f(problem.optimum().weights) - f(weights))


@st.composite
def problems_on_the_set(draw):
    d = draw(st.integers(1, 7))
    kind = draw(st.sampled_from(["negative", "zero", "positive", "factor"]))
    seed = draw(st.integers(0, 10**6))
    rho = 10.0 ** draw(st.floats(-2, 2))
    return cb.problems.random(d, kind, seed, risk_aversion=rho, min_weight=draw(LEAST))


@settings(max_examples=150)
@given(problems_on_the_set(), st.integers(0, 2**32 - 1))
def test_gaps_are_not_negative_and_accurate(problem, seed):
    rng = np.random.default_rng(seed)
    size = max(np.ptp(problem.mean), problem.risk_aversion * problem.covariance.diagonal().max())
    for _ in range(10):
        w = random_weights(rng, problem.n_options, problem.min_weight)
        w /= w.sum()
        gap = problem.gap(w)
        assert gap >= -1e-15 * max(size, 1.0)
        assert gap == pytest.approx(exact_gap(problem, w), rel=1e-9, abs=8 * EPS * size)


@settings(max_examples=100)
@given(problems_on_the_set(), st.sampled_from([2.0**-10, 2.0**-17, 2.0**-23]))
def test_gaps_near_the_optimum_are_accurate(problem, step):
    best = problem.optimum().weights
    size = max(np.ptp(problem.mean), problem.risk_aversion * problem.covariance.diagonal().max())
    for source, target in itertools.permutations(np.flatnonzero(best), 2):
        if best[source] - step < problem.min_weight:
            continue
        w = best.copy()
        w[source] -= step
        w[target] += step
        if sum(map(Fraction, w.tolist())) == sum(map(Fraction, best.tolist())):  # no rounding in the transfer itself
            gap = problem.gap(w)
            assert gap >= 0
            assert gap == pytest.approx(
                exact_gap(problem, w), rel=max(1e-9, 32 * EPS / step), abs=8 * EPS * size * step
            )


def test_gaps_of_weights_off_the_set_are_refused():
    problem = Problem(
        mean=[1, 0, 0], covariance=np.eye(3), risk_aversion=0.1, min_weight=0.25, options=["tea", "coffee", "milk"]
    )
    for weights in ([0.8, 0.2, 0], [0.75 + 2e-9, 0.25 - 2e-9, 0], [0.9, 0.05, 0.05]):
        with pytest.raises(
            InvalidInput, match=r"option 'coffee' \(index 1\): weight .* lies between 0 and min_weight 0\.25"
        ):
            problem.gap(weights)
        problem.utility(weights)  # what they are worth can be asked all the same
    assert problem.gap([0.75 + 5e-10, 0.25 - 5e-10, 0]) > 0
    assert problem.gap([0.75, 0.25, 0]) > 0
    assert problem.gap([0, 0.5, 0.5]) > 0


def test_to_dict_rebuilds_the_problem():
    for problem in (cb.problems.synthetic(0.1, min_weight=0.2), cb.problems.etf(min_weight=1 / 3)):
        described = problem.to_dict()
        assert described["min_weight"] == problem.min_weight
        again = Problem(**described)
        assert again.to_dict() == described
        assert_array_equal(again.optimum().weights, problem.optimum().weights)
    assert cb.problems.synthetic().to_dict()["min_weight"] is None


# ----------------------------------------------------------------------------------------------------------------------
# Projection


def project(x, c):
    w = np.array(x, dtype=float)
    project_on_semicontinuous(w, c, np.empty(w.size), np.empty(w.size), np.empty(w.size, dtype=np.int64))
    return w


def on_simplex(x):
    """Project on the simplex by sorting."""
    down = np.sort(x)[::-1]
    levels = (np.cumsum(down) - 1) / np.arange(1, x.size + 1)
    return np.maximum(x - levels[np.flatnonzero(down > levels)[-1]], 0)


def nearest_by_brute_force(x, c):
    best = np.inf
    for support in supports(x.size, c):
        chosen = list(support)
        rest = max(1 - len(chosen) * c, 0.0)
        w = np.zeros(x.size)
        w[chosen] = c + (rest * on_simplex((x[chosen] - c) / rest) if rest > 1e-12 else 0.0)
        best = min(best, float(((w - x) ** 2).sum()))
    return best


@settings(max_examples=300)
@given(
    st.lists(st.integers(-8, 8).map(lambda n: n / 8) | st.floats(-2, 2, allow_subnormal=False), min_size=1, max_size=6),
    LEAST,
    st.sampled_from([0.0, 0.0, 100.0, -100.0]),
)
def test_projections_are_nearest(x, c, offset):
    x = np.array(x) + offset
    w = project(x, c)
    assert_on_the_set(w, c)
    distance = float(((w - x) ** 2).sum())
    assert distance == pytest.approx(nearest_by_brute_force(x, c), rel=1e-12, abs=1e-12)
    if offset == 0:
        assert_allclose(project(w, c), w, atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("c", [0.1, 0.2, 0.5, 0.6, 1.0])
def test_projections_of_ties_and_of_far_points(d, c):
    for x in (np.zeros(d), np.full(d, 7.0), np.full(d, -1e8), np.eye(d)[0] * 1e8, -np.eye(d)[0] * 1e8):
        assert_on_the_set(project(x, c), c)
    assert_array_equal(project(1e8 * np.eye(d)[d - 1], c), np.eye(d)[d - 1])


# ----------------------------------------------------------------------------------------------------------------------
# Learners

LEARNERS = {
    "MCEmpirical": lambda **kw: cb.MCEmpirical(risk_aversion=1.0, **kw),
    "forgetting": lambda **kw: cb.MCEmpirical(risk_aversion=1.0, half_life=20, **kw),
    "ShrunkEmpirical": lambda **kw: cb.ShrunkEmpirical(risk_aversion=1.0, **kw),
    "OGD": lambda **kw: cb.OGD(risk_aversion=1.0, **kw),
    "OGD, plugin": lambda **kw: cb.OGD(risk_aversion=1.0, gradient="plugin", **kw),
    "LinearFI": lambda **kw: cb.LinearFI(**kw),
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("c", [0.1, 0.2, 0.3, 0.5, 0.6, 1.0])
def test_learners_play_on_the_set(make, c):
    problem = cb.problems.random(5, "factor", 3, min_weight=c)
    learner = make(n_options=5, min_weight=c)
    rng = np.random.default_rng(1)
    rewards = rng.multivariate_normal(problem.mean, problem.covariance, 120)
    for y in rewards:
        w = learner.ask()
        assert_on_the_set(w, c)
        assert problem.gap(w) >= -1e-15
        learner.tell(w, y)
    fit = largest_support(5, c)
    first = make(n_options=5, min_weight=c).ask()
    assert_allclose(first, (np.arange(5) < fit) / fit, rtol=1e-15)


@pytest.mark.parametrize("c", [0.1, 0.2, 0.3, 0.45, 0.6])
def test_mc_empirical_plays_the_best_weights_for_its_moments(c):
    problem = cb.problems.random(6, "negative", 5)
    learner = cb.MCEmpirical(n_options=6, risk_aversion=0.7, min_weight=c)
    rewards = np.random.default_rng(2).multivariate_normal(problem.mean, problem.covariance, 80)
    for t, y in enumerate(rewards):
        learner.tell(learner.ask(), y)
        mean, covariance = rewards[: t + 1].mean(axis=0), np.cov(rewards[: t + 1], rowvar=False, bias=True)
        if t > 0:
            best = maximize_utility(mean, (covariance + covariance.T) / 2, 0.7, min_weight=c)
            played = utility(mean, covariance, 0.7, learner.ask())
            assert played == pytest.approx(best.utility, abs=1e-11)
            if t > 20:
                assert_allclose(learner.ask(), best.weights, atol=1e-7)


def test_an_offset_of_the_rewards_does_not_change_what_is_played():
    rewards = np.round(np.random.default_rng(3).standard_normal((60, 5)) * 2**10) / 2**10
    near, far = (cb.MCEmpirical(n_options=5, risk_aversion=0.7, min_weight=0.3) for _ in range(2))
    for y in rewards:
        near.tell(near.ask(), y)
        far.tell(far.ask(), y + 2.0**20)
        assert_allclose(far.ask(), near.ask(), atol=1e-6)


def test_a_learner_of_another_set_is_refused_by_simulate():
    problem = cb.problems.synthetic(min_weight=0.2)
    for learner, message in (
        (cb.MCEmpirical(n_options=5, risk_aversion=0.1), r"its min_weight is None, the problem's 0\.2"),
        (cb.MCEmpirical(n_options=5, risk_aversion=0.1, min_weight=0.3), r"its min_weight is 0\.3, the problem's 0\.2"),
        (cb.MCUCB(n_options=5, risk_aversion=0.1), r"its min_weight is 0\.1, the problem's 0\.2"),
    ):
        with pytest.raises(CovbanditError, match=message):
            cb.simulate(problem, learner, horizon=10, replications=1)
    with pytest.raises(CovbanditError, match=r"its min_weight is 0\.2, the problem's None"):
        cb.simulate(
            cb.problems.synthetic(), cb.OGD(n_options=5, risk_aversion=0.1, min_weight=0.2), horizon=10, replications=1
        )


def test_fixed_weights_may_play_any_problem_whose_set_they_are_in():
    for c, weights in ((0.2, None), (0.3, [0.3, 0.7, 0, 0, 0]), (1.0, [0, 1, 0, 0, 0]), (None, [0.05, 0.95, 0, 0, 0])):
        problem = cb.problems.synthetic(min_weight=c)
        learner = cb.FixedWeights(n_options=5, weights=weights)
        result = cb.simulate(problem, learner, horizon=20, replications=2)
        assert_allclose(result.at(result.learners[0]), 20 * problem.gap(learner.ask()), rtol=1e-12, atol=1e-15)
    for c, weights in ((0.21, None), (0.3, [0.29, 0.71, 0, 0, 0])):
        with pytest.raises(CovbanditError, match=rf"not all zero or at least the problem's min_weight {c}"):
            cb.simulate(
                cb.problems.synthetic(min_weight=c),
                cb.FixedWeights(n_options=5, weights=weights),
                horizon=20,
                replications=2,
            )


@pytest.mark.parametrize("c", [0.15, 0.5])
def test_simulated_regret_is_that_of_the_set(c):
    problem = cb.problems.random(4, "factor", 2, min_weight=c)
    result = cb.simulate(
        problem, cb.MCEmpirical(n_options=4, risk_aversion=1.0, min_weight=c), horizon=300, replications=5
    )
    regret = result.at(result.learners[0])
    assert (regret >= -1e-12).all()
    assert (regret <= 300 * max(problem.gap(e) for e in np.eye(4)) + 1).all()
