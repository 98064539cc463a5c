"""The optimistic maximiser: against a grid and SCIP, bounds that hold, instances of real runs, degenerate inputs."""

from __future__ import annotations

import itertools
import tracemalloc
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import covbandit as cb
from covbandit.errors import CovbanditError, InvalidInput
from covbandit.learners.pairwise import BONUS, MEAN, PENALTY
from covbandit.maximization import maximize_optimistic
from optimistic_programs import (
    MATRICES,
    OptimisticProgram,
    grid_maximum,
    indefinite,
    optimistic_unit,
    optimistic_value,
    played_program,
    positive,
    scip_maximum,
    seeded_program,
    seeded_programs,
)

# ----------------------------------------------------------------------------------------------------------------------
# What must hold


def value(program, weights):
    return float(optimistic_value(weights, *program[:4]))


def unit(program):
    return optimistic_unit(*program[:4])


def rounding(program, weights):
    """Return what F may lose by rounding: near a radicand of zero the root has half the digits."""
    q = max(float(weights @ program.bonus @ weights), 0.0)
    size = np.abs(program.bonus).max()
    root = 1e-14 * size / np.sqrt(q) if q > 1e-12 * size else 2e-7 * np.sqrt(size)
    return 1e-12 * unit(program) + 1e-15 * np.abs(program.mean).max() + root


def assert_on_the_set(weights, c):
    assert weights.min() >= 0
    assert abs(weights.sum() - 1) <= 1e-12
    assert (weights[weights > 0] >= (c or 0.0) - 1e-12).all()


def assert_sound(program, optimum):
    """Assert what holds for every answer, proven or not."""
    assert_on_the_set(optimum.weights, program.c)
    assert abs(optimum.utility - value(program, optimum.weights)) <= rounding(program, optimum.weights)
    assert optimum.certificate >= 0
    assert optimum.upper_bound >= optimum.utility


def largest_support(program):
    d = len(program.mean)
    return d if program.c is None else min(d, int((1 + 1e-12) / program.c))


def random_weights(program, rng, n):
    """Return feasible weights, one row each: random supports, with corners as likely as the middle."""
    d, c = len(program.mean), program.c or 0.0
    rows = np.zeros((n, d))
    for row in rows:
        k = int(rng.integers(1, largest_support(program) + 1))
        shares = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 10.0])))
        row[rng.permutation(d)[:k]] = c + max(1 - k * c, 0.0) * shares
    return rows


def certify(program, **more):
    optimum = maximize_optimistic(*program, certified=True, **more)
    assert optimum.method == "branch and bound"
    assert optimum.nodes >= 1
    assert_sound(program, optimum)
    return optimum


# ----------------------------------------------------------------------------------------------------------------------
# Instances of real runs


@cache
def harvested(d, c, rounds, every, seed=0, rho=0.1):
    """Return problems that MC-UCB meets: four kinds of correlation, at several rounds after start-up."""
    programs = []
    for kind in ("negative", "zero", "positive", "factor"):
        problem = cb.problems.random(d, kind, seed, risk_aversion=rho, min_weight=c)
        bound = float(problem.covariance.diagonal().max())
        learner = cb.MCUCB(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound)
        rng = np.random.default_rng([seed, d])
        rewards = rng.multivariate_normal(problem.mean, problem.covariance, d * d + rounds, method="cholesky")
        for t, y in enumerate(rewards):
            w = learner.ask()
            after = t - d * d
            if after >= 0 and after % every == 0:
                s = learner._state
                programs.append(OptimisticProgram(s.v[MEAN].copy(), s.m[BONUS].copy(), s.m[PENALTY].copy(), 1.0, c))
            learner.tell(w, np.where(w > 0, y, np.nan))
    return tuple(programs)


REAL = [(2, 0.3), (3, 0.1), (5, 0.1), (5, 0.2), (8, 0.1), (10, 0.1), (10, 0.3)]


@pytest.mark.parametrize(("d", "c"), REAL)
@pytest.mark.parametrize("rho", [0.1, 10.0])
def test_real_instances_are_certified_to_1e_9(d, c, rho):
    for program in harvested(d, c, rounds=200, every=40, rho=rho):
        optimum = certify(program)
        assert optimum.certified
        assert optimum.certificate <= 1e-9 * abs(optimum.utility)
        fast = maximize_optimistic(*program)
        assert_sound(program, fast)
        assert fast.utility <= optimum.upper_bound


