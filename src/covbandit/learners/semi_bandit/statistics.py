r"""What semi-bandit learners keep: statistics of every pair of options that were seen together.

Only the chosen options are seen, so each pair has its own number of observations :math:`N_{ij}`. The covariance
(Algorithm 2, line 12) is centred on the means of *all* observations of an option, which go on moving after the pair was
last seen. So the pair's own means :math:`m_{ij}` (of option i, over the rounds in which both were seen) and its scatter
about them are kept, by Welford's update, and

.. math:: \hat Σ_{ij} = S_{ij} / N_{ij} + (m_{ij} - \hat θ_i)(m_{ji} - \hat θ_j)

is the paper's estimate without a sum over the history, and without cancellation.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.moments import pair_covariance
from covbandit.kernels.optimistic.search import SEARCH_ROWS, SEARCH_SLABS
from covbandit.learners.protocol.state import (
    LearnerState,
    matrix,
    number,
    parameter,
    row,
    work_integers,
    work_matrices,
    work_matrix,
    work_row,
    work_rows,
)


class PairState(LearnerState):
    """What every semi-bandit learner keeps, and the room in which its decision is worked out."""

    mean = row("mean of all observations of each option")
    ready = number("1 once start-up is over, else 0")
    pair_count = matrix("N: how often each pair of options was seen together")
    pair_mean = matrix("mean of the row's option over the rounds in which the column's was seen as well")
    scatter = matrix("sum of products of deviations from these means")

    risk_aversion = parameter("ρ, or 0 without risk")
    min_weight = parameter("c: every weight is zero or at least c; 0 without such a bound")

    believed_mean = work_row("the means that the decision uses, where they are not the observed ones")
    believed_variance = work_row("the variances that the decision uses, likewise")
    centred_mean = work_row("the means less that of the first option in use")
    believed_covariance = work_matrix("the covariance that the decision uses, where it is not the observed one")
    bonus = work_matrix("squared width of the reward's confidence region; zero where nobody writes it")
    penalty = work_matrix("ρ times the covariance that the decision uses; zero where nobody writes it")
    shifted = work_matrix("for the exact maximiser and for start-up")
    work = work_rows("for the maximisers", SEARCH_ROWS)
    search = work_matrices("for the maximisers", SEARCH_SLABS)
    integers = work_integers("for the maximisers", 4)


@kernel()
def absorb_pairs(s: PairState, w: F64, y: F64) -> None:
    """Take in the rewards of the chosen options (Algorithm 2, lines 8-12)."""
    d = w.size
    for i in range(d):
        if w[i] > 0.0:
            s.count[i] += 1.0
            s.mean[i] += (y[i] - s.mean[i]) / s.count[i]
    for i in range(d):
        if w[i] > 0.0:
            for j in range(i + 1):
                if w[j] > 0.0:
                    n = s.pair_count[i, j] + 1.0
                    own = y[i] - s.pair_mean[i, j]
                    other = y[j] - s.pair_mean[j, i]
                    scatter = s.scatter[i, j] + own * other * ((n - 1.0) / n)
                    s.pair_count[i, j] = n
                    s.pair_count[j, i] = n
                    s.scatter[i, j] = scatter
                    s.scatter[j, i] = scatter
                    s.pair_mean[i, j] += own / n
                    if i != j:
                        s.pair_mean[j, i] += other / n


@kernel()
def covariance(s: PairState, i: int, j: int) -> float:
    """Return the estimated covariance of a pair that was seen (Algorithm 2, line 12)."""
    own = s.pair_mean[i, j] - s.mean[i]
    other = s.pair_mean[j, i] - s.mean[j]
    return pair_covariance(s.scatter[i, j], s.pair_count[i, j], own, other)
