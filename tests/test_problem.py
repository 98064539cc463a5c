"""The model: utilities, optima, gaps near the optimum."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covbandit import problems
from covbandit.errors import CovbanditError, Infeasible, InvalidInput, NotPositiveSemidefinite, Unsupported
from covbandit.maximization import maximize_utility
from covbandit.problems.problem import Problem

EPS = np.finfo(float).eps
ETF = problems.etf()


def capped(problem, max_weight):
    return Problem(
        mean=problem.mean,
        covariance=problem.covariance,
        risk_aversion=problem.risk_aversion,
        max_weight=max_weight,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Optima


@pytest.mark.parametrize(
    ("rho", "best", "others", "utility"),
    [
        (0.1, Fraction(61, 105), Fraction(11, 105), Fraction("0.22304762")),
        (10, Fraction(214, 1050), Fraction(209, 1050), Fraction("-1.37980952")),
    ],
)
def test_synthetic_optimum(rho, best, others, utility):
    optimum = problems.synthetic(rho).optimum()
    np.testing.assert_allclose(optimum.weights, [float(x) for x in (others, best, others, others, others)], rtol=1e-14)
    assert optimum.utility == pytest.approx(float(utility), abs=1e-8)
    assert optimum.certified


@pytest.mark.parametrize(
    ("rho", "weights"),
    [(0.1, [0.104762, 0.580952, 0.104762, 0.104762, 0.104762]), (10, [0.199048, 0.203810, 0.199048])],
)
def test_synthetic_optimum_has_the_stated_digits(rho, weights):
    computed = problems.synthetic(rho).optimum().weights
    np.testing.assert_allclose(computed[: len(weights)], weights, rtol=0, atol=5e-7)


def test_etf_optimum():
    optimum = ETF.optimum()
    np.testing.assert_allclose(optimum.weights, [0.611, 0, 0.194, 0.195, 0], rtol=0, atol=5e-4)
    assert optimum.weights[1] == optimum.weights[4] == 0
    assert optimum.utility == pytest.approx(9.641, abs=5e-4)
    assert optimum.certified
    assert ETF.options == ("SPY", "EFA", "TLT", "VNQ", "XLE")
    assert ETF.covariance.diagonal().max() == pytest.approx(270, rel=0.02)


def test_etf_moments_divide_by_the_number_of_years():
    spy = np.array([14.93, 2.06, 15.84, 32.21, 13.53, 1.34, 11.80, 21.69])
    tlt = np.array([9.25, 33.60, 3.25, -13.91, 27.35, -1.65, 1.36, 8.92])
    assert ETF.mean[0] == pytest.approx(spy.sum() / 8)
    assert ETF.covariance[0, 2] == pytest.approx((spy - spy.mean()) @ (tlt - tlt.mean()) / 8)


def test_the_optimum_is_that_of_maximize_utility_and_computed_once():
    for problem in (problems.synthetic(), ETF, capped(ETF, 0.4), problems.random(12, "factor", seed=3)):
        direct = maximize_utility(
            problem.mean, problem.covariance, problem.risk_aversion, max_weight=problem.max_weight
        )
        np.testing.assert_array_equal(problem.optimum().weights, direct.weights)
        assert problem.optimum() is problem.optimum()


def test_one_option():
    problem = Problem(mean=[3.0], covariance=[[4.0]], risk_aversion=0.5)
    assert problem.n_options == 1
    assert problem.optimum().weights.tolist() == [1.0]
    assert problem.utility([1.0]) == 1.0
    assert problem.gap([1.0]) == 0.0
    assert problem.reduced_gradient.tolist() == [0.0]


def test_without_risk_aversion_the_gap_is_the_difference_of_means():
    problem = Problem(mean=[0.25, 0.75, 0.5, 0.75], covariance=np.eye(4), risk_aversion=0)
    assert problem.optimum().weights.tolist() == [0, 1, 0, 0]
    assert problem.reduced_gradient.tolist() == [-0.5, 0, -0.25, 0]
    assert problem.gap([1, 0, 0, 0]) == 0.5
    assert problem.gap([0, 0, 0, 1]) == 0
    assert problem.gap([0.25, 0.25, 0.25, 0.25]) == 0.1875


# ----------------------------------------------------------------------------------------------------------------------
# Utilities and gaps


def exact_utility(problem, weights):
    """Return f(w) of the floats as they are, without any rounding."""
    w = [Fraction(x) for x in weights.tolist()]
    mean = sum(wi * Fraction(m) for wi, m in zip(w, problem.mean.tolist(), strict=True))
    variance = sum(
        wi * wj * Fraction(s)
        for wi, row in zip(w, problem.covariance.tolist(), strict=True)
        for wj, s in zip(w, row, strict=True)
    )
    return mean - Fraction(problem.risk_aversion) * variance


def feasible_moves(problem, step):
    """Yield weights that differ from the optimum by a transfer of `step`, with exactly the same sum."""
    best = problem.optimum().weights
    caps = np.ones(best.size) if problem.max_weight is None else problem.max_weight
    for source, target in permutations(range(best.size), 2):
        if best[source] < step or best[target] + step > caps[target]:
            continue
        weights = best.copy()
        weights[source] -= step
        weights[target] += step
        away = [Fraction(a) - Fraction(b) for a, b in zip(weights.tolist(), best.tolist(), strict=True)]
        if sum(away) == 0:  # no rounding in the transfer itself
            yield weights


def assert_gaps_are_exact(problem, exponents, tolerance):
    """Compare gaps at transfers of 2^-exponent with rational arithmetic; return how many were compared."""
    compared = 0
    top = exact_utility(problem, problem.optimum().weights)
    # What rounding of the gradient at the optimum can do; the certificate already admits as much.
    noise = 4 * EPS * max(np.ptp(problem.mean), problem.risk_aversion * problem.covariance.diagonal().max())
    for exponent in exponents:
        step = 2.0**-exponent
        for weights in feasible_moves(problem, step):
            exact = float(top - exact_utility(problem, weights))
            assert problem.gap(weights) == pytest.approx(exact, rel=tolerance(step), abs=noise * step)
            compared += 1
    return compared


def dyadic(mean, variances, rho, max_weight=None):
    return Problem(mean=mean, covariance=np.diag(variances), risk_aversion=rho, max_weight=max_weight)


# Optima that floats hold exactly, so that nothing limits the accuracy of the gap: interior, on faces, at caps.
EXACT = {
    "interior": dyadic([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 1], 0.5),
    "interior, unequal": dyadic([0.375, 0.625], [1, 1], 0.5),
    "face": dyadic([0.5, 0.5, -1, 0.5, 0.5, -2], [1, 1, 1, 1, 1, 1], 0.5),
    "vertex": dyadic([0, 4, 1], [1, 1, 1], 0.25),
    "degenerate vertex": dyadic([0.0, 1.0], [1, 1], 0.5),
    "caps": dyadic([4, 0.5, 0.5, 0.5, 0.5], [1, 1, 1, 1, 1], 0.5, [0.5, 1, 1, 1, 1]),
    "caps, nothing free": dyadic([4, 3, 0, -1], [1, 1, 1, 1], 0.5, [0.5, 0.5, 1, 1]),
    "caps and a face": dyadic([4, 0.5, 0.5, -3], [1, 1, 1, 1], 0.5, [0.5, 1, 1, 1]),
    "zero cap, some free": dyadic([9, 0.5, 0.5, -3], [1, 1, 1, 1], 0.5, [0, 1, 1, 1]),
    "zero cap, bad option": dyadic([2, 1, -100, 0], [0, 0, 0, 0], 1.0, [0.5, 0.5, 0, 1]),
    "zero cap, good option": dyadic([2, 1, 100, 0], [0, 0, 0, 0], 1.0, [0.5, 0.5, 0, 1]),
    "cap of one": dyadic([2, 0, 1, -50], [0, 0, 0, 0], 1.0, [1, 0.5, 0.5, 0]),
}


@pytest.mark.parametrize("problem", EXACT.values(), ids=EXACT)
def test_gap_is_exact_to_nine_digits_from_1e_3_to_1e_8(problem):
    assert assert_gaps_are_exact(problem, (10, 13, 17, 20, 23, 27), lambda step: 1e-9) >= 6


@pytest.mark.parametrize("problem", EXACT.values(), ids=EXACT)
def test_gap_is_exact_far_away(problem):
    assert_gaps_are_exact(problem, (1, 2, 3), lambda step: 1e-14)


NAMED = {
    "synthetic, .1": problems.synthetic(0.1),
    "synthetic, 10": problems.synthetic(10),
    "synthetic, vertex": problems.synthetic(0.01),
    "ETF": ETF,
    "ETF, 1": problems.etf(1.0),
    "synthetic, capped": capped(problems.synthetic(), 0.3),
    "ETF, capped": capped(ETF, 0.5),
    "ETF, caps differ": capped(ETF, [0.3, 0.2, 0.15, 0.4, 0.3]),
    "ETF, caps not dyadic": capped(ETF, [0.1, 0.7, 0.1, 0.7, 0.3]),
    "far offset": Problem(mean=1e8 + ETF.mean, covariance=ETF.covariance, risk_aversion=0.1),
    **{f"factor, {seed}": problems.random(7, "factor", seed, risk_aversion=2) for seed in range(3)},
    **{f"negative, {seed}": problems.random(4, "negative", seed) for seed in range(3)},
}


@pytest.mark.parametrize("problem", NAMED.values(), ids=NAMED)
def test_gap_is_exact_as_far_as_the_optimum_is(problem):
    # Weights of size one are rounded by EPS, so at a distance h the gap cannot be known better than EPS / h.
    assert assert_gaps_are_exact(problem, (10, 13, 17, 20, 23, 27), lambda h: max(1e-9, 4 * EPS / h)) >= 20


@st.composite
def capped_problems(draw):
    d = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factor = rng.standard_normal((d + 2, d)) / np.sqrt(d + 2)
    kind = draw(st.sampled_from(["equal", "shares", "some zero"]))
    if kind == "equal":
        caps = np.full(d, min(1.0, rng.uniform(1, 2) / d))
    else:
        caps = np.minimum(rng.dirichlet(np.ones(d)) * 1.5, 1.0)
        if kind == "some zero":
            caps[: d - 1] *= rng.random(d - 1) < 0.6
        caps[-1] = 1.0
    return Problem(
        mean=rng.standard_normal(d),
        covariance=(factor.T @ factor + (factor.T @ factor).T) / 2,
        risk_aversion=10.0 ** draw(st.floats(-1, 1)),
        max_weight=caps,
    )


@settings(max_examples=300)
@given(capped_problems())
def test_gap_is_exact_with_any_caps(problem):
    assert_gaps_are_exact(problem, (4, 10, 20), lambda h: max(1e-9, 32 * EPS / h))


@st.composite
def problems_and_weights(draw):
    d = draw(st.integers(1, 12))
    correlation = draw(st.sampled_from(["negative", "zero", "positive", "factor"]))
    problem = problems.random(d, correlation, draw(st.integers(0, 10**6)), risk_aversion=10.0 ** draw(st.floats(-2, 2)))
    shares = np.array(draw(st.lists(st.integers(0, 100), min_size=d, max_size=d)), dtype=float)
    shares[draw(st.integers(0, d - 1))] += 1
    return problem, shares / shares.sum()


@settings(max_examples=300)
@given(problems_and_weights())
def test_gap_is_the_difference_of_utilities(drawn):
    problem, weights = drawn
    optimum = problem.optimum()
    scale = max(np.abs(problem.mean).max(), problem.risk_aversion * problem.covariance.diagonal().max())
    gap = problem.gap(weights)
    assert gap >= 0
    assert gap == pytest.approx(optimum.utility - problem.utility(weights), rel=1e-12, abs=1e-12 * scale)
    assert problem.gap(optimum.weights) == 0
    expected = weights @ problem.mean - problem.risk_aversion * weights @ problem.covariance @ weights
    assert problem.utility(weights) == pytest.approx(expected, rel=1e-14, abs=1e-14 * scale)


@settings(max_examples=200)
@given(problems_and_weights(), st.integers(1, 9))
def test_gap_is_not_negative_next_to_the_optimum(drawn, exponent):
    problem, weights = drawn
    share = 10.0**-exponent
    assert problem.gap((1 - share) * problem.optimum().weights + share * weights) >= 0


@pytest.mark.parametrize("problem", [*EXACT.values(), *NAMED.values()], ids=[*EXACT, *NAMED])
def test_gap_at_the_optimum_is_exactly_zero(problem):
    gap = problem.gap(problem.optimum().weights)
    assert gap == 0
    assert isinstance(gap, float)


@pytest.mark.parametrize("problem", [*EXACT.values(), *NAMED.values()], ids=[*EXACT, *NAMED])
def test_reduced_gradient_has_the_signs_of_an_optimum(problem):
    w = problem.optimum().weights
    caps = np.full(w.size, np.inf) if problem.max_weight is None else problem.max_weight
    reduced = problem.reduced_gradient
    near_cap = np.isclose(w, caps, rtol=0, atol=1e-12)
    assert (reduced[(w > 0) & ~near_cap] == 0).all()
    assert (reduced[(w == 0) & ~near_cap] <= 0).all()
    assert (reduced[(w > 0) & near_cap] >= 0).all()
    # Up to one constant it is the gradient, except where a cap of zero leaves nothing to choose.
    gradient = (problem.mean - problem.mean[0]) - 2 * problem.risk_aversion * problem.covariance @ w
    scale = max(np.ptp(problem.mean), problem.risk_aversion * problem.covariance.diagonal().max())
    for a, b in pairwise((reduced - gradient)[caps > 0]):
        assert a == pytest.approx(b, abs=1e-12 * scale)


# ----------------------------------------------------------------------------------------------------------------------
# The object


def test_arrays_are_copies_and_read_only():
    mean, covariance, caps = np.array([1.0, 2.0]), np.eye(2), np.array([0.75, 0.75])
    problem = Problem(mean=mean, covariance=covariance, risk_aversion=1, max_weight=caps)
    mean[0] = covariance[0, 0] = caps[0] = 9.0
    assert problem.mean.tolist() == [1, 2]
    assert problem.covariance.tolist() == [[1, 0], [0, 1]]
    assert problem.max_weight.tolist() == [0.75, 0.75]
    for array in (problem.mean, problem.covariance, problem.max_weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_caps_that_cannot_bind_are_dropped():
    assert Problem(mean=[1, 2], covariance=np.eye(2), risk_aversion=1, max_weight=1).max_weight is None
    assert Problem(mean=[1, 2], covariance=np.eye(2), risk_aversion=1, max_weight=0.6).max_weight.tolist() == [0.6, 0.6]


def test_repr():
    assert repr(problems.synthetic()) == "Problem('synthetic', n_options=5, risk_aversion=0.1)"
    assert repr(Problem(mean=[1], covariance=[[1]], risk_aversion=2)) == "Problem(n_options=1, risk_aversion=2)"


@pytest.mark.parametrize("problem", [ETF, capped(ETF, 0.4), problems.synthetic()])
def test_to_dict_rebuilds_the_problem(problem):
    again = Problem(**problem.to_dict())
    assert again.to_dict() == problem.to_dict()
    assert again.optimum().utility == problem.optimum().utility
    assert again.options == problem.options


NAN = float("nan")
NAMES = ["tea", "coffee"]
REFUSALS = [
    ({"mean": [1, NAN]}, InvalidInput, r"option 'coffee' \(index 1\): mean is nan"),
    ({"mean": []}, InvalidInput, r"options must name 0 options, got 2: \['tea', 'coffee'\]"),
    ({"mean": [], "options": None}, InvalidInput, r"mean must have at least one entry"),
    ({"mean": [1, "x"]}, InvalidInput, r"mean must be numeric"),
    (
        {"covariance": [[1, NAN], [NAN, 1]]},
        InvalidInput,
        r"covariance of option 'tea' \(index 0\) and option 'coffee' \(index 1\) is nan",
    ),
    (
        {"covariance": [[1, 0], [0, -1]]},
        NotPositiveSemidefinite,
        r"option 'coffee' \(index 1\): variance -1\.0 is negative",
    ),
    ({"covariance": [[1, 2], [2, 1]]}, NotPositiveSemidefinite, r"smallest eigenvalue is -1$"),
    ({"covariance": np.eye(3)}, InvalidInput, r"covariance must be 2 × 2"),
    ({"covariance": [[1, 0.5], [0, 1]]}, InvalidInput, r"covariance is not symmetric: entry \(0, 1\)"),
    ({"risk_aversion": -1}, InvalidInput, r"risk_aversion must not be negative, got -1\.0"),
    ({"min_weight": 0}, InvalidInput, r"min_weight must be above 0 and at most 1, got 0\.0"),
    ({"min_weight": 1.5}, InvalidInput, r"min_weight must be above 0 and at most 1, got 1\.5"),
    ({"min_weight": NAN}, InvalidInput, r"min_weight must be finite, got nan"),
    (
        {"min_weight": 0.1, "max_weight": [0.7, 0.7]},
        Unsupported,
        r"min_weight=0\.1 together with max_weight=\[0\.7, 0\.7\] is not supported",
    ),
    ({"max_weight": [1, -1]}, InvalidInput, r"option 'coffee' \(index 1\): max_weight -1\.0 is negative"),
    ({"max_weight": [NAN, 1]}, InvalidInput, r"option 'tea' \(index 0\): max_weight is nan"),
    ({"max_weight": 0.3}, Infeasible, r"max_weight sums to 0\.6 over 2 options"),
    ({"options": ["tea"]}, InvalidInput, r"options must name 2 options, got 1: \['tea'\]"),
    ({"options": ["tea", "tea"]}, InvalidInput, r"option 'tea' is named twice"),
    ({"options": ["tea", ""]}, InvalidInput, r"option names must be non-empty strings, got ''"),
    ({"options": ["tea", 2]}, InvalidInput, r"option names must be non-empty strings, got 2"),
    ({"options": "ab"}, InvalidInput, r"options must be a list of names, got the single string 'ab'"),
]


@pytest.mark.parametrize(
    ("change", "error", "message"), REFUSALS, ids=[str(next(iter(r[0].items()))) for r in REFUSALS]
)
def test_refusals_name_the_option(change, error, message):
    good = {"mean": [1.0, 2.0], "covariance": np.eye(2), "risk_aversion": 1.0, "options": NAMES}
    with pytest.raises(error, match=message) as caught:
        Problem(**good | change)
    assert isinstance(caught.value, CovbanditError)


@pytest.mark.parametrize("method", ["utility", "gap"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], r"weights sum to 1\.1, not to one within 1e-09; divide them by their sum"),
        ([1.5, -0.5], r"option 'coffee' \(index 1\): weight -0\.5 is negative"),
        ([NAN, 1], r"option 'tea' \(index 0\): weight is nan"),
        ([1.0], r"weight must have 2 entries, one per option, got 1"),
        ([[0.5, 0.5]], r"weight must have 1 dimension\(s\), got an array of shape \(1, 2\)"),
    ],
)
def test_weights_are_checked(method, weights, message):
    problem = Problem(mean=[1, 2], covariance=np.eye(2), risk_aversion=1, options=NAMES)
    with pytest.raises(InvalidInput, match=message):
        getattr(problem, method)(weights)


def test_a_problem_does_not_change():
    problem = problems.synthetic()
    with pytest.raises(AttributeError, match="does not change"):
        problem.risk_aversion = 1.0
    for array in (problem.mean, problem.covariance, problem.optimum().weights, problem.reduced_gradient):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_gap_refuses_weights_beyond_the_caps():
    problem = Problem(mean=[1, 0], covariance=np.eye(2), risk_aversion=0.1, max_weight=[0.6, 1.0], options=["a", "b"])
    with pytest.raises(InvalidInput, match=r"option 'a' \(index 0\): weight 1 exceeds its max_weight 0.6"):
        problem.gap([1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk_aversion": 10**400}, "risk_aversion is too large for a float"),
        ({"mean": [10**400, 1]}, "mean must be numeric"),
        ({"mean": [1 + 2j, 1]}, "mean must be numeric"),
        ({"options": 5}, "options must be a list of names, got 5"),
    ],
)
def test_odd_types_are_refused(change, message):
    arguments = {"mean": [1.0, 2.0], "covariance": np.eye(2), "risk_aversion": 1.0, **change}
    with pytest.raises(InvalidInput, match=message):
        Problem(**arguments)