def test_real_instances_of_twenty_options_are_certified_to_1e_6():
    for program in harvested(20, 0.2, rounds=60, every=30):
        optimum = certify(program, tolerance=1e-6)
        assert optimum.certified
        assert optimum.certificate <= 1e-6 * abs(optimum.utility)


def test_the_search_finds_the_best_weights_of_real_instances():
    programs = [p for seed in (1, 2, 3) for p in harvested(5, 0.1, rounds=300, every=5, seed=seed)]
    programs += harvested(5, 0.2, rounds=300, every=5, seed=4, rho=10.0)
    assert len(programs) >= 900
    missed = [
        program
        for program in programs
        if maximize_optimistic(*program).utility < certify(program).utility - 1e-8 * unit(program)
    ]
    assert len(missed) <= 0.005 * len(programs)


# ----------------------------------------------------------------------------------------------------------------------
# Against other maximisers


@settings(max_examples=60)
@given(seeded_programs(1, 3))
def test_a_grid_finds_nothing_better(program):
    grid = grid_maximum(*program, steps={1: 2, 2: 60, 3: 16}[len(program.mean)])
    optimum = certify(program, node_limit=100_000)
    slack = rounding(program, optimum.weights) + rounding(program, grid.weights)
    assert optimum.certified
    assert optimum.utility >= grid.value - slack - optimum.tolerance
    assert optimum.utility <= grid.upper + slack
    assert optimum.upper_bound >= grid.value - slack
    fast = maximize_optimistic(*program)
    assert_sound(program, fast)
    if program.bonus.diagonal().min() >= 0:  # else the root may rise from zero between the points that the search sees
        assert fast.utility >= grid.value - slack - 1e-8 * unit(program)


KINDS = [
    ("psd", "psd"),
    ("psd", "indefinite"),
    ("indefinite", "indefinite"),
    ("positive", "indefinite"),
    ("crossed", "psd"),
    ("indefinite", "zero"),
    ("zero", "indefinite"),
    ("rank_one", "psd"),
    ("negative", "indefinite"),
    ("duplicated", "duplicated"),
    ("tied", "tied"),
]


def scip_programs():
    for (d, c), seed in itertools.product([(2, 0.3), (4, 0.1), (5, 0.2), (6, 0.3)], range(3)):
        yield played_program(np.random.default_rng([seed, d]), d, c, 5 * seed, (0.1, 1.0, 10.0)[seed])
    for number, (bonus, risk) in enumerate(KINDS):
        for d, c in ((3 + number % 2, (0.2, None, 0.1)[number % 3]), (5 + number % 2, (0.3, 0.4)[number % 2])):
            yield seeded_program(np.random.default_rng([number, d]), d, c, bonus, risk)


@pytest.mark.parametrize("program", list(scip_programs()), ids=lambda p: f"{len(p.mean)} options, c={p.c}")
def test_scip_agrees(program):
    scip = scip_maximum(*program, limit=0.7)
    optimum = certify(program)
    assert optimum.certified
    assert value(program, scip.weights) <= optimum.upper_bound + rounding(program, scip.weights)
    # Where the radicand is near zero, SCIP's tolerance of 1e-9 on it moves its bound by up to 3e-5.
    near_zero = optimum.weights @ program.bonus @ optimum.weights < 1e-4 * unit(program) ** 2
    slip = (5e-5 if near_zero else 1e-6) * unit(program)
    assert optimum.utility <= scip.bound + slip
    if scip.status in ("optimal", "gaplimit"):
        assert optimum.utility == pytest.approx(scip.value, abs=slip)


# ----------------------------------------------------------------------------------------------------------------------
# Bounds


@settings(max_examples=150)
@given(seeded_programs(1, 8), st.integers(0, 2**32 - 1))
def test_no_feasible_weights_exceed_the_bound(program, seed):
    optimum = certify(program, node_limit=4_000)
    rows = random_weights(program, np.random.default_rng(seed), 200)
    values = optimistic_value(rows, *program[:4])
    best = rows[values.argmax()]
    assert values.max() <= optimum.upper_bound + rounding(program, best)
    # Nor do weights around the best ones.
    near = 0.999 * optimum.weights + 0.001 * rows
    near = near[((near == 0) | (near >= (program.c or 0.0))).all(axis=1)]
    if len(near):
        top = near[optimistic_value(near, *program[:4]).argmax()]
        assert value(program, top) <= optimum.upper_bound + rounding(program, top)


