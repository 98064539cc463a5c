"""Algorithm 2 recomputed from the raw history at every call: slow, with nothing carried over from round to round.

A history is a list of pairs, the weights that were played and the rewards that were seen, NaN where the weight is zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    counts: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


class ConfidenceRound(NamedTuple):
    """What MC-UCB knows when it chooses the weights of round `t`: they maximise w'mean + √(w'bonus w) - ρ w'lower w."""

    t: int
    counts: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    radius: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    bonus: np.ndarray


def start_up_weights(d, min_weight):
    """Return the initial pulls in order: unit vectors, then midpoints of all ordered pairs if these are feasible."""
    unit = np.eye(d)
    singles = [unit[i] for i in range(d)]
    pairs = [(unit[i] + unit[j]) / 2 for i in range(d) for j in range(d) if i != j]
    return singles if min_weight is not None and min_weight > 0.5 else singles + pairs


def start_up_is_over(counts, min_weight):
    if (counts.diagonal() < 1).any():
        return False
    pairs = counts[~np.eye(len(counts), dtype=bool)]
    return bool((min_weight is not None and min_weight > 0.5) or (pairs >= 2).all())


def moments(history):
    """Return N, θ̂ and Σ̂; what was never seen has mean and covariance 0.

    Covariances are centred on the means of all observations of an option, not of those that it shares with the other.
    """
    weights = np.array([w for w, _ in history], dtype=float)
    rewards = np.array([y for _, y in history], dtype=float)
    seen = weights > 0
    assert not np.isnan(rewards[seen]).any()
    rewards = np.where(seen, rewards, 0.0)
    counts = seen.T.astype(int) @ seen.astype(int)
    mean = rewards.sum(axis=0) / np.maximum(counts.diagonal(), 1)
    centred = np.where(seen, rewards - mean, 0.0)
    return Moments(counts, mean, centred.T @ centred / np.maximum(counts, 1))


def covariance_radius(counts, t):
    """Return g(t), symmetrised; 0 for pairs that were never seen, which only c > 1/2 leaves and never asks for."""
    d = len(counts)
    g = np.zeros((d, d))
    for i in range(d):
        for j in range(d):
            n = counts[i, j]
            if n > 0:
                ratio = 3 * np.log(t) / n
                g[i, j] = (
                    16 * max(ratio, np.sqrt(ratio))
                    + np.sqrt(48 * np.log(t) ** 2 / (n * counts[i, i]))
                    + np.sqrt(36 * np.log(t) ** 2 / (n * counts[j, j]))
                )
    return (g + g.T) / 2


def confidence_term(d, t, regularization):
    """Return β(δ_t) with δ_t = 1/(t ln² t)."""
    log = np.log(t)
    return np.log(t * log**2) + d * np.log(log) + d / 2 * np.log(1 + np.e / regularization)


def confidence_round(
    history,
    *,
    min_weight=0.1,
    regularization=0.5,
    variance_bound=1.0,
    radius_scale=(1.0, 1.0),
    gamma=None,
    cap_upper=False,
):
    """Return the round that follows a history in which the start-up is over.

    With `gamma`, a number or a matrix, Γ takes the place of every Σ̄_s in the bonus, as in MC-UCB-Γ and OLS-UCB-C.
    ``bonus`` includes the second of `radius_scale`, squared: E_t(w) = √(max(w'bonus w, 0)).
    """

    def estimates(t):
        counts, mean, covariance = moments(history[: t - 1])
        radius = radius_scale[0] * variance_bound * covariance_radius(counts, t)
        upper = covariance + radius
        if cap_upper:
            upper = np.minimum(upper, variance_bound)
        return counts, mean, covariance, radius, upper

    t = len(history) + 1
    counts, mean, covariance, radius, upper = estimates(t)
    assert start_up_is_over(counts, min_weight)
    d = len(mean)

    first = next(s for s in range(2, t + 1) if start_up_is_over(moments(history[: s - 1]).counts, min_weight))
    total = np.zeros((d, d))
    for s, (weights, _) in enumerate(history, start=1):
        chosen = np.asarray(weights) > 0
        # The paper defines no Σ̄_s for rounds of the start-up: they take that of the first round after it.
        bound = estimates(max(s, first))[4] if gamma is None else np.broadcast_to(gamma, (d, d))
        total += np.where(np.outer(chosen, chosen), bound, 0.0)

    variances = (upper if gamma is None else np.broadcast_to(gamma, (d, d))).diagonal()
    D = np.diag(counts.diagonal().astype(float))
    inverse = np.linalg.inv(D)
    inner = regularization * np.diag(variances) @ D + total
    bonus = radius_scale[1] ** 2 * 2 * confidence_term(d, t, regularization) * inverse @ inner @ inverse
    return ConfidenceRound(t, counts, mean, covariance, radius, upper, covariance - radius, bonus)
