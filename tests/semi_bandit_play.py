"""How tests make, play and read the semi-bandit learners."""

from __future__ import annotations

from typing import Any

import numpy as np

import covbandit as cb
from decision_set import largest_support
from optimistic_programs import optimistic_value

KINDS = (cb.MCUCB, cb.MCUCBGamma, cb.OLSUCBC, cb.PairUCB)
PAPER = KINDS[:3]
RISK_AVERSION = 0.4


def make(kind: type[cb.Learner], d: int, min_weight: float | None = 0.1, **arguments: Any) -> Any:
    if kind is not cb.OLSUCBC:
        arguments = {"risk_aversion": RISK_AVERSION, **arguments}
    return kind(n_options=d, min_weight=min_weight, **arguments)


def draw(d: int, n: int, seed: int = 0, scale: float = 0.5) -> Any:
    """Return correlated Gaussian rewards with variances below one."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((d, d))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    return 0.2 * rng.standard_normal(d) + scale * rng.standard_normal((n, d)) @ mixing.T


def seen(weights: Any, reward: Any) -> Any:
    return np.where(weights > 0, reward, np.nan)


def play(learner: Any, rewards: Any) -> Any:
    """Let a learner ask and tell; return what it asked for."""
    asked = []
    for reward in rewards:
        asked.append(learner.ask())
        learner.tell(asked[-1], seen(asked[-1], reward))
    return np.array(asked).reshape(len(rewards), learner.n_options)


def past_start_up(learner: Any, seed: int = 0, more: int = 20) -> Any:
    d = learner.n_options
    rewards = iter(draw(d, d * d + 2 * d + more, seed))
    while not is_over(learner):
        play(learner, [next(rewards)])
    play(learner, [next(rewards) for _ in range(more)])
    return learner


def is_over(learner: Any) -> bool:
    """Return True if start-up is over."""
    return bool(learner._view.ready)


def some_weights(rng: Any, d: int, least: float | None, n: int) -> Any:
    """Return random feasible weights on random supports."""
    c = least or 0.0
    weights = np.zeros((n, d))
    for row in weights:
        k = rng.integers(1, largest_support(d, least) + 1)
        row[rng.choice(d, k, replace=False)] = c + max(1 - k * c, 0.0) * rng.dirichlet(np.ones(k))
    return weights / weights.sum(axis=1, keepdims=True)


def value(learner: Any, weights: Any) -> Any:
    """Return the optimistic utility that the last decision maximised."""
    s = learner._view
    return optimistic_value(weights, learner._optimistic_means(), s.bonus, s.penalty, 1.0)