@settings(max_examples=60)
@given(seeded_programs(2, 7), st.sampled_from([1, 2, 3, 10, 60]))
def test_a_node_limit_ends_with_the_best_found_and_an_honest_bound(program, limit):
    full = certify(program, node_limit=50_000)
    short = certify(program, node_limit=limit)
    assert short.nodes <= limit
    slack = rounding(program, full.weights)
    assert short.upper_bound >= full.utility - slack
    assert short.upper_bound >= full.upper_bound - full.tolerance - slack
    assert short.utility >= maximize_optimistic(*program).utility - slack
    assert short.certified == (short.certificate <= short.tolerance)
    if short.nodes < limit - 1:
        assert short.certified


def test_a_node_limit_can_bind():
    program = seeded_program(np.random.default_rng(3), 10, 0.1, "crossed", "indefinite")
    short, full = certify(program, node_limit=20), certify(program)
    assert full.certified
    assert full.nodes > 20 >= short.nodes
    assert not short.certified
    assert short.upper_bound > full.upper_bound
    wide = certify(program, tolerance=2 * short.certificate / abs(short.utility), node_limit=20)
    assert wide.certified
    assert wide.nodes <= short.nodes


@pytest.mark.parametrize("kind", sorted(MATRICES))
def test_bounds_are_never_worse_than_the_largest_terms(kind):
    # max θ + √max A - min C needs no tree at all: whatever the node limit, nothing above it is worth returning.
    for seed in range(10):
        program = seeded_program(np.random.default_rng([seed, 99]), 6, 0.1, kind, "indefinite")
        trivial = program.mean.max() + np.sqrt(max(program.bonus.max(), 0)) - program.rho * program.risk.min()
        for limit in (1, 30):
            assert certify(program, node_limit=limit).upper_bound <= trivial + 1e-9 * unit(program)


