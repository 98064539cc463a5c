"""The optimistic maximiser where little is left to choose: ties, zeros, single options, a radicand never positive."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import covbandit as cb
from covbandit.maximization import maximize_optimistic
from decision_set import largest_support
from optimistic_checks import certify, unit, value
from optimistic_programs import OptimisticProgram, seeded_program


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
        for k in range(1, largest_support(len(program.mean), program.c) + 1):
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
