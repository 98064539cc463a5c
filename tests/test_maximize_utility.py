"""The exact maximiser: proofs of optimality, known answers, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covbandit.errors import CovbanditError, Infeasible, InvalidInput, NotPositiveSemidefinite, Unsupported
from covbandit.maximization import Optimum, maximize_utility
from quadratic_programs import (
    QP,
    drawn_qps,
    prove,
    prove_from_anywhere,
    scale,
    seeded_covariance,
    seeded_qps,
    symmetric,
)

SYNTHETIC = np.full((5, 5), -0.05) + 1.05 * np.eye(5)


@settings(max_examples=800)
@given(drawn_qps(), st.integers(0, 1000))
def test_small_problems_are_solved_and_proven(qp, seed):
    prove_from_anywhere(qp, seed)


@settings(max_examples=1200)
@given(seeded_qps(1, 40), st.integers(0, 1000))
def test_problems_up_to_forty_options_are_solved_and_proven(qp, seed):
    prove_from_anywhere(qp, seed)


@settings(max_examples=150)
@given(seeded_qps(60, 110), st.integers(0, 1000))
def test_problems_around_the_dense_start_are_solved_and_proven(qp, seed):
    prove_from_anywhere(qp, seed)


@pytest.mark.parametrize("d", [63, 64, 100])
@pytest.mark.parametrize("rho", [1e-300, 1e-30, 1e-17, 1e-15, 1e-8])
def test_many_options_with_next_to_no_risk(d, rho):
    rng = np.random.default_rng(d)
    factor = rng.standard_normal((2 * d, d))
    for mean in (rng.standard_normal(d), rng.choice([0.0, 1.0], d)):
        qp = QP(mean, symmetric(factor.T @ factor / (2 * d)), rho, None)
        prove(qp, qp.solve())
        prove(qp, qp.solve(np.full(d, 1 / d)))


@pytest.mark.parametrize("d", [5, 63, 64, 100])
@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_many_options_without_risk_from_all_of_them(d, rho):
    qp = QP(np.sin(np.arange(d)), np.zeros((d, d)), rho, None)
    optimum = qp.solve(np.full(d, 1 / d))
    prove(qp, optimum)
    assert optimum.weights.argmax() == qp.mean.argmax()


@given(seeded_qps(2, 12), st.floats(-9e-10, 9e-10))
@settings(max_examples=100)
def test_start_may_sum_to_one_within_rounding(qp, slip):
    start = np.full(qp.mean.size, (1 + slip) / qp.mean.size)
    prove(qp, qp.solve(start))


# ----------------------------------------------------------------------------------------------------------------------
# Large problems


def large_qp(d, kind):
    rng = np.random.default_rng([d, 1])
    if kind == "full support":
        covariance = np.full((d, d), 0.1)
        np.fill_diagonal(covariance, 1.0)
        return QP(0.2 + 1e-4 * rng.standard_normal(d), covariance, 1.0, None)
    if kind == "small support":
        factor = rng.standard_normal((2 * d, d))
        return QP(rng.standard_normal(d), symmetric(factor.T @ factor / (2 * d)), 0.1, None)
    if kind == "half support":
        factor = rng.standard_normal((2 * d, d))
        return QP(0.01 * rng.standard_normal(d), symmetric(factor.T @ factor / (2 * d)), 1.0, None)
    samples = rng.standard_normal((d // 10, d))  # fewer than options
    return QP(0.01 * rng.standard_normal(d), symmetric(samples.T @ samples / (d // 10)), 1.0, None)


SUPPORTS = {
    "full support": lambda share: share == 1,
    "small support": lambda share: share < 0.1,
    "half support": lambda share: 0.1 < share < 0.9,
    "singular": lambda share: 0.02 < share <= 0.11,
}


@pytest.mark.parametrize(
    ("d", "kind"), [(d, kind) for d in (100, 500, 1000) for kind in SUPPORTS if (d, kind) != (1000, "half support")]
)
def test_large_problems_are_certified(d, kind):
    qp = large_qp(d, kind)
    cold = qp.solve()
    prove(qp, cold)
    assert SUPPORTS[kind](np.count_nonzero(cold.weights) / d)
    nearby = cold.weights + 1e-3 * np.random.default_rng(d).random(d)
    for start in (cold.weights, nearby / nearby.sum()):
        warm = qp.solve(start)
        prove(qp, warm)
        assert abs(warm.utility - cold.utility) <= 1e-11 * scale(qp)


@pytest.mark.parametrize("kind", SUPPORTS)
@pytest.mark.parametrize("d", [100, 500])
def test_large_problems_with_caps_are_certified(d, kind):
    qp = large_qp(d, kind)._replace(caps=np.full(d, 5 / d))
    cold = qp.solve()
    prove(qp, cold)
    warm = qp.solve(np.full(d, 1 / d))
    prove(qp, warm)
    assert abs(warm.utility - cold.utility) <= 1e-11 * scale(qp)


# ----------------------------------------------------------------------------------------------------------------------
# Known answers


def test_paper_instance():
    optimum = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1)
    np.testing.assert_allclose(optimum.weights, [11 / 105, 61 / 105, 11 / 105, 11 / 105, 11 / 105], rtol=1e-14)


def test_one_option():
    optimum = maximize_utility([3.0], [[4.0]], 0.5)
    assert optimum.weights.tolist() == [1.0]
    assert optimum.utility == 1.0
    assert optimum.certificate == 0.0
    assert optimum.certified


def test_everything_zero():
    optimum = maximize_utility([0.0, 0.0], np.zeros((2, 2)), 0.0)
    assert optimum.weights.tolist() == [1.0, 0.0]
    assert optimum.utility == optimum.certificate == optimum.tolerance == 0.0
    assert optimum.certified


@pytest.mark.parametrize("start", [None, [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]])
@pytest.mark.parametrize(("rho", "covariance"), [(0.0, SYNTHETIC[:4, :4]), (1.0, np.zeros((4, 4)))])
def test_without_risk_the_first_best_option_wins(start, rho, covariance):
    optimum = maximize_utility([0.1, 0.3, 0.2, 0.3], covariance, rho, start=start)
    assert optimum.weights.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert optimum.utility == 0.3
    assert optimum.certified


@pytest.mark.parametrize("start", [None, [0.25, 0.25, 0.25, 0.25]])
def test_without_risk_caps_are_filled_from_the_best(start):
    optimum = maximize_utility(
        [0.1, 0.3, 0.2, 0.3], SYNTHETIC[:4, :4], 0, max_weight=[1, 0.25, 0.5, 0.125], start=start
    )
    assert optimum.weights.tolist() == [0.125, 0.25, 0.5, 0.125]
    assert optimum.certified


def test_scalar_cap_serves_all():
    optimum = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1, max_weight=0.3)
    np.testing.assert_allclose(optimum.weights, [0.175, 0.3, 0.175, 0.175, 0.175], rtol=1e-14)


def test_caps_of_one_or_more_do_not_bind():
    free = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1)
    for caps in (1, 1.0, 7.5, [1, 2, 3, 4, 5]):
        capped = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1, max_weight=caps)
        np.testing.assert_array_equal(capped.weights, free.weights)


def test_offset_of_the_means_leaves_the_weights():
    mean = np.array([0.25, 0.375, 0.25, 0.125, 0.25])
    near = maximize_utility(mean, SYNTHETIC, 0.1).weights
    far = maximize_utility(mean + 2.0**26, SYNTHETIC, 0.1).weights
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-14)


def test_start_that_breaks_the_caps_is_brought_inside():
    qp = QP(np.array([0.2, 0.3, 0.2, 0.2, 0.2]), SYNTHETIC, 0.1, np.array([0.0, 0.3, 0.3, 0.3, 0.3]))
    for start in ([1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0.5, 0.5, 0, 0, 0]):
        optimum = qp.solve(start)
        prove(qp, optimum)
        np.testing.assert_allclose(optimum.weights, qp.solve().weights, rtol=0, atol=1e-14)


def test_warm_start_at_the_optimum_is_settled_at_once():
    rng = np.random.default_rng(5)
    qp = QP(0.1 * rng.standard_normal(30), seeded_covariance(rng, 30, "full"), 1.0, None)
    cold = qp.solve()
    warm = qp.solve(cold.weights)
    assert warm.iterations <= 3 < cold.iterations
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=0, atol=1e-14)


def test_the_result_says_how_good_it_is():
    optimum = maximize_utility([0.2, 0.3], np.eye(2), 0.5)
    assert optimum.upper_bound == optimum.utility + optimum.certificate
    assert optimum.tolerance == pytest.approx(1e-12 * 0.5)
    assert optimum.indefinite == "no"
    assert optimum.nodes == 0
    assert optimum.iterations > 0
    assert not dataclasses.replace(optimum, certificate=2 * optimum.tolerance).certified
    assert not dataclasses.replace(optimum, certificate=float("nan")).certified
    with pytest.raises(dataclasses.FrozenInstanceError):
        optimum.utility = 1.0
    assert isinstance(optimum, Optimum)


def test_inputs_are_not_modified_and_not_kept():
    rng = np.random.default_rng(2)
    arrays = {
        "mean": rng.standard_normal(6),
        "covariance": symmetric(seeded_covariance(rng, 6, "full")),
        "max_weight": np.full(6, 0.4),
        "start": np.full(6, 1 / 6),
    }
    arrays["covariance"][0, 1] *= 1 + 4e-16  # asymmetry to be averaged away, in a copy
    before = {name: array.copy() for name, array in arrays.items()}
    for array in arrays.values():
        array.setflags(write=False)
    optimum = maximize_utility(**arrays, risk_aversion=1.0)
    maximize_utility(arrays["mean"], arrays["covariance"] - 5 * np.eye(6) + 5, 1.0, indefinite="project")
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name])
        assert not np.shares_memory(optimum.weights, array)


def test_other_memory_layouts_and_types():
    mean = np.array([2.0, 3.0, 2.0])
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 5.0]])
    expected = maximize_utility(mean, covariance, 1.0).weights
    spaced = np.zeros((6, 6))
    spaced[::2, ::2] = covariance
    for other in (
        np.asfortranarray(covariance),
        covariance.astype(int),
        covariance.astype(np.float32),
        covariance.tolist(),
        spaced[::2, ::2],
    ):
        np.testing.assert_array_equal(maximize_utility([2, 3, 2], other, 1).weights, expected)


# ----------------------------------------------------------------------------------------------------------------------
# Indefinite covariances

INDEFINITE = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # eigenvalues -0.8, 1.9, 1.9


def test_indefinite_covariance_is_refused_with_its_smallest_eigenvalue():
    with pytest.raises(NotPositiveSemidefinite, match=r'smallest eigenvalue is -0\.8; indefinite="project"'):
        maximize_utility([1, 2, 3], INDEFINITE, 1.0)


@settings(max_examples=100)
@given(st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_indefinite_covariance_is_projected(d, seed):
    rng = np.random.default_rng(seed)
    matrix = symmetric(rng.standard_normal((d, d)))
    matrix[np.diag_indices(d)] = np.abs(matrix.diagonal())
    matrix[0, 1] = matrix[1, 0] = 1 + np.sqrt(matrix[0, 0] * matrix[1, 1])
    mean = rng.standard_normal(d)
    optimum = maximize_utility(mean, matrix, 1.0, indefinite="project")
    values, vectors = np.linalg.eigh(matrix)
    qp = QP(mean, symmetric(vectors @ np.diag(np.maximum(values, 0)) @ vectors.T), 1.0, None)
    assert optimum.indefinite == "projected"
    prove(qp, optimum)
    assert optimum.utility == pytest.approx(qp.solve().utility, rel=1e-11, abs=1e-11 * scale(qp))


def test_projection_leaves_a_good_covariance_alone():
    plain = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1)
    optimum = maximize_utility([0.2, 0.3, 0.2, 0.2, 0.2], SYNTHETIC, 0.1, indefinite="project")
    assert optimum.indefinite == "no"
    np.testing.assert_array_equal(optimum.weights, plain.weights)


# ----------------------------------------------------------------------------------------------------------------------
# Refusals

NAN, INF = float("nan"), float("inf")
REFUSALS = [
    ({"mean": [1, NAN]}, InvalidInput, r"option 1: mean is nan, which is not finite"),
    ({"mean": [-INF, 1]}, InvalidInput, r"option 0: mean is -inf, which is not finite"),
    ({"mean": []}, InvalidInput, r"mean must have at least one entry"),
    ({"mean": 3.0}, InvalidInput, r"mean must have 1 dimension\(s\), got an array of shape \(\)"),
    ({"mean": [[1, 2]]}, InvalidInput, r"mean must have 1 dimension\(s\), got an array of shape \(1, 2\)"),
    ({"mean": ["a", "b"]}, InvalidInput, r"mean must be numeric, got list \['a', 'b'\]"),
    ({"mean": None}, InvalidInput, r"mean must have 1 dimension\(s\)"),
    (
        {"covariance": [[1, NAN], [NAN, 1]]},
        InvalidInput,
        r"covariance of option 0 and option 1 is nan, which is not finite",
    ),
    (
        {"covariance": [[1, 0], [0, INF]]},
        InvalidInput,
        r"covariance of option 1 and option 1 is inf, which is not finite",
    ),
    ({"covariance": [[1, 0]]}, InvalidInput, r"covariance must be square, got shape \(1, 2\)"),
    ({"covariance": [1, 1]}, InvalidInput, r"covariance must have 2 dimension\(s\), got an array of shape \(2,\)"),
    ({"covariance": np.eye(3)}, InvalidInput, r"covariance must be 2 × 2, one row per option, got \(3, 3\)"),
    (
        {"covariance": [[1, 0.5], [0.25, 1]]},
        InvalidInput,
        r"not symmetric: entry \(0, 1\) is .*0\.5\)? but \(1, 0\) is .*0\.25",
    ),
    ({"covariance": [[1, 0], [0, -2]]}, NotPositiveSemidefinite, r"option 1: variance -2\.0 is negative"),
    ({"covariance": [[1, 2], [2, 1]]}, NotPositiveSemidefinite, r"smallest eigenvalue is -1;"),
    ({"covariance": [[0, 1], [1, 0]]}, NotPositiveSemidefinite, r"smallest eigenvalue is -1;"),
    ({"risk_aversion": -0.5}, InvalidInput, r"risk_aversion must not be negative, got -0\.5"),
    ({"risk_aversion": NAN}, InvalidInput, r"risk_aversion must be finite, got nan"),
    ({"risk_aversion": INF}, InvalidInput, r"risk_aversion must be finite, got inf"),
    ({"risk_aversion": "much"}, InvalidInput, r"risk_aversion must be a number, got 'much'"),
    ({"risk_aversion": None}, InvalidInput, r"risk_aversion must be a number, got None"),
    ({"min_weight": 0}, InvalidInput, r"min_weight must be above 0 and at most 1, got 0\.0"),
    ({"min_weight": -0.1}, InvalidInput, r"min_weight must be above 0 and at most 1, got -0\.1"),
    ({"min_weight": 1.5}, InvalidInput, r"min_weight must be above 0 and at most 1, got 1\.5"),
    ({"min_weight": NAN}, InvalidInput, r"min_weight must be finite, got nan"),
    ({"min_weight": "x"}, InvalidInput, r"min_weight must be a number, got 'x'"),
    (
        {"min_weight": 0.1, "max_weight": 0.7},
        Unsupported,
        r"min_weight=0\.1 together with max_weight=0\.7 is not supported; leave one of them out",
    ),
    ({"max_weight": 0.4}, Infeasible, r"max_weight sums to 0\.8 over 2 options, so weights cannot sum to one"),
    ({"max_weight": [0.5, 0.5 - 1e-11]}, Infeasible, r"max_weight sums to 0\.99999999999 over 2 options"),
    ({"max_weight": [0.9, 0]}, Infeasible, r"max_weight sums to 0\.9 over 2 options"),
    ({"max_weight": [5, -0.1]}, InvalidInput, r"option 1: max_weight -0\.1 is negative"),
    ({"max_weight": -1}, InvalidInput, r"option 0: max_weight -1\.0 is negative"),
    ({"max_weight": [1, NAN]}, InvalidInput, r"option 1: max_weight is nan"),
    ({"max_weight": NAN}, InvalidInput, r"max_weight must be finite, got nan"),
    ({"max_weight": [1, 1, 1]}, InvalidInput, r"max_weight must have 2 entries, one per option, got 3"),
    ({"max_weight": "all"}, InvalidInput, r"max_weight must be a number, got 'all'"),
    ({"start": [0.5, 0.6]}, InvalidInput, r"start weights sum to 1\.1, not to one within 1e-09"),
    ({"start": [0.0, 0.0]}, InvalidInput, r"start weights sum to 0\.0, not to one"),
    ({"start": [1.5, -0.5]}, InvalidInput, r"option 1: start weight -0\.5 is negative"),
    ({"start": [NAN, 1]}, InvalidInput, r"option 0: start weight is nan"),
    ({"start": [1.0]}, InvalidInput, r"start weight must have 2 entries, one per option, got 1"),
    ({"indefinite": "ignore"}, InvalidInput, r"""indefinite must be "raise", "project" or "exact", got 'ignore'"""),
    ({"indefinite": None}, InvalidInput, r'indefinite must be "raise", "project" or "exact", got None'),
]


@pytest.mark.parametrize(
    ("change", "error", "message"), REFUSALS, ids=[str(next(iter(r[0].items()))) for r in REFUSALS]
)
def test_refusals_name_the_offender(change, error, message):
    with pytest.raises(error, match=message) as caught:
        maximize_utility(**{"mean": [1.0, 2.0], "covariance": np.eye(2), "risk_aversion": 1.0} | change)
    assert isinstance(caught.value, CovbanditError)
    assert isinstance(caught.value, ValueError)


def test_a_risk_term_that_overflows_is_refused():
    with pytest.raises(InvalidInput, match="overflows; use larger units"):
        maximize_utility([1, 2], np.eye(2) * 1e200, 1e200)
