"""Quadratic programs to try the maximiser on, and proofs of optimality in code of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from covbandit.maximization import maximize_utility

# ----------------------------------------------------------------------------------------------------------------------
# Proof of optimality, in code of its own


class QP(NamedTuple):
    mean: np.ndarray
    covariance: np.ndarray
    rho: float
    caps: np.ndarray | None

    def solve(self, start=None):
        return maximize_utility(self.mean, self.covariance, self.rho, max_weight=self.caps, start=start)


def utility(qp, weights):
    return float(weights @ qp.mean - qp.rho * (weights @ qp.covariance @ weights))


def scale(qp):
    return max(np.abs(qp.mean).max(), qp.rho * qp.covariance.diagonal().max())


def frank_wolfe_gap(qp, weights):
    """Return the best gain of the linear model: fill the options with the steepest gradients up to their caps."""
    gradient = (qp.mean - qp.mean[0]) - 2 * qp.rho * (qp.covariance @ weights)
    gradient -= weights @ gradient
    gain, left = 0.0, 1.0
    for slope, i in sorted(((slope, i) for i, slope in enumerate(gradient.tolist())), reverse=True):
        take = left if qp.caps is None else min(left, float(qp.caps[i]))
        gain += take * slope
        left -= take
    return gain


def prove(qp, optimum):
    """Assert that weights are feasible and optimal, and that the result says so."""
    w = optimum.weights
    assert w.shape == qp.mean.shape
    assert w.min() >= 0
    assert abs(w.sum() - 1) <= 1e-12
    if qp.caps is not None:
        assert (w <= qp.caps + 1e-12).all()
    # A common offset of the means is no excuse: what counts is how much they differ.
    spread = min(np.abs(qp.mean).max(), np.ptp(qp.mean))
    assert frank_wolfe_gap(qp, w) <= 1e-12 * max(spread, qp.rho * qp.covariance.diagonal().max())
    assert optimum.certified
    assert optimum.certificate >= 0
    assert optimum.utility == pytest.approx(utility(qp, w), rel=1e-12, abs=1e-12 * scale(qp))


def prove_from_anywhere(qp, seed):
    """Prove a cold start and warm starts from random weights and from a vertex, which must all agree."""
    d = qp.mean.size
    rng = np.random.default_rng(seed)
    somewhere = rng.dirichlet(np.full(d, rng.choice([0.2, 1.0, 20.0])))
    cold = qp.solve()
    prove(qp, cold)
    for start in (somewhere / somewhere.sum(), np.eye(d)[rng.integers(d)]):
        warm = qp.solve(start)
        prove(qp, warm)
        assert abs(warm.utility - cold.utility) <= 1e-11 * scale(qp)


# ----------------------------------------------------------------------------------------------------------------------
# Problems made by Hypothesis

RISK_AVERSION = st.just(0.0) | st.floats(-3, 3).map(lambda e: 10.0**e)
OFFSET = st.just(0.0) | st.integers(0, 8).map(lambda e: 10.0**e) | st.integers(0, 8).map(lambda e: -(10.0**e))


def symmetric(matrix):
    return (matrix + matrix.T) / 2


def barely_one(shares, log_slack):
    """Return caps that sum to one and a little more, or (None) to one less what is still accepted as rounding."""
    shares = np.asarray(shares, dtype=float)
    return shares / shares.sum() * (1 - 5e-13 if log_slack is None else 1 + 10.0**log_slack)


@st.composite
def drawn_caps(draw, d):
    kind = draw(st.sampled_from(["none", "equal", "tight", "barely", "some zero", "any"]))
    if kind == "none":
        return None
    if kind == "equal":
        return np.full(d, min(1.0, draw(st.floats(1.0, 3.0)) / d))
    if kind == "tight":
        return np.full(d, 1.0 / d)
    shares = draw(st.lists(st.integers(1, 9), min_size=d, max_size=d))
    if kind == "barely":
        return barely_one(shares, draw(st.none() | st.integers(-14, -3)))
    caps = np.minimum(np.array(shares) / 9 * draw(st.sampled_from([0.3, 1.0])), 1.0)
    if kind == "some zero":
        caps[draw(st.lists(st.integers(0, d - 1), max_size=d - 1))] = 0.0
    if caps.sum() < 1:
        caps[int(np.argmax(caps))] = 1.0
    return caps


@st.composite
def drawn_qps(draw):
    """Small problems drawn entry by entry, so that a failure shrinks to something readable."""
    d = draw(st.integers(1, 6))
    entry = draw(st.sampled_from([st.integers(-2, 2), st.floats(-3, 3, allow_subnormal=False)]))
    rank = draw(st.integers(0, d + 1))
    rows = draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=rank, max_size=rank))
    factor = np.array(rows, dtype=float).reshape(rank, d)
    if draw(st.booleans()):  # duplicates
        factor = factor[:, draw(st.lists(st.integers(0, d - 1), min_size=d, max_size=d))]
    if draw(st.booleans()):
        factor = factor * 10.0 ** np.array(draw(st.lists(st.integers(-6, 6), min_size=d, max_size=d)))
    mean = np.array(draw(st.lists(entry, min_size=d, max_size=d)), dtype=float) + draw(OFFSET)
    return QP(mean, symmetric(factor.T @ factor), draw(RISK_AVERSION), draw(drawn_caps(d)))


def seeded_covariance(rng, d, kind):
    if kind == "zero":
        return np.zeros((d, d))
    if kind == "equicorrelated":
        matrix = np.full((d, d), rng.choice([-1 / max(d - 1, 1), 0.0, 0.5, 1 - 1e-9, 1.0]))
        np.fill_diagonal(matrix, 1.0)
        return matrix
    rank = int(rng.integers(1, max(d, 2))) if "deficient" in kind else d + 2
    factor = rng.standard_normal((rank, d)) / np.sqrt(rank)
    if kind == "integer":
        factor = rng.integers(-3, 4, (int(rng.integers(1, d + 2)), d)).astype(float)
    elif kind == "duplicated":
        factor = factor[:, rng.integers(0, max(d // 2, 1), d)]
    elif kind == "some riskless":
        factor = factor * (rng.random(d) < 0.5)
    elif "scaled" in kind:
        factor = factor * 10.0 ** rng.uniform(-6, 6, d)
    return symmetric(factor.T @ factor)


COVARIANCES = [
    "full",
    "deficient",
    "zero",
    "duplicated",
    "integer",
    "some riskless",
    "equicorrelated",
    "scaled",
    "scaled deficient",
]
MEANS = {
    "normal": lambda rng, d: rng.standard_normal(d),
    "tied": lambda rng, d: rng.choice(rng.standard_normal(2), d),
    "integer": lambda rng, d: rng.integers(-3, 4, d).astype(float),
    "equal": lambda rng, d: np.full(d, rng.standard_normal()),
    "offset": lambda rng, d: rng.standard_normal(d) + rng.choice([-1, 1]) * 10.0 ** rng.uniform(0, 8),
    "tiny": lambda rng, d: rng.standard_normal(d) * 10.0 ** rng.uniform(-12, 0),
    "zero": lambda rng, d: np.zeros(d),
}


def some_caps(rng, d):
    caps = np.where(rng.random(d) < 0.4, 0.0, rng.uniform(0, 3 / d, d))
    if caps.sum() < 1:
        caps[rng.integers(d)] = 1.0
    return np.minimum(caps, 1.0)


CAPS = {
    "none": lambda rng, d: None,
    "equal": lambda rng, d: np.full(d, min(1.0, rng.uniform(1, 2) / d)),
    "tight": lambda rng, d: np.full(d, 1 / d),
    "barely": lambda rng, d: barely_one(rng.dirichlet(np.ones(d)), rng.uniform(-14, -3)),
    "some zero": some_caps,
}


@st.composite
def seeded_qps(draw, least, most):
    """Problems of any size, of which Hypothesis chooses the structure and the seed."""
    d = draw(st.integers(least, most))
    covariance = draw(st.sampled_from(COVARIANCES))
    mean = draw(st.sampled_from(sorted(MEANS)))
    caps = draw(st.sampled_from(sorted(CAPS)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return QP(MEANS[mean](rng, d), seeded_covariance(rng, d, covariance), draw(RISK_AVERSION), CAPS[caps](rng, d))
