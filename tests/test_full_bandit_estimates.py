"""Moments from totals: closed forms, standard errors, designs of one's own and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite import project_on_semidefinite
from covbandit.kernels.jit.compilation import compiled
from covbandit.problems.designs import default_design, products
from explore_then_exploit_reference import matrix_of_products, moments, paper_design, without_negative_eigenvalues


def _told(learner: cb.Learner, design: np.ndarray, totals: np.ndarray) -> cb.Learner:
    for row in totals:
        for action, total in zip(design, row, strict=True):
            learner.tell(action, total)
    return learner


def _widths(design: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The root of the diagonal of B⁺ diag(variances of the actions' means) B⁺'."""
    inverse = np.linalg.pinv(design)
    return np.sqrt((inverse**2) @ (totals.var(axis=0, ddof=1) / len(totals)))


@pytest.mark.parametrize("d", range(1, 13))
def test_closed_forms(d: int) -> None:
    design = paper_design(d)
    assert np.array_equal(default_design(d), design)
    assert np.array_equal(products(design), matrix_of_products(design))
    inverse = 4 / (d + 2) * (design.T - 1 / (2 * (d + 1)))
    assert np.allclose(inverse, np.linalg.pinv(design), atol=1e-13)
    totals = np.random.default_rng(d).standard_normal((2, len(design)))
    learner = _told(cb.LinearFB(n_options=d), design, totals)
    theta, sigma = moments(design, list(totals.T))
    estimates = learner._estimates()
    assert np.allclose(estimates.mean, theta, rtol=0, atol=1e-12)
    assert np.allclose(estimates.covariance, sigma, rtol=0, atol=1e-12)
    assert np.allclose(estimates.width, _widths(design, totals), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_estimates_from_a_design_of_ones_own(d: int) -> None:
    rng = np.random.default_rng(d)
    for more in (0, 4):
        design = rng.dirichlet(np.ones(d), size=d * (d + 1) // 2 + more) if d > 1 else np.ones((1 + more, 1))
        totals = rng.standard_normal((2, len(design)))
        estimates = _told(cb.LinearFB(n_options=d, design=design), design, totals)._estimates()
        theta, sigma = moments(design, list(totals.T))
        size = np.abs(sigma).max()
        assert np.allclose(estimates.mean, theta, rtol=1e-9, atol=1e-9)
        assert np.allclose(estimates.covariance, sigma, rtol=0, atol=1e-9 * size)
        assert np.allclose(estimates.width, _widths(design, totals), rtol=1e-9)


def test_an_action_that_is_in_a_design_twice_is_told_twice() -> None:
    design = np.concatenate([paper_design(2), [[0.5, 0.5]]])
    learner = cb.MCETE(n_options=2, risk_aversion=1.0, design=design)
    for expected, total in zip(design, (1.0, 2.0, 1.4, 1.6), strict=True):
        assert np.array_equal(learner.ask(), expected)
        learner.tell(learner.ask(), total)
    assert learner.rounds_completed == 1
    assert np.allclose(learner._estimates().mean, [1.0, 2.0])


def test_the_covariance_explained_is_the_one_used() -> None:
    design = paper_design(4)
    totals = np.random.default_rng(1).standard_normal((2, len(design)))
    sigma = moments(design, list(totals.T))[1]
    assert np.linalg.eigvalsh(sigma)[0] < 0
    for kind in (cb.MCETE, cb.OGDETE):
        exact = _told(kind(n_options=4, risk_aversion=1.0, indefinite="exact"), design, totals)
        projected = _told(kind(n_options=4, risk_aversion=1.0), design, totals)
        assert np.allclose(exact._estimates().covariance, sigma, rtol=0, atol=1e-12)
        nearest = without_negative_eigenvalues(sigma)
        assert np.allclose(projected._estimates().covariance, nearest, rtol=0, atol=1e-12)


def test_what_takes_a_variance_is_unknown_before_the_second_round() -> None:
    learner = cb.MCETE(n_options=3, risk_aversion=1.0)
    assert learner.explain().mean is None
    _told(learner, paper_design(3), np.ones((1, 6)))
    explanation = learner.explain()
    assert explanation.mean == pytest.approx(1.0)
    assert explanation.variance is None
    assert explanation.widths == (None, None, None)
    assert learner.counts.tolist() == [3, 3, 3]


@pytest.mark.parametrize("d", [*range(1, 41), 120])
def test_the_nearest_semidefinite_matrix(d: int) -> None:
    rng = np.random.default_rng(d)
    vectors = np.linalg.qr(rng.standard_normal((d, d)))[0]
    for values in (rng.standard_normal(d), -rng.random(d), rng.random(d) + 0.1, rng.random(d) - 0.1, np.zeros(d)):
        A = (vectors * values) @ vectors.T
        A = (A + A.T) / 2
        found = A.copy()
        work = np.empty(DECOMPOSITION_SLABS * d * d)
        removed = compiled(project_on_semidefinite)(found, np.empty((d, d)), np.empty(d), work)
        assert np.array_equal(found, found.T)
        assert np.allclose(found, without_negative_eigenvalues(A), rtol=0, atol=1e-13)
        if np.abs(values).min() > 1e-9:
            assert removed == (values < 0).sum()


BAD_DESIGNS: list[tuple[Any, str]] = [
    (np.eye(3), "design has 3 actions, but 3 options have 6 variances and covariances"),
    (np.ones(6) / 3, r"design must have 2 dimension\(s\)"),
    (np.ones((6, 2)) / 2, "design must have 3 columns, one per option"),
    ("pairs", "design must be numeric"),
    (np.where(np.arange(6)[:, None] == 4, 0.5, paper_design(3)), "design action 4: weights sum to 1.5"),
    (paper_design(3) * [1, 1, np.nan], "design action 0: option 2: weight is nan"),
    (paper_design(3) + np.array([0.5, -0.5, 0.0]), "design action 0: option 1: weight -0.5 is negative"),
    (
        np.repeat(np.eye(3), 2, axis=0),
        r"and covariances: the rank of C \(their products\) is 3, it must be 6",
    ),
    (np.repeat([[0.5, 0.5, 0.0]], 6, axis=0), r"means: the rank of B \(the actions\) is 1, it must be 3"),
    (np.random.default_rng(0).dirichlet([1, 1, 1], 2_000_000), "leave design out: the default needs no inverse"),
]


@pytest.mark.parametrize(("design", "message"), BAD_DESIGNS, ids=range(len(BAD_DESIGNS)))
def test_designs_that_do_not_suffice_are_refused(design: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.MCETE(n_options=3, risk_aversion=1.0, design=design)
    with pytest.raises(InvalidInput, match=message):
        cb.LinearFB(n_options=3, design=design)


def test_other_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"indefinite must be .*, got 'raise'"):
        cb.MCETE(n_options=3, risk_aversion=1.0, indefinite="raise")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="risk_aversion must not be negative"):
        cb.OGDETE(n_options=3, risk_aversion=-1.0)


def test_a_design_within_rounding_of_the_simplex_keeps_its_bits_in_a_copy() -> None:
    rough = paper_design(3) * (1 + 5e-10)
    learner = cb.MCETE(n_options=3, risk_aversion=1.0, design=rough)
    assert learner.design is not None
    assert np.abs(learner.design.sum(axis=1) - 1).max() <= 1e-15
    copy = learner.clone()
    assert copy.design is not None
    assert np.array_equal(learner.design, copy.design)
