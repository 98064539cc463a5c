"""Problems and returns to try choices of risk aversion on."""

from __future__ import annotations

from typing import Any

import numpy as np

import covbandit as cb
from covbandit.core.typing import F64

KINDS = ("negative", "zero", "positive", "factor")


def problem(mean: Any, covariance: Any, **more: Any) -> cb.Problem:
    return cb.Problem(mean=mean, covariance=covariance, risk_aversion=1.0, **more)


def optimal(p: cb.Problem, rho: float) -> F64:
    return cb.maximize_utility(p.mean, p.covariance, rho).weights


def sd(p: cb.Problem, weights: F64) -> float:
    return float(np.sqrt(weights @ p.covariance @ weights))


def least_sd(p: cb.Problem) -> float:
    return sd(p, optimal(problem(np.zeros(p.n_options), p.covariance), 1.0))


def example_returns() -> F64:
    rng = np.random.default_rng(7)
    mixing = np.array([[0.01, 0.0, 0.0, 0.0], [0.006, 0.02, 0.0, 0.0], [-0.004, 0.0, 0.008, 0.0], [0, 0, 0, 0.03]])
    noise = rng.standard_normal((200, 4)) @ mixing.T
    return np.asarray(noise - noise.mean(axis=0) + [0.001, 0.002, 0.0005, 0.004])
