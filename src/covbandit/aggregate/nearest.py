"""The positive semi-definite matrix that fits best, measured by how well each entry is known."""

from __future__ import annotations

import numpy as np

from covbandit.aggregate.sums import congruence, pack, unpack
from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.maximization.utility import nearest_positive_semidefinite

_CLOSE = 1e-10  # how far the squared distance may exceed the least one, relative to the size of the matrix
_FALL = 0.1  # by which the barrier is lowered at a time
_STEPS = 20  # of Newton for one height of the barrier; usually three to six
_FLOOR = 1e-2  # least eigenvalue, relative to the largest, of the matrix that sets the scale


def nearest_semidefinite(S: F64, G: F64) -> F64:
    """Return the positive semi-definite P that minimises (p - s)'G(p - s), p = svec(P), for positive definite G.

    To many digits, for an answer that is shown; a learner's kernel makes do with the rougher and leaner
    `covbandit.kernels.algebra.semidefinite_metric`.

    By Newton's method with the barrier -μ ln det P, which at its minimum for a given μ is within μd of the goal. The
    coordinates are those in which a matrix near S is the identity: that levels most of what makes some entries better
    known than others.
    """
    if validation.is_positive_semidefinite(S):
        return S
    d = len(S)
    values, vectors = np.linalg.eigh(S)
    C = vectors * np.sqrt(np.maximum(values, _FLOOR * float(np.abs(values).max())))
    back = congruence(C)
    metric = back.T @ G @ back
    s = np.asarray(np.linalg.solve(back, pack(S)), dtype=np.float64)
    P = np.eye(d)
    p = pack(P)
    size = float(p @ metric @ p)
    height = size / d
    while height * d > _CLOSE * size:
        height *= _FALL
        for _ in range(_STEPS):
            inverse = np.asarray(np.linalg.inv(P), dtype=np.float64)
            gradient = metric @ (p - s) - height * pack(inverse)
            step = np.asarray(np.linalg.solve(metric + height * congruence(inverse), -gradient), dtype=np.float64)
            gain = -float(gradient @ step) / height  # in units in which the barrier is ln det
            # Far from the minimum a full step may leave the cone; the damped one does not, but for rounding.
            ahead = p + step / (1 + np.sqrt(gain) if gain > 0.06 else 1)
            if not gain >= 1e-4 or np.linalg.eigvalsh(unpack(ahead, d))[0] <= 0:
                break
            p, P = ahead, unpack(ahead, d)
    return nearest_positive_semidefinite(C @ P @ C.T)
