"""What regret is measured against, and the regret of one round's weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import compiled, kernel
from covbandit.problems.problem import Problem


class Truth(NamedTuple):
    """The best weights of a problem, and how much utility is lost away from them.

    Utility is quadratic, so weights w lose ρ(w-w*)'Σ(w-w*) - r'(w-w*): no two large numbers are subtracted.

    Attributes
    ----------
    optimum : array of d
        The best weights w*.
    reduced_gradient : array of d
        r, the gradient of the utility at w* less its multiplier: see `Problem.reduced_gradient`.
    curvature_triangle : array of d × d
        ρΣ folded into its lower triangle: entries below the diagonal are doubled, those above it are 0. So v'Cv is
        v'ρΣv for every v, and a kernel reads half as many numbers.
    """

    optimum: F64
    reduced_gradient: F64
    curvature_triangle: F64

    @classmethod
    def of(cls, problem: Problem) -> Truth:
        """Return the truth of a problem, in arrays of its own: kernels take writable ones only."""
        curvature = problem.risk_aversion * problem.covariance
        triangle = np.ascontiguousarray(np.tril(curvature) + np.tril(curvature, -1))
        return cls(problem.optimum().weights.copy(), problem.reduced_gradient.copy(), triangle)

    def regret(self, weights: F64) -> float:
        """Return the regret of weights, to the bit as the driver computes it: for learners in plain Python."""
        return compiled(regret_of_weights)(weights, self, np.empty((2, weights.size)))


_VECTOR = types.Array(types.float64, 1, "C")
_MATRIX = types.Array(types.float64, 2, "C")

TRUTH_TYPE = types.NamedTuple((_VECTOR, _VECTOR, _MATRIX), Truth)  # type: ignore[no-untyped-call]


@kernel()
def regret_of(w: F64, truth: Truth, away: F64, slope: F64, d: int) -> float:
    """Return the regret of weights w; `away` and `slope` are scratch, d numbers each."""
    loss = 0.0
    for i in range(d):
        away[i] = w[i] - truth.optimum[i]
        slope[i] = -truth.reduced_gradient[i]
    for j in range(d):  # by rows, which the compiler vectorises; sums along a row it does not
        step = away[j]
        for i in range(j + 1):
            slope[i] += step * truth.curvature_triangle[j, i]
    for i in range(d):
        loss += slope[i] * away[i]
    return loss


@kernel(types.float64(_VECTOR, TRUTH_TYPE, _MATRIX), on_demand=True)
def regret_of_weights(w: F64, truth: Truth, work: F64) -> float:
    """Return the regret of weights w, for callers in Python; `work` is scratch, 2 × d."""
    return regret_of(w, truth, work[0], work[1], w.size)
