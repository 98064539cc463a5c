"""Ready-made problems: the paper's, and random ones."""

from __future__ import annotations

import numpy as np
import pytest

from covbandit import problems
from covbandit.errors import InvalidInput, NotPositiveSemidefinite

NAN = float("nan")


def test_synthetic_off_diagonal():
    for off_diagonal in (-0.25, 0.0, 0.5, 1.0):
        problem = problems.synthetic(off_diagonal=off_diagonal)
        assert problem.covariance[0, 1] == problem.covariance[4, 2] == off_diagonal
        assert problem.covariance.diagonal().tolist() == [1.0] * 5
        assert problem.optimum().certified
    for outside, eigenvalue in ((-0.26, r"-0\.04"), (1.01, r"-0\.01")):
        with pytest.raises(NotPositiveSemidefinite, match=f"smallest eigenvalue is {eigenvalue}"):
            problems.synthetic(off_diagonal=outside)
    with pytest.raises(InvalidInput, match="off_diagonal must be finite, got nan"):
        problems.synthetic(off_diagonal=NAN)


@pytest.mark.parametrize("make", [problems.synthetic, problems.etf, lambda **kw: problems.random(3, **kw)])
def test_min_weight_is_taken_everywhere(make):
    problem = make(min_weight=0.3)
    assert problem.min_weight == 0.3
    optimum = problem.optimum()
    assert optimum.certified
    assert (optimum.weights[optimum.weights > 0] >= 0.3 - 1e-12).all()
    assert make().min_weight is None
    # All else is as without it.
    assert problem.to_dict() | {"min_weight": None} == make().to_dict()
    for outside in (0, -0.1, 1.5, NAN):
        with pytest.raises(InvalidInput, match=rf"min_weight must be .*got {float(outside)}"):
            make(min_weight=outside)


@pytest.mark.parametrize("correlation", ["negative", "zero", "positive", "factor"])
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("d", [1, 2, 3, 10, 50])
def test_random_problems_are_valid(d, correlation, strength):
    for seed in range(5):
        problem = problems.random(d, correlation, seed, strength=strength)
        values = np.linalg.eigvalsh(problem.covariance)
        assert values[0] >= -1e-12 * values.sum()
        assert (problem.covariance == problem.covariance.T).all()
        assert problem.optimum().certified
        volatility = np.sqrt(problem.covariance.diagonal())
        pairs = (problem.covariance / np.outer(volatility, volatility))[~np.eye(d, dtype=bool)]
        if correlation == "factor":
            assert (np.abs(pairs) <= strength + 1e-12).all()
        elif d > 1:
            common = {"negative": -strength / (d - 1), "zero": 0.0, "positive": strength}[correlation]
            np.testing.assert_allclose(pairs, common, rtol=0, atol=1e-14)


def test_random_correlations_have_the_stated_sign():
    off = ~np.eye(8, dtype=bool)
    assert (problems.random(8, "negative").covariance[off] < 0).all()
    assert (problems.random(8, "zero").covariance[off] == 0).all()
    assert (problems.random(8, "positive").covariance[off] > 0).all()
    factor = problems.random(8, "factor").covariance[off]
    assert factor.min() < 0 < factor.max()


def test_random_factor_structure_has_three_factors():
    covariance = problems.random(20, "factor", strength=1.0, volatility_spread=0).covariance
    assert np.linalg.matrix_rank(covariance, tol=1e-10) == 3


def test_random_problems_are_reproducible():
    first, again, other = (problems.random(6, "factor", seed) for seed in (4, 4, 5))
    assert first.to_dict() == again.to_dict()
    assert not np.allclose(first.mean, other.mean)
    # The correlation does not move the margins, so structures can be compared.
    for correlation in ("negative", "positive"):
        problem = problems.random(6, correlation, 4)
        np.testing.assert_array_equal(problem.mean, first.mean)
        np.testing.assert_allclose(problem.covariance.diagonal(), first.covariance.diagonal(), rtol=1e-14)


def test_random_spreads():
    problem = problems.random(2000, seed=1, mean_spread=0.1, volatility_spread=0.3)
    assert problem.mean.mean() == pytest.approx(0.2, abs=0.01)
    assert problem.mean.std() == pytest.approx(0.1, rel=0.1)
    assert (np.log(problem.covariance.diagonal()) / 2).std() == pytest.approx(0.3, rel=0.1)
    alike = problems.random(4, mean_spread=0, volatility_spread=0)
    assert alike.mean.tolist() == [0.2] * 4
    np.testing.assert_array_equal(alike.covariance, np.eye(4))


def test_random_takes_numpy_integers_and_names_itself():
    problem = problems.random(np.int64(3), "positive", np.int64(8), risk_aversion=4)
    assert problem.name == "random, 3 options, positive correlation, seed 8"
    assert problem.risk_aversion == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_options": 0}, r"n_options must be at least 1, got 0"),
        ({"n_options": 10**12}, r"n_options must be at most 10,000, got 1,000,000,000,000"),
        ({"n_options": 10**400}, r"n_options must be at most 10,000, got about 10\^400"),
        ({"n_options": 2.0}, r"n_options must be a whole number, got 2\.0"),
        ({"n_options": True}, r"n_options must be a whole number, got True"),
        ({"correlation": "some"}, r"""correlation must be "negative", .* or "factor", got 'some'"""),
        ({"correlation": None}, r"correlation must be .*, got None"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"seed": None}, r"seed must be a whole number, got None"),
        ({"strength": 1.5}, r"strength must lie between 0 and 1, got 1\.5"),
        ({"strength": -0.1}, r"strength must lie between 0 and 1, got -0\.1"),
        ({"strength": NAN}, r"strength must be finite, got nan"),
        ({"risk_aversion": -1}, r"risk_aversion must not be negative"),
    ],
)
def test_random_refusals(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        problems.random(**{"n_options": 3} | arguments)