@pytest.mark.parametrize("c", [None, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("bonus", ["indefinite", "tied", "crossed", "duplicated", "negative"])
def test_indefinite_matrices_of_few_options_are_certified(c, bonus):
    # Radicands of both signs, and pairs far less known than single options: nodes must not be cut into slivers.
    for seed, risk in enumerate(["psd", "indefinite", "crossed", "zero", "negative", "positive"]):
        program = seeded_program(np.random.default_rng([seed, 5]), 4, c, bonus, risk)
        optimum = certify(program, node_limit=20_000)
        assert optimum.certified, (seed, risk)


# ----------------------------------------------------------------------------------------------------------------------
# The search


@settings(max_examples=150)
@given(seeded_programs(1, 12), st.integers(0, 2**32 - 1))
def test_the_search_proves_nothing_and_says_so(program, seed):
    fast = maximize_optimistic(*program)
    assert_sound(program, fast)
    assert not fast.certified
    assert fast.certificate == fast.upper_bound == np.inf
    assert fast.method == "search"
    assert fast.nodes == 0
    # Single options and equal weights of pairs are among the points that it has seen.
    assert fast.utility >= max(value(program, e) for e in np.eye(len(program.mean))) - rounding(program, fast.weights)
    rows = random_weights(program, np.random.default_rng(seed), 20)
    for row in rows:
        row /= row.sum()
        warm = maximize_optimistic(*program, start=row)
        assert_sound(program, warm)
        if (row[row > 0] >= (program.c or 0.0)).all():
            assert warm.utility >= value(program, row) - rounding(program, row)


@settings(max_examples=80)
@given(seeded_programs(1, 9))
def test_a_warm_start_never_hurts(program):
    cold = maximize_optimistic(*program)
    warm = maximize_optimistic(*program, start=cold.weights)
    assert warm.utility >= cold.utility - rounding(program, cold.weights)
    proven = certify(program, node_limit=2_000, start=cold.weights)
    assert proven.utility >= cold.utility - rounding(program, cold.weights)


def test_a_start_off_the_set_is_ignored():
    program = seeded_program(np.random.default_rng(8), 5, 0.3, "psd", "indefinite")
    cold = maximize_optimistic(*program)
    warm = maximize_optimistic(*program, start=np.full(5, 0.2))
    assert_array_equal(warm.weights, cold.weights)


@settings(max_examples=60)
@given(seeded_programs(1, 9), st.booleans())
def test_the_same_input_gives_the_same_answer_and_is_left_alone(program, certified):
    arrays = [np.array(a) for a in program[:3]]
    for array in arrays:
        array.setflags(write=False)
    first, again = (
        maximize_optimistic(*arrays, program.rho, program.c, certified=certified, node_limit=500) for _ in range(2)
    )
    assert_array_equal(first.weights, again.weights)
    assert (first.utility, first.certificate, first.nodes) == (again.utility, again.certificate, again.nodes)
    for array, before in zip(arrays, program[:3], strict=True):
        assert_array_equal(array, before)


def ascend(program, w):
    """Return the value that moving weight between two options leads to, also to and from none: always the best move."""
    mean, bonus, risk, rho, c = program
    m = largest_support(program)
    fractions = 0.5 ** np.arange(12)
    w = w.copy()
    for _ in range(300):
        support = np.flatnonzero(w)
        aw, rw = bonus @ w, risk @ w
        q = w @ aw
        j, i = support[:, None], np.arange(len(w))[None, :]
        inside = w[i] > 0
        # Within the support any share of what is above c; to a new option everything, or c if that leaves c.
        amounts = np.where(inside, fractions[:, None, None] * (w[j] - c), 0.0)
        amounts[0] = w[j] + 0 * i
        spare = ~inside & (w[j] >= 2 * c) & (len(support) < m)
        amounts[1] = np.where(inside, w[j] - c, np.where(spare, c, 0.0))
        bend = [M[i, i] + M[j, j] - 2 * M[i, j] for M in (bonus, risk)]
        square = q + amounts * (2 * (aw[i] - aw[j]) + amounts * bend[0])
        gain = amounts * (mean[i] - mean[j]) + np.sqrt(np.maximum(square, 0)) - np.sqrt(max(q, 0.0))
        gain -= rho * amounts * (2 * (rw[i] - rw[j]) + amounts * bend[1])
        size, giver, taker = np.unravel_index(gain.argmax(), gain.shape)
        if gain[size, giver, taker] <= 1e-12 * unit(program):
            break
        amount = amounts[size, giver, taker]
        w[taker] += amount
        w[support[giver]] = 0.0 if size == 0 else w[support[giver]] - amount
    return value(program, w)


def fifty_options():
    yield from harvested(50, 0.1, rounds=41, every=40)[1::4]
    rng = np.random.default_rng(50)
    yield OptimisticProgram(rng.standard_normal(50), positive(rng, 50), indefinite(rng, 50), 1.0, 0.2)


def test_fifty_options_are_never_worse_than_two_hundred_random_ascents():
    rng = np.random.default_rng(7)
    for program in fifty_options():
        fast = maximize_optimistic(*program)
        assert_sound(program, fast)
        best = max(ascend(program, w) for w in random_weights(program, rng, 200))
        assert fast.utility >= best - 1e-9 * unit(program)


@pytest.mark.parametrize("c", [None, 0.02, 0.1, 0.6])
def test_a_hundred_options_need_little_memory(c):
    rng = np.random.default_rng(100)
    program = OptimisticProgram(rng.standard_normal(100), indefinite(rng, 100), indefinite(rng, 100), 1.0, c)
    tracemalloc.start()
    try:
        for optimum in (maximize_optimistic(*program), certify(program, node_limit=100)):
            assert_sound(program, optimum)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


# ----------------------------------------------------------------------------------------------------------------------
# Degenerate inputs


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("c", [None, 0.1, "1/d", 0.5, 0.6, 1.0])
@pytest.mark.parametrize("kind", ["zero", "ones", "identity", "minus ones", "hollow"])
def test_ties_and_zeros(d, c, kind):
    c = 1 / d if c == "1/d" else c
    matrix = {
        "zero": np.zeros((d, d)),
        "ones": np.ones((d, d)),
        "identity": np.eye(d),
        "minus ones": -np.ones((d, d)),
        "hollow": np.ones((d, d)) - np.eye(d),
    }[kind]
    for bonus, risk in ((matrix, np.zeros((d, d))), (np.zeros((d, d)), matrix), (matrix, matrix)):
        program = OptimisticProgram(np.full(d, 0.25), bonus, risk, 0.5, c)
        optimum = certify(program)
        assert optimum.certified
        # By symmetry the best weights are equal ones on some options, or as unequal as may be.
        candidates = []
        for k in range(1, largest_support(program) + 1):
            corner = np.full(k, c or 0.0)
            corner[0] += 1 - corner.sum()
            candidates += [np.full(k, 1 / k), corner]
        best = max(value(program, np.concatenate([w, np.zeros(d - len(w))])) for w in candidates)
        assert optimum.utility == pytest.approx(best, abs=1e-9)
        assert maximize_optimistic(*program).utility == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("certified", [False, True])
def test_one_option(certified):
    for c in (None, 0.1, 1.0):
        optimum = maximize_optimistic([2.0], [[4.0]], [[3.0]], 0.5, c, certified=certified)
        assert optimum.weights.tolist() == [1.0]
        assert optimum.utility == 2.5
        assert optimum.certified == certified


@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize("c", [0.51, 0.6, 0.999, 1.0])
def test_above_a_half_one_option_wins(c, certified):
    for seed in range(20):
        program = seeded_program(np.random.default_rng(seed), 6, c, "indefinite", "indefinite")
        values = [value(program, e) for e in np.eye(6)]
        optimum = maximize_optimistic(*program, certified=certified)
        assert_array_equal(optimum.weights, np.eye(6)[int(np.argmax(values))])
        assert optimum.utility == pytest.approx(max(values), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("d", [2, 3, 4, 6, 7, 10])
def test_c_of_one_over_k_leaves_no_choice_of_weights_to_k_options(d):
    for k, seed in itertools.product(range(2, d + 1), range(3)):
        program = seeded_program(np.random.default_rng([d, k, seed]), d, 1 / k, "positive", "indefinite")
        optimum = certify(program)
        assert optimum.certified
        assert np.count_nonzero(optimum.weights) <= k
        equal = max(value(program, np.isin(np.arange(d), chosen) / k) for chosen in itertools.combinations(range(d), k))
        assert optimum.utility >= equal - 1e-12 * unit(program)
        if np.count_nonzero(optimum.weights) == k:
            assert_allclose(optimum.weights[optimum.weights > 0], 1 / k, rtol=1e-12)
            assert optimum.utility == pytest.approx(equal, abs=1e-12 * unit(program))


def test_radicands_that_are_never_positive_count_as_zero():
    for seed in range(10):
        program = seeded_program(np.random.default_rng(seed), 5, 0.2, "negative", "psd")
        without = program._replace(bonus=np.zeros((5, 5)))
        exact = cb.maximize_utility(program.mean, program.risk, program.rho, min_weight=0.2)
        for p in (program, without):
            optimum = certify(p)
            assert optimum.certified
            assert optimum.utility == pytest.approx(exact.utility, rel=1e-9, abs=1e-9)


def test_an_option_that_is_known_for_sure_can_be_certified():
    # Its bonus is zero: a lift of A against rounding must not show in the root.
    for certain in range(3):
        mean, bonus = np.zeros(3), np.diag([0.01, 0.04, 0.09])
        mean[certain], bonus[certain, certain] = 1.0, 0.0
        optimum = maximize_optimistic(mean, bonus, np.zeros((3, 3)), 1.0, 0.1, certified=True)
        assert_array_equal(optimum.weights, np.eye(3)[certain])
        assert optimum.certificate <= 1e-12
        assert optimum.certified


SCALES = st.sampled_from([1e-8, 1e-4, 1.0, 1e4, 1e8])


@settings(max_examples=80)
@given(seeded_programs(1, 6), SCALES)
def test_units_do_not_matter(program, scale):
    mean, bonus, risk, rho, c = program
    plain = certify(program, node_limit=5_000)
    scaled = certify(OptimisticProgram(scale * mean, scale**2 * bonus, scale * risk, rho, c), node_limit=5_000)
    slack = rounding(program, plain.weights) + plain.tolerance
    if plain.certified and scaled.certified:
        assert scaled.utility / scale == pytest.approx(plain.utility, abs=slack)
    assert scaled.certified == plain.certified or plain.nodes > 2_000
    fast, same = (maximize_optimistic(*p) for p in (program, (scale * mean, scale**2 * bonus, scale * risk, rho, c)))
    assert same.utility / scale == pytest.approx(fast.utility, abs=1e-8 * unit(program) + slack)


@settings(max_examples=80)
@given(seeded_programs(2, 6), st.sampled_from([-(2.0**27), 2.0**27]))
def test_a_common_offset_of_rewards_costs_no_digits(program, offset):
    mean = np.round(program.mean * 2**20) / 2**20  # so that adding the offset does not round
    near = program._replace(mean=mean)
    far = program._replace(mean=mean + offset)
    for certified in (False, True):
        a, b = (maximize_optimistic(*p, certified=certified, node_limit=5_000) for p in (near, far))
        assert value(near, b.weights) == pytest.approx(
            value(near, a.weights), abs=2 * a.tolerance + 1e-11 * unit(near) + rounding(near, a.weights)
        )
        assert b.utility == pytest.approx(offset + a.utility, abs=1e-7 + a.tolerance)
    if a.certified:
        assert b.certificate <= 2e-9 * unit(near) + rounding(near, a.weights)


def test_other_types_and_layouts():
    mean, bonus, risk = [1, 2, 3], [[4, 1, 0], [1, 3, -1], [0, -1, 5]], [[1, 0, 2], [0, -2, 1], [2, 1, 3]]
    expected = maximize_optimistic(np.array(mean, float), np.array(bonus, float), np.array(risk, float), 1.0, 0.2)
    for kind in (np.int64, np.float32):
        for order in "CF":
            again = maximize_optimistic(
                np.array(mean, kind), np.array(bonus, kind, order=order), np.array(risk, kind, order=order), 1, 0.2
            )
            assert_array_equal(again.weights, expected.weights)
    slightly = np.array(bonus, float)
    slightly[0, 1] += 1e-15
    assert_allclose(maximize_optimistic(mean, slightly, risk, 1, 0.2).weights, expected.weights, atol=1e-9)


# ----------------------------------------------------------------------------------------------------------------------
# Refusals

NAN, INF = float("nan"), float("inf")
REFUSALS = [
    ({"mean": [1, NAN]}, r"option 1: mean is nan, which is not finite"),
    ({"mean": []}, r"mean must have at least one entry"),
    ({"mean": 3.0}, r"mean must have 1 dimension\(s\), got an array of shape \(\)"),
    ({"mean": ["a", "b"]}, r"mean must be numeric"),
    ({"bonus": np.eye(3)}, r"bonus must be 2 × 2, one row per option, got \(3, 3\)"),
    ({"bonus": [[1, 0]]}, r"bonus must be square, got shape \(1, 2\)"),
    ({"bonus": [1, 0]}, r"bonus must have 2 dimension\(s\)"),
    ({"bonus": [[1, INF], [INF, 1]]}, r"bonus of option 0 and option 1 is inf, which is not finite"),
    ({"bonus": [[1, 0.5], [0.25, 1]]}, r"bonus is not symmetric: entry \(0, 1\) is 0\.5 but \(1, 0\) is 0\.25"),
    ({"risk": [[NAN, 0], [0, 1]]}, r"risk of option 0 and option 0 is nan, which is not finite"),
    ({"risk": [[1, 2], [3, 1]]}, r"risk is not symmetric: entry \(0, 1\) is 2\.0 but \(1, 0\) is 3\.0"),
    ({"risk": "low"}, r"risk must be numeric"),
    ({"risk_aversion": -1}, r"risk_aversion must not be negative, got -1\.0"),
    ({"risk_aversion": NAN}, r"risk_aversion must be finite, got nan"),
    ({"min_weight": 0}, r"min_weight must be above 0 and at most 1, got 0\.0"),
    ({"min_weight": -0.1}, r"min_weight must be above 0 and at most 1, got -0\.1"),
    ({"min_weight": 1.5}, r"min_weight must be above 0 and at most 1, got 1\.5"),
    ({"min_weight": NAN}, r"min_weight must be finite, got nan"),
    ({"min_weight": "x"}, r"min_weight must be a number, got 'x'"),
    ({"start": [0.5, 0.6]}, r"start weights sum to 1\.1, not to one"),
    ({"start": [1.5, -0.5]}, r"option 1: start weight -0\.5 is negative"),
    ({"start": [1.0]}, r"start weight must have 2 entries, one per option, got 1"),
    ({"tolerance": 0}, r"tolerance must be positive, got 0\.0"),
    ({"tolerance": -1e-9}, r"tolerance must be positive, got -1e-09"),
    ({"tolerance": NAN}, r"tolerance must be finite, got nan"),
    ({"node_limit": 0}, r"node_limit must be at least 1, got 0"),
    ({"node_limit": 1.5}, r"node_limit must be a whole number, got 1\.5"),
    ({"bonus": 1e300 * np.eye(2), "risk": 1e300 * np.eye(2)}, r"1e\+300 overflow when squared; use larger units"),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS, ids=[str(next(iter(r[0].items()))) for r in REFUSALS])
@pytest.mark.parametrize("certified", [False, True])
def test_refusals_name_the_offender(change, message, certified):
    good = {"mean": [1.0, 2.0], "bonus": np.eye(2), "risk": np.eye(2), "risk_aversion": 1.0, "min_weight": 0.1}
    with pytest.raises(InvalidInput, match=message) as caught:
        maximize_optimistic(**good | {"certified": certified} | change)
    assert isinstance(caught.value, CovbanditError)
