"""Ascents of the optimistic utility from random weights: slow and simple, to compare a search with."""

from __future__ import annotations

import numba
import numpy as np
from harvest import Instance

from covbandit.core.typing import F64

_SHARES = 12  # halvings of the largest transfer that are tried for every pair
_GOLDEN = 0.6180339887498949


def random_weights(d: int, c: float, rng: np.random.Generator) -> F64:
    """Return weights on a random support of random size, corners as likely as the middle."""
    k = int(rng.integers(1, min(d, int((1 + 1e-12) / c)) + 1))
    w = np.zeros(d)
    w[rng.permutation(d)[:k]] = c + max(1 - k * c, 0.0) * rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 10.0])))
    return w


@numba.njit(error_model="numpy")
def _gain(x: float, slope: float, q: float, q1: float, q2: float, r1: float, r2: float) -> float:
    """Return what moving an amount x gains; q, q1, q2 give the radicand, r1 and r2 the risk along the way."""
    root = np.sqrt(max(q + x * (q1 + x * q2), 0.0)) - np.sqrt(max(q, 0.0))
    return float(x * slope + root - x * (r1 + x * r2))


@numba.njit(error_model="numpy")
def _line(low: float, high: float, slope: float, q: float, q1: float, q2: float, r1: float, r2: float) -> float:
    """Return a maximiser between two amounts by golden sections."""
    a = high - _GOLDEN * (high - low)
    b = low + _GOLDEN * (high - low)
    for _ in range(60):
        if _gain(a, slope, q, q1, q2, r1, r2) >= _gain(b, slope, q, q1, q2, r1, r2):
            high = b
        else:
            low = a
        a = high - _GOLDEN * (high - low)
        b = low + _GOLDEN * (high - low)
    return 0.5 * (low + high)


@numba.njit(error_model="numpy")
def ascend(mean: F64, bonus: F64, penalty: F64, c: float, threshold: float, w: F64) -> None:
    """Move weight between two options as long as that gains more than the threshold, always by the best move found.

    Within the support any amount may go that leaves c, or all. To an option outside go all, or any amount of c or more
    that leaves c.
    """
    d = w.size
    fits = min(d, int((1.0 + 1e-12) / c))
    for _ in range(2_000):
        aw = bonus @ w
        rw = penalty @ w
        q = float(w @ aw)
        size = 0
        for i in range(d):
            size += w[i] > 0.0
        best = threshold
        giver = taker = -1
        amount = 0.0
        for j in range(d):
            if w[j] <= 0.0:
                continue
            for i in range(d):
                if i == j:
                    continue
                slope = mean[i] - mean[j]
                q1 = 2.0 * (aw[i] - aw[j])
                q2 = bonus[i, i] + bonus[j, j] - 2.0 * bonus[i, j]
                r1 = 2.0 * (rw[i] - rw[j])
                r2 = penalty[i, i] + penalty[j, j] - 2.0 * penalty[i, j]
                gain = _gain(w[j], slope, q, q1, q2, r1, r2)  # drop j, or exchange it
                if gain > best:
                    best, giver, taker, amount = gain, j, i, w[j]
                low, high = 0.0, w[j] - c
                if w[i] <= 0.0:
                    low = c
                    if size == fits:
                        continue
                if high < low or high <= 0.0:
                    continue
                x = high
                for _ in range(_SHARES):
                    x = max(x, low)
                    gain = _gain(x, slope, q, q1, q2, r1, r2)
                    if gain > best:
                        refined = _line(max(0.5 * x, low), min(2.0 * x, high), slope, q, q1, q2, r1, r2)
                        better = _gain(refined, slope, q, q1, q2, r1, r2)
                        giver, taker = j, i
                        if better > gain:
                            best, amount = better, refined
                        else:
                            best, amount = gain, x
                    if x <= low:
                        break
                    x *= 0.5
        if giver < 0:
            return
        w[taker] += amount
        w[giver] = 0.0 if amount == w[giver] else w[giver] - amount


def best_of_ascents(instance: Instance, ascents: int, rng: np.random.Generator) -> tuple[F64, F64]:
    """Return the best weights that the ascents reach, and the values of all of them."""
    i = instance
    found = [random_weights(len(i.mean), i.min_weight, rng) for _ in range(ascents)]
    for w in found:
        ascend(i.mean - i.mean[0], i.bonus, i.penalty, i.min_weight, 1e-13 * i.unit, w)
        assert abs(w.sum() - 1) <= 1e-9
        assert (w[w > 0] >= i.min_weight - 1e-9).all()
    values = np.array([i.value(w) for w in found])
    return found[int(values.argmax())], values
