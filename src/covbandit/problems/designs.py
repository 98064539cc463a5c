"""Designs: the actions whose totals tell the means and covariances of all options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput

LARGEST_INVERSE = 10_000_000
"""The most entries that C⁺ may have, for the user's design: beyond that it would take minutes to compute."""


def n_moments(d: int) -> int:
    """Return how many variances and covariances d options have."""
    return d * (d + 1) // 2


def default_design(d: int) -> F64:
    """Return the paper's design: every option alone, then every pair, half on each."""
    first, second = np.triu_indices(d, 1)
    pairs = 0.5 * (np.eye(d)[first] + np.eye(d)[second])
    return np.concatenate([np.eye(d), pairs])


def products(design: F64) -> F64:
    """Return C: for each action the factors of all variances, then of all covariances, in the variance of its total."""
    first, second = np.triu_indices(design.shape[1], 1)
    return np.concatenate([design**2, 2 * design[:, first] * design[:, second]], axis=1)


def as_design(value: ArrayLike, d: int, options: Sequence[str] | None = None) -> F64:
    """Return a design whose totals determine all means and covariances.

    Raises
    ------
    InvalidInput
        If a row is not on the simplex, or the rows do not suffice.
    """
    design = validation.as_array(value, "design", 2)
    n = len(design)
    if design.shape[1] != d:
        raise InvalidInput(f"design must have {d} columns, one per option, got an array of shape {design.shape}")
    needed = n_moments(d)
    if n < needed:
        raise InvalidInput(
            f"design has {n} actions, but {d} options have {needed} variances and covariances: it takes at least as "
            "many actions to tell them"
        )
    if n * needed > LARGEST_INVERSE:
        raise InvalidInput(
            f"design of {n} actions for {d} options: its pseudo-inverse would have {n * needed:,} entries, more than "
            f"{LARGEST_INVERSE:,}; leave design out: the default needs no inverse"
        )
    for k in range(n):
        try:
            weights = validation.as_weights(design[k], d, options)
        except InvalidInput as error:
            raise InvalidInput(f"design action {k}: {error}") from None
        total = weights.sum()
        if abs(total - 1) > 1e-12:  # a second time it is not divided again: a copy has the same bits
            design[k] = weights / total
    _require_rank(design, d, "B (the actions)", "means")
    _require_rank(products(design), needed, "C (their products)", "variances and covariances")
    return design


def _require_rank(matrix: F64, needed: int, name: str, told: str) -> None:
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < needed:
        raise InvalidInput(
            f"design does not tell all {told}: the rank of {name} is {rank}, it must be {needed}; add actions that mix "
            "other options, or leave design out"
        )


def inverses(design: F64) -> F64:
    """Return, in one row, the design and the pseudo-inverses of B and C."""
    return _inverses(design.tobytes(), design.shape[1])


@lru_cache(maxsize=8)  # every replication of a simulation starts with a new learner
def _inverses(content: bytes, d: int) -> F64:
    design = np.frombuffer(content).reshape(-1, d)
    return np.concatenate([design.ravel(), np.linalg.pinv(design).ravel(), np.linalg.pinv(products(design)).ravel()])
